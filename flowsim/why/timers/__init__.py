"""Answers about timers of keys: why they wait, fired, were deleted or were dropped (section 9)."""
