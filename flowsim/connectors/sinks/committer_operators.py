"""The operators that commit. Flink: CommitterOperator, GlobalCommitterOperator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from flowsim.connectors.sinks.committable_trace import CommitTrace, waiting_committables
from flowsim.connectors.sinks.committables.commit_request import Committer
from flowsim.connectors.sinks.committables.committable_collector import (
    CommittableCollector,
    StoredCommittables,
    stored_committables,
    stored_value,
)
from flowsim.connectors.sinks.committables.committable_message import CommittableMessage, message_of
from flowsim.connectors.sinks.committer_checkpoints import (
    DEFAULT_COMMITTER_RETRIES,
    CommitterCheckpoints,
    GlobalCommitterCheckpoints,
)
from flowsim.connectors.sinks.sink_writer_operator import CommittableRecords
from flowsim.operators.sink import InitContext
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import LatencyMarker

CreateCommitter = Callable[[InitContext], Committer[object]]

COMMITTER_STATE: Final = "streaming_committer_raw_states"


class Commits(Protocol):
    """The common methods of committers and global committers."""

    collector: CommittableCollector[object]

    def add_message(self, message: CommittableMessage[object]) -> None: ...

    def restore(self, states: Iterable[tuple[StoredCommittables[object], ...]], checkpoint_id: int) -> None: ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...


class CommitterOperator(StreamOperator):
    """Commits the committables of the writers before it (rules 12.31-12.34, 12.133). Flink: CommitterOperator.

    ``emits``: a global committer reads what was committed.
    """

    __slots__ = ("create_committer", "_committer", "_commits", "_state", "_emits", "_max_retries", "_trace")

    def __init__(
        self, create_committer: CreateCommitter, *, emits: bool = False, max_retries: int = DEFAULT_COMMITTER_RETRIES
    ) -> None:
        self.create_committer = create_committer
        self._committer: Committer[object] | None = None
        self._state: PartitionableListState | None = None
        self._emits = emits
        self._trace: CommitTrace | None = None
        self._max_retries = max_retries

    def initialize_state(self, context: StateInitializationContext) -> None:
        self._state = context.operator_state.get_list_state(COMMITTER_STATE)
        if context.restored_checkpoint_id is None:
            return
        self._begin(context.restored_checkpoint_id)
        try:
            for each in self._state.get():
                self._commits.collector.merge(CommittableCollector.restored(stored_committables(each)))
            if self._trace is not None:
                self._trace.restored()
            with self._traced():
                self._commits.restore((), context.restored_checkpoint_id)
        except BaseException:
            self.close()
            raise

    def open(self) -> None:
        if self._committer is None:
            self._begin(None)

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._commits.add_message(message_of(value))

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Reports the latency of a marker; latency markers end here (rule 8.20)."""
        self.report_latency(marker)

    def end_input(self) -> None:
        if isinstance(self._commits, CommitterCheckpoints):
            with self._traced():
                is_enabled = self.ctx.is_checkpointing_enabled
                self._commits.end_input(is_batch_mode=self.ctx.is_batch, is_checkpointing_enabled=is_enabled)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        if self._state is not None:
            self._state.update([stored_value(self._commits.collector.snapshot())])

    def committables_in(self, element: object) -> Iterator[int]:
        """Yields the numbers of the committables that an element of the operator's state still has to commit."""
        return waiting_committables(stored_committables(element))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        with self._traced():
            self._commits.notify_checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        if self._committer is not None:
            committer, self._committer = self._committer, None
            committer.close()

    def _begin(self, restored_checkpoint_id: int | None) -> None:
        committer = self.create_committer(InitContext.of(self.ctx, restored_checkpoint_id))
        self._committer = committer
        self._commits: Commits = self._commits_of(committer)
        trace = self.ctx.trace
        if trace is not None and isinstance(self._commits, CommitterCheckpoints):
            self._trace = CommitTrace(trace.checkpoints, self.ctx.operator_index, self._commits.collector)

    def _traced(self) -> AbstractContextManager[None]:
        return nullcontext() if self._trace is None else self._trace.commits()

    def _commits_of(self, committer: Committer[object]) -> Commits:
        ctx = self.ctx
        output = CommittableRecords(self.output) if self._emits else None
        return CommitterCheckpoints(committer, ctx.subtask_index, ctx.parallelism, output, self._max_retries)


class GlobalCommitterOperator(CommitterOperator):
    """Commits for all writers, in one subtask after the committers (rule 12.136). Flink: GlobalCommitterOperator."""

    __slots__ = ()

    def committables_in(self, element: object) -> Iterator[int]:
        """Yields nothing: the steps of these committables are not recorded."""
        return iter(())

    def _commits_of(self, committer: Committer[object]) -> Commits:
        return GlobalCommitterCheckpoints(committer, commits_on_input=True, max_retries=self._max_retries)
