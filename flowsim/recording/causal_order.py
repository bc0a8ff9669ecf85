"""The causal order of facts: within a task as recorded, and every cause before its effect in another task.

Causes of facts of other tasks: a receiver announces credits before the sender gets them, a buffer is sent before it is
received, and, at level elements, an element is sent before it is read. Many facts share an instant, so time alone does
not order them: each fact has a *round*. A fact is in the round of its task's previous fact at this instant, or in the
round after that of its cause at this instant, whichever is later. Facts are ordered by time, round, task and seq.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsim.facts.kinds import BufferSide, CreditKind, Level
from flowsim.facts.schema import BUFFERS, CREDITS, FACT_TABLES, RECEIVED, SENT, Table
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording

Ints = npt.NDArray[np.int64]
Key = tuple[int, int]
"""Time and round."""

TASK_TABLES: Final = tuple(table for table in FACT_TABLES if "task" in table.names and "time_ns" in table.names)
"""The tables whose facts have a task and a time: all but the choices of the policy."""

_PLAIN, _CAUSE, _EFFECT = range(3)
_LAST: Final = np.iinfo(np.int64).max
_EMPTY: Final[Ints] = np.empty(0, dtype=np.int64)


class _Step(NamedTuple):
    """A step in a channel: the rows of ``table`` with ``value`` in ``column``, '': all rows.

    Its causes and effects are numbered by column ``number``, or by their order in the channel if that is ''.
    """

    table: Table
    column: str
    value: int
    number: str


_FULL: Final = (
    (_Step(BUFFERS, "side", BufferSide.SENT, "number"), _Step(BUFFERS, "side", BufferSide.RECEIVED, "number")),
    (_Step(CREDITS, "kind", CreditKind.INITIAL_GRANTED, ""), _Step(CREDITS, "kind", CreditKind.INITIAL_GOT, "")),
    (_Step(CREDITS, "kind", CreditKind.ANNOUNCED, ""), _Step(CREDITS, "kind", CreditKind.GOT, "")),
)
"""Cause and effect. Elements follow: within a task one is written before its buffer is sent, and read after that."""
_ELEMENTS: Final = ((_Step(SENT, "", 0, "position"), _Step(RECEIVED, "", 0, "position")),)


class _Rows(NamedTuple):
    """Some facts of an epoch. ``number``: equal for a cause and its effects."""

    task: Ints
    seq: Ints
    time: Ints
    number: Ints

    def where(self, wanted: npt.NDArray[np.bool_]) -> _Rows:
        return _Rows(*(column[wanted] for column in self))


class CausalOrder:
    """The time and round of facts, from epoch to epoch. A cause is recorded before its effect: in its epoch or earlier.

    On the virtual clock only causes at the same instant matter; a later one does not count: the run broke a law. On
    the real clock a task's time may decrease and a cause be later than its effect: the effect gets the later time.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._is_real = recording.manifest.run.clock == "real"
        self._pairs = _FULL if recording.level >= Level.FULL else _ELEMENTS
        self._horizons = self._earliest_later_effects()
        self._counts: Counter[tuple[int, int, int]] = Counter()
        self._last: dict[int, Key] = {}
        self._nodes: dict[int, tuple[Ints, Ints, Ints]] = {}
        """Per task the facts that open or may open a round: seq, time and round."""
        self._open: tuple[Ints, Ints, Ints] = (_EMPTY, _EMPTY, _EMPTY)
        """Earlier causes that may have effects in later epochs: number, time and round."""

    def begin(self, epoch: int) -> None:
        """Orders the facts of an epoch; epochs come in their order."""
        for task, (_, times, rounds) in self._nodes.items():
            self._last[task] = int(times[-1]), int(rounds[-1])
        causes, effects = self._read(epoch, _CAUSE), self._read(epoch, _EFFECT)
        opened, times, rounds = self._open
        codes = _codes(
            (causes.number, effects.number, opened),
            None if self._is_real else (causes.time, effects.time, times),
        )
        done = dict(zip(codes[2].tolist(), zip(times.tolist(), rounds.tolist(), strict=True), strict=True))
        is_used = np.isin(codes[0], codes[1]), np.isin(codes[1], np.concatenate((codes[0], codes[2])))
        self._nodes = self._ordered(
            [
                (self._plain(epoch), _PLAIN),
                (causes._replace(number=codes[0]).where(is_used[0]), _CAUSE),
                (effects._replace(number=codes[1]).where(is_used[1]), _EFFECT),
            ],
            done,
        )
        causes = causes.where(~is_used[0])
        ordered = causes.number, *self.of(causes.task, causes.seq, causes.time)
        self._open = self._still_open(epoch, [np.concatenate(pair) for pair in zip(self._open, ordered, strict=True)])

    def of(self, tasks: Ints, seqs: Ints, times: Ints) -> tuple[Ints, Ints]:
        """Returns the times, which never decrease within a task, and the rounds of facts with these recorded times."""
        found, rounds = times.copy(), np.zeros_like(times)
        for task in np.unique(tasks).tolist():
            of_task = np.flatnonzero(tasks == task)
            last = self._last.get(task, (0, 0))
            seq, time, round_ = self._nodes.get(task, (_EMPTY, _EMPTY, _EMPTY))
            at = np.searchsorted(seq, seqs[of_task], side="right")
            known_time, known_round = np.append(last[0], time)[at], np.append(last[1], round_)[at]
            rounds[of_task] = np.where(times[of_task] > known_time, 0, known_round)
            found[of_task] = np.maximum(times[of_task], known_time)
        return found, rounds

    def _read(self, epoch: int, role: int) -> _Rows:
        return _joined([self._rows_of(epoch, kind, pair[role - 1], role) for kind, pair in enumerate(self._pairs)])

    def _rows_of(self, epoch: int, kind: int, step: _Step, role: int) -> _Rows:
        names = ["task", "seq", "time_ns", "channel", *filter(None, (step.column, step.number))]
        part = self._recording.part(step.table.name, epoch, names)
        columns = {name: as_numpy(part[name]).astype(np.int64) for name in names}
        if step.column:
            is_of_step = columns[step.column] == step.value
            columns = {name: column[is_of_step] for name, column in columns.items()}
        channel = columns["channel"]
        number = columns[step.number] if step.number else self._ordinals(channel, kind, role)
        return _Rows(columns["task"], columns["seq"], columns["time_ns"], kind << 60 | channel << 40 | number)

    def _ordinals(self, channel: Ints, kind: int, role: int) -> Ints:
        """Returns the number of each row among those of its channel, from the begin of the recording."""
        ordinals = np.zeros_like(channel)
        for number in np.unique(channel).tolist():
            of_channel, before = np.flatnonzero(channel == number), self._counts[kind, role, number]
            ordinals[of_channel] = before + np.arange(len(of_channel))
            self._counts[kind, role, number] += len(of_channel)
        return ordinals

    def _plain(self, epoch: int) -> _Rows:
        """Returns all facts on the real clock, where the time of every fact affects the later ones of its task."""
        return _joined([self._plain_rows(epoch, table) for table in TASK_TABLES if self._is_real])

    def _plain_rows(self, epoch: int, table: Table) -> _Rows:
        part = self._recording.part(table.name, epoch, ("task", "seq", "time_ns"))
        task, seq, time = (as_numpy(part[name]).astype(np.int64) for name in ("task", "seq", "time_ns"))
        return _Rows(task, seq, time, np.zeros_like(seq))

    def _earliest_later_effects(self) -> list[int]:
        """Returns, per epoch, the earliest time of an effect in a later epoch."""
        horizons, least = [], _LAST
        tables = {effect.table.name for _, effect in self._pairs}
        for epoch in reversed(range(len(self._recording.epochs))):
            horizons.append(least)
            bounds = [self._recording.time_bounds(table, epoch) for table in sorted(tables)]
            least = min([least, *(first for first, _ in filter(None, bounds))])
        return horizons[::-1]

    def _still_open(self, epoch: int, causes: list[Ints]) -> tuple[Ints, Ints, Ints]:
        is_needed = causes[1] >= (0 if self._is_real else self._horizons[epoch])
        number, time, round_ = (column[is_needed] for column in causes)
        return number, time, round_

    def _ordered(self, parts: list[tuple[_Rows, int]], done: dict[int, Key]) -> dict[int, tuple[Ints, Ints, Ints]]:
        rows = _joined([part for part, _ in parts])
        roles = np.concatenate([np.full(len(part.task), role) for part, role in parts])
        order = np.lexsort((roles, rows.seq, rows.task))
        rows, roles = _Rows(*(column[order] for column in rows)), roles[order]
        walk = _Walk(self._last, done, {*rows.number[roles == _CAUSE].tolist()})
        for task in np.unique(rows.task).tolist():
            of_task = rows.task == task
            walk.add(task, rows.time[of_task].tolist(), rows.number[of_task].tolist(), roles[of_task].tolist())
        keys_of = walk.keys()
        return {
            task: (rows.seq[rows.task == task], *(np.array(column, dtype=np.int64) for column in zip(*keys, strict=True)))
            for task, keys in keys_of.items()
        }  # fmt: skip


