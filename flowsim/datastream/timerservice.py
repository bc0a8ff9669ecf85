"""Timers and time as user functions see them, under PyFlink's name of the module."""

from __future__ import annotations

from flowsim.operators.functions.process import TimeDomain, TimerService

__all__ = ["TimeDomain", "TimerService"]
