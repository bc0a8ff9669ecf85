"""The valves of the inputs of one task; many watermarks are taken together where nothing is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.elements import Mark
from flowsim.laws.event_time.marks import FEW
from flowsim.laws.event_time.paths import STATUS, WATERMARK
from flowsim.laws.event_time.valve_model import Advance, Emission, ValveModel
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.slices import Ints, Rows

_RECORD: Final = int(ElementKind.RECORD)
_LATENCY_MARKER: Final = int(ElementKind.LATENCY_MARKER)
_MARK: Final = ("seq", "channel", "position", "kind", "timestamp")


class Together(NamedTuple):
    """What was examined as columns."""

    watermarks: int
    emissions: int
    """How many emissions of the epoch are examined; those of the epoch before count."""
    marks_left: list[Mark]
    """The last watermark, which may emit more in the next epoch, and what follows it."""


class TaskValves:
    """The models of the inputs of one task."""

    __slots__ = ("_inputs", "by_channel")

    def __init__(self, graph: JobGraph, task: int) -> None:
        of_input: dict[int, list[tuple[int, int]]] = {}
        for channel, index, input_channel in graph.once(_received_channels).get(task, ()):
            of_input.setdefault(index, []).append((channel, input_channel))
        self._inputs = {index: (ValveModel(index, len(of)), sorted(of)) for index, of in of_input.items()}
        self.by_channel: dict[int, tuple[Callable[[int, int, int], list[Emission]], int]] = {
            channel: (model.on_element, input_channel)
            for model, channels in self._inputs.values()
            for channel, input_channel in channels
        }
        """``ValveModel.on_element`` for each channel, and its index there."""

    def take_together(self, received: Rows, emitted: Rows, causes: Ints, first: int) -> Together | None:
        """Takes all watermarks of an epoch but the last if they emit what they should; None where that is not so simple.

        ``causes`` has the row of ``received`` before each emission, ``first`` is the first emission to examine.
        """
        if len(emitted) <= FEW:
            return None
        kind = received.column("kind")
        rows = np.flatnonzero(kind == WATERMARK)
        if len(rows) <= FEW or (kind == STATUS).any():
            return None
        last = int(rows[-1])
        end = int(np.searchsorted(causes, last))
        if (emitted.column("kind")[first:end] != WATERMARK).any():
            return None
        rows = rows[:-1]
        advances = self._advances(received.column("channel")[rows], received.column("timestamp")[rows])
        if advances is None:
            return None
        emits = np.concatenate([advance.rows for _, advance in advances])
        inputs = np.concatenate([np.full(len(advance.rows), index) for index, advance in advances])
        values = np.concatenate([advance.values for _, advance in advances])
        order = np.argsort(emits, kind="stable") if len(advances) > 1 else slice(None)
        for expected, found in (
            (rows[emits], causes),
            (values, emitted.column("timestamp")),
            (inputs, emitted.column("input")),
        ):
            if not np.array_equal(expected[order], found[first:end]):
                return None
        for index, advance in advances:
            self._inputs[index][0].take(advance)
        return Together(len(rows), end, _marks_from(received, last))

    def _advances(self, channels: Ints, timestamps: Ints) -> list[tuple[int, Advance]] | None:
        """What the watermarks make each input emit, by rows of all of them."""
        found = []
        for index, (model, of_input) in self._inputs.items():
            numbers = np.array([channel for channel, _ in of_input])
            places = np.minimum(np.searchsorted(numbers, channels), len(numbers) - 1)
            own = numbers[places] == channels
            if not own.any():
                continue
            places = np.array([input_channel for _, input_channel in of_input])[places]
            if own.all():
                advance = model.advance(places, timestamps)
            else:
                advance = model.advance(places[own], timestamps[own])
                if advance is not None:
                    advance = advance._replace(rows=np.flatnonzero(own)[advance.rows])
            if advance is None:
                return None
            found.append((index, advance))
        return found or None


def _marks_from(received: Rows, row: int) -> list[Mark]:
    kind = received.column("kind")[row:]
    rows = np.flatnonzero((kind != _RECORD) & (kind != _LATENCY_MARKER)) + row
    return list(zip(*(received.column(name)[rows].tolist() for name in _MARK), strict=True))


def _received_channels(graph: JobGraph) -> dict[int, list[tuple[int, int, int]]]:
    """Per task that receives the channels, their inputs and their indices in these."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for channel in graph.channels.values():
        found.setdefault(channel.target_task, []).append((channel.channel, channel.input, channel.input_channel))
    return found
