"""When committers commit. Flink: CommitterOperator, GlobalCommitterOperator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from flowsim.connectors.sinks.committables.checkpoint_committable_manager import CheckpointCommittableManager
from flowsim.connectors.sinks.committables.commit_request import Committer
from flowsim.connectors.sinks.committables.committable_collector import CommittableCollector, StoredCommittables
from flowsim.connectors.sinks.committables.committable_message import (
    END_OF_INPUT,
    CommittableMessage,
    CommittableSummary,
    CommittableWithLineage,
)
from flowsim.connectors.sinks.sink_writer_checkpoints import CommittableOutput

C = TypeVar("C")

DEFAULT_COMMITTER_RETRIES: Final = 10
"""Further calls for committables to retry. Flink: sink.committer.retries."""


class CommitterCheckpoints(Generic[C]):
    """Collects committables, and commits them when their checkpoint completes (rules 12.31, 12.133).

    ``output``: the consumer of what is committed, if there is one. Flink: CommitterOperator.
    """

    __slots__ = (
        "collector",
        "last_completed_checkpoint_id",
        "_committer",
        "_max_retries",
        "_output",
        "_subtask",
        "_parallelism",
    )

    def __init__(
        self,
        committer: Committer[C],
        subtask: int,
        parallelism: int,
        output: CommittableOutput[C] | None = None,
        max_retries: int = DEFAULT_COMMITTER_RETRIES,
    ) -> None:
        self.collector: CommittableCollector[C] = CommittableCollector()
        self.last_completed_checkpoint_id = 0
        self._committer = committer
        self._max_retries = max_retries
        self._output = output
        self._subtask = subtask
        self._parallelism = parallelism

    def add_message(self, message: CommittableMessage[C]) -> None:
        """Adds a message of a writer (rule 12.33)."""
        self.collector.add_message(message)

    def snapshot_state(self) -> tuple[StoredCommittables[C], ...]:
        """Returns the one element of the committer's list state (rule 12.133)."""
        return self.collector.snapshot()

    def restore(self, states: Iterable[tuple[StoredCommittables[C], ...]], checkpoint_id: int) -> None:
        """Merges the states of old committers, and commits everything up to the restored checkpoint (rule 12.133)."""
        for state in states:
            self.collector.merge(CommittableCollector.restored(state))
        self._commit_up_to(checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commits all checkpoints up to the highest completed one. Raises CommitFailed (rule 12.31)."""
        self._commit_up_to(max(self.last_completed_checkpoint_id, checkpoint_id))

    def end_input(self, *, is_batch_mode: bool, is_checkpointing_enabled: bool) -> None:
        """Commits everything if no checkpoint will do so (rule 12.32)."""
        if is_batch_mode or not is_checkpointing_enabled:
            self._commit_up_to(END_OF_INPUT)

    def _commit_up_to(self, checkpoint_id: int) -> None:
        self.last_completed_checkpoint_id = checkpoint_id
        for manager in self.collector.checkpoint_committables_up_to(checkpoint_id):
            manager.commit(self._committer, self._max_retries)
            if self._output is not None:
                self._emit(manager, self._output)
            self.collector.remove(manager)

    def _emit(self, manager: CheckpointCommittableManager[C], output: CommittableOutput[C]) -> None:
        """Sends what was committed, with a summary as a writer would send it."""
        committed = manager.successful_committables
        subtasks = min(self._parallelism, manager.number_of_subtasks)
        output.emit(CommittableSummary(self._subtask, subtasks, manager.checkpoint_id, len(committed)))
        for committable in committed:
            output.emit(CommittableWithLineage(committable, manager.checkpoint_id, self._subtask))


class GlobalCommitterCheckpoints(Generic[C]):
    """Commits for all writers of a sink, in one subtask (rule 12.136). Flink: GlobalCommitterOperator.

    ``commits_on_input``: a committer before it has waited for the checkpoint.
    """

    __slots__ = ("collector", "last_completed_checkpoint_id", "_committer", "_commits_on_input", "_max_retries")

    def __init__(
        self, committer: Committer[C], *, commits_on_input: bool, max_retries: int = DEFAULT_COMMITTER_RETRIES
    ) -> None:
        self.collector: CommittableCollector[C] = CommittableCollector()
        self.last_completed_checkpoint_id = -1
        self._committer = committer
        self._commits_on_input = commits_on_input
        self._max_retries = max_retries

    def add_message(self, message: CommittableMessage[C]) -> None:
        self.collector.add_message(message)
        if self._commits_on_input:
            self._commit(message.checkpoint_id)

    def restore(self, states: Iterable[tuple[StoredCommittables[C], ...]], checkpoint_id: int) -> None:
        """Merges the restored states, and commits what is complete up to the restored checkpoint."""
        for state in states:
            self.collector.merge(CommittableCollector.restored(state))
        self._commit(checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if not self._commits_on_input:
            self._commit(checkpoint_id)

    def _commit(self, checkpoint_id: int) -> None:
        """Commits in the order of ids up to the first checkpoint that is not complete."""
        self.last_completed_checkpoint_id = max(self.last_completed_checkpoint_id, checkpoint_id)
        for manager in self.collector.checkpoint_committables_up_to(self.last_completed_checkpoint_id):
            if not manager.has_globally_received_all:
                return
            manager.commit(self._committer, self._max_retries)
            self.collector.remove(manager)
