"""Plots of a recording for notebooks: event time over processing time, and the queues of channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from flowsim.errors import BadInput, MissingExtra
from flowsim.export.facts import each_fact
from flowsim.facts.kinds import ElementKind, WindowResult
from flowsim.facts.schema import BUFFERS, CREDITS, LATE_DROP, RECEIVED, TASK_WATERMARK, WINDOW_FIRE
from flowsim.history.channel_counters import ChannelCounters, Counter
from flowsim.history.task_watermark import TaskWatermark
from flowsim.recording.merged_facts import Fact, Selection
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.time import utc_text
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IN_TIME: Final = "#00795c"
BEHIND: Final = "#e69f00"
LATE: Final = "#b3261e"
WATERMARK: Final = "#2563eb"
WINDOW: Final = "#4b5563"
_LINES: Final = {
    Counter.QUEUE: ("queue", "#e69f00", "-"),
    Counter.RECEIVED: ("received buffers", "#56b4e9", "-"),
    Counter.CREDITS: ("credits", "#00795c", "--"),
}
_PANELS: Final = 12
"""The most panels of a figure."""
_WIDTH, _HEIGHT = 8.0, 2.6
"""Of a panel, in inches."""
_MOST_SHAPES: Final = 2000
"""More points of one kind become an image in a vector graphic."""
_UNITS: Final = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))
_MS_PER_S: Final = 1000
_LEAST_SECONDS_MS: Final = 1000
"""Event time below this is shown in milliseconds."""

Points = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point: time since the start, event time, and the watermark of the task at this time."""

    time_ns: int
    event_ms: int
    watermark_ms: int


@dataclass(slots=True)
class EventTime:
    """What one subtask received."""

    watermark: TaskWatermark
    in_time: list[Mark] = field(default_factory=list)
    behind: list[Mark] = field(default_factory=list)
    """Records not above the watermark, late or not."""
    late: list[Mark] = field(default_factory=list)
    """At the time at which the record was received."""
    watermarks: list[Mark] = field(default_factory=list)
    windows: list[tuple[Mark, Mark]] = field(default_factory=list)
    """Firings: start and end of the window."""
    _received: dict[int, Mark] = field(default_factory=dict)
    """The last record with a timestamp."""

    def add(self, fact: Fact, time_ns: int) -> None:
        values = dict(zip(_NAMES[fact.table], fact.row, strict=True))
        watermark_ms = self.watermark.time_ms
        match fact.table:
            case RECEIVED.name:
                if values["kind"] == ElementKind.RECORD and values["timestamp"] != NO_TIMESTAMP:
                    mark = self._received[values["timestamp"]] = Mark(time_ns, values["timestamp"], watermark_ms)
                    (self.behind if mark.event_ms <= watermark_ms else self.in_time).append(mark)
            case LATE_DROP.name:
                other = Mark(time_ns, values["timestamp"], watermark_ms)
                self.late.append(self._received.get(other.event_ms, other))
            case WINDOW_FIRE.name:
                start, end = values["window_start"], values["window_end"]
                if values["result"] != WindowResult.PURGE and start > NO_TIMESTAMP and end < MAX_WATERMARK:
                    self.windows.append((Mark(time_ns, start, watermark_ms), Mark(time_ns, end, watermark_ms)))
            case _:
                if (
                    self.watermark.add(values["input"], values["kind"], values["timestamp"])
                    and self.watermark.time_ms < MAX_WATERMARK
                ):
                    self.watermarks.append(Mark(time_ns, self.watermark.time_ms, self.watermark.time_ms))

    @property
    def records(self) -> list[Mark]:
        return [*self.in_time, *self.behind]


_NAMES: Final = {table.name: table.names for table in (RECEIVED, LATE_DROP, WINDOW_FIRE, TASK_WATERMARK)}


