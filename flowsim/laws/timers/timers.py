"""Law timers: a timer fires once, in time and in order, and no due timer is left (section 9)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.laws.elements import received_ends
from flowsim.laws.event_time.marks import arrived_event_time, generated_event_time, sent_event_time, watermarks
from flowsim.laws.event_time.origins import CombinedInputs
from flowsim.laws.event_time.paths import FREE, INPUTS, WATERMARK, EventTimePaths
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.free_moments import QUIESCED, STOPPED, FreeMoments
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Mask, Rows, Slice
from flowsim.laws.timers.keys import OwnKeys
from flowsim.laws.timers.service import COLUMNS, FORWARDED, NEVER, PLACE, BatchService, Service, Step

ID: Final = "timers"
_END_WITHOUT_DRAIN: Final = (ElementKind.END_OF_DATA, 0)
"""Kind and timestamp. The operators do not finish, and no processing-time timer fires (rules 3.27, 4.20)."""
Restored = tuple[int, int, int, int, int, int, int]
"""A timer: operator, service, domain, timestamp, key and window."""


class KeyedTask(Machine):
    """Replays the timers of one attempt of a task together with the watermarks of its operators."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task
        self._paths = graph.once(EventTimePaths)
        self._first = graph.once(_first_channels).get(task.task, ())
        """One channel of each edge with the combined event time of the task's inputs."""
        self._found = found[ID]
        self._keys = OwnKeys(task, self._found)
        self._inputs = None if task.inputs == 1 else CombinedInputs(task.inputs)
        self._services: dict[tuple[int, int], Service] = {}
        """By operator and number."""
        self._last: dict[int, Step] = {}
        """The last watermark of each origin."""
        self._moments = FreeMoments()
        self._quiesced: dict[int, int] = {}
        """The first row from which on no processing-time timer of an operator fires; -1: of all operators."""

    def restore(self, timers: Iterable[Restored]) -> None:
        """Adds the timers of the snapshot from which the attempt starts; call before the first slice."""
        for operator, number, domain, timestamp, key, start, end in timers:
            if (operator, number) not in self._services:
                self._services[operator, number] = self._service(operator, number)
            self._services[operator, number].restore(domain, timestamp, (key, start, end))

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> KeyedTask | OtherTask:
        return (cls if task.vertex in graph.once(keyed_vertices) else OtherTask)(graph, task, found)

    @reads(OwnKeys.describe)
    def _describe_keys(self, facts: Slice) -> None:
        self._keys.describe(facts)

    @reads(OwnKeys.examine)
    def _compare_keys(self, facts: Slice) -> None:
        if facts.has("timers"):
            self._keys.examine(facts)

    @reads(FreeMoments.feed)
    def _begin_moments(self, facts: Slice) -> None:
        self._moments.feed(facts)

    @reads(received_ends, lifecycle=("operator", "event"))
    def _quiesce(self, facts: Slice) -> None:
        """Notes the rows from which on no processing-time timer fires."""
        lives = facts.of("lifecycle").tuples(("seq", "operator", "event"))
        self._found.examined += sum(event == LifeEvent.FINISHED for _, _, event in lives)
        ends = [(operator, seq) for seq, operator, event in lives if event in QUIESCED or event in STOPPED]
        ends += [(-1, mark[0]) for mark in facts.once(received_ends) if mark[3:] == _END_WITHOUT_DRAIN]
        for operator, seq in ends:
            self._quiesced[operator] = min(seq, self._quiesced.get(operator, NEVER))
        for (operator, _), service in self._services.items():
            service.quiesced_at = self._quiesced_at(operator)

    @reads(arrived_event_time, generated_event_time, sent_event_time, timers=(*PLACE, *COLUMNS))
    def _replay(self, facts: Slice) -> None:
        steps, timers = self._steps(facts), facts.of("timers")
        masks: dict[tuple[int, int], Mask | None] = {}
        if len(timers):
            self._found.examined += len(timers)
            masks = _by_service(timers)
            for place in masks.keys() - self._services.keys():
                self._services[place] = self._service(*place)
        if masks or steps:
            for place, service in self._services.items():
                service.feed(timers if place in masks else None, masks.get(place), steps)
        for step in steps:
            self._last[step[1]] = step
        for service in self._services.values():
            service.pass_moments(NEVER)

    def _quiesced_at(self, operator: int) -> int:
        return min(self._quiesced.get(operator, NEVER), self._quiesced.get(-1, NEVER))

    def _steps(self, facts: Slice) -> list[Step]:
        """The watermarks of a slice, in order."""
        steps: list[Step] = []
        if self._inputs is None:
            steps = [(seq, INPUTS, at) for seq, (_, at) in watermarks(facts.once(arrived_event_time))]
            self._found.examined += len(steps)
        else:
            for seq, index, kind, value in facts.of("task_watermark").tuples(("seq", "input", "kind", "timestamp")):
                self._found.examined += kind == WATERMARK
                steps += [(seq, INPUTS, at) for what, at in self._inputs.take(index, kind, value) if what == WATERMARK]
        parts = 1
        for operator, generated in facts.once(generated_event_time).items():
            steps += [(seq, operator, at) for seq, (_, at) in watermarks(generated)]
            parts += 1
        if self._first:
            sent = facts.once(sent_event_time)
            for channel in self._first:
                if channel in sent:
                    steps += [(seq, FORWARDED, at) for seq, (_, at) in watermarks(sent[channel])]
                    parts += 1
        if parts > 1:
            steps.sort(key=itemgetter(0))
        return steps

    def _service(self, operator: int, number: int) -> Service:
        paths, vertex = self._paths, self._task.vertex
        described = paths.operator(vertex, operator)
        origin = paths.origin_of_input(vertex, operator)
        if paths.keeps_back(vertex, origin):
            origin = FREE
        is_head = described is not None and described.input_operator < 0
        spread = described is not None and paths.holds_back(vertex)
        is_batch = described is not None and described.params.get("batch") is True
        service = (BatchService if is_batch else Service)(
            (self._task.task, operator, number),
            FREE if is_batch else origin,
            is_head,
            spread,
            self._moments,
            self._found,
        )
        service.quiesced_at = self._quiesced_at(operator)
        if origin in self._last:
            service.take(self._last[origin])
        return service

    def end(self, whole: bool) -> None:
        self._keys.end()
        for service in self._services.values() if whole else ():
            service.end()

    def waiting(self, domain: int) -> list[Restored]:
        """The timers of a time domain that wait at the end."""
        return [
            (*place, domain, timestamp, *name)
            for place, service in self._services.items()
            for timestamp, name in service.waiting(domain)
        ]


