"""The input that the default action of a task reads. Flink: StreamInputProcessor, StreamTaskInput."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowsim.operators.stream_operator import DataInputStatus
from flowsim.tasks.operator_chain import OperatorChain


class ReadInput(Protocol):
    """One input of a task; a task with a single input reads it directly. Flink: StreamTaskInput."""

    @property
    def records_in(self) -> int: ...

    @property
    def is_available(self) -> bool: ...

    @property
    def queued_buffers(self) -> int: ...

    @property
    def current_watermark(self) -> int: ...

    def emit_next(self) -> DataInputStatus: ...

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back once, when ``is_available`` becomes True."""

    def close(self) -> None: ...


class TaskInput(ReadInput, Protocol):
    """The input that the default action reads: the network or a source. Flink: StreamInputProcessor."""

    @property
    def waits_for(self) -> str:
        """The text of what is missing while the input is not available, for the wait-for report."""

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Ends the input with DRAIN, as this kind of task does it (rules 4.10, 4.11)."""