def plot_event_time(recording: Recording, task: str | None = None, *, relative: bool = False) -> Figure:
    """Plots event time over processing time: received records, watermarks, firings of windows and late records.

    One panel per subtask. ``task`` is a number, name, or part of a name, or the name of an operator for all its subtasks,
    as for ``flowsim trace --task``; None selects the subtasks that receive timestamps. ``relative`` plots the records by
    the difference between their timestamps and the watermark, for jobs whose event time is long; records before the first
    watermark are omitted. The end of event time is not drawn. Needs the extra ``notebook``. Raises BadInput for an unknown
    task, or if no record has a timestamp.
    """
    _require_matplotlib("plot_event_time")
    names = Names(recording)
    selected_tasks = None if task is None else frozenset(names.find_tasks(task))
    inputs = {int(row[0]): int(row[7]) for row in recording.static_rows("tasks")}
    of_task = {
        number: EventTime(TaskWatermark(inputs[number]))
        for number in inputs
        if selected_tasks is None or number in selected_tasks
    }
    selection = Selection(tables=tuple(_NAMES), tasks=selected_tasks)
    each_fact(recording, selection, lambda fact, time_ns: of_task[fact.task].add(fact, time_ns))
    shown = {number: facts for number, facts in of_task.items() if facts.records}
    if not shown:
        raise BadInput("plot_event_time: these tasks received no record with a timestamp")
    draw = _draw_relative if relative else _draw_event_time
    last_ns = max(mark.time_ns for facts in shown.values() for mark in facts.records)
    panels = [(names.task(number), partial(draw, facts)) for number, facts in shown.items()]
    return _figure("plot_event_time", panels, last_ns)


def plot_queues(recording: Recording, channel: int | Sequence[int] | None = None) -> Figure:
    """Plots the queue of the sender, the buffers that the receiver holds, and the credits of the sender, over time.

    One panel per channel; None selects all channels. Needs the extra ``notebook``. Raises BadInput for an unknown channel,
    and for a recording without buffers, below level full.
    """
    _require_matplotlib("plot_queues")
    if recording.level < BUFFERS.level:
        raise BadInput(f"plot_queues: {recording.directory} has no buffers: record it at level full")
    names = Names(recording)
    numbers = names.channels if channel is None else [channel] if isinstance(channel, int) else list(channel)
    unknown = [number for number in numbers if number not in names.channels]
    if unknown or not numbers:
        there = f"channels 0 to {len(names.channels) - 1}" if names.channels else "no channels"
        raise BadInput(f"plot_queues: the recording has {there}" + (f", not {unknown[0]}" if unknown else ""))
    queues_of = {number: _Queues() for number in numbers}
    selection = Selection(tables=(BUFFERS.name, CREDITS.name), channels=frozenset(numbers))
    each_fact(recording, selection, lambda fact, time_ns: queues_of[fact.row[_CHANNEL]].add(fact, time_ns))
    last_ns = max((points[-1][0] for one in queues_of.values() for points in one.values.values()), default=0)
    panels = [(names.channel(one), partial(_draw_queues, queues)) for one, queues in queues_of.items()]
    return _figure("plot_queues", panels, last_ns)


_CHANNEL: Final = BUFFERS.names.index("channel")
"""As in table ``credits``."""


class _Queues:
    """The values of the counters of a channel over time."""

    def __init__(self) -> None:
        self._counters = ChannelCounters()
        self.values: dict[Counter, Points] = {}

    def add(self, fact: Fact, time_ns: int) -> None:
        for counter, value in self._counters.add(fact):
            self.values.setdefault(counter, []).append((time_ns, value))


def _require_matplotlib(needed_by: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("notebook", needed_by) from None


def _figure(needed_by: str, panels: Sequence[tuple[str, Callable[[Axes, int], None]]], last_ns: int) -> Figure:
    """One panel below the other, with a shared axis of time; each is drawn with the nanoseconds of its unit."""
    from matplotlib import pyplot

    if len(panels) > _PANELS:
        raise BadInput(f"{needed_by}: {len(panels)} panels are more than {_PANELS}: select some of them")
    unit, unit_ns = next(((unit, ns) for unit, ns in _UNITS if last_ns >= ns), _UNITS[-1])
    figure, axes = pyplot.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(_WIDTH, _HEIGHT * len(panels)), layout="constrained"
    )
    for (title, draw), one in zip(panels, axes[:, 0], strict=True):
        draw(one, unit_ns)
        one.set_title(title, loc="left", fontsize="medium")
        one.grid(alpha=0.3)
        if one.get_legend_handles_labels()[0]:
            one.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    axes[-1, 0].set_xlabel(f"processing time since the start ({unit})")
    # A notebook shows a returned figure; one that stays open it shows a second time.
    pyplot.close(figure)
    return figure


