"""Durations and times: ``pyflink.common.time`` becomes ``flowsim.datastream.common.time``."""

from __future__ import annotations

from flowsim.values.durations import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
