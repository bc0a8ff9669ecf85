"""Every result of the order space: one run for each order that differs for some task.

Dynamic partial-order reduction with source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic
Partial Order Reduction, POPL 2014), without stored states: a run repeats the choices before the one that it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields

from msgspec.msgpack import decode, encode

from flowsim.errors import BadInput
from flowsim.explore.outcome import Outcome
from flowsim.explore.parts import BEFORE, Parts
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import ANY_ACTOR, CLOCK_ADVANCED, CLOCK_READ, START, TIME, Option
from flowsim.sim.origin import OptionKey

Footprint = frozenset[int]
"""The actors on which a step had an effect."""


@dataclass(slots=True)
class Node:
    """A step of the current run, and what is known of the other steps in its place.

    What a step draws while it runs has a node of its own, of which each option is tried; its effects are those of the step.
    """

    enabled: tuple[OptionKey, ...]
    sleep: dict[OptionKey, Footprint]
    """Steps that were tried before, in an equivalent order; with their effects."""
    chosen: OptionKey
    cause: int
    step: int
    """The number of the node of the step: another one for what a step draws."""
    backtrack: set[OptionKey]
    """The steps to try here, with those that were tried."""
    footprint: Footprint = frozenset()
    disabled: tuple[OptionKey, ...] = ()
    """The steps that were possible here, and no longer after the chosen one."""
    done: dict[OptionKey, Footprint] = field(default_factory=dict)
    """The steps whose runs are all finished, with their effects."""

    @classmethod
    def given(cls, chosen: OptionKey, number: int) -> Node:
        """Returns a node whose step is given; a run finds out the rest."""
        return cls((), {}, chosen, START, number, set())

    @property
    def tried(self) -> dict[OptionKey, Footprint]:
        """The steps that need not be tried after the chosen one as long as they do not depend on what happens."""
        return {key: effects for key, effects in (*self.sleep.items(), *self.done.items()) if key != self.chosen}

    @property
    def open(self) -> list[OptionKey]:
        """The steps that are still to be tried, in the order of the options."""
        return [key for key in self.enabled if key in self.backtrack and key not in self.done and key not in self.sleep]

    def want(self, steps: Sequence[OptionKey]) -> None:
        """Adds the first of some steps to those to try, if none of them is among these."""
        if self.backtrack.isdisjoint(steps):
            self.backtrack.add(steps[0])

    def leave(self, left: tuple[OptionKey, ...]) -> None:
        """Notes what is possible after the chosen step; a step that it made impossible depends on it."""
        self.disabled = tuple(key for key in self.enabled if key != self.chosen and key not in left)
        if self.disabled:
            self.footprint |= {CLOCK_READ if key == TIME.key else int(key[1]) for key in self.disabled}


Wanted = tuple[int, tuple[OptionKey, ...]]
"""The number of a node that is given, and steps of which one must be tried there."""

_State = tuple[int, int, bool, list[OptionKey], dict[OptionKey, Footprint], list[Node], list[Wanted]]


def _with_sorted_sets(node: Node) -> dict[str, object]:
    """Returns the fields of a node, with sorted sets: their own order differs between processes."""
    plain: dict[str, object] = {each.name: getattr(node, each.name) for each in fields(node)}
    plain["footprint"], plain["backtrack"] = sorted(node.footprint), sorted(node.backtrack)
    plain["sleep"], plain["done"] = _with_sorted(node.sleep), _with_sorted(node.done)
    return plain


def _with_sorted(effects: Mapping[OptionKey, Footprint]) -> dict[OptionKey, list[int]]:
    return {key: sorted(footprint) for key, footprint in effects.items()}


class ExhaustiveSearch(Recorded):
    """Decides the steps of one run after the other (a ``ChoiceSource``), until each order has been tried.

    Two steps depend on each other if they have an effect on the same actor, or one reads the clock that the other moves.
    ``part``: of ``parts``, the one whose orders are tried; the rest of the job keeps its default order. A search that
    continues from the state of a subtree repeats the first ``base`` steps in each run, and notes in ``wanted`` what has to be
    tried in their place.
    """

    def __init__(self, parts: Parts | None = None, part: int = 0) -> None:
        super().__init__()
        self._parts = parts
        self._part = part
        self.is_mixed = False
        """True if something outside of all parts, or in two of them, could have happened in another order."""
        self.runs = 0
        self.blocked = 0
        """Runs that only repeated an order of an earlier run."""
        self.is_finished = False
        self.base = 0
        self.wanted: set[Wanted] = set()
        self.path: list[Node] = []
        """The steps of the run before, with those that have further ones in their place; the one at ``base`` stays at the end."""
        self._depth = 0
        self.is_blocked = False

    def begin(self) -> Recorded:
        """Starts the next run, and returns what decides it."""
        self.deviations, self.choices = [], 0
        self._depth = 0
        self.is_blocked = False
        return self

    def decide(self, options: Sequence[Option]) -> int:
        depth = self._depth
        self._depth += 1
        keys = tuple(option.key for option in options)
        is_part = options[0].is_drawn and options[0].cause != START
        if 0 < depth <= len(self.path) and not is_part:
            self.path[self.path[depth - 1].step].leave(keys)
        if depth < len(self.path):
            node = self.path[depth]
            if not node.enabled and node.chosen in keys:
                node.enabled, node.step = keys, self.path[depth - 1].step if is_part else depth
            if node.enabled != keys:
                raise BadInput(
                    f"step {depth} had other options in an earlier run of the same choices: something in the job depends on "
                    f"more than its input and its choices, such as a clock or a variable that outlives a run; before: "
                    f"{_listed(node.enabled or (node.chosen,))}; now: {_listed(keys)}"
                )
            index = keys.index(node.chosen)
            node.cause = options[index].cause
            return index
        if self.is_blocked:
            return 0
        if is_part:
            tried = set(keys if self._are_own((int(keys[0][1]),)) else keys[:1])
            self.path.append(Node(keys, {}, keys[0], options[0].cause, self.path[-1].step, tried))
            return 0
        sleep = self._sleep_after_last()
        awake = [index for index, key in enumerate(keys) if key not in sleep]
        if not awake:
            self.is_blocked = True
            return 0
        chosen = awake[0]
        self.path.append(Node(keys, sleep, keys[chosen], options[chosen].cause, depth, {keys[chosen]}))
        return chosen

    def executed(self, touched: Set[int]) -> None:
        number = self._depth - 1
        if number < len(self.path):
            self.path[self.path[number].step].footprint |= touched

    def state(self) -> bytes:
        """Returns where the search is between two runs, so that another process can continue it."""
        given, own = self.path[: self.base], self.path[self.base :]
        # A step at whose draws the subtree begins is the only given one after which others sleep.
        asleep = self.path[own[0].step].sleep if own and own[0].step < self.base else {}
        return encode(
            (
                self.runs,
                self.blocked,
                self.is_finished,
                [node.chosen for node in given],
                _with_sorted(asleep),
                list(map(_with_sorted_sets, own)),
                sorted(self.wanted),
            )
        )

    def restore(self, state: bytes) -> None:
        """Continues there."""
        self.runs, self.blocked, self.is_finished, given, asleep, own, wanted = decode(state, type=_State)
        self.base, self.wanted = len(given), set(wanted)
        self.path = [Node.given(key, number) for number, key in enumerate(given)] + own
        if asleep:
            self.path[own[0].step].sleep = asleep

    @property
    def share(self) -> float:
        """The part of the tree that is finished, if the branches of each step count alike."""
        if self.is_finished:
            return 1.0
        share, weight = 0.0, 1.0
        for node in self.path[self.base :]:
            branches = len(node.backtrack)
            share += weight * len(node.done) / branches
            weight /= branches
        return share

    @property
    def results_of_parts(self) -> tuple[int, ...]:
        """Nothing: the job is searched as a whole."""
        return ()

    def _sleep_after_last(self) -> dict[OptionKey, Footprint]:
        if not self.path:
            return {}
        last = self.path[self.path[-1].step]
        return {key: effects for key, effects in last.tried.items() if not _dependent(effects, last.footprint)}

    def end(self, outcome: Outcome | None = None) -> None:
        """Ends a run, whatever its outcome: finds the races of its steps, and the step that the next run changes."""
        self.runs += 1
        self.blocked += self.is_blocked
        path = self.path
        if path and not self.is_blocked:
            path[path[-1].step].leave(())
        # What the given steps need in another order is known, but for the one that draws at the base.
        first = path[self.base].step if path else 0
        self._add_races(first)
        for number, node in enumerate(path[first:], first):
            if node.disabled and self._are_own(int(key[1]) for key in (node.chosen, *node.disabled)):
                for key in node.disabled:
                    self._want(number, (key,))
        while path:
            node = path[-1]
            node.done[node.chosen] = node.footprint
            if node.open:
                node.chosen = node.open[0]
                node.footprint = frozenset()
                return
            if len(path) == self.base + 1:
                break
            path.pop()
        self.is_finished = True

    def _want(self, number: int, steps: Sequence[OptionKey]) -> None:
        if number < self.base:
            self.wanted.add((number, tuple(steps)))
        else:
            self.path[number].want(steps)

    def _are_own(self, actors: Iterable[int]) -> bool:
        """True if all actors are of the part whose orders are tried; notes if they are of several, or of none."""
        if self._parts is None:
            return True
        of = {self._parts.of(actor) for actor in actors}
        self.is_mixed |= len(of) != 1 or None in of or BEFORE in of
        return self._part in of

    def _add_races(self, known: int) -> None:
        """Adds, for each pair of dependent steps without a step between them, the other order; not before step ``known``."""
        path = self.path
        past, races = _happens_before(path)
        for late in past:
            if late < known:
                continue
            for early in races[late]:
                if not self._are_own(_shared(path[early].footprint, path[late].footprint)):
                    continue
                # The steps after the early one that do not depend on it, and then the late one.
                others = [step for step in past if early < step < late and early not in past[step]]
                others.append(late)
                first = [
                    step for step in others if not any(before in past[step] for before in others if before != step)
                ]
                initials = {path[step].chosen for step in first}
                enabled = path[early].enabled
                possible = [key for key in enabled if key in initials]
                for steps in [possible] if possible else [[key] for key in enabled]:
                    self._want(early, steps)


def _listed(keys: Sequence[OptionKey]) -> str:
    return ", ".join(" ".join(map(str, key)) for key in keys)


def _dependent(one: Footprint, other: Footprint) -> bool:
    """True if the order of two steps can matter: they share an actor, or one reads the clock that the other advances."""
    if ANY_ACTOR in one or ANY_ACTOR in other:
        return True
    shared = one & other
    if len(shared) > (CLOCK_READ in shared):
        return True
    return (CLOCK_ADVANCED in one and CLOCK_READ in other) or (CLOCK_READ in one and CLOCK_ADVANCED in other)


def _shared(one: Footprint, other: Footprint) -> Iterator[int]:
    """Yields the actors for which the order of two dependent steps matters; ANY_ACTOR for the clock."""
    if ANY_ACTOR in one or ANY_ACTOR in other or CLOCK_ADVANCED in one | other:
        yield ANY_ACTOR
    yield from (actor for actor in one & other if actor >= 0)


def _happens_before(path: Sequence[Node]) -> tuple[dict[int, set[int]], dict[int, list[int]]]:
    """Returns, for each step in their order, the steps that it follows in every equivalent order; and those of them that could
    have come after it: dependent, and no third step between them.
    """
    past: dict[int, set[int]] = {}
    races: dict[int, list[int]] = {}
    for number, node in enumerate(path):
        if node.step != number:
            continue
        before: set[int] = set()
        if node.cause != START:
            cause = path[node.cause].step
            before |= past[cause] | {cause}
        racing = []
        # From the last one on: what is not yet in ``before`` has no third step between.
        for earlier in reversed(past):
            if earlier in before:
                continue
            other = path[earlier]
            same = other.chosen == node.chosen
            if same or _dependent(other.footprint, node.footprint):
                before |= past[earlier] | {earlier}
                if not same:
                    racing.append(earlier)
        past[number] = before
        races[number] = racing[::-1]
    return past, races
