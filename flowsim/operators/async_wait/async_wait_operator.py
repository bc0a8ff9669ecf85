"""Calls an asynchronous function for every record, with bounded concurrency. Flink: AsyncWaitOperator (section 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal, NoReturn

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput, ElementFailed
from flowsim.facts.kinds import AsyncAction, SystemTimer
from flowsim.failure_location import OperatorCall, note_record
from flowsim.mailbox.mail import MailFuture
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.operators.async_wait.async_observer import AsyncTrace, RecordedTimer
from flowsim.operators.async_wait.result_future import AsyncFunction, ResultFuture
from flowsim.operators.async_wait.result_handler import ResultHandler, RetryableResultHandlerDelegator
from flowsim.operators.async_wait.retry_strategies import NO_RETRY_STRATEGY, AsyncRetryStrategy
from flowsim.operators.async_wait.stored_elements import StoredElements
from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    QueueEntry,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
    checked_capacity,
    describe_pending,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.operators.user_functions import FunctionOperator
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import StreamElement, StreamRecord
from flowsim.streamrecord.output import Output
from flowsim.timers.processing_time_service import TimerHandle
from flowsim.values.closed_set import copy_value
from flowsim.values.java_long import wrapped

OutputMode = Literal["ordered", "unordered"]

_QUEUES: Final[dict[str, Callable[[int], StreamElementQueue]]] = {
    "ordered": OrderedStreamElementQueue,
    "unordered": UnorderedStreamElementQueue,
}


@mypyc_attr(allow_interpreted_subclasses=True)
class AsyncWaitOperator(FunctionOperator):
    """Keeps records in a queue until their results arrive. Flink: AsyncWaitOperator.

    While the queue is full the operator yields inside the element: the task reads no input, the operators before it in
    the chain do not run, and only mails of the operator's priority or above run (rules 3.21, 11.1). ``timeout_ms`` 0
    means no timeout. Raises BadInput for a retry strategy without a timeout, as Flink asserts (rule 11.24).
    """

    __slots__ = (
        "timeout_ms",
        "retry_strategy",
        "awaiting_retry",
        "retries_are_over",
        "function",
        "capacity",
        "mode",
        "queue",
        "_facts",
        "_numbers",
        "_retries",
        "_retry_result",
        "_retry_exception",
        "_restored",
        "_stored",
    )

    _facts: AsyncTrace | None

    def __init__(
        self,
        function: AsyncFunction,
        timeout_ms: int,
        capacity: int,
        mode: OutputMode,
        retry_strategy: AsyncRetryStrategy = NO_RETRY_STRATEGY,
    ) -> None:
        super().__init__(function)
        if mode not in _QUEUES:
            raise BadInput(f"the mode of an async operator must be ordered or unordered, got {mode!r}")
        self.function = function
        self.capacity = checked_capacity(capacity)
        self.mode = mode
        self.queue = _QUEUES[mode](capacity)
        self.timeout_ms = timeout_ms
        self.retry_strategy = retry_strategy
        predicate = retry_strategy.get_retry_predicate()
        # What user code returns is an object here: compiled code would check the declared type.
        self._retry_result: Callable[[Sequence[Value]], object] | None = predicate.result_predicate()
        self._retry_exception: Callable[[BaseException], object] | None = predicate.exception_predicate()
        self._retries = retry_strategy is not NO_RETRY_STRATEGY and (
            self._retry_result is not None or self._retry_exception is not None
        )
        if self._retries and timeout_ms <= 0:
            raise BadInput("an async operator that retries needs a timeout above 0 (rule 11.24)")
        self.awaiting_retry: dict[int, RetryableResultHandlerDelegator] = {}
        """Handlers with a pending retry, by the number of their element (rules 11.24, 11.28)."""
        self.retries_are_over = False
        """True after the end of input (rule 11.27)."""
        self._numbers = 0
        self._restored: Sequence[StreamElement] = ()
        self._stored = StoredElements()

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._facts = None if ctx.trace is None else AsyncTrace(ctx.trace, ctx.operator_index)

    # Life cycle.

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self.restore_elements(self._stored.initialize_state(context))

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        super().snapshot_state(context)
        self._stored.update(self.held_elements())

    def restore_elements(self, elements: Sequence[StreamElement]) -> None:
        """Keeps the restored elements, which are enqueued and called again when the operator is opened (rule 11.22)."""
        self._restored = tuple(elements)

    def held_elements(self) -> list[StreamElement]:
        """Returns all queued elements, completed or not (rule 11.20)."""
        return [
            StreamRecord(copy_value(element.value), element.timestamp) if isinstance(element, StreamRecord) else element
            for element in self.queue.values()
        ]

    @property
    def pending_elements_text(self) -> str:
        """Describes the elements without an answer, for the report of a blocked run (rule 11.17)."""
        return describe_pending(self.queue.pending, len(self.queue), self.capacity)

    def open(self) -> None:
        super().open()
        restored, self._restored = self._restored, ()
        for element in restored:
            if isinstance(element, StreamRecord):
                self.take(element.value, element.timestamp)
            else:
                self.process_watermark(element.timestamp)

    def end_input(self) -> None:
        """Runs pending retries now, and waits until all elements have left the queue (rule 11.19)."""
        self.finish_delayed_retries()
        while len(self.queue) > 0:
            self.ctx.mailbox_executor.yield_()

    def finish_delayed_retries(self) -> None:
        """Runs pending retries now (rule 11.27).

        An element that timed out before its first retry is called once more without effect (rule 11.28).
        """
        if not self._retries:
            return
        self.retries_are_over = True
        for handler in list(self.awaiting_retry.values()):
            handler.cancel_retry_timer()
            handler.try_once()
        self.awaiting_retry.clear()

    # Input elements.

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self.take(copy_value(value) if self.ctx.object_reuse else value, timestamp)

    def take(self, value: Value, timestamp: int | None) -> None:
        entry = StreamRecordQueueEntry(self._next_number(), value, timestamp)
        self._add_to_work_queue(entry)
        handler: ResultHandler | RetryableResultHandlerDelegator
        handler = RetryableResultHandlerDelegator(self, entry) if self._retries else ResultHandler(self, entry)
        if self.timeout_ms > 0:
            handler.register_timeout(self.timeout_ms)
        self.invoke(entry, handler, 1)

    def process_watermark(self, timestamp: int) -> None:
        """Puts a watermark into the queue: it uses one position and is emitted in order (rule 11.2)."""
        self._add_to_work_queue(WatermarkQueueEntry(self._next_number(), timestamp))
        self._output_completed_element()

    def _next_number(self) -> int:
        number = self._numbers
        self._numbers = number + 1
        return number

    def _add_to_work_queue(self, entry: QueueEntry) -> None:
        while not self.queue.try_put(entry):
            self.ctx.mailbox_executor.yield_()
        if self._facts is not None:
            self._facts.put(entry, len(self.queue))

    # Calls from the result handlers.

    def invoke(self, entry: StreamRecordQueueEntry, future: ResultFuture, attempt: int) -> None:
        """Calls the function; ``attempt`` counts from 1."""
        self.trace_given(entry, AsyncAction.INVOKE, attempt)
        self._call(self.function.async_invoke, entry.value, entry.timestamp, future)

    def time_out(self, entry: StreamRecordQueueEntry, future: ResultFuture) -> None:
        """Calls the function's ``timeout`` for an element (rule 11.17)."""
        entry.timed_out = True
        self.trace_given(entry, AsyncAction.TIMEOUT, 0)
        self._call(self.function.timeout, entry.value, entry.timestamp, future)

    # Methods that call user code note the record on an error: they are called from mails, too.

    def _call(
        self, method: Callable[[Value, ResultFuture], None], value: Value, timestamp: int | None, future: ResultFuture
    ) -> None:
        try:
            method(value, future)
        except BaseException as error:
            note_record(error, self.ctx.operator_name, value, timestamp)
            raise

    def supplied(self, value: Value, timestamp: int | None, supplier: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """Computes the results of this record with a supplier, now and in the task."""
        with self._call_for(value, timestamp):
            return supplier()

    def wants_retry(
        self, value: Value, timestamp: int | None, results: Sequence[Value] | None, error: BaseException | None
    ) -> bool:
        """Returns True if the predicates request a retry after this outcome."""
        with self._call_for(value, timestamp):
            if results is not None:
                return self._retry_result is not None and bool(self._retry_result(results))
            return error is not None and self._retry_exception is not None and bool(self._retry_exception(error))

    def may_retry(self, value: Value, timestamp: int | None, attempts: int) -> bool:
        """Returns True if the strategy allows another call after ``attempts``."""
        can_retry: Callable[[int], object] = self.retry_strategy.can_retry
        with self._call_for(value, timestamp):
            return bool(can_retry(attempts))

    def pause_ms(self, value: Value, timestamp: int | None, attempts: int) -> int:
        """Returns the strategy's pause before the next call. Raises BadInput if it is not a whole number."""
        backoff_time_millis: Callable[[int], object] = self.retry_strategy.get_backoff_time_millis
        with self._call_for(value, timestamp):
            pause = backoff_time_millis(attempts)
            if type(pause) is not int:
                name = type(self.retry_strategy).__name__
                raise BadInput(f"get_backoff_time_millis of {name} must return whole milliseconds, got {pause!r:.100}")
            return pause

    def await_retry(self, handler: RetryableResultHandlerDelegator) -> None:
        self.awaiting_retry[handler.entry.number] = handler

    def end_retry(self, entry: StreamRecordQueueEntry) -> None:
        self.awaiting_retry.pop(entry.number, None)

    def complete_entry(self, entry: StreamRecordQueueEntry, results: Sequence[Value]) -> None:
        try:
            self.queue.complete(entry, results)
        except TypeError as error:
            self._raise(entry.value, entry.timestamp, error)
        self._output_completed_element()

    def execute(self, command: Callable[[], None], description: str) -> None:
        """Enqueues a mail of the operator; raises MailboxClosedException if the mailbox is closed (rule 11.16)."""
        self.ctx.mailbox_executor.execute(command, description)

    def submit(self, command: Callable[[], None], description: str) -> None:
        """Enqueues a mail as ``execute`` does, but loses errors, such as the rejection by a closing mailbox."""
        self.execute(MailFuture(command), description)

    def register_timer(
        self, entry: StreamRecordQueueEntry, kind: SystemTimer, delay_ms: int, callback: Callable[[], None]
    ) -> TimerHandle:
        """Registers a timer. A very long delay overflows to the past, as in Flink, and fires at once."""
        times, timestamp_ms = self.ctx.processing_time, wrapped(self.now_ms() + delay_ms)
        trace = None if self.ctx.trace is None else self.ctx.trace.full
        if trace is None:
            return times.register_timer(timestamp_ms, lambda _: callback())
        timer = RecordedTimer(trace, self.ctx.operator_index, kind, entry.number, timestamp_ms, callback)
        return timer.register(times)

    def now_ms(self) -> int:
        return self.ctx.processing_time.current_processing_time_ms()

    def fail_externally(self, entry: StreamRecordQueueEntry, error: BaseException) -> None:
        """Fails the task at once at this element (rule 11.15)."""

        def fail() -> None:
            self._raise(entry.value, entry.timestamp, error)

        if self.ctx.fail_externally is None:
            fail()
        else:
            self.ctx.fail_externally(fail)

    def _raise(self, value: Value, timestamp: int | None, error: BaseException) -> NoReturn:
        failed = ElementFailed(f"could not complete the element: {type(error).__name__}: {error}", timestamp)
        note_record(failed, self.ctx.operator_name, value, timestamp)
        failed.__cause__ = error  # mypyc does not compile `from`.
        raise failed

    def _call_for(self, value: Value, timestamp: int | None) -> OperatorCall:
        return OperatorCall(self.ctx.operator_name, (value, timestamp))

    def trace_given(self, entry: StreamRecordQueueEntry, action: AsyncAction, attempt: int) -> None:
        """Records that the function is called with the record, now or in a retry."""
        if self._facts is not None:
            self._facts.give(entry, entry.value, action, attempt, len(self.queue))

    def trace_failed(self, entry: StreamRecordQueueEntry) -> None:
        if self._facts is not None:
            self._facts.fail(entry, len(self.queue))

    def trace_completed(self, entry: StreamRecordQueueEntry, results: Sequence[Value] | None) -> None:
        """Records the results of an element; None means that the task computes them later."""
        if self._facts is not None:
            self._facts.completed(entry, results, len(self.queue))

    def _output_completed_element(self) -> None:
        """Emits exactly one completed element; another mail emits the next element (rule 11.13)."""
        queue = self.queue
        if not queue.has_completed_elements:
            return
        entry = queue.emit_completed_element(self.output)
        if self._facts is not None and entry is not None:
            self._facts.emit(entry, len(queue))
        if queue.has_completed_elements:
            with suppress(MailboxClosedException):
                self.execute(self._output_completed_element, "AsyncWaitOperator#outputCompletedElement")
