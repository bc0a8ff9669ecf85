"""Functions with a transaction per checkpoint, before Sink V2 (rule 12.137). Flink: TwoPhaseCommitSinkFunction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from flowsim.errors import FlowsimError
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value

T = TypeVar("T")
"""A transaction: a value of the closed set that identifies it, because it is stored in checkpoints."""


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