def _by_service(timers: Rows) -> dict[tuple[int, int], Mask | None]:
    """The rows of each service, by operator and number; None for all."""
    operator, number = timers.column("operator"), timers.column("service")
    if (operator == operator[0]).all() and (number == number[0]).all():
        return {(int(operator[0]), int(number[0])): None}
    places = sorted(set(zip(operator.tolist(), number.tolist(), strict=True)))
    return {place: (operator == place[0]) & (number == place[1]) for place in places}


class OtherTask(Machine):
    """A task without keyed inputs: every timer is a violation (rule 9.17)."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task, self._found = task.task, found[ID]

    @on_row("timers")
    def _timer(self, seq: int, operator: int, key: int) -> None:
        self._found.examined += 1
        self._found.broken(
            "a timer in a task without keys", (self._task, seq), task=self._task, operator=operator, seq=seq, key=key
        )


def keyed_vertices(graph: JobGraph) -> set[int]:
    """The vertices with a keyed input; use with ``JobGraph.once``."""
    return {edge.target_vertex for edge in graph.edges.values() if edge.partitioner == "HASH"}


def _first_channels(graph: JobGraph) -> dict[int, list[int]]:
    """Per task one channel of each edge with the combined event time of its inputs."""
    return {
        task: [channel for channel in by_origin.get(INPUTS, ()) if not graph.channels[channel].subpartition]
        for task, by_origin in graph.once(EventTimePaths).channels_by_origin.items()
    }


def needs_keyed_edges(graph: JobGraph) -> str:
    """For laws about timers."""
    return "" if graph.once(keyed_vertices) else "the job has no keyed edge"


_COUNTS: Final = """\
- Not applicable: no edge with partitioner HASH. Without keys there are no timers (rule 9.17), so in a task without a
  keyed input every row of `timers` is a violation. The other conditions are for tasks with a keyed input.
