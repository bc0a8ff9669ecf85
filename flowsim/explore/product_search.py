"""Every result of a job whose parts share no later task: the orders of each part by itself, then their results together.

Three receivers with 6 orders each have 216 orders together, and 18 if one is explored after the other. A run for each
combination of results shows that they do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from hashlib import sha256
from itertools import islice, product
from math import prod
from typing import Final

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


_Orders = list[dict[str, list[OptionKey]]]
_State = tuple[int, _Orders, int, bytes, bool, int, int, bool]

_BY_PARTS: Final = b"parts"
"""With this the state begins as long as parts are searched by themselves."""


def is_by_parts(state: bytes) -> bool:
    """Returns True if a state is that of a search of parts, and not that of an ``ExhaustiveSearch`` of the whole job."""
    return state.startswith(_BY_PARTS)


class ProductSearch(Recorded):
    """Searches part after part, and then tries each combination of their results.

    If it turns out that the parts depend on each other, it begins again with all orders of the whole job. ``of_sinks``: the
    task of each subtask of a sink.
    """

    def __init__(self, parts: Parts, of_sinks: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self._parts = parts
        self._of_sinks = of_sinks
        self._part = 0
        self._orders: _Orders = [{} for _ in range(parts.count)]
        """For each part, a list of its steps for each of its results; the first one is that of the default order."""
        self._keys: list[list[OptionKey]] = []
        """The steps of each part in the current run."""
        self._combined = 0
        """How many combinations of results were tried, or were results before."""
        self._search: ExhaustiveSearch | None = ExhaustiveSearch(parts, 0)
        self._steered: Steered | None = None
        self.runs = self.blocked = 0
        self.is_whole = False
        """True if the job is explored as a whole, because its parts depend on each other."""
        self.is_finished = False

    def state(self) -> bytes:
        """Returns where the search is between two runs: as an ``ExhaustiveSearch`` does, once the job is searched as a whole."""
        if self.is_whole and self._search is not None:
            return self._search.state()
        search = b"" if self._search is None else self._search.state()
        is_mixed = self._search is not None and self._search.is_mixed
        return _BY_PARTS + encode(
            (
                self._part,
                self._orders,
                self._combined,
                search,
                is_mixed,
                self.runs,
                self.blocked,
                self.is_finished,
            )
        )

    def restore(self, state: bytes) -> None:
        """Continues there."""
        if not is_by_parts(state):
            search = self._search_whole()
            search.restore(state)
            self.runs, self.blocked, self.is_finished = search.runs, search.blocked, search.is_finished
            return
        found = decode(state[len(_BY_PARTS) :], type=_State)
        self._part, self._orders, self._combined, of_part, is_mixed, self.runs, self.blocked, self.is_finished = found
        self._search = None
        if of_part:
            self._search = ExhaustiveSearch(self._parts, self._part)
            self._search.restore(of_part)
            self._search.is_mixed = is_mixed

    @property
    def results_of_parts(self) -> tuple[int, ...]:
        """How many results each part has, once all parts were searched; otherwise nothing."""
        return () if self.is_whole or self._search is not None else tuple(len(orders) for orders in self._orders)

    @property
    def share(self) -> float:
        """The part of the work that is done, if each part, and all combinations together, count alike."""
        if self.is_finished:
            return 1.0
        if self.is_whole and self._search is not None:
            return self._search.share
        done = self._part + (self._search.share if self._search is not None else self._combined / self._combinations)
        return done / (self._parts.count + 1)

    @property
    def _combinations(self) -> int:
        return prod(len(orders) for orders in self._orders)

    def begin(self) -> Recorded:
        """Starts the next run, and returns what decides it."""
        self.deviations, self.choices = [], 0
        self._keys = [[] for _ in self._orders]
        if self._search is not None:
            self._search.begin()
        else:
            self._steered = Steered(
                self._parts, [orders[each] for orders, each in zip(self._orders, self._combination(), strict=True)]
            )
        return self

    def decide(self, options: Sequence[Option]) -> int:
        source = self._search or self._steered
        index = 0 if source is None else source.decide(options)
        part = self._parts.of(int(options[index].key[1]))
        if part is not None and part >= 0:
            self._keys[part].append(options[index].key)
        return index

    def executed(self, touched: Set[int]) -> None:
        if self._search is not None:
            self._search.executed(touched)

    def end(self, outcome: Outcome | None = None) -> None:
        """Ends a run that had this outcome."""
        self.runs += 1
        if self.is_whole and self._search is not None:
            self._search.end()
            self.blocked, self.is_finished = self._search.blocked, self._search.is_finished
            return
        if outcome is None:
            raise InvariantViolation("a search by parts needs the outcome of each run")
        found = self._results(outcome)
        if self._search is None:
            self._end_combination(found)
        else:
            self._end_of_part(self._search, found)

    def _end_of_part(self, search: ExhaustiveSearch, found: Sequence[str]) -> None:
        is_blocked = search.is_blocked
        search.end()
        if search.is_mixed or any(
            orders and part != self._part and found[part] != next(iter(orders))
            for part, orders in enumerate(self._orders)
        ):
            self._search_whole()
            return
        if is_blocked:
            self.blocked += 1
        else:
            for part, keys in enumerate(self._keys):
                if part == self._part or not self._orders[part]:
                    self._orders[part].setdefault(found[part], keys)
        if search.is_finished:
            self._part += 1
            self._search = ExhaustiveSearch(self._parts, self._part) if self._part < self._parts.count else None
            self._go_to_next_combination()

    def _end_combination(self, found: Sequence[str]) -> None:
        if self._steered is None or self._steered.is_lost or tuple(found) != self._combination():
            self._search_whole()
            return
        self._combined += 1
        self._go_to_next_combination()

    def _go_to_next_combination(self) -> None:
        """Leaves out combinations in which at most one part has another result than by default: these were results before."""
        if self._search is not None:
            return
        default = tuple(next(iter(orders)) for orders in self._orders)
        while self._combined < self._combinations:
            if sum(one != other for one, other in zip(self._combination(), default, strict=True)) > 1:
                return
            self._combined += 1
        self.is_finished = True

    def _combination(self) -> tuple[str, ...]:
        return next(islice(product(*self._orders), self._combined, None))

    def _search_whole(self) -> ExhaustiveSearch:
        self.is_whole, self._steered = True, None
        self._search = ExhaustiveSearch()
        return self._search

    def _results(self, outcome: Outcome) -> list[str]:
        """Returns a digest of what each part wrote; what tasks before the parts wrote, and the job's end, belong to each."""
        texts = [sha256(f"{outcome.status.value}\n{outcome.cause}\n".encode()) for _ in range(self._parts.count)]
        for name, subtasks in outcome.sinks:
            for task, rows in zip(self._of_sinks[name], subtasks, strict=True):
                part = self._parts.of_task[task]
                for text in texts if part < 0 else texts[part : part + 1]:
                    text.update(f"{name} {task} {[len(row) for row in rows]}\n".encode() + b"".join(rows))
        return [text.hexdigest()[:16] for text in texts]
