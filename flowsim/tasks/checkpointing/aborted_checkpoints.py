"""The checkpoints that a task does not take, because they were aborted before its barriers came (rule 12.64)."""

from __future__ import annotations


class AbortedCheckpoints:
    """At most ``capacity`` ids in the order of their abort notifications, and the highest one ever added.

    Flink: SubtaskCheckpointCoordinatorImpl.
    """

    __slots__ = ("_capacity", "_ids", "_highest")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ids: dict[int, None] = {}
        self._highest = 0

    def add(self, checkpoint_id: int) -> None:
        """Adds an id; the oldest one leaves a full memory."""
        self._ids.setdefault(checkpoint_id)
        if len(self._ids) > self._capacity:
            del self._ids[next(iter(self._ids))]
        self._highest = max(self._highest, checkpoint_id)

    def check_and_clear(self, checkpoint_id: int) -> bool:
        """Forgets an id; returns True if the checkpoint was aborted.

        So was a checkpoint that is too old for the memory: the coordinator has at most ``capacity`` pending ones.
        """
        if checkpoint_id in self._ids:
            del self._ids[checkpoint_id]
            return True
        return checkpoint_id + self._capacity < self._highest

    def forget_below(self, checkpoint_id: int) -> None:
        """Forgets ids from the oldest on, up to the first one that is not smaller (rule 12.71)."""
        for aborted in list(self._ids):
            if aborted >= checkpoint_id:
                break
            del self._ids[aborted]
