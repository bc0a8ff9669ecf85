"""The splits that readers may lose with a failure. Flink: SplitAssignmentTracker (rules 12.108, 12.112, 12.113)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

Split = TypeVar("Split")

Assignment = dict[int, list[Split]]
"""The splits of each subtask in the order of their assignment; a subtask without splits is left out."""


class SplitAssignmentTracker(Generic[Split]):
    """Remembers each assigned split until a completed checkpoint contains its assignment.

    Flink: SplitAssignmentTracker.
    """

    __slots__ = ("_by_checkpoint", "_uncheckpointed")

    def __init__(self) -> None:
        self._by_checkpoint: dict[int, Assignment[Split]] = {}
        self._uncheckpointed: Assignment[Split] = {}

    @property
    def assignments_by_checkpoint_id(self) -> Mapping[int, Assignment[Split]]:
        """The assignments since the checkpoint before, by the id of each incomplete checkpoint."""
        return self._by_checkpoint

    @property
    def uncheckpointed_assignments(self) -> Mapping[int, list[Split]]:
        """The assignments since the last checkpoint."""
        return self._uncheckpointed

    def record_split_assignment(self, assignment: Mapping[int, Iterable[Split]]) -> None:
        """Records splits that the enumerator gave to subtasks."""
        for subtask, splits in assignment.items():
            self._uncheckpointed.setdefault(subtask, []).extend(splits)

    def on_checkpoint(self, checkpoint_id: int) -> None:
        """Starts a new period: the assignments so far belong to the checkpoint."""
        self._by_checkpoint[checkpoint_id] = self._uncheckpointed
        self._uncheckpointed = {}

    def on_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Forgets the assignments up to the checkpoint: the readers restore these splits from it (rule 12.113)."""
        self._by_checkpoint = {id_: splits for id_, splits in self._by_checkpoint.items() if id_ > checkpoint_id}

    def get_and_remove_uncheckpointed_assignment(self, subtask: int, restored_checkpoint_id: int) -> list[Split]:
        """Returns the splits that the subtask got after the checkpoint that it is restored from (rule 12.112)."""
        splits: list[Split] = []
        # In the order of assignment: a reader reads its splits in that order (rule 12.112).
        for checkpoint_id in sorted(self._by_checkpoint):
            if checkpoint_id > restored_checkpoint_id:
                splits += self._by_checkpoint[checkpoint_id].pop(subtask, [])
        return splits + self._uncheckpointed.pop(subtask, [])
