"""Law task-watermark: what a task sends of event time follows from its inputs, or from what its strategies generate."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, Level
from flowsim.laws.event_time.causes import Causes
from flowsim.laws.event_time.lanes import AlikeLanes, HeldBackLane, Lane
from flowsim.laws.event_time.marks import NO_MARKS, SentMarks, sent_event_time
from flowsim.laws.event_time.paths import FREE, INPUTS, WATERMARK, EventTimePaths
from flowsim.laws.event_time.queues import queues_of
from flowsim.laws.event_time.strategies import Strategies
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Slice

ID: Final = "task-watermark"
_PUT: Final = int(AsyncAction.PUT)


class TaskEventTime:
    """Follows every origin of event time in one task to the channels and queues that it reaches."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._causes = Causes(task.inputs)
        self._queues = queues_of(graph, task, found)
        self._free: AlikeLanes | None = None
        self._lanes: list[tuple[int, int, Lane | HeldBackLane]] = []
        """Origin and channel of each."""
        paths = graph.once(EventTimePaths)
        for origin, channels in paths.channels_by_origin.get(task.task, {}).items():
            if origin == FREE:
                self._free = AlikeLanes(found, task.task, channels) if len(channels) > 1 else None
            elif origin not in self._queues:
                is_held = origin == INPUTS and paths.holds_back(task.vertex)
                may_end = paths.makes_the_first(task.vertex, origin)
                for channel in channels:
                    place = {"task": task.task, "channel": channel}
                    lane = HeldBackLane(found, place) if is_held else Lane(found, place, may_end)
                    self._lanes.append((origin, channel, lane))
        self._strategies = Strategies(graph, task, found)

    def feed(self, facts: Slice) -> None:
        reaching = self._causes.reaching(facts)
        passing = self._causes.passing(reaching)
        sent = facts.once(sent_event_time)
        self._count(facts, sent)
        for origin, channel, lane in self._lanes:
            causes, marks = passing.get(origin), sent.by_channel.get(channel)
            if causes is not None or marks is not None:
                lane.feed(causes or NO_MARKS, marks or NO_MARKS)
        if self._free is not None and sent.by_channel:
            self._free.feed(sent.by_channel)
        for queue in self._queues.values():
            queue.steps.feed(facts)
        for queue in self._queues.values():
            queue.feed(reaching, passing, sent.by_channel)
        self._strategies.feed(facts, passing.get(INPUTS))

    def _count(self, facts: Slice, sent: SentMarks) -> None:
        count = sent.watermarks + sent.statuses + len(facts.of("task_watermark")) + len(facts.of("generated_watermark"))
        steps = facts.of("async_elements")
        if len(steps):
            puts = (steps.column("action") == _PUT) & (steps.column("kind") == WATERMARK)
            count += int(np.count_nonzero(puts))
        self._found.examined += count

    def end(self, whole: bool) -> None:
        for _, _, lane in self._lanes:
            lane.end(whole)
        if self._free is not None:
            self._free.end(whole)
        for queue in self._queues.values():
            queue.end(whole)
        self._strategies.end(whole, self._queues)


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> TaskEventTime:
    return TaskEventTime(graph, task, found[ID])


LAWS: Final = (
    Law(
        ID,
        "The watermarks and statuses that a task sends are those that its inputs combine, or that its strategies generate from "
        "their records.",
        ("5.8", "8.1", "8.5", "8.6", "8.7", "8.15", "8.16", "8.18"),
        Level.ELEMENTS,
        {
            "sent": ("channel", "kind", "timestamp"),
            "task_watermark": ("input", "kind", "timestamp"),
            "generated_watermark": ("operator", "split", "kind", "timestamp", "records", "max_timestamp"),
            "async_elements": ("operator", "entry", "action", "kind", "timestamp"),
            "lifecycle": ("operator", "event"),
        },
        _make,
        needs_channels,
    ),
)  # fmt: skip
