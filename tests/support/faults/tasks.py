"""Faulty components of a task: its mailbox, its batches, its operator chain and its input."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import LifeEvent, WaitKind
from flowsim.facts.tracer import TaskTrace
from flowsim.legacy.locked_stream_task import LockedLoopBatches
from flowsim.legacy.source_thread import SourceThread
from flowsim.mailbox.mail import MIN_PRIORITY, Mail
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.streamrecord.events import StopMode
from flowsim.task_clock import TaskClock
from flowsim.tasks.batches import Batches
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.watermark.idleness import PausableRelativeClock
from tests.support.faults.watermarks import StuckClock


def _nothing() -> None:
    """Does nothing: the command of a mail that only tests the order of mails."""


# Mailboxes.


class MailboxOfTwo(TaskMailbox):
    """A mailbox in which two equal mails wait when the task starts."""

    __slots__ = ("_taken",)

    def __init__(
        self, on_put: Callable[[], None] | None, trace: TaskTrace | None, is_mailbox_thread: Callable[[], bool]
    ) -> None:
        super().__init__(on_put, trace, is_mailbox_thread)
        self._taken = 0

    def put_equal_mails(self) -> None:
        for number in ("first", "second"):
            self.put(Mail(_nothing, MIN_PRIORITY, f"{number} of two equal mails"))

    def try_take_from_batch(self) -> Mail | None:
        self._taken += 1
        return super().try_take_from_batch()


class ReversingMailbox(MailboxOfTwo):
    """Reverses its first batch: of two equal mails that wait when the task starts, the second runs first."""

    __slots__ = ()

    def try_take_from_batch(self) -> Mail | None:
        if self._taken == 0:
            self._batch.reverse()
        return super().try_take_from_batch()


class UnbatchedMailbox(MailboxOfTwo):
    """Returns all waiting mails, including a mail that is put while the first batch runs."""

    __slots__ = ()

    def try_take_from_batch(self) -> Mail | None:
        if self._taken == 1:
            self.put(Mail(_nothing, MIN_PRIORITY, "a mail that must wait until the default action has run"))
        self._batch.extend(self._queue)
        self._queue.clear()
        return super().try_take_from_batch()


class InterruptedMailbox(MailboxOfTwo):
    """Ends its first batch after one mail."""

    __slots__ = ()

    def try_take_from_batch(self) -> Mail | None:
        if self._taken == 1:
            self._taken += 1
            return None
        return super().try_take_from_batch()


class PriorityIgnoringMailbox(TaskMailbox):
    """Takes a mail of any priority in the first yield, although that mail should wait until the yield ends."""

    __slots__ = ("_has_ignored",)

    def __init__(
        self, on_put: Callable[[], None] | None, trace: TaskTrace | None, is_mailbox_thread: Callable[[], bool]
    ) -> None:
        super().__init__(on_put, trace, is_mailbox_thread)
        self._has_ignored = False

    def try_take(self, priority: int) -> Mail | None:
        if priority == MIN_PRIORITY or self._has_ignored:
            return super().try_take(priority)
        self._has_ignored = True
        self.put(Mail(_nothing, MIN_PRIORITY, "a mail that must wait until the yield is over"))
        return self.taken(self._queue.pop())


# Batches.


def _run_mail(processor: MailboxProcessor) -> None:
    if processor.mailbox.has_mail:
        processor.run_mail(processor.mailbox.take_nowait(MIN_PRIORITY))


class ReentrantBatches(Batches):
    """Runs a mail while the cost of a batch passes, inside an action."""

    __slots__ = ()

    def _wait(self, kind: WaitKind, wait: Callable[[], None]) -> None:
        def wait_and_run_mail() -> None:
            wait()
            _run_mail(self.processor)

        super()._wait(kind, wait_and_run_mail if kind is WaitKind.COST else wait)


class ReentrantLockedLoopBatches(LockedLoopBatches):
    """Runs a mail while the cost of a batch passes, in a loop that shares its task with threads."""

    __slots__ = ()

    def _wait(self, kind: WaitKind, wait: Callable[[], None]) -> None:
        def wait_and_run_mail() -> None:
            wait()
            _run_mail(self.processor)

        super()._wait(kind, wait_and_run_mail if kind is WaitKind.COST else wait)


# Operator chains.


class UnpausedClocksChain(OperatorChain):
    """A chain whose idleness clocks do not pause under back pressure (FLINK-35886)."""

    __slots__ = ()

    @property
    def input_activity_clocks(self) -> list[PausableRelativeClock]:
        return []


class StuckClocksChain(OperatorChain):
    """A chain whose idleness clocks do not continue when back pressure ends."""

    __slots__ = ()

    @property
    def input_activity_clocks(self) -> list[PausableRelativeClock]:
        return [StuckClock(clock) for clock in super().input_activity_clocks]


class EarlyFinishingChain(OperatorChain):
    """Finishes its operators before the input of the head ends."""

    __slots__ = ()

    def end_input_of_head(self) -> None:
        """Does nothing: ``finish`` ends the input after it has finished the operators."""

    def finish(self, mode: StopMode) -> None:
        super().finish(mode)
        super().end_input_of_head()


class DoubleClosingChain(OperatorChain):
    """Closes its tail operator twice."""

    __slots__ = ()

    def close(self) -> None:
        super().close()
        self._life(self.wrappers[-1], LifeEvent.CLOSE)


# Inputs.


class WrappedInput:
    """Wraps a correct task input. A faulty input overrides one method."""

    __slots__ = ("_input",)

    def __init__(self, task_input: TaskInput) -> None:
        self._input = task_input

    @property
    def records_in(self) -> int:
        return self._input.records_in

    @property
    def is_available(self) -> bool:
        return self._input.is_available

    @property
    def queued_buffers(self) -> int:
        return self._input.queued_buffers

    @property
    def current_watermark(self) -> int:
        return self._input.current_watermark

    @property
    def waits_for(self) -> str:
        return self._input.waits_for

    def emit_next(self) -> DataInputStatus:
        return self._input.emit_next()

    def when_available(self, callback: Callable[[], None]) -> None:
        self._input.when_available(callback)

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        self._input.end_of_input_with_drain(chain)

    def close(self) -> None:
        self._input.close()


class InputWithoutLastWatermark(WrappedInput):
    """An input that drains without advancing to the end of event time (rule 4.10)."""

    __slots__ = ()

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Does nothing."""


class TaskStop:
    """Stops a task after ``at`` records; with 0 the task reads no record."""

    __slots__ = ("is_reached", "_at", "_records", "_clock")

    def __init__(self, at: int, clock: TaskClock) -> None:
        self.is_reached = at == 0
        self._at = at
        self._records = 0
        self._clock = clock

    def count_record(self) -> None:
        self._records += 1
        if self._records == self._at:
            self.is_reached = True
            self._clock.interrupt()


class NeverEmptyInput(WrappedInput):
    """An input that claims to have more when it is empty."""

    __slots__ = ()

    def emit_next(self) -> DataInputStatus:
        status = super().emit_next()
        return DataInputStatus.MORE_AVAILABLE if status is DataInputStatus.NOTHING_AVAILABLE else status


class StoppingInput(WrappedInput):
    """An input that returns nothing after ``stop`` is reached, and never becomes available again."""

    __slots__ = ("stop",)

    def __init__(self, task_input: TaskInput, stop: TaskStop) -> None:
        super().__init__(task_input)
        self.stop = stop

    @property
    def is_available(self) -> bool:
        return not self.stop.is_reached and super().is_available

    @property
    def waits_for(self) -> str:
        return "nothing: a fault stopped it" if self.stop.is_reached else super().waits_for

    def emit_next(self) -> DataInputStatus:
        return DataInputStatus.NOTHING_AVAILABLE if self.stop.is_reached else super().emit_next()

    def when_available(self, callback: Callable[[], None]) -> None:
        if not self.stop.is_reached:
            super().when_available(callback)


class StoppedSourceThread(SourceThread):
    """A source thread that never gets the checkpoint lock, so its function emits nothing."""

    def enter(self) -> None:
        self.acquire(lambda: False)
