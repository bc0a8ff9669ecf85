"""A search of all orders in subtrees that several processes explore at the same time.

A subtree has given first steps, and owns the steps after them. What its runs show about the given ones (steps to try in their
place) is noted, and added to the tree when all processes are at their end. The order in which the steps of one place began is
the only one that sleep sets need, so a step can sleep in a later subtree while its own one is not finished.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final

from msgspec.msgpack import decode, encode

from flowsim.explore.exhaustive import ExhaustiveSearch, Footprint, Node
from flowsim.explore.outcome import Outcome
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import ANY_ACTOR
from flowsim.sim.origin import OptionKey

_OF_A_GROUP: Final = 4
"""Into how many subtrees for each group the tree is split, if it can be."""

_UNKNOWN: Final[Footprint] = frozenset({ANY_ACTOR})
"""The effects of a step that draws, as long as not all draws were tried: with it, the step does not sleep."""


class Subtrees:
    """Decides the runs of a group of subtrees, one subtree after the other. ``state``: that of the group."""

    def __init__(self, state: bytes) -> None:
        self._searches = searches_of(state)
        self.blocked = 0
        """Runs that only repeated an order of an earlier run."""

    @property
    def is_finished(self) -> bool:
        """True if no subtree of the group has a further run."""
        return all(search.is_finished for search in self._searches)

    def begin(self) -> Recorded:
        """Returns what decides the next run."""
        return self._current.begin()

    def end(self, outcome: Outcome | None = None) -> None:
        """Ends a run, whatever its outcome."""
        search = self._current
        self.blocked += search.is_blocked
        search.end()

    def state(self) -> bytes:
        """Returns what was found out about the subtrees."""
        return state_of(self._searches)

    @property
    def _current(self) -> ExhaustiveSearch:
        return next(search for search in self._searches if not search.is_finished)


def state_of(searches: Iterable[ExhaustiveSearch]) -> bytes:
    """Returns the state of a group."""
    return encoded([search.state() for search in searches])


def encoded(states: list[bytes]) -> bytes:
    """Returns the state of a group, from those of its searches."""
    return encode(states)


def searches_of(state: bytes) -> list[ExhaustiveSearch]:
    """Returns the searches of a group."""
    searches = []
    for each in decode(state, type=list[bytes]):
        searches.append(ExhaustiveSearch())
        searches[-1].restore(each)
    return searches


@dataclass(slots=True)
class _Place:
    """A step that is given in subtrees, or the first one that a subtree owns."""

    node: Node = field(default_factory=lambda: Node.given((), 0))
    is_owned: bool = False
    """True if the runs of an open subtree decide what is tried here."""
    after: dict[OptionKey, _Place] = field(default_factory=dict)
    """The places after the steps that are tried here."""


class SplitSearch:
    """The tree of a search. It deals groups of subtrees, and gets back what was found out about them.

    ``state``: that of an ``ExhaustiveSearch`` of the whole job. Open subtrees overlap nowhere, and each place before them has a
    node here: with the steps that were tried, which are those of all subtrees after it.
    """

    def __init__(self, state: bytes) -> None:
        root = ExhaustiveSearch()
        root.restore(state)
        self._open = [] if root.is_finished else [root]
        self._root = _Place()
        self._dealt: dict[int, list[ExhaustiveSearch]] = {}
        """The groups that are not back, by their numbers from 1."""
        self.results_of_parts = ()
        """Nothing: the job is searched as a whole."""
        self.blocked = root.blocked
        self._place_owners()

    @property
    def is_finished(self) -> bool:
        """True if each order was tried."""
        return not self._open and not self._dealt

    @property
    def share(self) -> float:
        """The part of the tree that is finished, if the branches of each step count alike."""
        return 1.0 - sum(map(self._share, chain(self._open, *self._dealt.values())))

    def deal(self, most: int) -> dict[int, bytes]:
        """Returns the states of at most so many groups; first takes back those that were dealt before."""
        for searches in self._dealt.values():
            self._open += searches
        self._dealt.clear()
        self._end_round()
        ordered = self._split(most * _OF_A_GROUP)
        self._dealt = {number + 1: ordered[number::most] for number in range(min(most, len(ordered)))}
        self._open = []
        return {number: state_of(searches) for number, searches in self._dealt.items()}

    def take_back(self, number: int, state: bytes, blocked: int) -> None:
        """Gets the state of a group after some of its runs. The last group ends the round."""
        del self._dealt[number]
        searches = searches_of(state)
        self._open += searches
        self.blocked += blocked
        for search in searches:
            if search.path:
                place = self._along(search)[-1]
                place.node, place.is_owned = search.path[search.base], not search.is_finished
        if not self._dealt:
            self._end_round()

    def _end_round(self) -> None:
        """Adds the steps to try in the place of given ones, to the subtree that owns the place or as a new subtree."""
        changed: dict[int, tuple[_Place, list[Node]]] = {}
        for search in self._open:
            places = self._along(search)
            for number, steps in sorted(search.wanted):
                places[number].node.want(steps)
                changed.setdefault(id(places[number]), (places[number], search.path[:number]))
            search.wanted.clear()
        self._open = [search for search in self._open if not search.is_finished]
        self._open += [
            _subtree(given, place.node) for place, given in changed.values() if place.node.open and not place.is_owned
        ]
        self._place_owners()

    def _place_owners(self) -> None:
        """Drops the places that are before no open subtree."""
        root = _Place()
        for search in self._open:
            place = root
            for old, node in zip(self._along(search)[:-1], search.path[: search.base], strict=True):
                place.node = old.node
                place = place.after.setdefault(node.chosen, _Place())
            if search.path:
                place.node, place.is_owned = search.path[search.base], True
        self._root = root

    def _along(self, search: ExhaustiveSearch) -> list[_Place]:
        """Returns the places of the given steps of a subtree, and of the first one that it owns."""
        places = [self._root]
        for node in search.path[: search.base]:
            places.append(places[-1].after.setdefault(node.chosen, _Place()))
        return places

    def _share(self, search: ExhaustiveSearch) -> float:
        """Returns the part of the tree that is open in a subtree."""
        share = 1.0 - search.share
        for place in self._along(search)[:-1]:
            share /= len(place.node.backtrack)
        return share

    def _split(self, wanted: int) -> list[ExhaustiveSearch]:
        """Splits the largest open subtrees, until there are as many as wanted; returns all, the largest ones first."""
        waiting = [(-self._share(search), number, search) for number, search in enumerate(self._open)]
        heapify(waiting)
        whole: list[tuple[float, int, ExhaustiveSearch]] = []
        while waiting:
            largest = heappop(waiting)
            search = largest[-1]
            rest = self._rest_of(search) if len(waiting) + len(whole) + 1 < wanted else None
            if rest is None:
                whole.append(largest)
                continue
            self._open.append(rest)
            heappush(waiting, (-self._share(search), largest[1], search))
            heappush(waiting, (-self._share(rest), len(self._open), rest))
        return [search for _, _, search in sorted(whole, key=lambda each: each[:2])]

    def _rest_of(self, search: ExhaustiveSearch) -> ExhaustiveSearch | None:
        """Leaves a subtree the current one of the steps at its first place with several ones; returns that of the others."""
        path, base = search.path, search.base
        at = next((number for number in range(base, len(path) - 1) if len(path[number].open) > 1), None)
        if at is None:
            return None
        place = self._along(search)[-1]
        for number in range(base, at + 1):
            node = path[number]
            path[number] = Node.given(node.chosen, number)
            path[number].sleep = node.tried
            node.done[node.chosen] = _UNKNOWN if path[number + 1].step == node.step else node.footprint
            place.node, place.is_owned = node, number == at
            place = place.after.setdefault(node.chosen, _Place())
        place.node, place.is_owned = path[at + 1], True
        search.base = at + 1
        return _subtree(path[:at], node)


def _subtree(given: list[Node], node: Node) -> ExhaustiveSearch:
    """Returns the search of the open steps of a node after the given ones."""
    search = ExhaustiveSearch()
    node.chosen, node.footprint, node.disabled = node.open[0], frozenset(), ()
    search.base = len(given)
    search.path = [*given, node]
    return search
