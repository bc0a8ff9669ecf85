"""What a task reads from: channels and gates."""
