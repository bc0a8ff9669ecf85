"""The Python functions of drawn scenarios."""

from __future__ import annotations


def subtask_of(key: int, subtasks: int) -> int:
    """Returns the subtask of a record; Flink: Partitioner.

    >>> subtask_of(7, 3)
    1
    """
    return key % subtasks
