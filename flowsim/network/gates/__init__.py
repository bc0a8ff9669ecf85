"""Input gates and input channels."""
