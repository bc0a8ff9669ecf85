"""Sinks with a transaction per checkpoint, before Sink V2 (rule 12.137). Flink: TwoPhaseCommitSinkFunction, StreamSink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from flowsim.errors import BadInput, FlowsimError
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.operators.user_functions import FunctionLife
from flowsim.state.snapshots.snapshot_contexts import (
    OperatorListState,
    StateInitializationContext,
    StateSnapshotContext,
)
from flowsim.streamrecord.elements import LatencyMarker

T = TypeVar("T")
"""A transaction: a value of the closed set that identifies it, because it is stored in checkpoints."""

_STATE: Final = "state"


class CommitOfTransactionFailed(FlowsimError):
    """A transaction of a completed checkpoint could not be committed; the task fails."""


class TwoPhaseCommitSinkFunction(ABC, Generic[T]):
    """Writes the records between two checkpoints in one transaction. Flink: TwoPhaseCommitSinkFunction.

    Without checkpoints no transaction is committed, as in Flink.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first transaction begins."""

    @abstractmethod
    def begin_transaction(self) -> T:
        """Begins a transaction, and returns it."""

    @abstractmethod
    def invoke(self, transaction: T, value: Value, timestamp: int | None) -> None:
        """Writes a record in the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: T) -> None:
        """Persists the transaction: it can be committed after a failure. Called when its checkpoint is taken."""

    @abstractmethod
    def commit(self, transaction: T) -> None:
        """Makes the records visible. Called when the checkpoint is complete; the task fails if this raises."""

    @abstractmethod
    def abort(self, transaction: T) -> None:
        """Discards a transaction that was not committed."""

    def recover_and_commit(self, transaction: T) -> None:
        """Commits a restored transaction, unless an earlier attempt did: a commit may be repeated."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: T) -> None:
        """Discards a restored transaction that had no checkpoint."""
        self.abort(transaction)

    def finish_processing(self, transaction: T | None) -> None:
        """Called at the end of the input with the current transaction."""

    def close(self) -> None:
        """Called once, also after a failure."""


class Transactions(Generic[T]):
    """The transactions of one subtask: the current one, and those that wait for their checkpoint (rule 12.137)."""

    __slots__ = ("current", "pending", "is_finished", "_function")

    def __init__(self, function: TwoPhaseCommitSinkFunction[T]) -> None:
        self.current: T | None = None
        self.pending: dict[int, T] = {}
        """By the checkpoint of which each is a part, in the order of snapshots."""
        self.is_finished = False
        self._function = function

    def begin(self) -> None:
        self.current = self._function.begin_transaction()

    def restore(self, current: T | None, pending: list[T]) -> None:
        """Commits the pending transactions of one old subtask, and aborts its current one."""
        for transaction in pending:
            self._function.recover_and_commit(transaction)
        if current is not None:
            self._function.recover_and_abort(current)

    def snapshot(self, checkpoint_id: int) -> tuple[T | None, list[T]]:
        """Persists the current transaction, and begins the next one unless the input has ended; returns the state."""
        if self.current is not None:
            self._function.pre_commit(self.current)
            self.pending[checkpoint_id] = self.current
        self.current = None if self.is_finished else self._function.begin_transaction()
        return self.current, list(self.pending.values())

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commits all transactions up to the checkpoint. Raises CommitOfTransactionFailed after all were tried."""
        first: Exception | None = None
        for pending in [each for each in self.pending if each <= checkpoint_id]:
            try:
                self._function.commit(self.pending.pop(pending))
            except Exception as error:
                first = first or error
        if first is not None:
            raise CommitOfTransactionFailed(
                f"Committing one of transactions failed, logging first encountered failure: {first}"
            ) from first

    def finish(self) -> None:
        self.is_finished = True
        self._function.finish_processing(self.current)

    def abort_current(self) -> None:
        if self.current is not None:
            current, self.current = self.current, None
            self._function.abort(current)


class StreamSink(StreamOperator):
    """Passes records to a sink function. Flink: StreamSink."""

    __slots__ = ("_function", "_life", "_transactions", "_invoke", "_state", "_has_begun")

    def __init__(self, function: TwoPhaseCommitSinkFunction[Value]) -> None:
        self._function = function
        self._life = FunctionLife(function)
        self._transactions: Transactions[Value] = Transactions(function)
        self._invoke: Callable[[Value, Value, int | None], None] = function.invoke
        self._state: OperatorListState | None = None
        self._has_begun = False

    def initialize_state(self, context: StateInitializationContext) -> None:
        self._state = context.operator_state.get_list_state(_STATE)
        restored = self._state.get() if context.is_restored else ()
        self._begin(restored)

    def open(self) -> None:
        if not self._has_begun:
            self._begin(())

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._invoke(self._transactions.current, value, timestamp)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Reports the latency of a marker; latency markers end at a sink (rule 8.20)."""
        self.report_latency(marker)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        if self._state is not None:
            self._state.update([self._transactions.snapshot(context.checkpoint_id)])

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._transactions.notify_checkpoint_complete(checkpoint_id)

    def finish(self) -> None:
        self._transactions.finish()

    def close(self) -> None:
        try:
            if self._has_begun:
                self._has_begun = False
                self._transactions.abort_current()
        finally:
            self._life.close()

    def _begin(self, restored: tuple[object, ...]) -> None:
        self._life.open(RuntimeContext(self.ctx, None))
        try:
            for state in restored:
                match state:
                    case (current, [*pending]):
                        self._transactions.restore(current, pending)
                    case _:
                        raise BadInput(
                            f"sink {self.ctx.operator_name}: expected the state of a TwoPhaseCommitSinkFunction, got "
                            f"{state!r:.100}: restore the sink of the checkpoint, or give this one another uid"
                        )
            self._transactions.begin()
        except BaseException:
            self._life.close()
            raise
        self._has_begun = True
