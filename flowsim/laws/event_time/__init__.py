"""Laws about watermarks and idleness."""
