"""Laws about the contents of single channels."""
