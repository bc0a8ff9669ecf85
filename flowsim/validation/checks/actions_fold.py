"""A stack of actions and waits, folded over the facts of sorted tasks. Runs in Python workers: needs nothing but pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_BEGIN, _END, _WAIT, _RESUME = range(4)
_MAY_NEST = (3, 4)
"""Waits inside which actions may begin: a yield, and a legacy source task's wait with its lock free."""

COLUMNS = ("run", "task", "seq", "phase", "kind", "action", "whole")
SCHEMA = "run int, task int, seq bigint, phase tinyint, kind tinyint, action bigint, what string"

Entry = tuple[int, int, int]
"""(phase, kind, action) of an opening row."""


def misfit(stack: list[Entry], phase: int, kind: int, action: int) -> str:
    """Applies one row to the stack; says what is wrong with it, '' when it fits."""
    top = stack[-1] if stack else None
    if phase == _BEGIN:
        fits = top is None or (top[0] == _WAIT and top[1] in _MAY_NEST)
        stack.append((phase, kind, action))
        return "" if fits else f"begins inside {top}"
    if phase == _WAIT:
        fits = top is None or top[0] != _WAIT or top[1] in _MAY_NEST
        stack.append((phase, kind, action))
        return "" if fits else f"waits inside {top}"
    opening = (_BEGIN if phase == _END else _WAIT, kind, action)
    if top == opening:
        stack.pop()
        return ""
    for index in range(len(stack) - 1, -1, -1):
        if stack[index] == opening:
            del stack[index]
            break
    return f"closes {opening}, but the innermost is {top}"


def fold_actions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields one row per violation."""
    import pyarrow as pa

    types = [pa.int32(), pa.int32(), pa.int64(), pa.int8(), pa.int8(), pa.int64(), pa.string()]
    names = ["run", "task", "seq", "phase", "kind", "action", "what"]
    stack: list[Entry] = []
    owner: tuple[int, int, bool] | None = None
    for batch in batches:
        wrong: list[tuple[object, ...]] = []
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for run, task, seq, phase, kind, action, whole in zip(*columns, strict=True):
            if owner is None or owner[1] != task or owner[0] != run:
                wrong += left_open(owner, stack)
                owner, stack = (run, task, whole), []
            found = misfit(stack, phase, kind, action)
            if found:
                wrong.append((run, task, seq, phase, kind, action, found))
        yield pa.RecordBatch.from_arrays([pa.array([r[i] for r in wrong], t) for i, t in enumerate(types)], names)
    wrong = left_open(owner, stack)
    yield pa.RecordBatch.from_arrays([pa.array([r[i] for r in wrong], t) for i, t in enumerate(types)], names)


def left_open(owner: tuple[int, int, bool] | None, stack: list[Entry]) -> list[tuple[object, ...]]:
    """What is still open at the end of a task; fine in a prefix."""
    if owner is None or not owner[2]:
        return []
    return [(owner[0], owner[1], -1, *entry, "never ends") for entry in stack]