class _Task(NamedTuple):
    rows: list[tuple[int, int, int]]
    """Time, number and role."""
    keys: list[Key]


class _Walk:
    """Walks through the facts of all tasks; a task stops at an effect until the walk has passed its cause."""

    def __init__(self, last: dict[int, Key], done: dict[int, Key], pending: set[int]) -> None:
        self._last = last
        self._done = done
        self._pending = pending - done.keys()
        self._tasks: dict[int, _Task] = {}
        self._waiting: dict[int, list[int]] = {}
        """By the number of a cause."""
        self._ready: deque[int] = deque()

    def add(self, task: int, times: list[int], numbers: list[int], roles: list[int]) -> None:
        self._tasks[task] = _Task(list(zip(times, numbers, roles, strict=True)), [])
        self._ready.append(task)

    def keys(self) -> dict[int, list[Key]]:
        """Returns time and round of every fact, by task."""
        while self._ready or self._waiting:
            if not self._ready:
                self._release(self._first_of_circle())
            self._advance(self._ready.popleft())
        return {task: times.keys for task, times in self._tasks.items()}

    def _first_of_circle(self) -> int:
        """A damaged recording may have effects before their causes: the earliest such effect does not wait."""
        return min(
            self._waiting,
            key=lambda number: min((self._tasks[task].rows[len(self._tasks[task].keys)][0], task)
                                   for task in self._waiting[number]),
        )  # fmt: skip

    def _release(self, number: int) -> None:
        self._pending.discard(number)
        self._ready.extend(self._waiting.pop(number, ()))

    def _advance(self, task: int) -> None:
        rows, keys = self._tasks[task]
        key = keys[-1] if keys else self._last.get(task, (0, 0))
        for time, number, role in rows[len(keys) :]:
            if role == _EFFECT and number in self._pending:
                self._waiting.setdefault(number, []).append(task)
                return
            key = max(key, (time, 0))
            if role == _EFFECT and number in self._done:
                time_of_cause, round_of_cause = self._done[number]
                key = max(key, (time_of_cause, round_of_cause + 1))
            elif role == _CAUSE:
                self._done.setdefault(number, key)
                self._release(number)
            keys.append(key)


def _joined(parts: list[_Rows]) -> _Rows:
    return _Rows(*(np.concatenate((_EMPTY, *columns)) for columns in zip(*parts, strict=True))) if parts else _NO_ROWS


_NO_ROWS: Final = _Rows(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


def _codes(numbers: tuple[Ints, Ints, Ints], times: tuple[Ints, Ints, Ints] | None) -> list[Ints]:
    """One number per pair, and instant if ``times`` are given."""
    ends = np.cumsum([len(one) for one in numbers])[:-1]
    codes = np.unique(np.concatenate(numbers), return_inverse=True)[1].astype(np.int64)
    if times is not None:
        instants, instant = np.unique(np.concatenate(times), return_inverse=True)
        codes = codes * max(1, len(instants)) + instant
    return np.split(codes, ends)
