"""A task whose head is a source function. Flink: SourceStreamTask (deprecated there; rules 4.10, 4.20, 5.40, 13.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.facts.kinds import WaitKind
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.data_input_status import DataInputStatus
from flowsim.operators.sources.stream_source import StreamSource
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.actor import Actor
from flowsim.tasks.batches import BatchBudget, Batches
from flowsim.tasks.legacy.checkpoint_lock import CheckpointLock
from flowsim.tasks.legacy.source_thread import SourceThread
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_clock import TaskClock
from flowsim.tasks.task_input import TaskInput
from flowsim.tasks.task_state import TaskState
from flowsim.units import NO_TIMESTAMP


class SourceStreamTask(StreamTask):
    """Two actors of one task: the mailbox loop, and the thread of the source function, which the default action starts.

    One lock keeps them apart: mails and timers run while the function does not work, and the other way round. A record
    that waits for a buffer waits with the lock held, so no mail runs until the buffer is there. Flink: SourceStreamTask.
    """

    measures_busy_time = False

    def __init__(
        self, task_id: int, name: str, scheduler: Scheduler, budget: BatchBudget, trace: TaskTrace | None,
        clock: TaskClock, thread_id: int,
    ) -> None:  # fmt: skip
        super().__init__(task_id, name, scheduler, budget, trace, clock)
        self.lock = CheckpointLock()
        self.lock.owner = self.actor
        self.thread = SourceThread(thread_id, name, scheduler, self.timers, self.lock, self._create_batches)
        self.thread.is_stalled = lambda: self.stalled
        self._finishing = StopMode.DRAIN
        self._is_stopped = False

    def _create_batches(self, actor: Actor) -> Batches:
        """Of the mailbox loop (which gives the lock away while it waits for mail) or of the source's thread."""
        kind = Batches if actor is not self.actor else _BatchesUnderLock
        batches = kind(actor, self.scheduler, self.timers, self.outbox, self.times, self.budget, self._note_queues)
        if isinstance(batches, _BatchesUnderLock):
            batches.lock = lambda: self.lock
        else:
            batches.processor = self.mailbox_processor
        return batches

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The thread first: it is ended before the task cleans up."""
        return (self.thread.actor, self.actor)

    @property
    def waiting_for(self) -> str:
        return f"its source thread, which waits for {self.thread.batches.waiting_for}"

    def wire(self, chain: OperatorChain, task_input: TaskInput, writers: Sequence[RecordWriter]) -> None:
        super().wire(chain, task_input, writers)
        self.thread.batches.chain = chain

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Rule 5.42, by whichever of the two is at work."""
        batches = self.batches if self.lock.owner is self.actor else self.thread.batches
        batches.wait_for_buffer(pool)

    def _is_inside(self) -> bool:
        return self.outbox.sealed and (self.actor.is_inside() or self.thread.actor.is_inside())

    def _process_input(self) -> None:
        """The default action starts the source's thread, and never runs again."""
        self.mailbox_processor.suspend_default_action()
        self.thread.start(self._source, self._on_source_end)

    @property
    def _source(self) -> StreamSource:
        head = self.chain.head
        assert isinstance(head, StreamSource)
        return head

    def _on_source_end(self, error: Exception | None) -> None:
        """In the source's thread: the function returned, or failed."""
        if error is not None:
            self.mailbox_processor.send_control_mail(_raising(error), "the source function failed")
        elif self.mailbox.state is MailboxState.OPEN:
            self.mailbox_processor.executor().execute(self._end_of_source, "the source function is done")

    def _end_of_source(self) -> None:
        self._end_data(self._finishing)
        self.mailbox_processor.suspend()

    def stop(self, mode: StopMode) -> None:
        """Rule 4.20: a mail asks the function to return; how the task ends then is decided here."""
        if self.mailbox.state is MailboxState.OPEN:
            self.mailbox_processor.executor().execute(lambda: self._stop_source(mode), f"stop, {mode.name.lower()}")

    def _stop_source(self, mode: StopMode) -> None:
        # The first stop decides, as for the other sources: the function may need a while to return.
        if self.end_of_data is None and not self._is_stopped:
            self._is_stopped = True
            self._finishing = mode
            self.trace_stop(mode)
            self._source.cancel()

    def cancel(self) -> None:
        """Rule 4.23: the function is asked to return, and its thread is interrupted where it waits."""
        works = self.state in (TaskState.INITIALIZING, TaskState.RUNNING)
        super().cancel()
        if works:
            self._source.cancel()


class _BatchesUnderLock(Batches):
    """Of the mailbox loop: while it waits for mail, the source may work."""

    __slots__ = ("lock",)

    lock: Callable[[], CheckpointLock]

    def wait_for_mail(self, priority: int) -> None:
        """Waiting inside an element keeps the lock, as Java's monitor would: the source stands still (rule 3.25)."""
        if priority >= 0:
            super().wait_for_mail(priority)
            return
        lock, mailbox = self.lock(), self.processor.mailbox
        self.spend_and_publish()
        lock.release(self.actor)
        number = self.processor.begin_wait(WaitKind.LOCK)
        self.actor.wait_until(lambda: mailbox.has_mail and lock.try_acquire(self.actor))
        self.processor.end_wait(WaitKind.LOCK, number)
        self.begin()


class LegacySourceInput:
    """What stands in the place of an input: the function pushes, nothing is read. Flink: SourceStreamTask."""

    records_in = 0
    """Nothing comes over the network."""

    current_watermark = NO_TIMESTAMP
    queued_buffers = 0
    is_available = False

    def __init__(self, source: StreamSource) -> None:
        self._source = source

    def emit_next(self) -> DataInputStatus:
        return DataInputStatus.NOTHING_AVAILABLE

    def when_available(self, callback: Callable[[], None]) -> None:
        """Never: the default action is not resumed."""

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Rule 4.10: only sources emit MAX_WATERMARK."""
        self._source.advance_to_end_of_event_time()

    def close(self) -> None:
        """The function is closed with its operator."""


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail
