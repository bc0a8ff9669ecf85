"""The async operator that emits results from its own thread. Flink (1.2 to 1.9): AsyncWaitOperator, Emitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Literal, NoReturn, Protocol

from flowsim.errors import BadInput, ElementFailed
from flowsim.facts.kinds import AsyncAction
from flowsim.failure_location import note_record
from flowsim.legacy.stream_element_queues import (
    UNNUMBERED,
    DoneWatermarkEntry,
    Executor,
    FutureEntry,
    FutureRecordEntry,
    LegacyOrderedStreamElementQueue,
    LegacyStreamElementQueue,
    LegacyUnorderedStreamElementQueue,
)
from flowsim.operators.async_wait.async_observer import AsyncTrace
from flowsim.operators.async_wait.result_future import AsyncFunction, checked_results
from flowsim.operators.async_wait.stored_elements import StoredElements
from flowsim.operators.async_wait.stream_element_queue import checked_capacity, describe_pending
from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.operators.user_functions import FunctionOperator
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import StreamElement, StreamRecord
from flowsim.streamrecord.output import Output
from flowsim.values.closed_set import copy_value
from flowsim.values.java_long import wrapped


class LegacyThreads(Protocol):
    """The threads that a task provides to an operator with an emitter thread.

    Every actor of the task works under the task's checkpoint lock: the loop, the emitter of an operator, a timer, a
    snapshot.
    """

    def start_emitter(self, has_completed_element: Callable[[], bool], emit: Callable[[], None]) -> None:
        """Starts the emitter thread, which calls ``emit`` under the lock once for each completed element."""

    def execute(self, callback: Callable[[], None]) -> None:
        """Runs a command on the executor's thread, without the lock, after earlier commands."""

    def wait(self, ready: Callable[[], bool], reason: str) -> None:
        """Releases the lock of the calling thread and takes it back once ``ready``.

        Returns at once if it is ready. Flink: Object.wait.

        ``reason`` ends the sentence "waits for ..." of the report of a deadlock.
        """

    def fail(self, error: Exception) -> None:
        """Fails the task with ``error`` as soon as the task has the lock, even inside an element."""

    def stop(self) -> None:
        """Stops the emitter."""


@dataclass
class LegacyOperatorContext(OperatorContext):
    """The context of an operator with an emitter thread (rule 11.30)."""

    threads: LegacyThreads = field(kw_only=True)

    @classmethod
    def of(cls, ctx: OperatorContext, threads: LegacyThreads) -> LegacyOperatorContext:
        """Returns ``ctx`` together with the threads of its operator."""
        return cls(**{each.name: getattr(ctx, each.name) for each in fields(OperatorContext)}, threads=threads)


class LegacyResultFuture:
    """The future of one element for the function. A completion counts as the outcome at once, on any thread.

    Facts of an element that is not in the queue yet are recorded when it enters the queue.
    """

    __slots__ = ("entry", "_operator", "_unrecorded")

    def __init__(self, operator: LegacyAsyncWaitOperator, entry: FutureRecordEntry) -> None:
        self.entry = entry
        self._operator = operator
        self._unrecorded: list[AsyncAction] = []

    def complete(self, results: Sequence[Value]) -> None:
        """Completes the element.

        Invalid results fail the task when they are emitted; None emits nothing, as in Flink 1.8.
        """
        if not self.entry.is_done:
            self._operator.trace_completed(self.entry, () if results is None else results)
            self.entry.complete(results)

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """Computes the results at once: the legacy design has no suppliers."""
        try:
            results = supplier()
        except Exception as error:
            self.complete_exceptionally(error)
        else:
            self.complete(results)

    def complete_exceptionally(self, error: BaseException) -> None:
        """Completes the element with an error: the task fails when the emitter reaches the element, in queue order."""
        if not self.entry.is_done:
            self._record_step(AsyncAction.FAIL)
            self.entry.complete_exceptionally(error)

    def time_out(self) -> None:
        """Completes the element with a TimeoutError; the function's ``timeout`` is not called (rule 11.31)."""
        if not self.entry.is_done:
            self.entry.timed_out = True
            self._record_step(AsyncAction.TIMEOUT)
            self.complete_exceptionally(TimeoutError("Async function call has timed out."))

    def is_queued(self) -> None:
        """Called when the element has entered the queue: records the facts that waited for it."""
        unrecorded, self._unrecorded = self._unrecorded, []
        for action in unrecorded:
            self._record_step(action)

    def _record_step(self, action: AsyncAction) -> None:
        if self.entry.number == UNNUMBERED:
            self._unrecorded.append(action)
        else:
            self._operator.trace_step(self.entry, action)


