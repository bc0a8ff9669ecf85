"""Runs a job here and on the real Flink, and compares what its subtasks saw (``docs/conform.md``)."""
