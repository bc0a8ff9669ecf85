"""Law watermark-monotone: watermarks grow on every channel and in every task (rules 5.8, 8.5, 8.9)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import Level
from flowsim.laws.event_time.marks import FEW, Marks, sent_event_time
from flowsim.laws.event_time.paths import IDLE, STATUS, WATERMARK
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice
from flowsim.units import NO_TIMESTAMP

ID: Final = "watermark-monotone"
_LEAST: Final = NO_TIMESTAMP - 1
"""Below all watermarks: there is none yet to grow from."""


class Monotone:
    """Keeps the last watermark of every channel and every input of one task."""

    def __init__(self, task: int, found: Findings) -> None:
        self._task = task
        self._found = found
        self._last: dict[int, int] = {}
        """By channel; below all since the channel became idle."""
        self._idle: set[int] = set()
        """Channels whose last mark was IDLE."""
        self._last_of_input: dict[int, int] = {}

    def feed(self, facts: Slice) -> None:
        sent = facts.once(sent_event_time)
        self._found.examined += sent.watermarks
        for channel, marks in sent.by_channel.items():
            if sent.statuses or channel in self._idle or len(marks) <= FEW or not self._grows(channel, marks):
                self._channel(channel, marks)
        if facts.has("task_watermark"):
            self._inputs(facts)

    def _grows(self, channel: int, marks: Marks) -> bool:
        """Whether watermarks alone strictly increase; then nothing is wrong."""
        timestamps = marks.columns[2]
        if timestamps[0] <= self._last.get(channel, _LEAST) or (timestamps[1:] <= timestamps[:-1]).any():
            return False
        self._last[channel] = int(timestamps[-1])
        return True

    def _channel(self, channel: int, marks: Marks) -> None:
        before, is_idle = self._last.get(channel, _LEAST), channel in self._idle
        for seq, kind, timestamp in marks.rows:
            if kind == STATUS:
                is_idle = timestamp == IDLE
                before = _LEAST if is_idle else before
                continue
            if is_idle:
                # Rule 5.8: an idle output drops watermarks.
                self._found.broken(
                    "watermark while idle", (self._task, seq),
                    task=self._task, seq=seq, channel=channel, timestamp=timestamp,
                )  # fmt: skip
            elif timestamp <= before:
                self._found.broken(
                    "watermark does not grow", (self._task, seq),
                    task=self._task, seq=seq, channel=channel, timestamp=timestamp, before=before,
                )  # fmt: skip
            before, is_idle = timestamp, False
        self._last[channel] = before
        (self._idle.add if is_idle else self._idle.discard)(channel)

    def _inputs(self, facts: Slice) -> None:
        rows = facts.of("task_watermark")
        mask = rows.column("kind") == WATERMARK
        count = int(np.count_nonzero(mask))
        self._found.examined += count
        if count > FEW:
            timestamps, inputs = rows.column("timestamp")[mask], rows.column("input")[mask]
            only = int(inputs[0])
            grow = (inputs == only).all() and (timestamps[1:] > timestamps[:-1]).all()
            if grow and timestamps[0] > self._last_of_input.get(only, _LEAST):
                self._last_of_input[only] = int(timestamps[-1])
                return
        for seq, index, timestamp in rows.tuples(("seq", "input", "timestamp"), mask):
            before = self._last_of_input.get(index, _LEAST)
            if timestamp <= before:
                self._found.broken(
                    "task watermark does not grow", (self._task, seq),
                    task=self._task, seq=seq, input=index, timestamp=timestamp, before=before,
                )  # fmt: skip
            self._last_of_input[index] = timestamp

    def end(self, whole: bool) -> None:
        return None


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Monotone:
    return Monotone(task.task, found[ID])


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK rows of `sent` plus WATERMARK rows of `task_watermark`.
- Channels: take the rows of `sent` of kind WATERMARK or STATUS, per channel, by seq. A WATERMARK row is a
  violation (once) when
  - the WATERMARK row before it on the channel, with no STATUS row of -1 (IDLE) between them, has a timestamp >= its
    own; or
  - the row directly before it (among WATERMARK and STATUS rows) is a STATUS row of -1: an idle output drops
    watermarks (rule 5.8).
- Tasks: per (task, input), WATERMARK rows of `task_watermark` by seq: a row whose timestamp is <= that of the
  WATERMARK row before it is a violation.
"""

LAWS: Final = (
    Law(
        ID,
        "Watermarks strictly increase on every channel between the moments it is idle, and in every task.",
        ("5.8", "8.5", "8.9"),
        Level.ELEMENTS,
        {"sent": ("channel", "kind", "timestamp"), "task_watermark": ("input", "kind", "timestamp")},
        _make,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
