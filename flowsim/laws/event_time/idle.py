"""Law idle: an idle output emits no watermark, and is idle exactly when its inputs, or its strategy, are (5.8, 8.4, 8.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.event_time.idle_strategies import IdleStrategies
from flowsim.laws.event_time.marks import Mark, generated_event_time, sent_event_time, statuses
from flowsim.laws.event_time.origins import Origins
from flowsim.laws.event_time.paths import ACTIVE, FREE, IDLE, STATUS, WATERMARK, EventTimePaths, name_of
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice

ID: Final = "idle"


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
        following = iter(changes or ())
        change = next(following, None)
        for seq, emission in marks:
            while change is not None and change[0] <= seq:
                self._change(*change)
                change = next(following, None)
            kind, value = emission
            if kind == WATERMARK:
                if self.status == IDLE:
                    self._broken("watermark while idle", seq, found=name_of(emission))
                continue
            if changes is not None and value != self._expected:
                self._broken("not the status of its origin", seq, found=name_of(emission), expected=self._name())
            elif value == self.status:
                self._broken("no change", seq, found=name_of(emission))
            else:
                self._is_missing = False
            self.status = value
        while change is not None:
            self._change(*change)
            change = next(following, None)

    def _change(self, cause: int, emission: tuple[int, int]) -> None:
        self.end(True)
        self._cause, self._expected, self._is_missing = cause, emission[1], True

    def end(self, whole: bool) -> None:
        """In a prefix the last change may follow."""
        if self._is_missing and whole:
            self._broken("a change is not sent", self._cause, expected=self._name())

    def _name(self) -> str:
        return name_of((STATUS, self._expected))

    def _broken(self, what: str, seq: int, **shown: str) -> None:
        place = {"task": self._task, "channel": self._channel, "seq": seq}
        self._found.broken(what, (self._task, seq), **place, **shown)


class TaskStatuses:
    """Follows the statuses of all channels and strategies of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._origins = Origins(task.inputs)
        self._strategies = IdleStrategies(graph, task, found)
        self._is_idle = False
        """Whether a channel is idle."""
        self._channels: list[tuple[int, int, ChannelStatus]] = []
        """With the origin of its statuses and its number."""
        paths = graph.once(EventTimePaths)
        for origin, channels in paths.channels_by_origin.get(task.task, {}).items():
            statuses_of = paths.origin_of_statuses(task.vertex, origin)
            self._channels += [(statuses_of, number, ChannelStatus(found, task.task, number)) for number in channels]

    def feed(self, facts: Slice) -> None:
        sent, generated = facts.once(sent_event_time), facts.once(generated_event_time)
        self._found.examined += sum(map(len, sent.values())) + sum(map(len, generated.values()))
        # Watermarks alone change nothing, unless an input is idle: one that has a watermark is not.
        if self._is_idle or self._origins.has_idle_inputs or facts.once(_has_statuses):
            causes = self._origins.causes(facts)
            self._is_idle = False
            for origin, channel, status in self._channels:
                changes = None if origin == FREE else statuses(causes.get(origin, ()))
                status.feed(changes, sent.get(channel, ()))
                self._is_idle |= status.status == IDLE
        self._strategies.feed(facts)

    def end(self, whole: bool) -> None:
        for _, _, status in self._channels:
            status.end(whole)


def _has_statuses(facts: Slice) -> bool:
    """Whether a status was sent, arrived or was generated."""
    tables = (facts.of(table) for table in ("sent", "task_watermark", "generated_watermark"))
    return any(bool((rows.column("kind") == STATUS).any()) for rows in tables if len(rows))


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskStatuses:
    return TaskStatuses(graph, task, found[ID])


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, rows of `generated_watermark` with split -1.
- Channels: the status is that of the last STATUS row, at first ACTIVE. With *origin* meaning the origin of statuses (see
  task-watermark) and *changes* its STATUSes that pass, a row of `sent`, by seq, is a violation (once) when
  - it is a WATERMARK and the status is IDLE;
  - it is a STATUS other than the last change with a lower seq (at first ACTIVE), and the origin is not free; or
  - it is any other STATUS that equals the status.
- 1 for each change (of an origin that is not free) that no STATUS row of the channel, itself no violation, repeats before
  the next change; in a prefix not for the last one.
- Strategies: per task and operator, a row of `generated_watermark` with split -1 is a violation when it is a WATERMARK
  and the last STATUS is IDLE, a STATUS that equals the one before (at first ACTIVE), or an IDLE that is too early.
- Too early (rule 8.4) may be an operator that had no row of another split before, with `params.watermarks.idle_ms` and
  the kind `bounded`, `monotonous` or `none`: when `time_ns` is at most `idle_ms` after the highest `time_ns` of the
  RUNNING row of its task and the RECORD rows that the task sent before over edges between which and the operator are
  only operators of the kinds `map`, `filter` and `flat_map`. (Back pressure and alignment only make it later.)
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
