"""The second actor of a legacy source task: it runs the source function. Flink: LegacySourceFunctionThread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from flowsim.facts.kinds import ActionKind, WaitKind
from flowsim.legacy.checkpoint_lock import CheckpointLock
from flowsim.legacy.locked_threads import LockedThread, MakeBatches
from flowsim.legacy.stream_source import StreamSource
from flowsim.operators.sources.manual_source_output import ManualReaderOutput
from flowsim.operators.sources.source_reader import SourceReader
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class SourceThread(LockedThread):
    """Runs the source function under the checkpoint lock. Flink: SourceStreamTask.LegacySourceFunctionThread.

    Flink takes the lock for every element. In flowsim the function keeps the lock for a batch, which ends at once if a
    mail waits. So a mail still runs between two elements, and one batch is one action of the task.
    """

    kind = ActionKind.DEFAULT_ACTION

    def __init__(
        self,
        actor_id: int,
        task: str,
        name: str,
        scheduler: Scheduler,
        lock: CheckpointLock,
        make: MakeBatches,
        on_failure: Callable[[Exception], None],
    ) -> None:
        super().__init__(actor_id, task, name, scheduler, lock, make, on_failure)
        self._scheduler = scheduler
        self._is_started = False
        self._source: StreamSource
        self._timers: TaskTimers
        self._on_end: Callable[[Exception | None], None]
        self._depth = 0
        self._may_emit = False
        """True once an exploration has chosen that the function emits its next element."""

    def start(self, source: StreamSource, timers: TaskTimers, on_end: Callable[[Exception | None], None]) -> None:
        """Called once, by the task; ``on_end`` gets the error of the function, or None."""
        self._source, self._timers, self._on_end = source, timers, on_end
        self._is_started = True
        self.actor.wake()

    def work(self) -> None:
        self.actor.wait_until(lambda: self._is_started or self.is_stopped)
        if not self._is_started:
            return
        error: Exception | None = None
        try:
            self._source.run(LegacySourceContext(self, self._source.source_output))
        except BaseException as raised:
            failure = self.actor.failure_of(raised)
            if not isinstance(failure, Exception):
                raise
            error = failure
        finally:
            self._source.records_in = self._source.source_output.total_records
        self._depth = 0
        self._end_batch()
        self._on_end(error)

    def enter(self) -> None:
        """Takes the lock for the function; its work then belongs to a batch."""
        if self._action is None:
            if self._scheduler.separates_elements:
                self._wait_to_emit()
            self.acquire()
            ends_at_once = self._scheduler.separates_elements or self.batches.processor.mailbox.has_mail
            self._timers.clock.batch_end_ns = 0 if ends_at_once else self._timers.batch_limit_ns
        self._depth += 1

    def _wait_to_emit(self) -> None:
        """Waits until the exploration chooses the next element, if a timer of the task can come before it."""
        if not self._scheduler.can_act_before_reading(self._timers.actor_id):
            return

        def emit() -> None:
            self._may_emit = True
            self.actor.wake()

        self._may_emit = False
        origin = Origin("read", self._timers.actor_id)
        self._scheduler.call_at_ns(self._scheduler.now_ns, emit, origin=origin)
        self.batches.waiting_for = "its turn to emit"
        self.actor.wait_until(lambda: self._may_emit or self.is_stopped)

    def leave(self) -> None:
        """Ends the batch at the outermost call, if the batch is over: by its budget, a timer, or a waiting mail."""
        self._depth -= 1
        clock = self._timers.clock
        if self._depth == 0 and clock.now_ns >= clock.batch_end_ns:
            self._end_batch()
        self._source.records_in = self._source.source_output.total_records

    def _end_batch(self) -> None:
        """Lets the cost of the function's work pass under the lock, then releases the lock."""
        if self._action is not None:
            self.release()

    def wait_until_ns(self, when_ns: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Waits until a time without the lock, or until ``is_over`` when the actor is woken.

        Inside ``get_checkpoint_lock`` the function keeps the lock, as in Flink.
        """
        if self._depth == 0:
            self._end_batch()
        scheduler = self._scheduler
        timer = scheduler.call_at_ns(when_ns, self.actor.wake)
        try:
            if self._action is None:
                self.batches.waiting_for = "the end of its sleep"
                self.actor.wait_until(lambda: scheduler.now_ns >= when_ns or is_over())
            else:
                self.batches.block(WaitKind.COST, lambda: scheduler.now_ns >= when_ns, "the end of its sleep")
        finally:
            timer.cancel()

    @property
    def now_ns(self) -> int:
        """The current time: the job's clock, or inside a batch the task's clock."""
        return self._timers.clock.now_ns if self._action is not None else self._scheduler.now_ns


class LegacySourceContext:
    """The output of the source function of this thread. Flink: StreamSourceContexts.ManualWatermarkContext."""

    __slots__ = ("_thread", "_output", "_timestamp")

    def __init__(self, thread: SourceThread, output: ManualReaderOutput) -> None:
        self._thread = thread
        self._output = output
        self._timestamp: int | None = None

    def collect(self, element: object) -> None:
        """Emits a record with the previous timestamp, because Flink reuses one stream record."""
        thread = self._thread
        thread.enter()
        self._output.collect(element, self._timestamp)
        thread.leave()

    def collect_with_timestamp(self, element: object, timestamp: int) -> None:
        self._timestamp = timestamp
        self.collect(element)

    def emit_watermark(self, mark: int) -> None:
        with self.get_checkpoint_lock():
            self._output.emit_watermark(mark)

    def mark_as_temporarily_idle(self) -> None:
        with self.get_checkpoint_lock():
            self._output.mark_idle()

    def get_checkpoint_lock(self) -> AbstractContextManager[None]:
        return self._locked()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._thread.enter()
        yield
        self._thread.leave()

    def sleep(self, millis: int) -> None:
        self._thread.wait_until_ns(self._thread.now_ns + millis * NS_PER_MS)

    def poll(self, reader: SourceReader, is_cancelled: Callable[[], bool]) -> DataInputStatus:
        with self.get_checkpoint_lock():
            status = reader.poll_next(self._output)
        wake_time_ns = reader.wake_time_ns
        if status is DataInputStatus.NOTHING_AVAILABLE and wake_time_ns is not None:
            self._thread.wait_until_ns(wake_time_ns, is_cancelled)
        return status
