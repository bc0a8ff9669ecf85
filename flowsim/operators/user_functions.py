"""Operators that run a user function. Flink: AbstractUdfStreamOperator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.units import NO_TIMESTAMP

Results = Iterable[Value] | None
"""The results of a process function: values for the main output, ``(OutputTag, value)`` for a side output."""


def emit_results(results: Results, timestamp: int | None, output: Output, side_timestamp: int = NO_TIMESTAMP) -> None:
    """Emits one result at a time, so that a blocked output pauses a generator between two results (D3).

    Side outputs also have ``timestamp``, or ``side_timestamp`` if the main output has none (rule 9.19).
    """
    if results is None:
        return
    for result in results:
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            output.collect_side(result[0], result[1], side_timestamp if timestamp is None else timestamp)
        else:
            output.collect(result, timestamp)


class UserFunction(Protocol):
    """The life cycle of a user function. Flink: RichFunction."""

    def open(self, runtime_context: RuntimeContext) -> None: ...

    def close(self) -> None: ...


class FunctionLife:
    """Opens a user function once, and closes it once if it was opened (section 4).

    None stands for a function without life cycle.
    """

    __slots__ = ("_function", "_is_open")

    def __init__(self, function: UserFunction | None) -> None:
        self._function = function
        self._is_open = False

    @property
    def function(self) -> UserFunction | None:
        return self._function

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._function is not None:
            self._is_open = True
            self._function.open(runtime_context)

    def close(self) -> None:
        if self._function is not None and self._is_open:
            self._is_open = False
            self._function.close()

    def use_interruptible_timers(self) -> bool:
        """Returns True if the function allows its timers to yield to mails (rule 9.18). Flink: RichFunction."""
        opted_in = getattr(self._function, "use_interruptible_timers", None)
        return opted_in is not None and bool(opted_in())


@mypyc_attr(allow_interpreted_subclasses=True)
class FunctionOperator(StreamOperator):
    """An operator with a user function, which may have a life cycle. Flink: AbstractUdfStreamOperator."""

    __slots__ = ("_life",)

    def __init__(self, user_function: UserFunction | None) -> None:
        self._life = FunctionLife(user_function)

    def open(self) -> None:
        self._life.open(RuntimeContext(self.ctx, None))

    def close(self) -> None:
        self._life.close()
