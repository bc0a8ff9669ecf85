"""Emits what a process function returned or yielded, as PyFlink reads it."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.operators.stream_operator import Output, Value
from flowsim.streamrecord.elements import OutputTag
from flowsim.units import NO_TIMESTAMP

Results = Iterable[Value] | None
"""What a process function returns or yields: values for the main output, ``(OutputTag, value)`` for a side output."""


def emit_results(results: Results, timestamp: int | None, output: Output, side_timestamp: int = NO_TIMESTAMP) -> None:
    """Emits one result at a time, so a blocked output stops a generator in its middle (D3).

    Side outputs carry ``timestamp`` too, or ``side_timestamp`` where the main output carries none (rule 9.19).
    """
    if results is None:
        return
    for result in results:
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            output.collect_side(result[0], result[1], side_timestamp if timestamp is None else timestamp)
        else:
            output.collect(result, timestamp)
