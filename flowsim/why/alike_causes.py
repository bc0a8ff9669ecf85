"""Causes of many facts at once: alike ones share their words, and their quantities are columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flowsim.history.rows import Ints, Rows
from flowsim.trace.places import Place
from flowsim.why.answer import Cause
from flowsim.why.sentence import Number, Sentence, Words

Wording = tuple[Words, tuple[str, ...], tuple[Words, ...], int, int | None]
"""What alike causes have in common: words of the sentence, rules, words of each line of details, task, channel."""


@dataclass(frozen=True, slots=True)
class AlikeCauses:
    """Causes that differ only in their quantities, and in the facts that show them. ``rules`` to ``channel``: see ``Cause``."""

    sentence: Sentence
    rules: tuple[str, ...]
    shown_by: Rows
    """Facts of one task."""
    lines: tuple[Sentence, ...] = ()
    channel: int | None = None

    def __len__(self) -> int:
        return len(self.shown_by)

    @property
    def wording(self) -> Wording:
        lines = tuple(line.words for line in self.lines)
        return self.sentence.words, self.rules, lines, self.shown_by.row(0)["task"], self.channel

    @property
    def columns(self) -> list[Ints]:
        """The quantities of the sentence and of its details, and last the ``seq`` of the facts."""
        numbers: list[Number] = [*self.sentence.numbers, *(one for line in self.lines for one in line.numbers)]
        return [*(np.broadcast_to(number, len(self)) for number in numbers), self.shown_by["seq"]]

    def cause(self, number: int) -> Cause:
        """One of the causes."""
        row = self.shown_by.row(number)
        place = Place(row["task"], row["seq"], row["time_ns"])
        lines = tuple(line.row(number) for line in self.lines)
        return Cause(self.sentence.row(number), self.rules, place, lines, self.channel)


class Chains:
    """The statements about several facts, each followed by the chain of its causes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.links: list[tuple[Ints, AlikeCauses]] = []
        """Numbers of chains, and a cause for each of them, in the order of every chain."""

    def __len__(self) -> int:
        return self._count

    def add(self, chains: Ints, causes: AlikeCauses) -> None:
        """Continues each of these chains with one of the causes."""
        if len(chains):
            self.links.append((chains, causes))

    def add_all(self, chains: Ints, causes: Sequence[Sequence[Cause]]) -> None:
        """Continues each of these chains with several causes."""
        for place in range(max(map(len, causes), default=0)):
            of_place = [
                (chain, some[place]) for chain, some in zip(chains.tolist(), causes, strict=True) if place < len(some)
            ]
            for numbers, alike in _alike([cause for _, cause in of_place]):
                self.add(np.array([of_place[number][0] for number in numbers], dtype=np.int64), alike)

    def chain(self, number: int) -> list[Cause]:
        """One chain, its statement first."""
        found = []
        for chains, causes in self.links:
            found += [causes.cause(at) for at in np.flatnonzero(chains == number).tolist()]
        return found

    def all(self) -> list[list[Cause]]:
        """Every chain."""
        found: list[list[Cause]] = [[] for _ in range(self._count)]
        for chains, causes in self.links:
            for at, chain in enumerate(chains.tolist()):
                found[chain].append(causes.cause(at))
        return found


def _alike(causes: Sequence[Cause]) -> Iterator[tuple[list[int], AlikeCauses]]:
    """The causes with each wording: their numbers, and the causes as columns."""
    of_wording: dict[object, list[int]] = {}
    for number, cause in enumerate(causes):
        lines = tuple(_sentence(line).words for line in cause.lines)
        task = None if cause.place is None else cause.place.task
        wording = _sentence(cause.sentence).words, cause.rules, lines, task, cause.channel
        of_wording.setdefault(wording, []).append(number)
    for numbers in of_wording.values():
        yield numbers, _stacked([causes[number] for number in numbers])


def _stacked(causes: Sequence[Cause]) -> AlikeCauses:
    places = [(cause.place.task, cause.place.seq, cause.place.time_ns) for cause in causes if cause.place is not None]
    columns = np.array(places, dtype=np.int64).T
    shown_by = Rows(dict(zip(("task", "seq", "time_ns"), columns, strict=True)))
    lines = zip(*([_sentence(line) for line in cause.lines] for cause in causes), strict=True)
    return AlikeCauses(
        Sentence.of_rows([_sentence(cause.sentence) for cause in causes]), causes[0].rules, shown_by,
        tuple(Sentence.of_rows(line) for line in lines), causes[0].channel,
    )  # fmt: skip


def _sentence(sentence: str | Sentence) -> Sentence:
    return Sentence(sentence) if isinstance(sentence, str) else sentence
