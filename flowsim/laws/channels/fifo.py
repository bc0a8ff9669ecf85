"""Law channel-fifo: sums of hashes find the blocks of positions that differ, and only those are compared one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.evidence import named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import EVIDENCE_ROWS, Findings, FoundByLaw, Law, SecondWalk, needs_channels
from flowsim.laws.slices import Ints, Slice

ID: Final = "channel-fifo"
SIDES: Final = ("sent", "received")
_PAYLOAD: Final = ("kind", "timestamp", "fingerprint")
_COLUMNS: Final = ("channel", "position", *_PAYLOAD)
_BLOCK_BITS: Final = 10
"""Positions of a channel are summed in blocks of 1,024."""
_KEY_BITS: Final = 44
_BLOCKS_A_WALK: Final = 1024
_ODD: Final = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xFF51AFD7ED558CCD))

Words = npt.NDArray[np.uint64]
Block = tuple[int, int]
"""Channel and number of a block."""


@dataclass(slots=True)
class Sums:
    """What a task sent and received, summed.

    ``blocks``: per side (index in ``SIDES``), channel and block the number of elements, and the sum of their hashes.
    ``unordered``: blocks in which positions did not ascend, so that equal sums show nothing.
    """

    blocks: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    unordered: set[Block] = field(default_factory=set)


class ChannelSums:
    """Adds up what one task sent and received."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._sums = Sums()
        self._last: dict[tuple[int, int], int] = {}

    def feed(self, facts: Slice) -> None:
        for side, table in enumerate(SIDES):
            rows = facts.of(table)
            if not len(rows):
                continue
            self._found.examined += len(rows)
            channel, position, *payload = (rows.column(name) for name in _COLUMNS)
            hashes = _hashes(position, *payload)
            order = np.argsort(channel.astype(np.int16), kind="stable")
            self._add(side, channel[order], position[order], hashes[order])

    def _add(self, side: int, channel: Ints, position: Ints, hashes: Words) -> None:
        block = position >> _BLOCK_BITS
        same = channel[1:] == channel[:-1]
        starts = [0, *(np.flatnonzero(~same | (block[1:] != block[:-1])) + 1).tolist()]
        counts = np.diff([*starts, len(channel)]).tolist()
        blocks = self._sums.blocks
        rows = zip(
            channel[starts].tolist(),
            block[starts].tolist(),
            counts,
            np.add.reduceat(hashes, starts).tolist(),
            strict=True,
        )
        for of, number, count, total in rows:
            before, summed = blocks.get((side, of, number), (0, 0))
            blocks[side, of, number] = before + count, (summed + total) % 2**64
        for row in (np.flatnonzero(same & (position[1:] <= position[:-1])) + 1).tolist():
            self._sums.unordered |= {(int(channel[row]), int(block[row])), (int(channel[row]), int(block[row - 1]))}
        ends = [*(np.flatnonzero(~same) + 1).tolist(), len(channel)]
        for start, end in zip([0, *ends], ends, strict=False):
            key = side, int(channel[start])
            if self._last.get(key, -1) >= position[start]:
                self._sums.unordered.add((key[1], int(block[start])))
            self._last[key] = max(self._last.get(key, -1), int(position[end - 1]))

    def end(self, whole: bool) -> Sums:
        return self._sums


def _hashes(position: Ints, kind: Ints, timestamp: Ints, fingerprint: Ints) -> Words:
    """64 bits of each element with its position, all of which depend on every input."""
    mixed: Words = position.astype(np.uint64) * _ODD[0]
    mixed ^= timestamp.astype(np.uint64) * _ODD[1] + kind.astype(np.uint64)
    mixed ^= mixed >> np.uint64(31)
    mixed *= _ODD[2]
    mixed ^= fingerprint.astype(np.uint64)
    mixed *= _ODD[0]
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> ChannelSums:
    return ChannelSums(found[ID])


def _suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Block]:
    """The blocks that differ; what a prefix shows as sent and not yet received is none."""
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


