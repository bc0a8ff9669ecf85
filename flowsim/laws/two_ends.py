"""Compares both ends of channels: sums of hashes find the blocks of positions that differ; only these are aligned.

A law provides a function ``ends`` that returns the task's sent (side 0) and received (side 1) elements in a slice:
columns of channel, position and payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsim.laws.fewest_steps import Alignment, Change, Ending, Step
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

Hashes = npt.NDArray[np.uint64]
Columns = tuple[Ints, ...]
"""Channel, position and three columns of payload."""
Ends = Callable[[Slice], Iterator[tuple[int, Columns]]]
Block = tuple[int, int]
"""Channel and number of a block."""


@dataclass(slots=True)
class Sums:
    """Sums over one task's sent and received elements.

    ``blocks``: per side (index in ``SIDES``), channel and block the number of elements, and the sum of their hashes.
    ``unordered``: blocks in which positions did not ascend, or to which they fell, for which equal sums prove nothing.
    """

    blocks: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    unordered: set[Block] = field(default_factory=set)
    _highest: dict[tuple[int, int], int] = field(default_factory=dict)
    """By side and channel the highest position so far."""

    def add(self, side: int, columns: Columns) -> None:
        """Adds rows, in the order of ``seq``."""
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
            self._follow(side, int(channel[start]), position[start:end])

    def _follow(self, side: int, channel: int, position: Ints) -> None:
        top = self._highest.get((side, channel), -(2**63))
        highest = position[-1]
        if position[0] <= top or not (position[1:] > position[:-1]).all():
            before = np.maximum.accumulate(np.append(top, position))
            falls = position <= before[:-1]
            places = np.append(position[falls], before[:-1][falls]) >> _BLOCK_BITS
            self.unordered |= {(channel, block) for block in np.unique(places).tolist()}
            highest = before[-1]
        self._highest[side, channel] = int(highest)


def _hashes(position: Ints, kind: Ints, *payload: Ints) -> Hashes:
    """64 bits per element and position, each of which depends on every input."""
    mixed: Hashes = position.astype(np.uint64) * _ODD[0]
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
    differ = {block for block in blocks if sent.get(block) != received.get(block)} | unordered
    if not whole:
        # If elements were lost, the last ones that were received belong to the next block of the sender.
        differ |= {(channel, block + 1) for channel, block in differ} & sent.keys()
    return sorted(differ)


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
        """Side, channel, place in the sequence, position and payload of each element, in the order of ``seq``."""
        if not self._kept:
            return None
        side, channel, position, *payload = (np.concatenate(columns) for columns in zip(*self._kept, strict=True))
        place = position.astype(np.int64)
        order = np.lexsort((channel, side))
        starts = np.flatnonzero((np.diff(channel[order]) != 0) | (np.diff(side[order]) != 0)) + 1
        for own in np.split(order, starts):
            # An element whose position falls follows those before it all the same.
            place[own] = np.maximum.accumulate(place[own])
        return side, channel, place, position, *payload


@dataclass(frozen=True, slots=True)
class Words:
    """How the evidence of a law names an element and its columns."""

    one: str
    """An element, before its position: ``element at position``."""
    several: str
    position: str
    payload: tuple[str, str, str]
    kinds: type[IntEnum]
    """The names of the first column of ``payload``."""


def second_walk(ends: Ends, words: Words) -> SecondWalk:
    """Aligns what was sent and what was received in suspicious blocks."""
    return SecondWalk(partial(SuspectRows, ends), partial(Differences, words), _BLOCKS_A_WALK)


class _Rows(NamedTuple):
    """Elements of one side of a channel, in their order."""

    position: Ints
    payload: Ints
    """One row per column."""

    def part(self, start: int, end: int | None = None) -> _Rows:
        return _Rows(self.position[start:end], self.payload[:, start:end])

    def followed_by(self, other: _Rows) -> _Rows:
        return _Rows(np.append(self.position, other.position), np.hstack((self.payload, other.payload)))


@dataclass(slots=True)
class _Run:
    """Suspicious blocks of a channel that follow each other, and what was found in them so far."""

    channel: int
    rest: tuple[_Rows, _Rows] | None = None
    """Elements that are aligned with those of the next blocks."""
    steps: int = 0
    last: int = -1
    """The position of the last element before the rest."""


class Differences:
    """The differences in suspicious blocks, which it receives in their order, in several passes."""

    def __init__(self, words: Words, suspects: Sequence[Block]) -> None:
        self._words = words
        self._suspects = suspects
        self._next = 0
        self._run: _Run | None = None
        self._shown = 0

    def __call__(self, graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
        """Takes the elements of the next blocks."""
        # Elements at one place may come from two tasks; their order must not depend on the division of tasks.
        kept = [answer for _, answer in sorted(answers.items()) if isinstance(answer, tuple)]
        first, self._next = self._next, min(self._next + _BLOCKS_A_WALK, len(self._suspects))
        side, channel, place, position, *payload = (
            np.concatenate(parts).astype(np.int64) for parts in zip(*kept, strict=True)
        )
        order = np.lexsort((place, channel, side))
        side, keys = side[order], ((channel << _KEY_BITS) + (place >> _BLOCK_BITS))[order]
        rows = _Rows(position[order], np.stack(payload)[:, order])
        received_from = int(np.searchsorted(side, 1))
        ends = (0, received_from), (received_from, len(side))
        for start, end in self._runs(first, self._next):
            blocks = self._suspects[start], self._suspects[end - 1]
            low, high = ((channel_id << _KEY_BITS) + block for channel_id, block in blocks)
            sent, received = (
                rows.part(
                    begin + int(np.searchsorted(keys[begin:stop], low)),
                    begin + int(np.searchsorted(keys[begin:stop], high, "right")),
                )
                for begin, stop in ends
            )
            goes_on = end == self._next and self._follows(end)
            ending = Ending.BOTH if goes_on else Ending.NOTHING if whole else Ending.SENT
            if self._run is None or start != first or not self._follows(first):
                self._run = _Run(blocks[0][0])
            self._compare(self._run, sent, received, ending, found)

    def _runs(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        start = first
        for number in range(first + 1, end + 1):
            if number == end or not self._follows(number):
                yield start, number
                start = number

    def _follows(self, number: int) -> bool:
        """Whether a suspicious block directly follows the one before it."""
        if not 0 < number < len(self._suspects):
            return False
        (before, last), (channel, block) = self._suspects[number - 1 : number + 1]
        return channel == before and block == last + 1

    def _compare(self, run: _Run, sent: _Rows, received: _Rows, ending: Ending, found: Findings) -> None:
        if run.rest is not None:
            sent, received = run.rest[0].followed_by(sent), run.rest[1].followed_by(received)
        numbers = _numbers(np.hstack((sent.payload, received.payload)))
        alignment = Alignment(numbers[: len(sent.position)], numbers[len(sent.position) :], ending)
        for step in alignment.steps():
            run.steps += 1
            if self._shown >= EVIDENCE_ROWS:
                found.violations += 1
                continue
            self._shown += 1
            self._show(run.channel, sent, received, step, found)
        if not run.steps:
            self._compare_positions(run, sent.position, received.position[: alignment.received], found)
        run.rest = sent.part(alignment.sent), received.part(alignment.received)

    def _compare_positions(self, run: _Run, sent: Ints, received: Ints, found: Findings) -> None:
        """Equal elements have equal positions, which ascend."""
        wrong = (sent[: len(received)] != received) | (np.diff(np.append(run.last, received)) <= 0)
        if wrong.any():
            run.steps += 1
            place = int(wrong.argmax())
            what = (
                f"{self._words.position}s of channel {run.channel} do not ascend, or differ between sent and received"
            )
            self._broken(found, what, run.channel, int(received[place]), sent_position=int(sent[place]))
        run.last = int(received[-1]) if len(received) else run.last

    def _show(self, channel: int, sent: _Rows, received: _Rows, step: Step, found: Findings) -> None:
        """Says what happened to one or two elements."""
        change, of_sent, of_received = step
        is_lost = change is Change.LOST
        position = int(sent.position[of_sent] if is_lost else received.position[of_received])
        where = f"of channel {channel}"
        one = f"the {self._words.one} {position} {where}"
        if is_lost:
            self._broken(found, f"{one} was sent and never received", channel, position, side=SIDES[0],
                         sent=self._named(sent, of_sent))  # fmt: skip
        elif change is Change.ADDED:
            near = received.payload[:, max(of_received - 1, 0) : of_received + 2]
            is_again = np.count_nonzero((near == received.payload[:, of_received, None]).all(axis=0)) > 1
            what = f"{one} was received {'again' if is_again else 'and never sent'}"
            self._broken(found, what, channel, position, side=SIDES[1], received=self._named(received, of_received))
        elif change is Change.CHANGED:
            self._broken(found, f"{one} was changed", channel, position, side=SIDES[1],
                         sent=self._named(sent, of_sent), received=self._named(received, of_received))  # fmt: skip
        else:
            next_position = int(received.position[of_received + 1])
            what = f"the {self._words.several} {position} and {next_position} {where} were exchanged"
            self._broken(found, what, channel, position, side=SIDES[1],
                         sent=[self._named(sent, of_sent + each) for each in (0, 1)],
                         received=[self._named(received, of_received + each) for each in (0, 1)])  # fmt: skip

    def _broken(self, found: Findings, what: str, channel: int, position: int, **where: object) -> None:
        at = {"channel": channel, self._words.position: position}
        found.broken(what, (channel, position), **at, **where)

    def _named(self, rows: _Rows, place: int) -> dict[str, object]:
        first, *others = self._words.payload
        kind, *values = rows.payload[:, place].tolist()
        return {first: named(self._words.kinds, kind), **dict(zip(others, values, strict=True))}


def _numbers(payload: Ints) -> Ints:
    """A number for each element, equal for equal ones."""
    order = np.lexsort(tuple(payload))
    ascending = payload[:, order]
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(np.append(False, (ascending[:, 1:] != ascending[:, :-1]).any(axis=0))[: len(order)])
    return numbers
