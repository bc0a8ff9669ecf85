"""Sources that run a loop of their own under the checkpoint lock. Flink: SourceFunction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from flowsim.connectors.source import Source
from flowsim.operators.sources.source_reader import SourceReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.operators.user_functions import RuntimeContext


class SourceContext(Protocol):
    """What a source function emits through; each call takes the checkpoint lock unless the function holds it already.

    Flink: SourceFunction.SourceContext.
    """

    def collect(self, element: Any) -> None:
        """A record with the timestamp of the one before; the first has none."""

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """A record with its event time in ms."""

    def emit_watermark(self, mark: int) -> None:
        """Event time in ms; passes as it is, also when it goes back."""

    def mark_as_temporarily_idle(self) -> None:
        """Nobody downstream waits for this subtask until its next record or watermark."""

    def get_checkpoint_lock(self) -> AbstractContextManager[None]:
        """While it is held no mail and no timer of the task runs: what is emitted and remembered inside belongs together."""

    def sleep(self, millis: int) -> None:
        """flowsim's own: does nothing for some time of the job's clock, without the lock. A stop does not shorten it."""

    def poll(self, reader: SourceReader) -> DataInputStatus:
        """flowsim's own: lets a reader emit one batch under the lock, and waits without it when the reader has to wait."""


class SourceFunction(ABC):
    """Pushes records in a loop of its own until it is done or cancelled; one subtask. Flink: SourceFunction."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027  (a function may have nothing to open)
        """Called before ``run``."""

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Emits everything; returns at the end of the input, or soon after ``cancel``."""

    @abstractmethod
    def cancel(self) -> None:
        """Asks ``run`` to return: the job is cancelled or stopped. Called inside the loop's waits, never beside its code."""

    def close(self) -> None:  # noqa: B027  (nor to close)
        """Called once, however it ended."""


class ParallelSourceFunction(SourceFunction):
    """One that may have any number of subtasks. Flink: ParallelSourceFunction."""


class ReaderSourceFunction(ParallelSourceFunction):
    """Plays a reader of the new kind in a loop of the old kind, so that the two can be compared."""

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader
        self._running = True
        self._is_open = False

    def open_reader(self, ctx: OperatorContext) -> None:
        self._reader.open(ctx)
        self._is_open = True

    def run(self, ctx: SourceContext) -> None:
        while self._running:
            if ctx.poll(self._reader) is DataInputStatus.END_OF_DATA:
                return

    def cancel(self) -> None:
        self._running = False

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._reader.close()


class LegacySource:
    """For ``add_source``: plays ``source`` on a thread of its own, under the checkpoint lock of its task."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"LegacySource({self.source!r})"

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def params(self) -> Mapping[str, object]:
        return self.source.params

    @property
    def required_parallelism(self) -> int | None:
        return self.source.required_parallelism

    @property
    def needs_cost(self) -> bool:
        return self.source.needs_cost

    def create_function(self) -> ReaderSourceFunction:
        """A function for one subtask."""
        return ReaderSourceFunction(self.source.create_reader())
