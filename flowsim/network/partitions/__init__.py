"""What a task writes into, and what of it can be read."""
