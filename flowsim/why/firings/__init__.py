"""Answers about firings of windows and timers: why something fired, again (section 10)."""
