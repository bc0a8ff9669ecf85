"""Questions about checkpoints, failures, restarts and commits (section 12)."""
