"""The expression language of scenarios, and functions made from it."""
