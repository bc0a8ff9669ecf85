"""The expression language of scenarios, and its compiled functions."""
