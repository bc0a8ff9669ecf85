"""Law idle: an idle output emits no watermark, and is idle exactly when its inputs, or its strategy, are (5.8, 8.4, 8.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from flowsim.facts.kinds import Level, LifeEvent
from flowsim.laws.elements import SentBefore
from flowsim.laws.event_time.marks import Mark, generated_event_time, sent_event_time, statuses
from flowsim.laws.event_time.origins import Origins
from flowsim.laws.event_time.paths import ACTIVE, FREE, IDLE, STATUS, WATERMARK, EventTimePaths, strategy_of
from flowsim.laws.event_time.readers import Reader
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice
from flowsim.units import NS_PER_MS

ID: Final = "idle"
_RUNNING: Final = int(LifeEvent.RUNNING)
_GENERATED: Final = ("seq", "operator", "split", "kind", "timestamp", "time_ns")
_STRAIGHT: Final = ("map", "filter", "flat_map")
"""Kinds of operators that emit only while they process a record."""
_TIMED: Final = ("bounded", "monotonous", "none")
"""Kinds of strategies that become idle only by their timeout."""
_OF_SPLITS: Final = frozenset(("splits", "assignment", "files", "split_by", "partitions"))
"""Parameters of sources whose records come from splits: each split has its own timeout, and may end before it."""
Moment = tuple[int, int]
"""A sequence number and ``time_ns``."""


class Channel(NamedTuple):
    """A channel, and the comparison of its statuses with those of their origin; None if no facts determine them."""

    origin: int
    number: int
    reader: Reader | None


class Timeout(NamedTuple):
    """The timeout of a strategy, and the records that show its activity."""

    nanoseconds: int
    records: SentBefore


class TaskStatuses:
    """Tracks the statuses of all channels and strategies of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._task = task.task
        self._origins = Origins(task.inputs)
        self._paths = graph.once(EventTimePaths)
        self._channels: list[Channel] = []
        for origin, channels in self._paths.channels_by_origin.get(task.task, {}).items():
            of_statuses = self._paths.origin_of_statuses(task.vertex, origin)
            for channel in channels:
                reader = None if of_statuses == FREE else Reader(found, {"task": task.task, "channel": channel})
                self._channels.append(Channel(of_statuses, channel, reader))
        self._sent: dict[int, int] = {}
        """The status of each channel."""
        self._generated: dict[int, int] = {}
        """The status of each operator."""
        self._timeouts = self._timeouts_of(graph, task)
        self._with_splits: set[int] = set()
        self._started: list[Moment] = []

    def _timeouts_of(self, graph: JobGraph, task: Task) -> dict[int, Timeout]:
        found: dict[int, Timeout] = {}
        for operator in graph.operators_of(task.vertex):
            strategy = strategy_of(operator) or {}
            idle_ms = strategy.get("idle_ms")
            if (
                strategy.get("kind") not in _TIMED
                or not isinstance(idle_ms, int)
                or _OF_SPLITS & operator.params.keys()
            ):
                continue
            found_edges = self._paths.edges_of(
                operator, lambda behind: behind.kind in _STRAIGHT and not behind.input_tag
            )
            edges = {edge.edge for edge in found_edges if not edge.side_output}
            records = SentBefore(graph.sent_by(task.task), edges, "time_ns")
            found[operator.operator] = Timeout(idle_ms * NS_PER_MS, records)
        return found

    def feed(self, facts: Slice) -> None:
        sent, generated = facts.once(sent_event_time), facts.once(generated_event_time)
        self._found.examined += sum(map(len, sent.values())) + sum(map(len, generated.values()))
        # Watermarks alone have no effect, unless something is idle.
        if IDLE in self._sent.values() or self._origins.has_idle_inputs or facts.once(_has_statuses):
            causes = self._origins.causes(facts)
            for channel in self._channels:
                self._examine_channel(channel, causes.get(channel.origin, ()), sent.get(channel.number, ()))
        idle = self._idle_strategies(facts)
        if self._timeouts:
            lives = facts.of("lifecycle").tuples(("seq", "time_ns", "event"))
            self._started += [(seq, time_ns) for seq, time_ns, event in lives if event == _RUNNING]
            for operator, timeout in self._timeouts.items():
                self._examine_timeout(operator, timeout, idle.get(operator, ()), facts)

    def _examine_channel(self, channel: Channel, causes: Sequence[Mark], marks: Sequence[Mark]) -> None:
        if channel.reader is not None:
            channel.reader.feed(statuses(causes), statuses(marks))
            channel.reader.settle()
        status = self._sent.get(channel.number, ACTIVE)
        for seq, (kind, value) in marks:
            if kind == WATERMARK:
                if status == IDLE:
                    self._broken("a watermark is sent while idle", seq, channel=channel.number, timestamp=value)
                continue
            if value == status and channel.reader is None:
                self._broken("a status equals the previous one", seq, channel=channel.number, status=value)
            status = value
        self._sent[channel.number] = status

    def _idle_strategies(self, facts: Slice) -> dict[int, list[Moment]]:
        """Checks operators that became idle and had no splits before."""
        found: dict[int, list[Moment]] = {}
        for seq, operator, split, kind, value, time_ns in facts.of("generated_watermark").tuples(_GENERATED):
            status = self._generated.get(operator, ACTIVE)
            if split != -1:
                self._with_splits.add(operator)
            elif kind == WATERMARK:
                if status == IDLE:
                    self._broken("a watermark is sent while idle", seq, operator=operator, timestamp=value)
            else:
                if value == status:
                    self._broken("a status equals the previous one", seq, operator=operator, status=value)
                elif value == IDLE and operator not in self._with_splits:
                    found.setdefault(operator, []).append((seq, time_ns))
                self._generated[operator] = value
        return found

    def _examine_timeout(self, operator: int, timeout: Timeout, idle: Sequence[Moment], facts: Slice) -> None:
        before = timeout.records.before(facts, [seq for seq, _ in idle])
        for (seq, time_ns), (_, last_record) in zip(idle, before, strict=True):
            last = max([last_record, *(at for start, at in self._started if start < seq)])
            if time_ns - last <= timeout.nanoseconds:
                shown = {"time_ns": time_ns, "last_record_ns": last, "timeout_ns": timeout.nanoseconds}
                self._broken("idle before the timeout has passed", seq, operator=operator, **shown)

    def _broken(self, what: str, seq: int, **shown: int) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **shown)

    def end(self, whole: bool) -> None:
        for channel in self._channels:
            if channel.reader is not None:
                channel.reader.end(whole)


