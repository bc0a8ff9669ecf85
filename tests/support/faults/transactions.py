"""Faults of sink functions with transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.legacy.two_phase_commit_sink import Transactions, TwoPhaseCommitSinkFunction
from flowsim.operators.stream_operator import Value


class RepeatedTransactions(Transactions[Value]):
    """Commits each transaction twice."""

    __slots__ = ()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        again = [each for pending, each in self.pending.items() if pending <= checkpoint_id]
        super().notify_checkpoint_complete(checkpoint_id)
        for transaction in again:
            self._function.commit(transaction)


class UncommittedTransactions(Transactions[Value]):
    """Commits nothing when it is notified."""

    __slots__ = ()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for pending in [each for each in self.pending if each <= checkpoint_id]:
            del self.pending[pending]


class AbortedTransactions(Transactions[Value]):
    """Also aborts the transactions that wait for their checkpoint."""

    __slots__ = ()

    def abort_current(self) -> None:
        super().abort_current()
        for transaction in self.pending.values():
            self._function.abort(transaction)


class UnrecoveredTransactions(Transactions[Value]):
    """Commits no restored transaction."""

    __slots__ = ()

    def restore(self, current: Value | None, pending: list[Value]) -> None:
        super().restore(current, [])


FAULTY_TRANSACTIONS: Final[dict[str, Callable[[TwoPhaseCommitSinkFunction[Value]], Transactions[Value]]]] = {
    "transaction_committed_twice": RepeatedTransactions,
    "transaction_not_committed": UncommittedTransactions,
    "transaction_aborted_at_close": AbortedTransactions,
    "transaction_not_recovered": UnrecoveredTransactions,
}
