"""Timers and time for user functions, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.operators.functions.timer_services import TimeDomain, TimerService

__all__ = ["TimeDomain", "TimerService"]
