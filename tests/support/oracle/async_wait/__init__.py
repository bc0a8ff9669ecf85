"""The laws of operators that call asynchronous functions (section 11 of the rules)."""
