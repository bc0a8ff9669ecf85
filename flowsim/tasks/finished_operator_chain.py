"""A task that was restored as finished (rule 12.100). Flink: FinishedOperatorChain, FinishedOnRestoreInput."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.stream_operator import DataInputStatus, OperatorInput, Value
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP


class FinishedOperatorChain(OperatorChain):
    """The operators of such a task: they are not opened, finished or closed. Flink: FinishedOperatorChain."""

    __slots__ = ("_task", "_watermarks")

    is_task_deployed_as_finished = True

    def __init__(
        self, wrappers: Sequence[OperatorWrapper], trace: TaskTrace | None, task: str, writers: Sequence[RecordWriter]
    ) -> None:
        """``task``: its name, for errors."""
        super().__init__(wrappers, trace)
        self._task = task
        self._watermarks = FinishedOnRestoreWatermarks(writers, len(self.head.inputs))

    def input_of_head(self, index: int) -> OperatorInput:
        return FinishedOnRestoreInput(self._task, self._watermarks)

    @property
    def input_selectable(self) -> InputSelectable | None:
        """None: all inputs end without the operator."""
        return None

    def create_source_input(self) -> FinishedOnRestoreSourceInput:
        """Creates the input of a task whose head is a source."""
        return FinishedOnRestoreSourceInput(self._watermarks)

    def initialize_state_and_open_operators(self) -> None:
        """Only records what the task is: there is no state to restore."""
        if self._trace is not None:
            self._trace.lifecycle(-1, LifeEvent.RESTORED_AS_FINISHED)

    def end_input_of_head(self) -> None:
        """Does nothing."""

    def end_input_of_head_of(self, input_id: int) -> None:
        """Does nothing."""

    def finish(self, mode: StopMode) -> None:
        """Does nothing: the operators finished before the checkpoint."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: the operators do not run."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing: the operators do not run."""


class FinishedOnRestoreWatermarks:
    """Sends MAX_WATERMARK once, when all inputs have had it. Flink: FinishedOnRestoreInput (the shared counter)."""

    __slots__ = ("_writers", "_missing")

    def __init__(self, writers: Sequence[RecordWriter], inputs: int) -> None:
        self._writers = tuple(writers)
        self._missing = inputs

    def on_maximum(self) -> None:
        """One input has had MAX_WATERMARK."""
        self._missing -= 1
        if self._missing == 0:
            for writer in self._writers:
                writer.emit_watermark(MAX_WATERMARK)


class FinishedOnRestoreInput(OperatorInput):
    """One input of such a task: only MAX_WATERMARK comes, because its producers were finished too.

    Flink: FinishedOnRestoreInput.
    """

    __slots__ = ("_task", "_watermarks")

    def __init__(self, task: str, watermarks: FinishedOnRestoreWatermarks) -> None:
        """``task``: its name, for errors."""
        self._task = task
        self._watermarks = watermarks

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self._refuse(f"the record {value!r:.80}")

    def process_watermark(self, timestamp: int) -> None:
        if timestamp != MAX_WATERMARK:
            self._refuse(f"the watermark {timestamp}")
        self._watermarks.on_maximum()

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self._refuse(f"the status {status.name}")

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self._refuse("a latency marker")

    def _refuse(self, element: str) -> None:
        raise InvariantViolation(f"{self._task} was restored as finished, but gets {element}")


class FinishedOnRestoreSourceInput:
    """The input of a source that was restored as finished: its end. Flink: StreamTaskFinishedOnRestoreSourceInput."""

    __slots__ = ("_watermarks", "_has_ended")

    records_in = 0
    """Always 0: the records were read before the checkpoint."""

    current_watermark = NO_TIMESTAMP
    queued_buffers = 0
    is_available = True
    waits_for = "input"

    def __init__(self, watermarks: FinishedOnRestoreWatermarks) -> None:
        self._watermarks = watermarks
        self._has_ended = False

    def emit_next(self) -> DataInputStatus:
        """Returns END_OF_DATA, then END_OF_INPUT."""
        if self._has_ended:
            return DataInputStatus.END_OF_INPUT
        self._has_ended = True
        return DataInputStatus.END_OF_DATA

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back at once: nothing is waited for."""
        callback()

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Sends MAX_WATERMARK, as every source does at its end (rule 4.10)."""
        self._watermarks.on_maximum()

    def close(self) -> None:
        """Does nothing: nothing is open."""
