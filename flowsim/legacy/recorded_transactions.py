"""A sink function whose calls are recorded (table ``committables``)."""

from __future__ import annotations

from flowsim.facts.checkpoint_trace import CheckpointTrace
from flowsim.facts.kinds import CommittableAction
from flowsim.legacy.two_phase_commit_sink import TwoPhaseCommitSinkFunction
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped


def number_of(transaction: Value) -> int:
    """Returns the number that identifies a transaction, which another subtask may commit after a restore."""
    return fingerprint(None, transaction)


class RecordedTransactions(TwoPhaseCommitSinkFunction[Value]):
    """Passes each call to the function of one subtask, and records what becomes of its transactions.

    A transaction is recognized by its object, since values of different transactions may be equal.
    """

    def __init__(self, function: TwoPhaseCommitSinkFunction[Value], trace: CheckpointTrace, operator: int) -> None:
        self._function = function
        self._trace = trace
        self._operator = operator
        self._checkpoint = -1
        self._open: list[Value] = []
        """Transactions that were not pre-committed."""
        self._waiting: list[tuple[Value, int, int]] = []
        """Those that wait to be committed, each with its checkpoint and its number."""
        self._rows = 0
        self._sum = 0

    def on_restore(self, current: Value, pending: list[Value], checkpoint_id: int) -> None:
        """Called with each restored state, before its transactions are committed and aborted."""
        if current is not None:
            self._open.append(current)
        for transaction in pending:
            number = self._wait(transaction, checkpoint_id)
            self._record(CommittableAction.RESTORED, checkpoint_id, number)

    def on_snapshot(self, checkpoint_id: int) -> None:
        """Called before the current transaction is pre-committed."""
        self._checkpoint = checkpoint_id

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def begin_transaction(self) -> Value:
        transaction = self._function.begin_transaction()
        self._open.append(transaction)
        return transaction

    def invoke(self, transaction: Value, value: Value, timestamp: int | None) -> None:
        self._rows += 1
        self._sum += fingerprint(None, value)
        self._function.invoke(transaction, value, timestamp)

    def pre_commit(self, transaction: Value) -> None:
        self._function.pre_commit(transaction)
        self._close(transaction)
        number = self._wait(transaction, self._checkpoint)
        rows, total, self._rows, self._sum = self._rows, wrapped(self._sum % 2**64), 0, 0
        self._record(CommittableAction.PREPARED, self._checkpoint, number, rows, total)

    def commit(self, transaction: Value) -> None:
        self._function.commit(transaction)
        self._committed(transaction)

    def recover_and_commit(self, transaction: Value) -> None:
        self._function.recover_and_commit(transaction)
        self._committed(transaction)

    def abort(self, transaction: Value) -> None:
        self._aborted(transaction)
        self._function.abort(transaction)

    def recover_and_abort(self, transaction: Value) -> None:
        self._aborted(transaction)
        self._function.recover_and_abort(transaction)

    def finish_processing(self, transaction: Value | None) -> None:
        self._function.finish_processing(transaction)

    def close(self) -> None:
        self._function.close()

    def _committed(self, transaction: Value) -> None:
        waited = self._end(transaction)
        checkpoint_id, number = (self._checkpoint, number_of(transaction)) if waited is None else waited
        self._record(CommittableAction.COMMITTED, checkpoint_id, number)

    def _aborted(self, transaction: Value) -> None:
        """Only the abort of a transaction that waits is recorded: the current one belongs to no checkpoint."""
        waited = None if self._close(transaction) else self._end(transaction)
        if waited is not None:
            self._record(CommittableAction.ABORTED, *waited)

    def _wait(self, transaction: Value, checkpoint_id: int) -> int:
        # A user's transaction may be mutable: its number is computed once.
        number = number_of(transaction)
        self._waiting.append((transaction, checkpoint_id, number))
        return number

    def _end(self, transaction: Value) -> tuple[int, int] | None:
        """Returns checkpoint and number of a transaction that waited; None for another one."""
        for place, (waiting, checkpoint_id, number) in enumerate(self._waiting):
            if waiting is transaction:
                del self._waiting[place]
                return checkpoint_id, number
        return None

    def _close(self, transaction: Value) -> bool:
        for place, each in enumerate(self._open):
            if each is transaction:
                del self._open[place]
                return True
        return False

    def _record(
        self, action: CommittableAction, checkpoint_id: int, number: int, rows: int = 0, total: int = 0
    ) -> None:
        self._trace.committable(self._operator, checkpoint_id, action, number, rows, total)