- Rows examined: rows of `timers`. In a task with a keyed input, also WATERMARK rows of `task_watermark` and FINISHED
  rows of `lifecycle`: no due timer may be left at these rows.
- A timer of a (task, operator, service, domain) is its (timestamp, key, window_start, window_end). It *waits* from its
  REGISTER row to its next DELETE or FIRE row.
- An operator *receives* each WATERMARK that the origin of its input makes (see
  [Causes](#laws-about-watermarks-and-idleness)), also if the mark does not pass. Its *watermark* at a row is the last
  one received before the row, or `MIN`. If the origin is free or queues, the watermark is unknown, and the conditions
  about it do not apply. An operator *spreads* its timers if the head of its chain has `params.interruptible_timers`.
- A row of `timers` is a violation when
  - REGISTER: the timer already waits (rule 9.1: registering an equal timer again is not recorded);
  - DELETE, FIRE: the timer does not wait;
  - FIRE: another timer of the same service and domain with a lower timestamp waits (rules 9.2, 9.9);
  - FIRE of event time: its timestamp is above the watermark of the operator (rule 9.4);
  - FIRE of processing time: the milliseconds of `time_ns` are not above its timestamp (rule 9.10);
  - its column `watermark` is not the watermark of the operator (operator that spreads: is above it).
- *Overdue timers*: a processing-time timer with timestamp t (ms) is *due before* a time if this time is at least t + 2 ms.
  (Its system timer fires 1 ms after it, counted from a time inside a millisecond, rule 9.10.) A row of `actions` is at
  *loop level* if no action is open: as many END rows as BEGIN rows are before it. 1 for each processing-time timer that
  waits, was registered before one of these rows, and was due before it; afterwards it no longer counts as waiting.
  - A RESUME of kind MAIL at loop level with a higher `time_ns` than the row of kind MAIL at loop level before it. A loop
    that waits has run every mail, so the timer was due before the wait or ended it.
  - A BEGIN of kind DEFAULT_ACTION after which at least 7 more follow, if no processing-time timer of the service fired or
    was deleted from it to the last of these 7. (A mail waits for 2 default actions at most, and the mail of a deleted
    timer may be before it, rules 3.2, 9.9, 9.11.)

  It does not apply after the first of these rows: FINISH or CLOSE of the operator; STOP_NO_DRAIN, CANCELING, CANCELED or
  FAILED of the task; END_OF_DATA without drain in `received` (rules 3.27, 4.20, 9.14). It does not apply to rows of
  `actions` with a `time_ns` above 10^18: they are of the real clock, where events may come late.
- Keys: a row of `timers` is also a violation when
  - `keys` has no row for its (task, key), or a row with another `key_hash`;
  - this `key_hash` is not the Java hash of the key;
  - the key belongs to a key group of another subtask (rules 1.18, 1.19).
- *BATCH mode*: the watermark and the clock do not count for an operator with `params.batch`. All timers of a key fire
  at its end, so a FIRE row is a violation if its column `watermark` is not `MAX`, or if it is of processing time and a
  timer of event time of the service waits. 1 for each timer that waits at the end of a whole run.
- *Due timers left*: 1 for each event-time timer that still waits at one of these moments, and is due. Afterwards it no
  longer counts as waiting.
  - The operator receives a WATERMARK, and does not spread: timers up to the WATERMARK received before, if they were
    registered before that WATERMARK was received.
  - A whole run ends: timers up to the last WATERMARK received, if they were registered before it was received.
  - The task sends a WATERMARK to subpartition 0 of an edge whose origin is the inputs, and the operator is the head:
    timers up to this WATERMARK (rules 8.15, 9.12, 9.18).
"""

LAWS: Final = (
    Law(
        ID,
        "A timer fires once, not before its time, in the order of times and under its key. All due timers "
        "fire before the watermark is passed on; those of processing time fire as soon as the task can run their mail.",
        ("3.11", "3.27", "8.15", "9.1", "9.2", "9.4", "9.8", "9.9", "9.10", "9.11", "9.12", "9.13", "9.14"),
        Level.FULL,
        KeyedTask,
        needs_keyed_edges,
        attempts=Attempts.FRESH,
        counts=_COUNTS,
    ),
)  # fmt: skip
