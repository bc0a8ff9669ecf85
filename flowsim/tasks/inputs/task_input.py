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
        """Calls back once ``is_available`` turns true."""

    def close(self) -> None: ...


class TaskInput(ReadInput, Protocol):
    """The input of the default action: the network or a source. Flink: StreamInputProcessor."""

    @property
    def waits_for(self) -> str:
        """What is missing while the input is not available, for the wait-for report."""

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """The effect of DRAIN on this kind of task (rules 4.10, 4.11)."""
