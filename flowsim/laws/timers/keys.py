"""Part of law timers: a timer belongs to a key of its subtask (rules 1.18, 1.19, 9.1)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.laws.findings import Findings
from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from flowsim.laws.job_graph import Task
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Slice

_DESCRIPTION: Final = ("key", "key_hash", "key_type", "key_json")
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_Codes = npt.NDArray[np.uint64]


class OwnKeys:
    """The keys that a task described with their Java hash codes, and that its subtask owns."""

    __slots__ = ("_doubtful", "_found", "_right", "_task")

    def __init__(self, task: Task, found: Findings) -> None:
        self._task = task
        self._found = found
        self._right: _Codes = np.empty(0, dtype=np.uint64)
        self._doubtful: dict[tuple[int, int], list[int]] = {}
        """Keys and hash codes that are not described yet: number of rows, sequence number and operator of the first."""

    @reads(keys=_DESCRIPTION)
    def describe(self, facts: Slice) -> None:
        """Adds rows of ``keys``."""
        task = self._task
        right = [
            (key, key_hash)
            for key, key_hash, key_type, text in facts.of("keys").tuples(_DESCRIPTION)
            if owner_subtask(key_hash, task.parallelism, task.max_parallelism) == task.subtask
            and recorded_key_hash(key_type, text) == key_hash
        ]
        if right:
            key, key_hash = np.array(right, dtype=np.int64).T
            self._right = np.sort(np.concatenate((self._right, _codes(key, key_hash))))

    @reads(timers=("operator", "key_hash", "key"))
    def examine(self, facts: Slice) -> None:
        """Compares rows of ``timers`` with the keys of the task."""
        rows = facts.of("timers")
        codes = _codes(rows.column("key"), rows.column("key_hash"))
        distinct = np.sort(codes)
        distinct = distinct[np.concatenate(([True], distinct[1:] != distinct[:-1]))]
        doubtful = distinct[~self._are_right(distinct)]
        if len(doubtful):
            columns = ("key", "key_hash", "seq", "operator")
            for key, key_hash, seq, operator in rows.tuples(columns, np.isin(codes, doubtful)):
                self._doubtful.setdefault((key, key_hash), [0, seq, operator])[0] += 1

    def _are_right(self, codes: _Codes) -> npt.NDArray[np.bool_]:
        if not len(self._right):
            return np.zeros(len(codes), dtype=bool)
        places = np.minimum(np.searchsorted(self._right, codes), len(self._right) - 1)
        return np.asarray(self._right[places] == codes)

    def end(self) -> None:
        """Reports keys that were not described, or not as keys of this subtask; once for all rows of a key."""
        task = self._task
        for (key, key_hash), (rows, seq, operator) in self._doubtful.items():
            code = _codes(np.array([key]), np.array([key_hash]))
            if self._are_right(code)[0]:
                continue
            owner = owner_subtask(key_hash, task.parallelism, task.max_parallelism)
            self._found.broken(
                "the key of a timer belongs to another subtask", (task.task, seq), task=task.task, operator=operator, seq=seq,
                key=key, key_hash=key_hash, subtask=task.subtask, owner=owner, rows=rows,
            )  # fmt: skip
            self._found.violations += rows - 1


def _codes(key: Ints, key_hash: Ints) -> _Codes:
    """64 bits per pair; they differ for pairs with the same key, or with the same hash code."""
    codes: _Codes = key_hash.astype(np.uint32).astype(np.uint64) * _ODD
    codes ^= key.astype(np.uint64)
    return codes
