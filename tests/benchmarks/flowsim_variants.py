"""W1 and the wiring of channels on flowsim itself: what is added here appears in the table.

A variant builds the job through the public API, runs it on ``source(count)`` and returns its ``Outcome``: results as
``Results``, and the number of facts when it recorded. A wiring connects ``n`` producers with ``n`` consumers and returns
whatever keeps them alive.
"""

from __future__ import annotations

from collections.abc import Callable

from workload import Variant

VARIANTS: tuple[Variant, ...] = ()
WIRINGS: dict[str, Callable[[int], object]] = {}

RECORDING_COSTS: tuple[tuple[str, str], ...] = ()
"""Pairs (variant that records, the same without recording), from which ns per fact are computed."""
