"""Laws about operators that call asynchronous functions (section 11 of the rules)."""
