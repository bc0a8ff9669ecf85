"""Laws about timers."""
