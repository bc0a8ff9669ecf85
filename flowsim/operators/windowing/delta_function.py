"""How far two records are apart. Flink: DeltaFunction."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.operators.stream_operator import Value

DeltaFunction = Callable[[Value, Value], float]
"""The distance from the older record to the newer one. Flink: DeltaFunction."""
