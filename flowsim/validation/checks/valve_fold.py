"""The judge's own status watermark valve, folded over the facts of sorted tasks (rules 8.9 to 8.12).

Written from the rules, without a look at the simulator's valve. Runs in Python workers: needs nothing but pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_MIN = -(2**63)
_WATERMARK, _STATUS = 1, 2
_ACTIVE, _IDLE = 0, -1
_RECEIVED = 0

COLUMNS = ("run", "task", "seq", "what", "input", "input_channel", "kind", "timestamp", "channels", "whole")
SCHEMA = (
    "run int, task int, seq bigint, input int, kind tinyint, timestamp bigint, "
    "expected string, found string, violations bigint"
)

Emission = tuple[int, int, int]
"""(input, kind, timestamp), as ``task_watermark`` has it."""


class ExpectedValve:
    """What one task input should emit. The heap holds (watermark, channel) of aligned channels; outdated entries are skipped."""

    def __init__(self, index: int, channels: int) -> None:
        self.index = index
        self.watermarks = [_MIN] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.active_count = channels
        self.heap = [(_MIN, channel) for channel in range(channels)]
        self.last_watermark = _MIN
        self.last_status = _ACTIVE

    def emits(self, kind: int, timestamp: int, channel: int) -> list[Emission]:
        """The valve's answer to one watermark or status of one channel."""
        if kind == _WATERMARK:
            return self._on_watermark(timestamp, channel)
        return self._on_idle(channel) if timestamp == _IDLE else self._on_active(channel)

    def _on_watermark(self, timestamp: int, channel: int) -> list[Emission]:
        if self.last_status != _ACTIVE or not self.active[channel] or timestamp <= self.watermarks[channel]:
            return []
        self.watermarks[channel] = timestamp
        if self.aligned[channel] or timestamp >= self.last_watermark:
            self.aligned[channel] = True
            heappush(self.heap, (timestamp, channel))
        return self._minimum()

    def _on_idle(self, channel: int) -> list[Emission]:
        if not self.active[channel]:
            return []
        self.active[channel] = self.aligned[channel] = False
        self.active_count -= 1
        held_us_back = self.watermarks[channel] == self.last_watermark
        if self.active_count:
            return self._minimum() if held_us_back else []
        out = self._advance(max(self.watermarks)) if held_us_back else []
        self.last_status = _IDLE
        return [*out, (self.index, _STATUS, _IDLE)]

    def _on_active(self, channel: int) -> list[Emission]:
        if self.active[channel]:
            return []
        self.active[channel] = True
        self.active_count += 1
        if self.watermarks[channel] >= self.last_watermark:
            self.aligned[channel] = True
            heappush(self.heap, (self.watermarks[channel], channel))
        if self.last_status == _ACTIVE:
            return []
        self.last_status = _ACTIVE
        return [(self.index, _STATUS, _ACTIVE)]

    def _minimum(self) -> list[Emission]:
        heap = self.heap
        while heap and not (self.aligned[heap[0][1]] and self.watermarks[heap[0][1]] == heap[0][0]):
            heappop(heap)
        return self._advance(heap[0][0]) if heap else []

    def _advance(self, to: int) -> list[Emission]:
        if to <= self.last_watermark:
            return []
        self.last_watermark = to
        return [(self.index, _WATERMARK, to)]


class TaskFold:
    """The facts of one task, in order: which received row owns which emissions, and which it should own."""

    def __init__(self, run: int, task: int, whole: bool) -> None:
        self.run, self.task, self.whole = run, task, whole
        self.valves: dict[int, ExpectedValve] = {}
        self.owner: tuple[int, int, int, int] | None = None
        self.expected: list[Emission] = []
        self.found: list[Emission] = []

    def received(
        self, seq: int, index: int, channel: int, kind: int, timestamp: int, channels: int
    ) -> list[tuple[object, ...]]:
        """Takes one received row; gives back what was wrong with the one before."""
        wrong = self.settle(last=False)
        self.owner, self.found, self.expected = (seq, index, kind, timestamp), [], []
        if kind not in (_WATERMARK, _STATUS) or not 0 <= channel < channels:
            return wrong
        valve = self.valves.get(index)
        if valve is None:
            valve = self.valves[index] = ExpectedValve(index, channels)
        self.expected = valve.emits(kind, timestamp, channel)
        return wrong

    def settle(self, last: bool) -> list[tuple[object, ...]]:
        """Compares what the current owner should own with what it owns; ``last``: no received row follows."""
        if self.expected == self.found:
            return []
        if self.owner is None:
            return [(self.run, self.task, -1, -1, -1, 0, "[]", str(self.found), len(self.found))]
        if last and not self.whole and self.found == self.expected[: len(self.found)]:
            return []
        seq, index, kind, timestamp = self.owner
        return [(self.run, self.task, seq, index, kind, timestamp, str(self.expected), str(self.found), 1)]


def fold_valves(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields one row per received row that owns other emissions than it should (and one for emissions before the first)."""
    import pyarrow as pa

    types = [
        pa.int32(),
        pa.int32(),
        pa.int64(),
        pa.int32(),
        pa.int8(),
        pa.int64(),
        pa.string(),
        pa.string(),
        pa.int64(),
    ]
    names = ["run", "task", "seq", "input", "kind", "timestamp", "expected", "found", "violations"]
    fold: TaskFold | None = None
    for batch in batches:
        wrong: list[tuple[object, ...]] = []
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for run, task, seq, what, index, channel, kind, timestamp, channels, whole in zip(*columns, strict=True):
            if fold is None or fold.task != task or fold.run != run:
                if fold is not None:
                    wrong += fold.settle(last=True)
                fold = TaskFold(run, task, whole)
            if what == _RECEIVED:
                wrong += fold.received(seq, index, channel, kind, timestamp, channels)
            else:
                fold.found.append((index, kind, timestamp))
        yield _batch(pa, wrong, names, types)
    yield _batch(pa, fold.settle(last=True) if fold is not None else [], names, types)


def _batch(arrow: object, rows: list[tuple[object, ...]], names: list[str], types: list[object]) -> pa.RecordBatch:
    columns = [arrow.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]  # type: ignore[attr-defined]
    return arrow.RecordBatch.from_arrays(columns, names)  # type: ignore[attr-defined]