_QUEUES: Final[dict[str, Callable[[int, Executor], LegacyStreamElementQueue]]] = {
    "ordered": LegacyOrderedStreamElementQueue,
    "unordered": LegacyUnorderedStreamElementQueue,
}


class LegacyAsyncWaitOperator(FunctionOperator):
    """Puts elements into a queue; a separate thread emits them under the lock of the task (rules 11.30 to 11.39).

    While the queue is full, the thread of the element waits on the lock inside that element. Meanwhile other threads
    hold the lock, to emit, fire timers, or take a snapshot, which therefore contains the waiting element too (rule
    11.37). There are no retries, and the function's ``timeout`` is not called. ``timeout_ms`` 0: none.
    """

    __slots__ = (
        "timeout_ms",
        "_function",
        "_capacity",
        "_mode",
        "_queue",
        "_facts",
        "_numbers",
        "_pending",
        "_waiting",
        "_restored",
        "_stored",
        "_threads",
        "_is_emitting",
    )

    _queue: LegacyStreamElementQueue
    _facts: AsyncTrace | None
    _threads: LegacyThreads

    def __init__(
        self, function: AsyncFunction, timeout_ms: int, capacity: int, mode: Literal["ordered", "unordered"]
    ) -> None:
        super().__init__(function)
        if mode not in _QUEUES:
            raise BadInput(f"the mode of an async operator must be ordered or unordered, got {mode!r}")
        self._function = function
        self._capacity = checked_capacity(capacity)
        self._mode = mode
        self.timeout_ms = timeout_ms
        self._numbers = 0
        self._pending: FutureEntry | None = None
        """The last element that waited to enter the queue: Flink has one field for it, however many elements wait."""
        self._waiting = 0
        self._restored: Sequence[StreamElement] = ()
        self._stored = StoredElements()
        self._is_emitting = False

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if not isinstance(ctx, LegacyOperatorContext):
            raise BadInput(f"operator {ctx.operator_name}: the legacy design needs a task with a checkpoint lock")
        self._threads = ctx.threads
        self._queue = _QUEUES[self._mode](self._capacity, self._threads.execute)
        self._facts = None if ctx.trace is None else AsyncTrace(ctx.trace, ctx.operator_index)

    # Life cycle.

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self.restore_elements(self._stored.initialize_state(context))

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        super().snapshot_state(context)
        self._stored.update(self.held_elements())

    def restore_elements(self, elements: Sequence[StreamElement]) -> None:
        """Keeps the restored elements, which are enqueued and called again when the operator is opened."""
        self._restored = tuple(elements)

    def held_elements(self) -> list[StreamElement]:
        """Returns all queued elements and the element that waits to enter the queue (rule 11.37)."""
        entries = self._queue.values()
        if self._pending is not None:
            entries.append(self._pending)
        return [_copied(entry.element) for entry in entries]

    @property
    def pending_elements_text(self) -> str:
        """Describes the elements without an answer, for the report of a blocked run."""
        pending = [
            entry for entry in self._queue.values() if isinstance(entry, FutureRecordEntry) and not entry.is_done
        ]
        return describe_pending(pending, len(self._queue), self._capacity)

    def open(self) -> None:
        """Enqueues all restored elements, then starts the emitter, so they must fit into the queue (rule 11.38)."""
        super().open()
        restored, self._restored = self._restored, ()
        for element in restored:
            if isinstance(element, StreamRecord):
                self._take(element.value, element.timestamp)
            else:
                self.process_watermark(element.timestamp)
        self._is_emitting = True
        self._threads.start_emitter(lambda: self._queue.has_completed_element, self._emit)

    def end_input(self) -> None:
        """Waits on the lock until the emitter has emptied the queue (rule 11.36). Flink: close."""
        self._threads.wait(lambda: len(self._queue) == 0 and self._waiting == 0, "its queue to be empty")

    def close(self) -> None:
        self._threads.stop()
        super().close()

    # Input elements, on the thread with the lock.

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._take(copy_value(value) if self.ctx.object_reuse else value, timestamp)

    def _take(self, value: Value, timestamp: int | None) -> None:
        """Calls the function for a record; the timeout starts before the element enters the queue (rule 11.31)."""
        entry = FutureRecordEntry(value, timestamp)
        future = LegacyResultFuture(self, entry)
        if self.timeout_ms > 0:
            times = self.ctx.processing_time
            due_ms = wrapped(times.current_processing_time_ms() + self.timeout_ms)
            timer = times.register_timer(due_ms, lambda _: future.time_out())
            entry.on_complete(timer.cancel, self._threads.execute)
        self._add(entry)
        future.is_queued()
        if self._facts is not None:
            self._facts.give(entry, value, AsyncAction.INVOKE, 1, len(self._queue))
        self._function.async_invoke(value, future)

    def process_watermark(self, timestamp: int) -> None:
        """Puts a watermark into the queue, where it uses one position; the emitter emits it."""
        self._add(DoneWatermarkEntry(timestamp))

    def _add(self, entry: FutureEntry) -> None:
        """Puts an element into the queue; waits while the queue is full. Flink: addAsyncBufferEntry."""
        self._pending = entry
        if self._queue.is_full:
            self._waiting += 1
            self._threads.wait(lambda: not self._queue.is_full, self._place)
            self._waiting -= 1
        entry.number = self._numbers
        self._numbers += 1
        self._queue.try_put(entry)
        self._pending = None
        if self._facts is not None:
            self._facts.put(entry, len(self._queue))

    @property
    def _place(self) -> str:
        until = "" if self._is_emitting else ", whose emitter starts only when all restored elements are in it"
        return f"a place in its queue of {self._capacity}{until}"

    # Output elements, on the emitter's thread, under the lock.

    def _emit(self) -> None:
        """Emits the first element, which stays in the queue until it was emitted (rule 11.32).

        An element with an error or invalid results fails the task, but is removed.
        """
        entry = self._queue.peek()
        try:
            if isinstance(entry, FutureRecordEntry):
                self._hand_on(entry.value, entry.timestamp, entry)
            else:
                entry.emit_result(self.output)
        except ElementFailed as error:
            self._threads.fail(error)
        self._queue.poll()
        if self._facts is not None:
            self._facts.emit(entry, len(self._queue))

    def _hand_on(self, value: Value, timestamp: int | None, entry: FutureRecordEntry) -> None:
        """Emits the results of a record."""
        if entry.error is not None:
            self._raise(value, timestamp, entry.error)
        try:
            checked_results(entry.results)
        except TypeError as error:
            entry.results = ()
            self._raise(value, timestamp, error)
        entry.emit_result(self.output)

    def _raise(self, value: Value, timestamp: int | None, error: BaseException) -> NoReturn:
        failed = ElementFailed(f"could not complete the element: {type(error).__name__}: {error}", timestamp)
        note_record(failed, self.ctx.operator_name, value, timestamp)
        raise failed from error

    def trace_step(self, entry: FutureRecordEntry, action: AsyncAction) -> None:
        """Records the step FAIL or TIMEOUT of an element."""
        if self._facts is not None and action is AsyncAction.FAIL:
            self._facts.fail(entry, len(self._queue))
        elif self._facts is not None:
            self._facts.give(entry, entry.value, action, 0, len(self._queue))

    def trace_completed(self, entry: FutureRecordEntry, results: Sequence[Value]) -> None:
        if self._facts is not None:
            self._facts.completed(entry, results, len(self._queue))


def _copied(element: StreamElement) -> StreamElement:
    return StreamRecord(copy_value(element.value), element.timestamp) if isinstance(element, StreamRecord) else element
