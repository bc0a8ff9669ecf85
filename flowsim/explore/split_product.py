"""A search of parts that several processes make at the same time: subtrees of each part, then combinations of results."""

from __future__ import annotations

from math import prod
from typing import Final

from msgspec.msgpack import decode

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.product_search import Orders, PartsState, combination_from
from flowsim.explore.subtrees import SplitSearch, encoded

_OF_A_GROUP: Final = 100
"""How many combinations a group has, with those that need no run."""

Range = tuple[int, int]
"""The first combination, and the one after the last."""


class SplitProduct:
    """Deals groups of subtrees of one part, as a ``SplitSearch`` does, and in the end groups of combinations.

    If a group finds that parts depend on each other, the search of the whole job begins with the next round. ``state``: that of
    a ``ProductSearch``.
    """

    def __init__(self, state: bytes) -> None:
        found = PartsState.decode(state)
        self._orders: Orders = found.orders
        self._trees = {part: SplitSearch(of_part) for part, of_part in found.searches}
        self._dealt: dict[int, tuple[int, int]] = {}
        """The groups that are not back: the part of each, and its number in the tree of the part."""
        self._ranges: list[Range] = []
        self._dealt_ranges: dict[int, Range] = {}
        self._combination = found.combination
        """The first combination that is in no range."""
        self._whole: SplitSearch | None = None
        self._of_parts_blocked = found.blocked
        self._is_begun = False
        """True if a group of the whole job was dealt; those that come back before are of parts."""

    @property
    def is_finished(self) -> bool:
        """True if each order was tried."""
        if self._whole is not None:
            return self._whole.is_finished
        return not (self._open_parts or self._ranges or self._dealt_ranges) and self._combination >= self._combinations

    @property
    def blocked(self) -> int:
        """Runs that only repeated an order of an earlier run."""
        return self._of_parts_blocked if self._whole is None else self._whole.blocked

    @property
    def results_of_parts(self) -> tuple[int, ...]:
        """How many results each part has, once all parts were searched; otherwise nothing."""
        return () if self._whole is not None or self._open_parts else tuple(map(len, self._orders))

    @property
    def share(self) -> float:
        """The part of the work that is done, if each part, and all combinations together, count alike."""
        if self._whole is not None:
            return self._whole.share
        shares = [tree.share for tree in self._trees.values()]
        open_ = sum(end - first for first, end in (*self._ranges, *self._dealt_ranges.values()))
        of_combinations = 0.0 if self._open_parts else (self._combination - open_) / self._combinations
        return (sum(shares) + of_combinations) / (len(shares) + 1)

    def deal(self, most: int) -> dict[int, bytes]:
        """Returns the states of at most so many groups; first takes back those that were dealt before."""
        if self._whole is not None:
            self._is_begun = True
            return self._whole.deal(most)
        open_ = self._open_parts[:most]
        self._dealt.clear()
        states: dict[int, bytes] = {}
        for part in open_:
            for number, state in self._trees[part].deal(most // len(open_)).items():
                self._dealt[len(states) + 1] = part, number
                states[len(states) + 1] = self._of_subtrees(part, decode(state, type=list[bytes]))
        return states or self._deal_combinations(most)

    def _deal_combinations(self, most: int) -> dict[int, bytes]:
        self._ranges = [*self._dealt_ranges.values(), *self._ranges]
        while self._combination < self._combinations and len(self._ranges) < most:
            end = min(self._combination + _OF_A_GROUP, self._combinations)
            self._ranges.append((self._combination, end))
            self._combination = combination_from(end, self._combinations, self._orders)
        self._dealt_ranges = dict(enumerate(self._ranges[:most], 1))
        del self._ranges[:most]
        return {
            number: PartsState(self._orders, [], first, end).encode()
            for number, (first, end) in self._dealt_ranges.items()
        }

    def take_back(self, number: int, state: bytes, blocked: int) -> None:
        """Gets the state of a group after some of its runs. The last group ends the round."""
        if self._whole is not None:
            if self._is_begun:
                self._whole.take_back(number, state, blocked)
            return
        found = PartsState.decode(state)
        if found.is_whole:
            self._whole = SplitSearch(ExhaustiveSearch().state())
        elif number in self._dealt_ranges:
            _, end = self._dealt_ranges.pop(number)
            self._ranges += [(found.combination, end)] if found.combination < end else []
        else:
            part, of_part = self._dealt.pop(number)
            for orders, others in zip(self._orders, found.orders, strict=True):
                for digest, keys in others.items():
                    orders.setdefault(digest, keys)
            self._of_parts_blocked += blocked
            self._trees[part].take_back(of_part, encoded([state for _, state in found.searches]), blocked)
            if not self._open_parts:
                self._combination = combination_from(0, self._combinations, self._orders)

    def _of_subtrees(self, part: int, searches: list[bytes]) -> bytes:
        """Returns the state of a group, which needs the default result of the other parts."""
        defaults: Orders = [{digest: [] for digest in list(orders)[:1]} for orders in self._orders]
        return PartsState(defaults, [(part, search) for search in searches], end=0).encode()

    @property
    def _open_parts(self) -> list[int]:
        return [part for part, tree in self._trees.items() if not tree.is_finished]

    @property
    def _combinations(self) -> int:
        return prod(map(len, self._orders))


def split_of(state: bytes) -> SplitSearch | SplitProduct:
    """Returns the tree, or the trees, of a search; ``state``: that of the search, which has begun."""
    return SplitProduct(state) if PartsState.is_in(state) else SplitSearch(state)
