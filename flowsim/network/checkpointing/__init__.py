"""What a task does with the barriers that it reads."""
