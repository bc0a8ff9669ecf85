"""Law valve: what a task input emits is what its valve makes of the elements on its channels (rules 8.9 to 8.12)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.elements import Mark, received_marks
from flowsim.laws.event_time.marks import FEW
from flowsim.laws.event_time.paths import STATUS, name_of
from flowsim.laws.event_time.task_valves import TaskValves
from flowsim.laws.event_time.valve_model import Emission
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, needs_channels
from flowsim.laws.slices import Rows, Slice

ID: Final = "valve"
_EMISSION: Final = ("input", "kind", "timestamp")
_NONE: Final[list[Emission]] = []


class Valves:
    """Compares the emissions after each received element with those of the model.

    An emission belongs to the last element of any kind that was received before it. That element may be the last one of an
    epoch: its emissions are complete when the next element is received.
    """

    def __init__(self, graph: JobGraph, task: int, found: Findings) -> None:
        self._task = task
        self._found = found
        self._valves = TaskValves(graph, task)
        self._cause = -1
        """Sequence number of the last received element, -1 before the first."""
        self._mark: Mark | None = None
        """That element if it is no record."""
        self._expected = _NONE
        self._emitted: list[Emission] = []

    def feed(self, facts: Slice) -> None:
        received, emitted = facts.of("received"), facts.of("task_watermark")
        emissions: list[Emission] = []
        if not len(received):
            self._continue(_emissions(emitted, 0), emitted.column("seq").tolist())
            return
        seqs, causes = received.column("seq"), list[int]()
        marks: list[Mark] | None = None
        if not len(emitted):
            self._close(True)
        else:
            rows = np.searchsorted(seqs, emitted.column("seq")) - 1
            first = int(np.searchsorted(rows, 0))
            if first:
                self._continue(_emissions(emitted, 0)[:first], emitted.column("seq")[:first].tolist())
            self._close(True)
            together = self._valves.take_together(received, emitted, rows, first)
            if together is not None:
                self._found.examined += together.watermarks
                marks, first = together.marks_left, together.emissions
            emissions, causes = _emissions(emitted, first), seqs[rows[first:]].tolist()
        self._examine(facts.once(received_marks) if marks is None else marks, emissions, causes, int(seqs[-1]))

    def _continue(self, emissions: list[Emission], seqs: list[int]) -> None:
        """More emissions of the element before this epoch."""
        if self._cause >= 0:
            self._emitted += emissions
            return
        for seq, (index, kind, timestamp) in zip(seqs, emissions, strict=True):
            self._found.broken(
                "emitted before anything was received", (self._task, seq),
                task=self._task, seq=seq, input=index, emitted=name_of(kind, timestamp),
            )  # fmt: skip

    def _examine(self, marks: list[Mark], emissions: list[Emission], causes: list[int], last: int) -> None:
        """``causes`` has the sequence number of the received element before each emission; ``last`` that of the epoch."""
        models, place, count, ends = self._valves.by_channel, 0, len(emissions), 0
        for mark in marks:
            seq, channel, _, kind, timestamp = mark
            model = models.get(channel)
            if kind > STATUS:
                expected = _NONE
                ends += 1
            else:
                expected = _NONE if model is None else model[0](model[1], kind, timestamp)
            if place < count and causes[place] < seq:
                place = self._after_records(emissions, causes, place, seq)
            if place < count and causes[place] == seq:
                start, place = place, place + 1
                while place < count and causes[place] == seq:
                    place += 1
                emitted = emissions[start:place]
            elif expected:
                emitted = []
            else:
                continue
            if emitted != expected or seq == last:
                self._cause, self._mark, self._expected, self._emitted = seq, mark, expected, emitted
                if seq != last:
                    self._close(True)
        self._found.examined += len(marks) - ends
        if self._cause != last:
            self._cause, self._mark, self._expected, self._emitted = last, None, _NONE, []
            if marks and marks[-1][0] == last:
                self._mark = marks[-1]
            self._after_records(emissions, causes, place, last + 1)

    def _after_records(self, emissions: list[Emission], causes: list[int], place: int, before: int) -> int:
        """Takes the emissions after elements for which the model emits nothing; answers how many are taken in all."""
        start = place
        while place < len(causes) and causes[place] < before:
            place += 1
            if place == len(causes) or causes[place] != causes[start]:
                if causes[start] == self._cause:
                    self._emitted = emissions[start:place]
                else:
                    self._differs(causes[start], None, _NONE, emissions[start:place])
                start = place
        return place

    def _close(self, is_over: bool) -> None:
        """Compares the emissions of the last element. ``is_over``: there are no more of them."""
        expected = self._expected if is_over else self._expected[: len(self._emitted)]
        if self._emitted != expected:
            self._differs(self._cause, self._mark, self._expected, self._emitted)

    def _differs(self, seq: int, mark: Mark | None, expected: list[Emission], emitted: list[Emission]) -> None:
        received: dict[str, object] = {"kind": "a record or a latency marker"}
        if mark is not None:
            received = {"channel": mark[1], "kind": ElementKind(mark[3]), "timestamp": mark[4]}
        self._found.broken(
            "the input emits something else", (self._task, seq), task=self._task, seq=seq, **received,
            expected=[_shown(*one) for one in expected], emitted=[_shown(*one) for one in emitted],
        )  # fmt: skip

    def end(self, whole: bool) -> None:
        self._close(whole)


def _emissions(emitted: Rows, start: int) -> list[Emission]:
    if not start or len(emitted) <= FEW:
        return emitted.tuples(_EMISSION)[start:]
    return list(zip(*(emitted.column(name)[start:].tolist() for name in _EMISSION), strict=True))


def _shown(index: int, kind: int, timestamp: int) -> str:
    return f"input {index}: {name_of(kind, timestamp)}"


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Valves:
    return Valves(graph, task.task, found[ID])


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: rows of `received` of kind WATERMARK or STATUS.
- Per task, take all rows of `received` (every kind, every input) and of `task_watermark` by seq. Each `received` row
  owns the `task_watermark` rows between it and the next `received` row of the same task. What it should own:
  - for kind WATERMARK and STATUS: the list of (input, kind, timestamp) that the valve of the channel's input emits
    (rules 8.9 to 8.12; the valve has as many channels as `channels` has rows of that target task and input, indexed
    by `input_channel`);
  - for every other kind: nothing.
- Violations: the number of `received` rows of a task that own another list than they should, plus the number of
  `task_watermark` rows before the task's first `received` row. In a prefix, the last `received` row of a task may own
  a proper beginning of its list.
"""

LAWS: Final = (
    Law(
        ID,
        "The watermarks and statuses that a task input emits are those that its valve computes from the elements on its "
        "channels.",
        ("8.9", "8.10", "8.11", "8.12"),
        Level.ELEMENTS,
        {
            "received": ("channel", "position", "kind", "timestamp"),
            "task_watermark": ("input", "kind", "timestamp"),
        },
        _make,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
