"""A task whose head is a source function. Flink: SourceStreamTask (deprecated there; rules 4.10, 4.20, 5.40, 13.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from flowsim.facts.tracer import TaskTrace
from flowsim.legacy.locked_stream_task import LockedStreamTask, LockedTaskComponents
from flowsim.legacy.source_thread import SourceThread
from flowsim.legacy.stream_source import StreamSource
from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.network.completion import Completion
from flowsim.operators.stream_operator import DataInputStatus, StreamOperator
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import BatchBudget
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.tasks.finished_operator_chain import FinishedOperatorChain
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.task_state import TaskState
from flowsim.units import NO_TIMESTAMP


class SourceTaskComponents(LockedTaskComponents, Protocol):
    """Creates the components of the task."""

    @property
    def source_thread(self) -> type[SourceThread]: ...


class SourceStreamTask(LockedStreamTask):
    """Two actors of one task: the mailbox loop, and the thread of the source function, which the default action starts.

    The actors share one lock: mails and timers run only while the function does not work. The thread keeps the lock
    while a record waits for a buffer, so no mail runs until the buffer is available. Flink: SourceStreamTask.
    """

    measures_busy_time = False

    def __init__(
        self,
        task_id: int,
        name: str,
        scheduler: Scheduler,
        budget: BatchBudget,
        trace: TaskTrace | None,
        clock: TaskClock,
        components: SourceTaskComponents,
        new_actor_id: Callable[[], int],
        upstream_operators: Mapping[int, int],
        emitters: bool = False,
    ) -> None:
        super().__init__(
            task_id, name, scheduler, budget, trace, clock, components, new_actor_id, upstream_operators, emitters
        )
        self.thread = self.add_thread(components.source_thread, "source thread")
        self._loop.reads_input = False
        self._finishing = StopMode.DRAIN
        self._is_stopped = False
        self._source_ended: Completion[None] = Completion()

    def create_source_input(self, source: StreamOperator) -> TaskInput:
        assert isinstance(source, StreamSource)
        return LegacySourceInput(source)

    @property
    def waiting_for(self) -> str:
        if len(self.threads) > 1:
            return super().waiting_for
        return f"its source thread, which waits for {self.thread.batches.waiting_for}"

    def _trace_end(self) -> None:
        # A function that is stopped inside an element could not return its record count.
        self._source.records_in = self._source.source_output.total_records
        super()._trace_end()

    def _process_input(self) -> None:
        """Starts the source's thread; the default action does not run again."""
        if isinstance(self.chain, FinishedOperatorChain):
            super()._process_input()
            return
        self.mailbox_processor.suspend_default_action()
        self.thread.start(self._source, self.timers, self._on_source_end)

    @property
    def _source(self) -> StreamSource:
        head = self.chain.head
        assert isinstance(head, StreamSource)
        return head

    def _on_source_end(self, error: Exception | None) -> None:
        """Handles the return or failure of the function, on the source's thread."""
        if error is not None:
            self.mailbox_processor.send_control_mail(_raising(error), "the source function failed")
        elif self.mailbox.state is MailboxState.OPEN:
            self.mailbox_processor.executor().execute(self._end_of_source, "the source function returned")

    def _end_of_source(self) -> None:
        self._end_data(self._finishing)
        self.mailbox_processor.suspend()

    def stop(self, mode: StopMode) -> None:
        """Asks the function to return, by a mail; also decides how the task ends after that (rule 4.20)."""
        if self.mailbox.state is MailboxState.OPEN:
            self.mailbox_processor.executor().execute(lambda: self._stop_source(mode), f"stop, {mode.name.lower()}")

    def _end_data(self, mode: StopMode) -> None:
        super()._end_data(mode)
        self._source_ended.complete(None)

    def _reports_stop(self, checkpoints: TaskCheckpoints) -> bool:
        """True: the end of a source function is always reported."""
        return True

    def _when_stopped(self, mode: StopMode, callback: Callable[[], None]) -> None:
        """Calls back when the function has returned and the data has ended, in both modes (rule 4.20)."""
        self._source_ended.when_complete(lambda *_: callback())

    def _stop_source(self, mode: StopMode) -> None:
        # The first stop decides, as for other sources: the function may need time to return.
        if self.end_of_data is None and not self._is_stopped:
            self._is_stopped = True
            self._finishing = mode
            self.trace_stop(mode)
            self._source.cancel()
            self.thread.actor.wake()

    def _clean_up(self, state: TaskState) -> None:
        """Also asks the function of a failed task to return. Its thread ends with the task."""
        if state is TaskState.FAILED and not isinstance(self.chain, FinishedOperatorChain):
            self._source.cancel()
        super()._clean_up(state)

    def cancel(self) -> None:
        """Asks the function to return, and interrupts its thread if the thread waits (rule 4.23)."""
        works = self.state in (TaskState.INITIALIZING, TaskState.RUNNING)
        super().cancel()
        if works:
            self._source.cancel()


class LegacySourceInput:
    """The input of a source task: nothing is read, because the function pushes records. Flink: SourceStreamTask."""

    records_in = 0
    """Always 0: no records come from the network."""

    current_watermark = NO_TIMESTAMP
    queued_buffers = 0
    is_available = False
    waits_for = "input"

    def __init__(self, source: StreamSource) -> None:
        self._source = source

    def emit_next(self) -> DataInputStatus:
        return DataInputStatus.NOTHING_AVAILABLE

    def when_available(self, callback: Callable[[], None]) -> None:
        """Never calls back: the default action is not resumed."""

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Emits MAX_WATERMARK, which only sources emit (rule 4.10)."""
        self._source.advance_to_end_of_event_time()

    def close(self) -> None:
        """Does nothing: the operator closes the function."""


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail
