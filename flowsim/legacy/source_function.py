"""Sources with their own loop under the checkpoint lock. Flink: SourceFunction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from flowsim.connectors.source import Source, enumerator_factory_of
from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.sources.source_reader import SourceReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext


class SourceContext(Protocol):
    """The output of a source function; each call takes the checkpoint lock unless the function already holds it.

    Flink: SourceFunction.SourceContext.
    """

    def collect(self, element: Any) -> None:
        """Emits a record with the timestamp of the previous record; the first record has no timestamp."""

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Emits a record with its event time in ms."""

    def emit_watermark(self, mark: int) -> None:
        """Emits a watermark (event time in ms) unchanged, even if it decreases."""

    def mark_as_temporarily_idle(self) -> None:
        """Marks this subtask as idle: downstream watermarks do not wait for it until its next record or watermark."""

    def get_checkpoint_lock(self) -> AbstractContextManager[None]:
        """Returns the checkpoint lock.

        While the function holds the lock, no mail or timer of the task runs: emissions and state changes inside are
        atomic.
        """

    def sleep(self, millis: int) -> None:
        """flowsim's own: waits for some time of the job's clock, without the lock. A stop does not shorten it."""

    def poll(self, reader: SourceReader, is_cancelled: Callable[[], bool]) -> DataInputStatus:
        """flowsim's own: lets a reader emit one batch under the lock; then waits without the lock until the reader's
        next wake time, if the reader must wait, or until the function is cancelled.
        """


class SourceFunction(ABC):
    """Emits records in its own loop until the loop ends or is cancelled; runs in one subtask. Flink: SourceFunction."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027  (a function may have nothing to open)
        """Called before ``run``."""

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Emits all records. Returns at the end of the input, or soon after ``cancel``."""

    @abstractmethod
    def cancel(self) -> None:
        """Requests that ``run`` returns, because the job is cancelled or stopped.

        Called during the loop's waits, never concurrently.
        """

    def close(self) -> None:  # noqa: B027  (nor to close)
        """Called once after ``run``, even if ``run`` failed or was cancelled."""


class ParallelSourceFunction(SourceFunction):
    """A source function with any number of subtasks. Flink: ParallelSourceFunction."""


class ReaderSourceFunction(ParallelSourceFunction):
    """Runs a new-style reader in a source function, so that both kinds of sources can be compared."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader
        self._running = True
        self._is_open = False

    def open_reader(self, ctx: OperatorContext) -> None:
        self.reader.open(ctx)
        self._is_open = True

    def run(self, ctx: SourceContext) -> None:
        while self._running:
            if ctx.poll(self.reader, lambda: not self._running) is DataInputStatus.END_OF_DATA:
                return

    def cancel(self) -> None:
        self._running = False

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.reader.close()


class LegacySource:
    """The argument of ``add_source`` that runs ``source`` on its own thread, under the checkpoint lock of its task."""

    def __init__(self, source: Source) -> None:
        if enumerator_factory_of(source) is not None:
            raise BadInput(
                f"a legacy source reads fixed shares, but the splits of this {source.kind} source are assigned while the "
                "job runs: run it as a source of the new kind, or with fixed assignment"
            )
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
        """Creates a function for one subtask."""
        return ReaderSourceFunction(self.source.create_reader())
