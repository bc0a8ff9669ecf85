"""Windows of every kind, folded row after row: what each must have emitted and when, held against what was recorded.

Runs in Python workers: needs nothing but pyarrow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowsim.validation.checks.window_replay import CLOCK_TIMER, ELEMENT, Replay
from flowsim.validation.checks.window_shape import shape_of

if TYPE_CHECKING:
    import pyarrow as pa

MARK, INTAKE, MERGE, FIRE, DROP = range(5)
"""``what`` a row is; rows with one ``seq`` are taken in this order."""
GROUP = ("run", "task", "operator")
NUMBERS = (
    "seq", "what", "key", "timestamp", "fingerprint", "gap", "time_ns", "watermark", "side_output", "window_start",
    "window_end", "rows", "fingerprint_sum", "fingerprint_xor", "result", "cause", "at", "into_start", "into_end",
)  # fmt: skip
_FIRE = ("key", "window_start", "window_end", "watermark", "intakes_before", "rows", "fingerprint_sum", "fingerprint_xor",
         "result", "cause", "at")  # fmt: skip
_MERGE = ("key", "window_start", "window_end", "into_start", "into_end", "watermark", "intakes_before")
_DROP = ("intakes_before", "key", "timestamp", "fingerprint", "side_output")
_PLACES = ("seq", *dict.fromkeys((*_FIRE, *_MERGE, *_DROP)))
_TEXTS = ("law", "what")
SCHEMA = (
    "run int, task int, operator int, law string, what string, n bigint, "
    + ", ".join(f"`{name}` bigint" for name in _PLACES)
)  # fmt: skip
LATE = "late"
"""``what`` of the one row per operator that says how many records were late, in place of a finding."""

_MIN, _MAX = -(2**63), 2**63 - 1
Row = tuple[int, ...]
Found = dict[str, object]


class Balance:
    """Rows that must come less rows that came; what the last cause calls for may be missing from a prefix."""

    def __init__(self, names: tuple[str, ...], told: str) -> None:
        self.names = names
        self.told = told
        self.open: Counter[Row] = Counter()
        self.optional: Counter[Row] = Counter()

    def expect(self, row: Row, optional: bool) -> None:
        self._change(row, 1)
        self.optional[row] += optional

    def came(self, row: Row) -> None:
        self._change(row, -1)

    def _change(self, row: Row, by: int) -> None:
        self.open[row] += by
        if not self.open[row]:
            del self.open[row]

    def differences(self, whole: bool) -> Iterator[tuple[str, int, dict[str, int]]]:
        for row, n in self.open.items():
            n -= 0 if whole or n < 0 else min(n, self.optional[row])
            if n:
                yield (
                    f"{'missing' if n > 0 else 'unexpected'} {self.told}",
                    abs(n),
                    dict(zip(self.names, row, strict=True)),
                )


class OperatorFold:
    """One window operator of one subtask."""

    def __init__(self, group: tuple[int, int, int], params: str, whole: bool) -> None:
        self.group = group
        self.whole = whole
        self.shape = shape_of(json.loads(params))
        self.replay = Replay(self.shape)
        self.balances = {FIRE: Balance(_FIRE, "fire"), MERGE: Balance(_MERGE, "merge"), DROP: Balance(_DROP, "drop")}
        self.held: Row | None = None
        """An intake row that waits for the merges recorded behind it."""
        self.absorbed: list[Row] = []
        self.before: Row = ()
        self.late = 0

    def take(self, row: Row) -> list[Found]:
        what = row[1]
        if self.held is not None and what == MERGE:
            self.absorbed.append(row)
            return []
        found = self._settle()
        if what == INTAKE:
            self.held = row
            if not self.shape.merging:
                found += self._settle()
        elif what == MARK:
            self._cause()
            self.replay.mark(row[3])
            self._owe(optional=True)
            self.before = row
        else:
            found += self._recorded(row)
        return found

    def end(self) -> list[Found]:
        found = self._settle()
        for law, balances in (("window-fire", (FIRE, MERGE)), ("late-rows", (DROP,))):
            for which in balances:
                for what, n, where in self.balances[which].differences(self.whole):
                    found.append(self._found(law, what, n, where))
        found.append(self._found("lateness", LATE, self.late, {}))
        return found

    def _cause(self) -> None:
        for balance in self.balances.values():
            balance.optional.clear()

    def _owe(self, optional: bool) -> None:
        replay, fires = self.replay, self.balances[FIRE]
        for rows, may in ((replay.told, optional), (replay.overdue, False)):
            for row in rows:
                fires.expect(row, may)
            rows.clear()
        for merge in replay.merged:
            self.balances[MERGE].expect(merge, optional)
        replay.merged.clear()

    def _settle(self) -> list[Found]:
        """Takes the intake that waited, then the merges behind it."""
        row, merges = self.held, self.absorbed
        if row is None:
            return []
        self.held, self.absorbed = None, []
        key = row[2]
        found = self._misread(row, "window-fire")
        self._cause()
        absorbed = {(merge[9], merge[10]) for merge in merges if merge[2] == key}
        if self.replay.intake(key, row[3], row[4], row[5], row[6], absorbed):
            drop = (self.replay.taken, key, row[3], row[4], self.shape.late_output)
            self.balances[DROP].expect(drop, optional=True)
            self.late += 1
        self._owe(optional=True)
        self.before = row
        for merge in merges:
            found += self._recorded(merge)
        return found

    def _recorded(self, row: Row) -> list[Found]:
        what, key, replay = row[1], row[2], self.replay
        found = self._misread(row, "late-rows" if what == DROP else "window-fire")
        if what == DROP:
            self.balances[DROP].came((replay.taken, key, row[3], row[4], row[8]))
        elif what == MERGE:
            self.balances[MERGE].came((key, row[9], row[10], row[17], row[18], replay.watermark, replay.taken))
        elif self.shape.foretold:
            found += self._fire(row)
        else:
            found += self._loose(row)
        self.before = row
        return found

    def _fire(self, row: Row) -> list[Found]:
        key, start, end, cause, at = row[2], row[9], row[10], row[15], row[16]
        wrong = []
        if cause == CLOCK_TIMER:
            if row[6] < (at + 1) * 1_000_000:
                wrong.append("before its time")
            self.replay.clock(key, (start, end), at)
            self._owe(optional=False)
        fire = (key, start, end, self.replay.watermark, self.replay.taken, *row[11:17])
        self.balances[FIRE].came(fire)
        before = self.before
        if before and before[1] == FIRE and before[15] == cause:
            overtakes = before[9] < start if cause == ELEMENT else before[16] > at
            wrong += ["out of order"] if overtakes else []
        return [
            self._found("window-fire", what, 1, {"seq": row[0], **dict(zip(_FIRE, fire, strict=True))})
            for what in wrong
        ]

    def _loose(self, row: Row) -> list[Found]:
        """Nobody can foretell the fire; what it says it contains can be judged."""
        key, window, contents = row[2], (row[9], row[10]), row[11:14]
        fits = self.replay.answer(key, window, contents, row[14])
        if row[15] == CLOCK_TIMER:
            self.replay.clock(key, window, row[16])
        if fits:
            return []
        where = {"seq": row[0], "key": key, "window_start": window[0], "window_end": window[1], "rows": contents[0]}
        return [self._found("window-fire", "not what the window holds", 1, where)]

    def _misread(self, row: Row, law: str) -> list[Found]:
        if row[7] == self.replay.watermark:
            return []
        where = {"seq": row[0], "key": row[2], "watermark": self.replay.watermark, "intakes_before": self.replay.taken}
        return [self._found(law, f"recorded watermark {row[7]}", 1, where)]

    def _found(self, law: str, what: str, n: int, where: dict[str, int]) -> Found:
        told = {name: max(_MIN, min(value, _MAX)) for name, value in where.items()}
        return {**dict(zip(GROUP, self.group, strict=True)), "law": law, "what": what, "n": n, **told}


def fold_windows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields findings, and per operator how many records were late."""
    fold: OperatorFold | None = None
    for batch in batches:
        found: list[Found] = []
        groups = zip(*(batch.column(name).to_pylist() for name in GROUP), strict=True)
        about = zip(batch.column("params").to_pylist(), batch.column("whole").to_pylist(), strict=True)
        rows = zip(*(batch.column(name).to_pylist() for name in NUMBERS), strict=True)
        for group, (params, whole), row in zip(groups, about, rows, strict=True):
            if fold is None or fold.group != group:
                found += fold.end() if fold is not None else []
                fold = OperatorFold(group, params, whole)
            found += fold.take(row)
        yield _batch(found)
    yield _batch(fold.end() if fold is not None else [])


def _batch(found: list[Found]) -> pa.RecordBatch:
    import pyarrow as pa

    fields = [pa.field(name, pa.int32()) for name in GROUP] + [pa.field(name, pa.string()) for name in _TEXTS]
    fields += [pa.field(name, pa.int64()) for name in ("n", *_PLACES)]
    return pa.RecordBatch.from_pylist(found, schema=pa.schema(fields))