def _has_statuses(facts: Slice) -> bool:
    """Whether a status was sent, arrived or was generated."""
    tables = (facts.of(table) for table in ("sent", "task_watermark", "generated_watermark"))
    return any(bool((rows.column("kind") == STATUS).any()) for rows in tables if len(rows))


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskStatuses:
    return TaskStatuses(graph, task, found[ID])


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: WATERMARK and STATUS rows of `sent`, and rows of `generated_watermark` with split -1.
- A WATERMARK row of `sent` is a violation when the last STATUS of its channel is IDLE.
- The STATUS rows of a channel are judged as in law task-watermark, with only the STATUSes of the origin of statuses as
  marks. If this origin is free, a STATUS row is a violation when it equals the last one (initially ACTIVE).
- For the rows of `generated_watermark` with split -1 of one task and operator, a row is a violation when it is
  - a WATERMARK, and the last STATUS is IDLE;
  - a STATUS that equals the last one (initially ACTIVE);
  - an IDLE that is too early.
- *Too early* (rule 8.4): let T be the highest `time_ns` of the earlier RUNNING rows of the task, and of the RECORD rows
  that the task sent earlier over suitable edges. A suitable edge has only operators of the kinds `map`, `filter` and
  `flat_map` between the operator and itself, and no side output on the way. IDLE is too early when its `time_ns` is at
  most T + `idle_ms`. This is checked only if `params.watermarks` has `idle_ms` and the kind `bounded`, `monotonous` or
  `none`, the operator has no earlier row of a single split, and `params` has none of `splits`, `assignment`, `files`,
  `split_by` and `partitions`. (Back pressure and alignment only delay IDLE.)
"""

LAWS: Final = (
    Law(
        ID,
        "An idle output emits no watermark. A task is idle exactly if all its inputs are idle, or if its "
        "strategy received no record during its idle timeout.",
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