class SuspectRows:
    """Collects the elements of suspicious blocks."""

    def __init__(self, suspects: Sequence[Block]) -> None:
        channels, blocks = np.array(suspects, dtype=np.int64).T
        self._suspects = (channels << _KEY_BITS) + blocks
        self._kept: list[tuple[Ints, ...]] = []

    def feed(self, facts: Slice) -> None:
        for side, table in enumerate(SIDES):
            rows = facts.of(table)
            if len(rows):
                blocks = rows.column("position") >> _BLOCK_BITS
                keys = (rows.column("channel").astype(np.int64) << _KEY_BITS) + blocks
                mask = np.isin(keys, self._suspects)
                if mask.any():
                    kept = tuple(rows.column(name)[mask].astype(np.int64) for name in _COLUMNS)
                    self._kept.append((np.full(len(kept[0]), side, dtype=np.int64), *kept))

    def end(self, whole: bool) -> tuple[Ints, ...] | None:
        if not self._kept:
            return None
        return tuple(np.concatenate(columns) for columns in zip(*self._kept, strict=True))


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """Position by position, the receiver decoded what the sender put there."""
    kept = [answer for answer in answers.values() if isinstance(answer, tuple)]
    columns = [np.concatenate(parts) for parts in zip(*kept, strict=True)]
    order = np.lexsort((columns[0], columns[2], columns[1]))
    side, channel, position, kind, timestamp, fingerprint = (column[order] for column in columns)
    starts = np.flatnonzero(np.concatenate(([True], (channel[1:] != channel[:-1]) | (position[1:] != position[:-1]))))
    counts = np.diff(np.concatenate((starts, [len(side)])))
    received = np.add.reduceat(side, starts)
    second = np.minimum(starts + 1, len(side) - 1)
    alike = (kind[starts] == kind[second]) & (timestamp[starts] == timestamp[second])
    alike &= fingerprint[starts] == fingerprint[second]
    sent = counts - received
    ways = (
        ("two elements at one position", (sent > 1) | (received > 1)),
        ("received, but never sent", sent == 0),
        ("sent, but never received", (received == 0) & whole),
        ("received is not what was sent", (sent == 1) & (received == 1) & ~alike),
    )
    broken = np.zeros(len(starts), dtype=bool)
    for _, mask in ways:
        broken |= mask
    places = np.flatnonzero(broken)
    for place in places[:EVIDENCE_ROWS].tolist():
        what = next(what for what, mask in ways if mask[place])
        at = (int(channel[starts[place]]), int(position[starts[place]]))
        shown: dict[str, object] = {"sent": None, "received": None}
        for row in range(int(starts[place]), int(starts[place] + counts[place])):
            payload = {
                "kind": named(ElementKind, int(kind[row])),
                "timestamp": int(timestamp[row]),
                "fingerprint": int(fingerprint[row]),
            }
            shown[SIDES[side[row]]] = payload
        found.broken(what, at, channel=at[0], position=at[1], **shown)
    found.violations += max(0, len(places) - EVIDENCE_ROWS)


_COUNTS: Final = """\
- Not applicable: no row in `channels`.
- Rows examined: all rows of `sent` plus all rows of `received`.
- Violations: the number of pairs (channel, position) for which at least one is true:
  - more than one row in `sent`, or more than one row in `received`;
  - one row in each, and `kind`, `timestamp` or `fingerprint` differ;
  - a row in `received`, none in `sent`;
  - a row in `sent`, none in `received`, and the run is whole.
"""

LAWS: Final = (
    Law(
        ID,
        "The elements that a receiver decodes from a channel are those that the sender put on it: in the same order, with "
        "equal payload, none lost and none twice.",
        ("5.11", "6.14", "7.16"),
        Level.ELEMENTS,
        dict.fromkeys(SIDES, _COLUMNS),
        _make,
        needs_channels,
        join=_suspects,
        second=SecondWalk(SuspectRows, _compare, _BLOCKS_A_WALK),
        counts=_COUNTS,
    ),
)  # fmt: skip
