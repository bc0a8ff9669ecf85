"""A recording as a Perfetto trace, which ui.perfetto.dev opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Final

from flowsim.export.facts import each_fact
from flowsim.export.perfetto_writer import PerfettoWriter, Track
from flowsim.export.slices import opened_slice
from flowsim.facts.kinds import WITHOUT_POSITION, ElementKind, MailAction
from flowsim.facts.schema import (
    ACTIONS,
    ASYNC_ELEMENTS,
    BUFFERS,
    CREDITS,
    LATE_DROP,
    MAILS,
    RECEIVED,
    SENT,
    TASK_WATERMARK,
    WINDOW_FIRE,
)
from flowsim.history.channel_counters import ChannelCounters, Counter
from flowsim.history.task_watermark import TaskWatermark
from flowsim.recording.merged_facts import Fact, Selection
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_ELEMENT_NAMES: Final = {
    ElementKind.RECORD: "record",
    ElementKind.WATERMARK: "watermark",
    ElementKind.STATUS: "status",
    ElementKind.LATENCY_MARKER: "latency marker",
    ElementKind.END_OF_DATA: "EndOfData",
    ElementKind.END_OF_PARTITION: "EndOfPartition",
    ElementKind.CHECKPOINT_BARRIER: "checkpoint barrier",
    ElementKind.CANCEL_CHECKPOINT_MARKER: "cancellation of a checkpoint",
    ElementKind.EVENT: "event",
    ElementKind.UNALIGNED_BARRIER: "unaligned barrier",
}
_MAILS, _ELEMENTS, _EVENT_TIME, _LAG, _ASYNC, _CHANNELS = range(6)
"""The ranks of tracks below a subtask; async operators and channels are one rank each, by their numbers."""
_MAIL_FLOWS: Final = 1 << 62
_ROWS_PER_CHANNEL: Final = 4
_CHANNEL: Final = BUFFERS.names.index("channel")
"""As in table ``credits``."""


def export_perfetto(recording: Recording, file: BufferedIOBase) -> int:
    """Writes the trace and returns the number of facts in it. Times are nanoseconds since the start of the run.

    Equal recordings give equal bytes. Memory holds one epoch of the recording. Raises MissingExtra without the package
    ``perfetto``, and BadInput for a damaged recording.
    """
    trace = _Trace(recording, PerfettoWriter(file))
    add: dict[str, Callable[[Fact, int], None]] = {
        ACTIONS.name: trace.add_action,
        MAILS.name: trace.add_mail,
        SENT.name: trace.add_sent,
        RECEIVED.name: trace.add_received,
        TASK_WATERMARK.name: trace.add_task_watermark,
        WINDOW_FIRE.name: trace.add_fire,
        LATE_DROP.name: trace.add_late,
        BUFFERS.name: trace.add_counters,
        CREDITS.name: trace.add_counters,
        ASYNC_ELEMENTS.name: trace.add_async,
    }
    facts = each_fact(recording, Selection(tables=tuple(add)), lambda fact, time_ns: add[fact.table](fact, time_ns))
    trace.close()
    return facts


@dataclass(slots=True)
class _Channel:
    tracks: dict[Counter, Track]
    counters: ChannelCounters


@dataclass(slots=True)
class _Subtask:
    actions: Track
    mails: Track
    elements: Track
    event_time: Track
    lag: Track
    watermark: TaskWatermark
    open_slices: int = 0
    last_ns: int = 0
    highest: int = NO_TIMESTAMP
    """The highest timestamp of the records that the subtask received."""
    async_queues: dict[int, Track] = field(default_factory=dict)
    """By operator."""


class _Trace:
    """Turns facts into events."""

    def __init__(self, recording: Recording, writer: PerfettoWriter) -> None:
        self._writer = writer
        self._names = Names(recording)
        self._subtasks: dict[int, _Subtask] = {}
        self._channels: dict[int, _Channel] = {}
        vertices: dict[int, Track] = {}
        for row in recording.static_rows("tasks"):
            task, vertex, name = int(row[0]), int(row[1]), str(row[3])
            if vertex not in vertices:
                vertices[vertex] = writer.track(name.rpartition(" (")[0], None, vertex)
            self._subtasks[task] = self._subtask(vertices[vertex], name, int(row[4]), int(row[7]))
        for row in recording.static_rows("channels"):
            self._channels[int(row[0])] = self._channel(int(row[0]), int(row[2]), int(row[4]))

    def _subtask(self, vertex: Track, name: str, subtask: int, inputs: int) -> _Subtask:
        actions = self._writer.track(name, vertex, subtask)
        self._writer.describe(actions)
        return _Subtask(
            actions,
            self._writer.track("mails", actions, _MAILS),
            self._writer.track("elements", actions, _ELEMENTS),
            self._writer.track("event time", actions, _EVENT_TIME),
            self._writer.track("watermark lag", actions, _LAG, "ms"),
            TaskWatermark(inputs),
        )

    def _channel(self, channel: int, source: int, target: int) -> _Channel:
        sender, receiver = self._subtasks[source].actions, self._subtasks[target].actions
        to, rank = f"to {self._names.target(channel)}", _CHANNELS + channel * _ROWS_PER_CHANNEL
        tracks = {
            Counter.CREDITS: self._writer.track(f"credits {to}", sender, rank, "credits"),
            Counter.BACKLOG: self._writer.track(f"backlog {to}", sender, rank + 1, "buffers"),
            Counter.QUEUE: self._writer.track(f"queue {to}", sender, rank + 2, "buffers"),
            Counter.RECEIVED: self._writer.track(
                f"buffers from {self._names.source(channel)}", receiver, rank + 3, "buffers"
            ),
        }
        return _Channel(tracks, ChannelCounters())

    def add_action(self, fact: Fact, time_ns: int) -> None:
        subtask = self._subtasks[fact.task]
        name = opened_slice(fact)
        subtask.last_ns = time_ns
        if name is not None:
            subtask.open_slices += 1
            self._writer.begin(subtask.actions, time_ns, name)
        elif subtask.open_slices:
            subtask.open_slices -= 1
            self._writer.end(subtask.actions, time_ns)

    def close(self) -> None:
        """Ends the slices that the recording leaves open at the last action of their subtask."""
        for subtask in self._subtasks.values():
            for _ in range(subtask.open_slices):
                self._writer.end(subtask.actions, subtask.last_ns)
        self._writer.flush()

    def add_mail(self, fact: Fact, time_ns: int) -> None:
        _, task, _, action, mail, priority, urgent = fact.row
        flow = _MAIL_FLOWS | task << 40 | mail
        track, values = self._subtasks[task].mails, {"mail": mail, "priority": priority, "urgent": urgent}
        if action == MailAction.PUT:
            self._writer.instant(track, time_ns, "put", values, begins=flow)
        else:
            self._writer.instant(track, time_ns, "run", values, ends=flow)

    def add_sent(self, fact: Fact, time_ns: int) -> None:
        _, task, _, channel, position, kind, timestamp, *_ = fact.row
        name, values = f"send {_ELEMENT_NAMES[ElementKind(kind)]}", _element_values(channel, kind, timestamp)
        self._writer.instant(
            self._subtasks[task].elements, time_ns, name, values, begins=_element_flow(channel, position, kind)
        )

    def add_received(self, fact: Fact, time_ns: int) -> None:
        _, task, _, channel, position, kind, timestamp, *_ = fact.row
        name, values = f"receive {_ELEMENT_NAMES[ElementKind(kind)]}", _element_values(channel, kind, timestamp)
        subtask = self._subtasks[task]
        self._writer.instant(subtask.elements, time_ns, name, values, ends=_element_flow(channel, position, kind))
        if kind == ElementKind.RECORD and timestamp > subtask.highest:
            subtask.highest = timestamp
            self._add_lag(subtask, time_ns)

    def add_task_watermark(self, fact: Fact, time_ns: int) -> None:
        _, task, _, number, kind, timestamp = fact.row
        subtask, values = self._subtasks[task], {"input": number}
        if kind == ElementKind.WATERMARK:
            name, values["timestamp"] = "watermark", timestamp
        else:
            name = "idle" if timestamp < 0 else "active"
        self._writer.instant(subtask.event_time, time_ns, name, values)
        if subtask.watermark.add(number, kind, timestamp):
            self._add_lag(subtask, time_ns)

    def _add_lag(self, subtask: _Subtask, time_ns: int) -> None:
        """At the end of event time the lag is 0."""
        watermark = subtask.watermark.time_ms
        if NO_TIMESTAMP not in (subtask.highest, watermark):
            self._writer.counter(subtask.lag, time_ns, 0 if watermark == MAX_WATERMARK else subtask.highest - watermark)

    def add_fire(self, fact: Fact, time_ns: int) -> None:
        values = dict(zip(WINDOW_FIRE.names, fact.row, strict=True))
        shown = {name: values[name] for name in ("operator", "window_start", "window_end", "watermark", "rows")}
        self._writer.instant(self._subtasks[fact.task].event_time, time_ns, "window fires", shown)

    def add_late(self, fact: Fact, time_ns: int) -> None:
        values = dict(zip(LATE_DROP.names, fact.row, strict=True))
        shown = {name: values[name] for name in ("operator", "timestamp", "watermark")}
        self._writer.instant(self._subtasks[fact.task].event_time, time_ns, "late record", shown)

    def add_counters(self, fact: Fact, time_ns: int) -> None:
        channel = self._channels[fact.row[_CHANNEL]]
        for counter, value in channel.counters.add(fact):
            self._writer.counter(channel.tracks[counter], time_ns, value)

    def add_async(self, fact: Fact, time_ns: int) -> None:
        _, task, operator, *_, queued = fact.row
        subtask = self._subtasks[task]
        if operator not in subtask.async_queues:
            name = f"async queue of {self._names.operator(task, operator)}"
            subtask.async_queues[operator] = self._writer.track(name, subtask.actions, _ASYNC, "elements")
        self._writer.counter(subtask.async_queues[operator], time_ns, queued)


def _element_flow(channel: int, position: int, kind: int) -> int | None:
    """None for what has no position of its own: restored elements, and barriers that may overtake."""
    is_apart = position < 0 or kind in WITHOUT_POSITION
    return None if is_apart else channel + 1 << 40 | position


def _element_values(channel: int, kind: int, timestamp: int) -> dict[str, int]:
    has_time = kind in (ElementKind.RECORD, ElementKind.WATERMARK) and timestamp != NO_TIMESTAMP
    return {"channel": channel, "timestamp": timestamp} if has_time else {"channel": channel}
