"""Laws about windows and late records."""
