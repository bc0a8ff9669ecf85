"""Law idle: an idle output emits no watermark, and is idle exactly when its inputs, or its strategy, are (5.8, 8.4, 8.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.event_time.causes import Causes
from flowsim.laws.event_time.marks import (
    NO_MARKS,
    Mark,
    Marks,
    arrived_event_time,
    generated_event_time,
    sent_event_time,
)
from flowsim.laws.event_time.paths import ACTIVE, FREE, IDLE, STATUS, WATERMARK, EventTimePaths, name_of
from flowsim.laws.event_time.timeouts import StrategyStatuses
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice

ID: Final = "idle"
_NEVER: Final = 2**63


class ChannelStatus:
    """The status of one channel beside that of its origin."""

    __slots__ = ("_cause", "_channel", "_expected", "_found", "_is_missing", "_task", "status")

    def __init__(self, found: Findings, task: int, channel: int) -> None:
        self._found = found
        self._task = task
        self._channel = channel
        self.status = ACTIVE
        self._expected = ACTIVE
        self._cause = -1
        self._is_missing = False
        """Whether the last change of the origin is not sent yet."""

    def feed(self, changes: Sequence[Mark] | None, marks: Sequence[Mark]) -> None:
        """``changes`` of the origin, None where no facts call for statuses."""
        place, count = 0, len(changes or ())
        begin = changes[0][0] if changes else _NEVER
        for seq, kind, value in marks:
            while changes and begin <= seq:
                self._change(changes[place])
                place += 1
                begin = changes[place][0] if place < count else _NEVER
            if kind == WATERMARK:
                if self.status == IDLE:
                    self._broken("watermark while idle", seq, found=name_of(kind, value))
                continue
            if changes is not None and value != self._expected:
                self._broken("not the status of its origin", seq, found=name_of(STATUS, value), expected=self._name())
            elif value == self.status:
                self._broken("no change", seq, found=name_of(STATUS, value))
            else:
                self._is_missing = False
            self.status = value
        for change in changes[place:] if changes else ():
            self._change(change)

    def _change(self, change: Mark) -> None:
        self.end(True)
        self._cause, _, self._expected = change
        self._is_missing = True

    def end(self, whole: bool) -> None:
        """In a prefix the last change may follow."""
        if self._is_missing and whole:
            self._broken("a change is not sent", self._cause, expected=self._name())

    def _name(self) -> str:
        return name_of(STATUS, self._expected)

    def _broken(self, what: str, seq: int, **shown: str) -> None:
        place = {"task": self._task, "channel": self._channel}
        self._found.broken(what, (self._task, seq), **place, seq=seq, **shown)


class TaskStatuses:
    """Follows the statuses of all channels and strategies of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._causes = Causes(task.inputs)
        self._strategies = StrategyStatuses(graph, task, found)
        self._is_idle = False
        """Whether a channel is idle."""
        self._channels: list[tuple[int, int, ChannelStatus]] = []
        """With the origin of its statuses and its number."""
        paths = graph.once(EventTimePaths)
        for origin, channels in paths.channels_by_origin.get(task.task, {}).items():
            statuses = paths.origin_of_statuses(task.vertex, origin)
            self._channels += [(statuses, number, ChannelStatus(found, task.task, number)) for number in channels]

    def feed(self, facts: Slice) -> None:
        sent, generated = facts.once(sent_event_time), facts.once(generated_event_time)
        self._found.examined += sent.watermarks + sent.statuses + sum(map(len, generated.values()))
        changes = self._changes(facts, generated)
        if changes or sent.statuses or self._is_idle:
            self._is_idle = False
            for origin, channel, status in self._channels:
                marks = sent.by_channel.get(channel, NO_MARKS).rows
                status.feed(None if origin == FREE else changes.get(origin, ()), marks)
                self._is_idle |= status.status == IDLE
        self._strategies.feed(facts, generated)

    def _changes(self, facts: Slice, generated: dict[int, Marks]) -> dict[int, list[Mark]]:
        """Per origin the changes of its status. Watermarks matter while an input is idle: one that has a watermark is not."""
        arrived = facts.once(arrived_event_time)
        has_status = arrived.has_status() or any(marks.has_status() for marks in generated.values())
        if not has_status and not self._causes.has_idle_inputs:
            return {}
        passing = self._causes.passing(self._causes.reaching(facts))
        return {origin: marks.statuses() for origin, marks in passing.items() if marks.has_status()}

    def end(self, whole: bool) -> None:
        for _, _, status in self._channels:
            status.end(whole)
        self._strategies.end()


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskStatuses:
    return TaskStatuses(graph, task, found[ID])


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, rows of `generated_watermark` with split -1.
- Per channel, by seq, its status is ACTIVE at first and then that of its last STATUS row. A row is a violation (once)
  when
  - it is a WATERMARK and the status is IDLE;
  - it is a STATUS, the origin of statuses (see task-watermark; below it is called the origin) is not free, and it
    differs from the last STATUS that the origin tells with a lower seq, at first ACTIVE;
  - it is any other STATUS that equals the status.
- Per channel whose origin is not free: 1 for each STATUS that the origin tells and that no STATUS row on the channel,
  itself no violation, repeats before the next one is told; in a prefix not for the last one.
- Per task and operator, rows of `generated_watermark` with split -1 by seq: a WATERMARK while the last STATUS is
  IDLE; a STATUS that equals the one before (at first ACTIVE); or an IDLE that is *too early* is a violation.
- Too early (rule 8.4) can only be what an operator without splits says, with `params.watermarks.idle_ms` and the kind
  `bounded`, `monotonous` or `none`. Of the RUNNING row of its task and the RECORD rows that the task sent before over
  edges between which and it lie only operators of the kinds `map`, `filter` and `flat_map`, let the highest `time_ns`
  be h: it is too early when `time_ns` - h <= `idle_ms` in nanoseconds. (Back pressure and alignment only make it
  later.)
"""

LAWS: Final = (
    Law(
        ID,
        "An idle output emits no watermark, and a task is idle exactly when all its inputs are, or when its strategy had no "
        "record for its timeout.",
        ("5.8", "8.4", "8.5", "8.16"),
        Level.ELEMENTS,
        {
            "sent": ("channel", "kind", "timestamp", "time_ns"),
            "task_watermark": ("input", "kind", "timestamp"),
            "generated_watermark": ("operator", "split", "kind", "timestamp", "time_ns"),
            "lifecycle": ("event", "time_ns"),
        },
        _make,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
