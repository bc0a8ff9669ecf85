"""Changes the values that an operator emits to its main output."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.output import Output
from flowsim.tasks.forwarding_output import ForwardingOutput


class ChangedOutput(ForwardingOutput):
    """Passes on what a function makes of each value; side outputs keep their values."""

    __slots__ = ("_change",)

    def __init__(self, output: Output, change: Callable[[Value], Value]) -> None:
        super().__init__(output)
        self._change = change

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._output.collect(self._change(value), timestamp)
