"""Every result of a job whose parts share no later task: the orders of each part by itself, then their results together.

Three receivers with 6 orders each have 216 orders together, and 18 if one is explored after the other. A run for each
combination of results shows that they do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import ClassVar

from msgspec.msgpack import decode, encode

from flowsim.errors import InvariantViolation
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.outcome import Outcome
from flowsim.explore.parts import Parts
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Option
from flowsim.sim.origin import OptionKey


class Steered(Recorded):
    """Lets each part do its steps in a given order; the other steps keep their default order."""

    def __init__(self, parts: Parts, orders: Sequence[Sequence[OptionKey]]) -> None:
        super().__init__()
        self._parts = parts
        self._orders = orders
        self._next = [0] * parts.count
        self.is_lost = False
        """True if the run had other steps than the orders."""

    def decide(self, options: Sequence[Option]) -> int:
        for index, option in enumerate(options):
            part = self._parts.of(int(option.key[1]))
            if part is None or part < 0:
                return index
            order, number = self._orders[part], self._next[part]
            if number < len(order) and order[number] == option.key:
                self._next[part] += 1
                return index
        self.is_lost = True
        return 0


Orders = list[dict[str, list[OptionKey]]]
"""For each part, a list of its steps for each of its results; the first one is that of the default order."""


@dataclass(frozen=True, slots=True)
class PartsState:
    """Where a search of parts is between two runs, or what a group of a split one has to try."""

    orders: Orders
    searches: list[tuple[int, bytes]]
    """The state of each search, or subtree of one, with its part."""
    combination: int = 0
    """The next combination of results to try."""
    end: int | None = None
    """The combination after the last one; None: there is no other search of the job."""
    runs: int = 0
    blocked: int = 0
    is_whole: bool = False
    """True for a group if the parts turned out to depend on each other."""
    is_finished: bool = False

    _BEGIN: ClassVar = b"parts"

    def encode(self) -> bytes:
        """Returns it as bytes."""
        return self._BEGIN + encode(self)

    @classmethod
    def decode(cls, state: bytes) -> PartsState:
        """Returns it from bytes."""
        return decode(state[len(cls._BEGIN) :], type=cls)

    @classmethod
    def is_in(cls, state: bytes) -> bool:
        """Returns False if a state is that of a search of the whole job."""
        return state.startswith(cls._BEGIN)


def combination_from(number: int, end: int, orders: Orders) -> int:
    """Returns the first combination from ``number`` on, before ``end``, in which two parts have another result than by default.

    The others were results before.
    """
    while number < end and sum(each != 0 for each in _combination(number, orders)) < 2:
        number += 1
    return number


def _combination(number: int, orders: Orders) -> list[int]:
    """Returns the number of a result of each part; that of the last part changes first."""
    chosen = []
    for of_part in reversed(orders):
        number, one = divmod(number, len(of_part))
        chosen.append(one)
    return chosen[::-1]


class ProductSearch(Recorded):
    """Searches part after part, and then tries each combination of their results.

    If it turns out that the parts depend on each other, it begins again with all orders of the whole job. ``of_sinks``: the
    task of each subtask of a sink.
    """

    def __init__(self, parts: Parts, of_sinks: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self._parts = parts
        self._of_sinks = of_sinks
        self._orders: Orders = [{} for _ in range(parts.count)]
        self._searches = [(part, ExhaustiveSearch(parts, part)) for part in range(parts.count)]
        self._keys: list[list[OptionKey]] = []
        """The steps of each part in the current run."""
        self._combination = 0
        self._end: int | None = None
        self._running: tuple[int, ExhaustiveSearch] | None = None
        """The search of the current run, and its part; None if the run is one of a combination."""
        self._steered: Steered | None = None
        self._whole: ExhaustiveSearch | None = None
        self.runs = self.blocked = 0
        self.is_whole = False
        """True if the job is explored as a whole, because its parts depend on each other."""
        self.is_finished = False

    def state(self) -> bytes:
        """Returns where the search is between two runs: as an ``ExhaustiveSearch`` does, once the job is searched as a whole."""
        if self._whole is not None:
            return self._whole.state()
        return PartsState(
            self._orders,
            [(part, search.state()) for part, search in self._searches],
            self._combination,
            self._end,
            self.runs,
            self.blocked,
            self.is_whole,
            self.is_finished,
        ).encode()

    def restore(self, state: bytes) -> None:
        """Continues there."""
        if not PartsState.is_in(state):
            search = self._search_whole()
            search.restore(state)
            self.runs, self.blocked, self.is_finished = search.runs, search.blocked, search.is_finished
            return
        found = PartsState.decode(state)
        self._orders, self._combination, self._end = found.orders, found.combination, found.end
        self.runs, self.blocked, self.is_finished = found.runs, found.blocked, found.is_finished
        self._searches = [(part, ExhaustiveSearch(self._parts, part)) for part, _ in found.searches]
        for (_, search), (_, of_part) in zip(self._searches, found.searches, strict=True):
            search.restore(of_part)

    @property
    def results_of_parts(self) -> tuple[int, ...]:
        """How many results each part has, once all parts were searched; otherwise nothing."""
        return () if self.is_whole or self._current is not None else tuple(map(len, self._orders))

    @property
    def share(self) -> float:
        """The part of the work that is done, if each part, and all combinations together, count alike."""
        if self.is_finished:
            return 1.0
        if self._whole is not None:
            return self._whole.share
        of_parts = sum(search.share for _, search in self._searches)
        of_combinations = 0.0 if self._current is not None else self._combination / self._combinations
        return (of_parts + of_combinations) / (self._parts.count + 1)

    @property
    def _current(self) -> tuple[int, ExhaustiveSearch] | None:
        """The first search that has a further run, and its part."""
        return next((each for each in self._searches if not each[1].is_finished), None)

    @property
    def _combinations(self) -> int:
        return prod(map(len, self._orders))

    def begin(self) -> Recorded:
        """Starts the next run, and returns what decides it."""
        self.deviations, self.choices = [], 0
        self._keys = [[] for _ in self._orders]
        self._running = self._current
        if self._whole is not None:
            self._whole.begin()
        elif self._running is not None:
            self._running[1].begin()
        else:
            chosen = zip(self._orders, self._results_of_combination(), strict=True)
            self._steered = Steered(self._parts, [orders[each] for orders, each in chosen])
        return self

    def decide(self, options: Sequence[Option]) -> int:
        source = self._whole or (self._steered if self._running is None else self._running[1])
        index = 0 if source is None else source.decide(options)
        part = self._parts.of(int(options[index].key[1]))
        if part is not None and part >= 0:
            self._keys[part].append(options[index].key)
        return index

    def executed(self, touched: Set[int]) -> None:
        if self._whole is not None:
            self._whole.executed(touched)
        elif self._running is not None:
            self._running[1].executed(touched)

    def end(self, outcome: Outcome | None = None) -> None:
        """Ends a run that had this outcome."""
        self.runs += 1
        if self._whole is not None:
            self._whole.end()
            self.blocked, self.is_finished = self._whole.blocked, self._whole.is_finished
            return
        if outcome is None:
            raise InvariantViolation("a search by parts needs the outcome of each run")
        found, running = self._results(outcome), self._running
        fits = self._end_of_combination(found) if running is None else self._end_of_part(*running, found)
        if not fits:
            self._search_whole()
        elif self._current is None:
            end = self._combinations if self._end is None else self._end
            self._combination = combination_from(self._combination, end, self._orders)
            self.is_finished = self._combination >= end

    def _end_of_part(self, part: int, search: ExhaustiveSearch, found: Sequence[str]) -> bool:
        """Ends a run of the search of a part. Returns False if it had an effect on another part."""
        is_blocked = search.is_blocked
        search.end()
        if search.is_mixed or any(
            orders and other != part and found[other] != next(iter(orders)) for other, orders in enumerate(self._orders)
        ):
            return False
        if is_blocked:
            self.blocked += 1
            return True
        for other, keys in enumerate(self._keys):
            if other == part or not self._orders[other]:
                self._orders[other].setdefault(found[other], keys)
        return True

    def _end_of_combination(self, found: Sequence[str]) -> bool:
        """Ends the run of a combination. Returns False if it had other results than those of the parts by themselves."""
        if self._steered is None or self._steered.is_lost or list(found) != self._results_of_combination():
            return False
        self._combination += 1
        return True

    def _results_of_combination(self) -> list[str]:
        chosen = _combination(self._combination, self._orders)
        return [list(orders)[number] for orders, number in zip(self._orders, chosen, strict=True)]

    def _search_whole(self) -> ExhaustiveSearch:
        """Begins again. A group ends: what the job is divided into is for the search that it is a part of."""
        self.is_whole, self._steered, self._searches = True, None, []
        whole = ExhaustiveSearch()
        if self._end is None:
            self._whole = whole
        else:
            self.is_finished = True
        return whole

    def _results(self, outcome: Outcome) -> list[str]:
        """Returns a digest of what each part wrote; what tasks before the parts wrote, and the job's end, belong to each."""
        texts = [sha256(f"{outcome.status.value}\n{outcome.cause}\n".encode()) for _ in range(self._parts.count)]
        for name, subtasks in outcome.sinks:
            for task, rows in zip(self._of_sinks[name], subtasks, strict=True):
                part = self._parts.of_task[task]
                for text in texts if part < 0 else texts[part : part + 1]:
                    text.update(f"{name} {task} {[len(row) for row in rows]}\n".encode() + b"".join(rows))
        return [text.hexdigest()[:16] for text in texts]
