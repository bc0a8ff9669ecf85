"""Law timers: a timer fires once, in time and in order, and none that is due is left (section 9)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Final

import numpy as np

from flowsim.facts.kinds import Level, LifeEvent, TimeDomain, TimerAction
from flowsim.laws.event_time.marks import arrived_event_time, generated_event_time, sent_event_time
from flowsim.laws.event_time.paths import FREE, INPUTS, WATERMARK, EventTimePaths, InputsModel
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Row, Slice
from flowsim.laws.timers.keys import DESCRIPTION, OwnKeys
from flowsim.laws.timers.waiting import COLUMNS, Due, Service
from flowsim.units import NO_TIMESTAMP

ID: Final = "timers"
_FINISHED: Final = int(LifeEvent.FINISHED)
_NEVER: Final = 2**63
_FORWARDED: Final = -3
"""In place of the origin of a watermark: the task sent it."""
_ACTIONS: Final = {int(action): action.name.lower() for action in TimerAction}
_DOMAINS: Final = {int(domain): domain.name.lower() for domain in TimeDomain}

_Step = tuple[int, int, int]
"""Sequence number, origin and time of a watermark that an operator received, or that the task sent."""


class KeyedTask:
    """Replays the timers of one task beside the watermarks that its operators receive."""

    __slots__ = ("_first", "_found", "_inputs", "_keys", "_last", "_paths", "_services", "_task")

    def __init__(self, task: Task, paths: EventTimePaths, first: Collection[int], found: Findings) -> None:
        """``first``: one channel of each edge that carries what the inputs of the task combine."""
        self._task = task
        self._paths = paths
        self._first = first
        self._found = found
        self._keys = OwnKeys(task, found)
        self._inputs = None if task.inputs == 1 else InputsModel(task.inputs)
        self._services: dict[tuple[int, int], Service] = {}
        self._last: dict[int, tuple[int, int]] = {}
        """The last watermark of each origin, and the sequence number of the fact that brought it."""

    def feed(self, facts: Slice) -> None:
        if facts.has("keys"):
            self._keys.describe(facts.of("keys"))
        lives = facts.of("lifecycle")
        if len(lives):
            self._found.examined += int(np.count_nonzero(lives.column("event") == _FINISHED))
        steps = self._steps(facts)
        timers = facts.of("timers")
        if not len(timers):
            for step in steps:
                self._watermark(*step)
            return
        self._found.examined += len(timers)
        self._keys.examine(timers)
        rows = timers.tuples(COLUMNS)
        start = 0
        for step, stop in zip(steps, np.searchsorted(timers.column("seq"), [step[0] for step in steps]), strict=True):
            self._replay(rows[start:stop])
            self._watermark(*step)
            start = stop
        self._replay(rows[start:])

    def _steps(self, facts: Slice) -> list[_Step]:
        """The watermarks of a slice, in order."""
        steps: list[_Step] = []
        if self._inputs is None:
            steps = [(seq, INPUTS, at) for seq, kind, at in facts.once(arrived_event_time).rows if kind == WATERMARK]
            self._found.examined += len(steps)
        else:
            for seq, index, kind, value in facts.of("task_watermark").tuples(("seq", "input", "kind", "timestamp")):
                self._found.examined += kind == WATERMARK
                steps += [(seq, INPUTS, at) for what, at in self._inputs.take(index, kind, value) if what == WATERMARK]
        parts = 1
        for operator, generated in facts.once(generated_event_time).items():
            steps += [(seq, operator, at) for seq, kind, at in generated.rows if kind == WATERMARK]
            parts += 1
        if self._first:
            sent = facts.once(sent_event_time).by_channel
            for channel in self._first:
                if channel in sent:
                    steps += [(seq, _FORWARDED, at) for seq, kind, at in sent[channel].rows if kind == WATERMARK]
                    parts += 1
        if parts > 1:
            steps.sort(key=itemgetter(0))
        return steps

    def _watermark(self, seq: int, origin: int, watermark: int) -> None:
        """Timers that were due at the watermark before have fired before the next one arrives (rules 8.15, 9.4, 9.12)."""
        if origin == _FORWARDED:
            for place, service in self._services.items():
                if service.origin == INPUTS and self._is_head(place[0]):
                    self._left(place, service.event_time.take_due(watermark, _NEVER), watermark)
            return
        self._last[origin] = watermark, seq
        for place, service in self._services.items():
            if service.origin == origin:
                if not service.spread:
                    self._left(
                        place, service.event_time.take_due(service.watermark, service.received), service.watermark
                    )
                service.watermark, service.received = watermark, seq

    def _is_head(self, operator: int) -> bool:
        described = self._paths.operator(self._task.vertex, operator)
        return described is not None and described.input_operator < 0

    def _replay(self, rows: Sequence[Row]) -> None:
        services = self._services
        for row in rows:
            place = row[1], row[10]
            service = services.get(place)
            if service is None:
                service = services[place] = self._service(row[1])
            wrong = service.take(row)
            if wrong:
                self._broken(wrong, row, service)

    def _service(self, operator: int) -> Service:
        paths, vertex = self._paths, self._task.vertex
        origin = paths.origin_of_input(vertex, operator)
        if paths.keeps_back(vertex, origin):
            origin = FREE
        service = Service(origin, paths.operator(vertex, operator) is not None and paths.holds_back(vertex))
        service.watermark, service.received = self._last.get(origin, (NO_TIMESTAMP, -1))
        return service

    def _broken(self, what: str, row: Row, service: Service) -> None:
        seq, operator, time_ns, action, domain, timestamp, key, start, watermark, end, number = row
        self._found.broken(
            what, (self._task.task, seq), task=self._task.task, operator=operator, service=number, seq=seq,
            action=_ACTIONS.get(action, action), domain=_DOMAINS.get(domain, domain), timestamp=timestamp, key=key,
            window_start=start, window_end=end, time_ns=time_ns, watermark=watermark,
            expected_watermark=None if service.origin == FREE else service.watermark,
        )  # fmt: skip

    def _left(self, place: tuple[int, int], due: Sequence[Due], watermark: int) -> None:
        for timestamp, (key, start, end), seq in due:
            self._found.broken(
                "due and not fired", (self._task.task, seq), task=self._task.task, operator=place[0], service=place[1],
                seq=seq, timestamp=timestamp, key=key, window_start=start, window_end=end, watermark=watermark,
            )  # fmt: skip

    def end(self, whole: bool) -> None:
        self._keys.end()
        for place, service in self._services.items() if whole else ():
            self._left(place, service.event_time.take_due(service.watermark, service.received), service.watermark)


class OtherTask:
    """A task without keyed inputs: no timer is right there (rule 9.17)."""

    __slots__ = ("_found",)

    def __init__(self, found: Findings) -> None:
        self._found = found

    def feed(self, facts: Slice) -> None:
        self._found.examined += len(facts.of("timers"))
        for seq, task, operator, key in facts.of("timers").tuples(("seq", "task", "operator", "key")):
            self._found.broken(
                "a timer in a task without keys", (task, seq), task=task, operator=operator, seq=seq, key=key
            )

    def end(self, whole: bool) -> None:
        """Nothing is left to examine."""


def _keyed_vertices(graph: JobGraph) -> set[int]:
    return {edge.target_vertex for edge in graph.edges.values() if edge.partitioner == "HASH"}


def _first_channels(graph: JobGraph) -> dict[int, list[int]]:
    """By task one channel of each edge that carries what the inputs of the task combine."""
    found: dict[int, list[int]] = {}
    for task, by_origin in graph.once(EventTimePaths).channels_by_origin.items():
        found[task] = [channel for channel in by_origin.get(INPUTS, ()) if not graph.channels[channel].subpartition]
    return found


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> KeyedTask | OtherTask:
    if task.vertex not in graph.once(_keyed_vertices):
        return OtherTask(found[ID])
    first = graph.once(_first_channels).get(task.task, ())
    return KeyedTask(task, graph.once(EventTimePaths), first, found[ID])


def _needs_keyed_edges(graph: JobGraph) -> str:
    return "" if graph.once(_keyed_vertices) else "the job has no keyed edge"


LAWS: Final = (
    Law(
        ID,
        "A timer fires once, not before its time, in the order of times and under its key, and none that is due is left when "
        "its watermark is passed on.",
        ("8.15", "9.1", "9.2", "9.4", "9.9", "9.10", "9.12", "9.13"),
        Level.FULL,
        {
            "timers": (*COLUMNS[1:], "key_hash"),
            "keys": DESCRIPTION,
            "task_watermark": ("input", "kind", "timestamp"),
            "generated_watermark": ("operator", "split", "kind", "timestamp"),
            "sent": ("channel", "kind", "timestamp"),
            "lifecycle": ("event",),
        },
        _make,
        _needs_keyed_edges,
    ),
)  # fmt: skip
