"""Source operators and the outputs of their readers."""
