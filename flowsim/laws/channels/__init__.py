"""Laws about what single channels carry."""
