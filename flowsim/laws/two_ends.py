"""Compares both ends of channels: sums of hashes find the blocks of positions that differ; only these are compared row
by row.

A law provides a function ``ends`` that returns the task's sent (side 0) and received (side 1) elements in a slice:
columns of channel, position and payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.laws.findings import EVIDENCE_ROWS, Findings, named
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import SecondWalk
from flowsim.laws.machine import Machine
from flowsim.laws.slices import Ints, Slice

SIDES: Final = ("sent", "received")
_BLOCK_BITS: Final = 10
"""Positions of a channel are summed in blocks of 1,024."""
_KEY_BITS: Final = 44
_BLOCKS_A_WALK: Final = 1024
_ODD: Final = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xFF51AFD7ED558CCD))

Words = npt.NDArray[np.uint64]
Columns = tuple[Ints, ...]
"""Channel, position and three columns of payload."""
Ends = Callable[[Slice], Iterator[tuple[int, Columns]]]
Block = tuple[int, int]
"""Channel and number of a block."""


@dataclass(slots=True)
class Sums:
    """Sums over one task's sent and received elements.

    ``blocks``: per side (index in ``SIDES``), channel and block the number of elements, and the sum of their hashes.
    ``unordered``: blocks in which positions did not ascend, for which equal sums prove nothing.
    """

    blocks: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    unordered: set[Block] = field(default_factory=set)
    _last: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """By side and channel the highest position so far, and the last."""

    def add(self, side: int, columns: Columns, found: Findings) -> None:
        """Adds rows, in the order of ``seq``; a row whose position is below that of the previous row is a violation."""
        order = np.argsort(columns[0].astype(np.int16), kind="stable")
        hashes = _hashes(*columns[1:])[order]
        channel, position = columns[0][order], columns[1][order]
        block = position >> _BLOCK_BITS
        begins = np.ones(len(channel), bool)
        np.not_equal(channel[1:], channel[:-1], out=begins[1:])
        of_channels = [*begins.nonzero()[0].tolist(), len(channel)]
        begins[1:] |= block[1:] != block[:-1]
        starts = begins.nonzero()[0]
        counts = [end - start for start, end in pairwise([*starts.tolist(), len(channel)])]
        parts = channel[starts].tolist(), block[starts].tolist(), counts, np.add.reduceat(hashes, starts).tolist()
        for channel_id, number, count, total in zip(*parts, strict=True):
            before, summed = self.blocks.get((side, channel_id, number), (0, 0))
            self.blocks[side, channel_id, number] = before + count, (summed + total) % 2**64
        for start, end in pairwise(of_channels):
            self._follow(side, int(channel[start]), position[start:end], found)

    def _follow(self, side: int, channel: int, position: Ints, found: Findings) -> None:
        top, last = self._last.get((side, channel), (-(2**63), -(2**63)))
        if position[0] > top and (position[1:] > position[:-1]).all():
            self._last[side, channel] = int(position[-1]), int(position[-1])
            return
        highest = np.maximum.accumulate(np.append(top, position))
        self._last[side, channel] = int(highest[-1]), int(position[-1])
        for row in np.flatnonzero(position <= highest[:-1]).tolist():
            place, before = int(position[row]), int(position[row - 1]) if row else last
            self.unordered.add((channel, place >> _BLOCK_BITS))
            if place < before:
                found.broken(f"{SIDES[side]} out of order", (channel, place), channel=channel, position=place,
                             after=before)  # fmt: skip


def _hashes(position: Ints, kind: Ints, *payload: Ints) -> Words:
    """64 bits per element and position, each of which depends on every input."""
    mixed: Words = position.astype(np.uint64) * _ODD[0]
    mixed ^= payload[0].astype(np.uint64) * _ODD[1] + kind.astype(np.uint64)
    mixed ^= mixed >> np.uint64(31)
    mixed *= _ODD[2]
    mixed ^= payload[1].astype(np.uint64)
    mixed *= _ODD[0]
    mixed ^= mixed >> np.uint64(29)
    return mixed


def suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Block]:
    """The blocks that differ; elements of a prefix that are sent and not yet received are ignored."""
    sides: tuple[dict[Block, tuple[int, int]], ...] = ({}, {})
    unordered: set[Block] = set()
    for answer in answers.values():
        assert isinstance(answer, Sums)
        unordered |= answer.unordered
        for (side, channel, block), (count, total) in answer.blocks.items():
            before, summed = sides[side].get((channel, block), (0, 0))
            sides[side][channel, block] = before + count, (summed + total) % 2**64
    sent, received = sides
    blocks = received.keys() | sent.keys() if whole else received.keys()
    return sorted({block for block in blocks if sent.get(block) != received.get(block)} | unordered)


class SuspectRows(Machine):
    """Collects the elements of suspicious blocks."""

    def __init__(self, ends: Ends, suspects: Sequence[Block]) -> None:
        self._ends = ends
        channels, blocks = np.array(suspects, dtype=np.int64).T
        self._suspects = (channels << _KEY_BITS) + blocks
        self._kept: list[Columns] = []

    def feed(self, facts: Slice) -> None:
        for side, columns in self._ends(facts):
            keys = (columns[0].astype(np.int64) << _KEY_BITS) + (columns[1] >> _BLOCK_BITS)
            mask = np.isin(keys, self._suspects)
            if mask.any():
                self._kept.append((np.full(np.count_nonzero(mask), side), *(column[mask] for column in columns)))

    def end(self, whole: bool) -> Columns | None:
        return tuple(np.concatenate(columns) for columns in zip(*self._kept, strict=True)) if self._kept else None


def second_walk(ends: Ends, names: tuple[str, str, str, str], kinds: type[IntEnum]) -> SecondWalk:
    """Compares suspicious blocks position by position; ``names``: of position and payload, whose first has ``kinds``."""
    return SecondWalk(partial(SuspectRows, ends), partial(_compare, names, kinds), _BLOCKS_A_WALK)


def _compare(
    names: tuple[str, str, str, str],
    kinds: type[IntEnum],
    graph: JobGraph,
    answers: Mapping[int, object],
    whole: bool,
    found: Findings,
) -> None:
    kept = [answer for answer in answers.values() if isinstance(answer, tuple)]
    side, channel, position, *payload = (np.concatenate(parts).astype(np.int64) for parts in zip(*kept, strict=True))
    # By payload, too: elements at one position may come from two tasks, in an order that the division of tasks decides.
    order = np.lexsort((*reversed(payload), side, position, channel))
    side, channel, position, *payload = (column[order] for column in (side, channel, position, *payload))
    starts = np.flatnonzero(np.append(True, (channel[1:] != channel[:-1]) | (position[1:] != position[:-1])))
    counts = np.diff(np.append(starts, len(side)))
    received = np.add.reduceat(side, starts)
    sent = counts - received
    second = np.minimum(starts + 1, len(side) - 1)
    differ = np.any([column[starts] != column[second] for column in payload], axis=0)
    ways = (
        ("two elements at one position", (sent > 1) | (received > 1)),
        ("an element was received, but never sent", sent == 0),
        ("an element was sent, but never received", (received == 0) & whole),
        ("the received element differs from the sent element", (sent == 1) & (received == 1) & differ),
    )
    places = np.flatnonzero(np.any([mask for _, mask in ways], axis=0))
    for place in places[:EVIDENCE_ROWS].tolist():
        what = next(what for what, mask in ways if mask[place])
        start = int(starts[place])
        shown: dict[str, object] = {"sent": None, "received": None}
        for row in range(start, start + int(counts[place])):
            values = dict(zip(names[1:], (int(column[row]) for column in payload), strict=True))
            shown[SIDES[side[row]]] = values | {names[1]: named(kinds, values[names[1]])}
        at = (int(channel[start]), int(position[start]))
        found.broken(what, at, **{"channel": at[0], names[0]: at[1], **shown})
    found.violations += max(0, len(places) - EVIDENCE_ROWS)
