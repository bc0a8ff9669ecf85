"""Checkpoints of one task."""
