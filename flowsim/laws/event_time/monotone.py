"""Law watermark-monotone: watermarks increase on every channel and in every task (rules 4.10, 5.8, 8.5, 8.9, 11.22)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import AsyncAction, ElementKind, Level, LifeEvent
from flowsim.laws.event_time.marks import sent_event_time
from flowsim.laws.event_time.paths import IDLE, STATUS, WATERMARK
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

ID: Final = "watermark-monotone"
_LEAST: Final = NO_TIMESTAMP - 1
"""Below all watermarks: the initial value."""
_UNKNOWN: Final = (_LEAST, False)


class Monotone(Machine):
    """Stores the last watermark of every channel and every input of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._is_source = task.inputs == 0
        self._found = found[ID]
        self._channels: dict[int, tuple[int, bool]] = {}
        """The last watermark since the channel became idle, and whether IDLE was the last mark."""
        self._inputs: dict[int, int] = {}
        self._opened: set[int] = set()
        self._restored: set[int] = set()
        """Watermarks that async operators put into their queues before they were opened."""

    @reads(async_elements=("operator", "action", "kind", "timestamp"), lifecycle=("operator", "event"))
    def _restore(self, facts: Slice) -> None:
        if not facts.has("async_elements"):
            return
        opened = {
            operator: seq
            for seq, operator, event in facts.of("lifecycle").tuples(("seq", "operator", "event"))
            if event == LifeEvent.OPEN
        }
        rows = facts.of("async_elements")
        mask = (rows.column("action") == AsyncAction.PUT) & (rows.column("kind") == WATERMARK)
        for seq, operator, timestamp in rows.tuples(("seq", "operator", "timestamp"), mask):
            if operator not in self._opened and seq < opened.get(operator, seq + 1):
                self._restored.add(timestamp)
        self._opened |= opened.keys()

    @reads(sent_event_time)
    def _sent(self, facts: Slice) -> None:
        for channel, marks in facts.once(sent_event_time).items():
            before, is_idle = self._channels.get(channel, _UNKNOWN)
            for seq, (kind, value) in marks:
                if kind == STATUS:
                    is_idle = value == IDLE
                    before = _LEAST if is_idle else before
                    continue
                self._found.examined += 1
                if self._is_source and value < before == MAX_WATERMARK:
                    # Rule 4.10: the mail of a periodic emission that was due before the source ended still runs.
                    continue
                if is_idle:
                    # Rule 5.8: an idle output drops watermarks.
                    self._broken("a watermark is sent while idle", seq, channel=channel, timestamp=value)
                elif value <= before and before not in self._restored:
                    self._broken("watermark does not grow", seq, channel=channel, timestamp=value, before=before)
                before, is_idle = value, False
            self._channels[channel] = before, is_idle

    @on_row("task_watermark", kind=ElementKind.WATERMARK)
    def _arrive(self, seq: int, input: int, timestamp: int) -> None:
        self._found.examined += 1
        last = self._inputs.get(input, _LEAST)
        if timestamp <= last:
            self._broken("task watermark does not grow", seq, input=input, timestamp=timestamp, before=last)
        self._inputs[input] = timestamp

    def _broken(self, what: str, seq: int, **shown: int) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **shown)


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: WATERMARK rows of `sent` and of `task_watermark`.
- For the WATERMARK and STATUS rows of one channel in `sent`, a WATERMARK is a violation when
  - its timestamp is not above that of the WATERMARK before, and no IDLE is between them; a source that is drained may
    send watermarks after `MAX`, because a periodic emission that was due still runs (rule 4.10);
  - the row directly before is IDLE: an idle output drops watermarks (rule 5.8).
- Exception: no violation if an async operator of the task put a WATERMARK with the timestamp of the one before into its
  queue (PUT in `async_elements`) before its OPEN row: it is from a snapshot (rule 11.22), and generators begin anew.
- A WATERMARK row of `task_watermark` is a violation when its timestamp is not above that of the WATERMARK row before
  with the same task and input.
"""

LAWS: Final = (
    Law(
        ID,
        "Watermarks strictly increase in every task, and on every channel while it is active.",
        ("4.10", "5.8", "8.5", "8.9", "11.22"),
        Level.ELEMENTS,
        Monotone,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
