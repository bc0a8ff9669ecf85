"""The operator of a sink function with transactions (rule 12.137). Flink: StreamSink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from flowsim.errors import BadInput
from flowsim.legacy.recorded_transactions import RecordedTransactions, number_of
from flowsim.legacy.two_phase_commit_sink import Transactions, TwoPhaseCommitSinkFunction
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.operators.user_functions import FunctionLife
from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import LatencyMarker
from flowsim.streamrecord.output import Output

_STATE: Final = "state"


class StreamSink(StreamOperator):
    """Passes records to a sink function. Flink: StreamSink."""

    __slots__ = ("function", "_create", "_life", "_transactions", "_invoke", "_state", "_recorded", "_has_begun")

    def __init__(
        self,
        function: TwoPhaseCommitSinkFunction[Value],
        create_transactions: Callable[[TwoPhaseCommitSinkFunction[Value]], Transactions[Value]] = Transactions,
    ) -> None:
        self.function = function
        self._create = create_transactions
        self._state: PartitionableListState | None = None
        self._has_begun = False

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        function, self._recorded = self.function, None
        if ctx.trace is not None:
            function = self._recorded = RecordedTransactions(function, ctx.trace.checkpoints, ctx.operator_index)
        self._life = FunctionLife(function)
        self._transactions = self._create(function)
        self._invoke: Callable[[Value, Value, int | None], None] = function.invoke

    def initialize_state(self, context: StateInitializationContext) -> None:
        self._state = context.operator_state.get_list_state(_STATE)
        self._begin(self._state.get() if context.is_restored else (), context.restored_checkpoint_id)

    def open(self) -> None:
        if not self._has_begun:
            self._begin((), None)

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._invoke(self._transactions.current, value, timestamp)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Reports the latency of a marker; latency markers end at a sink (rule 8.20)."""
        self.report_latency(marker)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        if self._state is not None:
            if self._recorded is not None:
                self._recorded.on_snapshot(context.checkpoint_id)
            self._state.update([self._transactions.snapshot(context.checkpoint_id)])

    def committables_in(self, element: object) -> Iterator[int]:
        """Yields the numbers of the transactions that an element of the operator's state still has to commit."""
        match element:
            case (_, [*pending]):
                yield from map(number_of, pending)

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

    def _begin(self, restored: tuple[object, ...], checkpoint_id: int | None) -> None:
        self._life.open(RuntimeContext(self.ctx, None))
        try:
            for state in restored:
                match state:
                    case (current, [*pending]):
                        if self._recorded is not None and checkpoint_id is not None:
                            self._recorded.on_restore(current, pending, checkpoint_id)
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
