"""The failure of a job, whose cause and task have other names on the real Flink."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from flowsim.conform.seen import Answer

CAUSES: Final = (
    ("BadInput: the record has no timestamp, so no event-time window", "RuntimeException: Record has Long.MIN_VALUE"),
    ("StopWithSavepointStopping: A savepoint", "StopWithSavepointStoppingException: A savepoint"),
    ("BadInput: a record without timestamp", "FlinkException: Long.MIN_VALUE timestamp: Elements used in interval"),
)
"""How a cause begins here, and how the same one begins on Flink."""
RENAMED: Final = (("ValueError: ", "IllegalStateException: "), ("TimeoutError: ", "TimeoutException: "))
"""Classes here and on Flink of causes with the same message."""
NAMES: Final = (
    ("async wait operator", "async"),
    ("KeyedProcess", "KEYED PROCESS"),
    ("Co-Keyed-Process", "Keyed Co-Process"),
)
"""Operators that Java's API names otherwise than PyFlink's, whose names are used here."""


def same_failure(ours: Answer, flink: Answer) -> bool:
    """Returns True if both jobs failed at the same task for the same cause, or neither failed.

    Flink's chain may be a part of the one here: it has no operator that yields behind a source that is played.
    """
    if ours.cause is None or flink.cause is None:
        return ours.cause is flink.cause
    return _same_task(ours.task, flink.task) and _same_cause(ours.cause, flink.cause)


def _same_task(ours: str | None, flink: str | None) -> bool:
    if ours is None or flink is None:
        return True
    (mine, subtask), (real, other) = _names(ours), _names(flink)
    return subtask == other and real <= mine


def _same_cause(ours: str, flink: str) -> bool:
    if ours == flink or any(ours.startswith(mine) and flink.startswith(real) for mine, real in CAUSES):
        return True
    message = ours.partition(": ")[2]
    renamed = any(ours.startswith(mine) and flink == real + message for mine, real in RENAMED)
    # Failures that the run asks for, and errors of Python, have their message on both sides.
    return renamed or (bool(message) and flink.partition(": ")[2] == message)


def _names(task: str) -> tuple[Counter[str], str]:
    """Returns the operators of a chain, in whatever order its branches are written, and the subtask."""
    chain, _, subtask = task.rpartition(" ")
    for real, mine in NAMES:
        chain = chain.replace(real, mine)
    return Counter(name.strip() for name in re.split(r"[(),]| -> ", chain) if name.strip()), subtask
