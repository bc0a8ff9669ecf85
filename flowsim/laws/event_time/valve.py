"""Law valve: a task input emits what its valve computes from the elements on its channels (rules 8.9 to 8.12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.event_time.paths import STATUS, WATERMARK, name_of
from flowsim.laws.event_time.valve_model import Emission, ValveModel
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import Channel, JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Slice, each_row

ID: Final = "valve"
_RECEIVED: Final = ("seq", "channel", "kind", "timestamp")
_EMISSION: Final = ("input", "kind", "timestamp")
_NONE: Final[list[Emission]] = []
_BEGINNING: Final = -1
"""Used as a sequence number before anything was received."""
Model = tuple[Callable[[int, int, int], list[Emission]], int]
"""``ValveModel.on_element`` of an input, and the number of a channel there."""


class Valves(Machine):
    """Compares the emissions after each received element with those of the model.

    An emission belongs to the last element of any kind that was received before it. The emissions of the last element of
    an epoch are complete when the next element is received.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._found = found[ID]
        self._models = _models(graph, task.task)
        self._cause = _BEGINNING
        """Sequence number of the last received element."""
        self._received: tuple[int, ...] = ()
        """That element if it is a watermark or status."""
        self._expected = _NONE
        self._emitted: list[Emission] = []

    @reads(received=_RECEIVED, task_watermark=_EMISSION)
    def _compare(self, facts: Slice) -> None:
        received, owned = facts.of("received"), self._owned(facts)
        if self._cause in owned:
            self._emitted = self._emitted + owned.pop(self._cause)
        if not len(received):
            return
        self._close(True)
        kinds, models = received.column("kind"), self._models
        mask = (kinds == WATERMARK) | (kinds == STATUS)
        self._found.examined += int(np.count_nonzero(mask))
        last = int(received.column("seq")[-1])
        row: tuple[int, ...] = ()
        expected, emitted = _NONE, _NONE
        for row in each_row(received, _RECEIVED, mask):
            seq, channel, kind, timestamp = row
            expected = _NONE
            if channel in models:
                on_element, number = models[channel]
                expected = on_element(number, kind, timestamp)
            emitted = owned.pop(seq, _NONE)
            if emitted != expected and seq != last:
                self._differs(seq, row, expected, emitted)
        if not row or row[0] != last:
            row, expected, emitted = (), _NONE, owned.pop(last, _NONE)
        for seq, emissions in owned.items():
            self._differs(seq, (), _NONE, emissions)
        self._cause, self._received, self._expected, self._emitted = last, row, expected, emitted

    def _owned(self, facts: Slice) -> dict[int, list[Emission]]:
        """What was emitted after each received element, by its sequence number."""
        rows = facts.of("task_watermark")
        found: dict[int, list[Emission]] = {}
        if not len(rows):
            return found
        received = np.concatenate(([self._cause], facts.of("received").column("seq")))
        places = np.searchsorted(received[1:], rows.column("seq"))
        for cause, emission in zip(received[places].tolist(), each_row(rows, _EMISSION), strict=True):
            found.setdefault(cause, []).append(emission)
        if self._cause == _BEGINNING and _BEGINNING in found:
            for seq, *early in rows.tuples(("seq", *_EMISSION), places == 0):
                self._broken("the input emits before it received any element", seq, emitted=_shown(early))
            del found[_BEGINNING]
        return found

    def _close(self, is_over: bool) -> None:
        """Compares the emissions of the last element. ``is_over``: there are no more of them."""
        if self._emitted != (self._expected if is_over else self._expected[: len(self._emitted)]):
            self._differs(self._cause, self._received, self._expected, self._emitted)

    def _differs(self, seq: int, received: Sequence[int], expected: list[Emission], emitted: list[Emission]) -> None:
        about: dict[str, object] = {"kind": "neither watermark nor status"}
        if received:
            _, channel, kind, timestamp = received
            about = {"channel": channel, "kind": named(ElementKind, kind), "timestamp": timestamp}
        shown = {"expected": list(map(_shown, expected)), "emitted": list(map(_shown, emitted))}
        self._broken("the input emits another watermark or status than its valve", seq, **about, **shown)

    def _broken(self, what: str, seq: int, **shown: object) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **shown)

    def end(self, whole: bool) -> None:
        self._close(whole)


def _shown(emission: Sequence[int]) -> str:
    index, kind, timestamp = emission
    return f"input {index}: {name_of((kind, timestamp))}"


def _models(graph: JobGraph, task: int) -> dict[int, Model]:
    """For each channel that the task receives."""
    of_input: dict[int, list[Channel]] = {}
    for channel in graph.received_by(task):
        of_input.setdefault(channel.input, []).append(channel)
    found: dict[int, Model] = {}
    for index, channels in of_input.items():
        model = ValveModel(index, len(channels))
        found.update({channel.channel: (model.on_element, number) for number, channel in enumerate(channels)})
    return found


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: WATERMARK and STATUS rows of `received`.
- A row of `received` *owns* the rows of `task_watermark` between itself and the next row of `received` of its task. A
  WATERMARK or STATUS row must own exactly the (input, kind, timestamp) that the valve of the channel's input emits for
  it, in order (rules 8.9 to 8.12). The valve has a channel for each row of `channels` with this target task and input.
  A row of another kind must own nothing.
- Violations: each row of `received` that owns other rows, and each row of `task_watermark` before the first row of
  `received` of its task. In a prefix, the last row of `received` of a task may own only a first part of its rows.
"""

LAWS: Final = (
    Law(
        ID,
        "A task input emits exactly the watermarks and statuses that its valve computes from the elements on its channels.",
        ("8.9", "8.10", "8.11", "8.12"),
        Level.ELEMENTS,
        Valves,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