def _draw_event_time(facts: EventTime, axes: Axes, unit_ns: int) -> None:
    event_time, unit = _event_times(facts.records)
    _draw_records(facts, axes, unit_ns, event_time)
    if facts.watermarks:
        times, values = _times(facts.watermarks, unit_ns), event_time(facts.watermarks)
        axes.step(times, values, where="post", color=WATERMARK, label="watermark")
    if facts.windows:
        starts, ends = ([window[at] for window in facts.windows] for at in (0, 1))
        axes.vlines(
            _times(starts, unit_ns), event_time(starts), event_time(ends), color=WINDOW, alpha=0.5, linewidth=3,
            label="window fires",
        )  # fmt: skip
    axes.set_ylabel(f"event time{unit}")


def _draw_relative(facts: EventTime, axes: Axes, unit_ns: int) -> None:
    _draw_records(facts, axes, unit_ns, _behind_watermark)
    axes.axhline(0, color=WATERMARK, label="watermark")
    axes.set_ylabel("event time - watermark (s)")


def _draw_records(facts: EventTime, axes: Axes, unit_ns: int, event_time: EventTimes) -> None:
    for marks, marker, color, label in (
        (facts.in_time, ".", IN_TIME, "record"),
        (facts.behind, "o", BEHIND, "behind the watermark"),
        (facts.late, "x", LATE, "late"),
    ):
        known = [mark for mark in marks if mark.watermark_ms > NO_TIMESTAMP or event_time is not _behind_watermark]
        if known:
            times, values = _times(known, unit_ns), event_time(known)
            axes.plot(
                times, values, marker, color=color, markersize=5, fillstyle="none", label=label,
                rasterized=len(known) > _MOST_SHAPES,
            )  # fmt: skip


EventTimes = Callable[[list[Mark]], npt.NDArray[np.generic]]


def _event_times(records: list[Mark]) -> tuple[EventTimes, str]:
    """How timestamps are shown, and their unit: dates if all are dates, otherwise milliseconds or seconds."""
    least, most = min(mark.event_ms for mark in records), max(mark.event_ms for mark in records)
    if utc_text(least) and utc_text(most):
        return _dates, ""
    return (_milliseconds, " (ms)") if most < _LEAST_SECONDS_MS else (_seconds, " (s)")


def _dates(marks: list[Mark]) -> npt.NDArray[np.generic]:
    return np.array([mark.event_ms for mark in marks], dtype="datetime64[ms]")


def _milliseconds(marks: list[Mark]) -> npt.NDArray[np.generic]:
    return np.array([mark.event_ms for mark in marks])


def _seconds(marks: list[Mark]) -> npt.NDArray[np.generic]:
    return np.array([mark.event_ms for mark in marks]) / _MS_PER_S


def _behind_watermark(marks: list[Mark]) -> npt.NDArray[np.generic]:
    return np.array([mark.event_ms - mark.watermark_ms for mark in marks]) / _MS_PER_S


def _draw_queues(queues: _Queues, axes: Axes, unit_ns: int) -> None:
    for counter, (label, color, style) in _LINES.items():
        points = queues.values.get(counter)
        if points:
            times, values = [time_ns / unit_ns for time_ns, _ in points], [value for _, value in points]
            axes.step(times, values, where="post", color=color, linestyle=style, label=label)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_ylabel("buffers, credits")


def _times(marks: list[Mark], unit_ns: int) -> npt.NDArray[np.float64]:
    return np.array([mark.time_ns for mark in marks]) / unit_ns
