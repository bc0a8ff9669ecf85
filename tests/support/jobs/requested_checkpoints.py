"""The settings of jobs whose checkpoints a test requests."""

from __future__ import annotations

from typing import Final

from flowsim.graph.checkpoint_settings import CheckpointSettings

ON_REQUEST: Final = CheckpointSettings(interval_ms=60_000, min_pause_ms=60_000)
"""No periodic checkpoint within a short run: only requested ones, and the final one, which needs an interval (rule 12.146)."""
