"""Compares what the subtasks of a job saw here and on the real Flink (``docs/conform.md``)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Final

from flowsim.conform.failure_names import same_failure
from flowsim.conform.seen import Answer, Content, Kind, SeenElement

CUT_STATUSES: Final = ("failed", "canceled")
"""How a job ends whose tasks are cut off: what each of them did at the last instant is left open."""


class Agreement(IntEnum):
    """How far two sides agree, from the closest on."""

    EXACT = 0
    """The same elements in the same order, in every run."""
    ONE_ORDER = 1
    """The order is left open; an order of Flink is one of those here."""
    ANY_ORDER = 2
    """The order is left open; the same records of each key, and the same last watermark."""
    ONE_RESULT = 3
    """Which elements come is left open, too; a result of Flink is one of those here."""
    DIFFERENT = 4

    @property
    def label(self) -> str:
        """A few words for a table."""
        return _LABELS[self]


_LABELS: Final = {
    Agreement.EXACT: "exact",
    Agreement.ONE_ORDER: "one of the orders here",
    Agreement.ANY_ORDER: "per key, in any order",
    Agreement.ONE_RESULT: "one of the results here",
    Agreement.DIFFERENT: "different",
}


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where two runs part. A side that has no more elements there has None."""

    position: int
    """The number of equal elements before it."""
    ours: SeenElement | None
    flink: SeenElement | None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PlaceComparison:
    """One operator of one subtask in one attempt."""

    place: str
    """The operator's name and the subtask, as in ``words/0``."""
    attempt: int
    records: int
    watermarks: int
    agreement: Agreement
    is_cut: bool
    """The attempt ended before its end of data: the elements of its last instant are compared as far as both have them."""
    first_difference: FirstDifference | None

    @property
    def differs_at(self) -> tuple[int, int]:
        """The attempt, and the time of the first difference in ns of the job's clock."""
        first = self.first_difference
        sides = () if first is None else (first.ours, first.flink)
        return self.attempt, min((side.time_ns for side in sides if side is not None), default=0)


@dataclass(frozen=True, slots=True)
class FactComparison:
    """One fact about the whole job, such as its status; ``ours`` and ``flink`` are texts."""

    what: str
    ours: str
    flink: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of all runs of a job here with all of them on Flink."""

    facts: Sequence[FactComparison]
    places: Sequence[PlaceComparison]
    ours: int
    """The number of runs here."""
    flink: int

    @property
    def agrees(self) -> bool:
        """Returns True if every fact and every place agrees."""
        return all(fact.agrees for fact in self.facts) and self.worst is not Agreement.DIFFERENT

    @property
    def differing(self) -> list[PlaceComparison]:
        """The places that differ, those with the earliest difference first."""
        return sorted(
            (each for each in self.places if each.agreement is Agreement.DIFFERENT), key=lambda each: each.differs_at
        )

    @property
    def worst(self) -> Agreement:
        """The agreement of the place that agrees least."""
        return max((place.agreement for place in self.places), default=Agreement.EXACT)

    @property
    def open_places(self) -> list[PlaceComparison]:
        """The places whose order or result Flink leaves open."""
        return [each for each in self.places if Agreement.EXACT < each.agreement < Agreement.DIFFERENT]


def compared(ours: Sequence[Answer], flink: Sequence[Answer], operators: Sequence[str] = ()) -> Comparison:
    """Compares the runs of a job here, first in, first out before others, with its runs on Flink; one of each at least.

    ``operators`` are the names of the operators, upstream first: the order of the places in each attempt.
    """
    order = {name: number for number, name in enumerate(operators)}

    def rank(found: PlaceComparison) -> tuple[int, int, str, int]:
        name, _, subtask = found.place.rpartition("/")
        return found.attempt, order.get(name, len(order)), name, int(subtask)

    found = sorted(_places(ours, flink), key=rank)
    open_operators = {each.place.rpartition("/")[0] for each in found if each.agreement is not Agreement.EXACT}
    return Comparison(_facts(ours, flink, open_operators), found, len(ours), len(flink))


def _facts(ours: Sequence[Answer], flink: Sequence[Answer], open_operators: Collection[str]) -> list[FactComparison]:
    """Compares the first runs; other runs count where the first ones differ."""

    def fact(what: str, text: Callable[[Answer], str], same: Callable[[Answer, Answer], bool]) -> FactComparison:
        agrees = any(same(one, other) for one in ours for other in flink)
        return FactComparison(what, text(ours[0]), text(flink[0]), agrees)

    facts = [fact("status", lambda each: each.status, lambda one, other: one.status == other.status)]
    if any(each.cause for each in (*ours, *flink)):
        facts.append(fact("failure", _failure, same_failure))
    restarts = fact(
        "restarts", lambda each: str(_attempts(each)), lambda one, other: _attempts(one) == _attempts(other)
    )
    if any(map(_attempts, (*ours, *flink))):
        facts.append(restarts)
    if any(each.checkpoints for each in (*ours, *flink)):
        facts.append(fact("snapshots", _snapshots, lambda one, other: _snapshots(one) == _snapshots(other)))
    for sink in dict.fromkeys(name for each in (*ours, *flink) for name in each.commits):
        same = _same_rows if sink in open_operators else _same_commits
        facts.append(fact(f"commits of {sink}", partial(_commits, sink), partial(same, sink)))
    return facts


def _failure(answer: Answer) -> str:
    return "none" if answer.cause is None else f"{answer.task or 'the job'}: {answer.cause}"


def _attempts(answer: Answer) -> int:
    return max((each.attempt for elements in answer.seen.values() for each in elements), default=0)


def _snapshots(answer: Answer) -> str:
    return ", ".join(answer.checkpoints) or "none"


def _commits(sink: str, answer: Answer) -> str:
    return ", ".join(answer.commits.get(sink, ())) or "none"


def _same_commits(sink: str, ours: Answer, flink: Answer) -> bool:
    """Returns True for the same commits; committers of several subtasks are in no order."""
    return Counter(ours.commits.get(sink, ())) == Counter(flink.commits.get(sink, ()))


def _same_rows(sink: str, ours: Answer, flink: Answer) -> bool:
    """Returns True for the same committed records, in whichever commits: what comes before a barrier is left open."""
    return _rows(ours.commits.get(sink, ())) == _rows(flink.commits.get(sink, ()))


def _rows(commits: Sequence[str]) -> Counter[str]:
    return Counter(json.dumps(row) for commit in commits for row in json.loads(commit))


@dataclass(frozen=True, slots=True)
class _Run:
    """What one subtask saw in one attempt of one run: before the last instant of a cut attempt, and at that instant."""

    settled: tuple[SeenElement, ...]
    tail: tuple[SeenElement, ...]

    @property
    def elements(self) -> tuple[SeenElement, ...]:
        return self.settled + self.tail

    def parts(self) -> Mapping[_Group, _Run]:
        """Returns the elements by group."""
        parts: dict[_Group, tuple[list[SeenElement], list[SeenElement]]] = {}
        for index, elements in enumerate((self.settled, self.tail)):
            for element in elements:
                parts.setdefault(_group(element), ([], []))[index].append(element)
        return {group: _Run(tuple(settled), tuple(tail)) for group, (settled, tail) in parts.items()}

    def same(self, other: _Run) -> bool:
        """Returns True for the same elements in the same order; of a cut attempt, as far as both go on at its end."""
        one, two = _contents(self.elements), _contents(other.elements)
        shared = min(len(one), len(two))
        return one[:shared] == two[:shared] and shared >= max(len(self.settled), len(other.settled))

    def same_elements(self, other: _Run) -> bool:
        """Returns True for the same records in any order, and the same last watermark and status of each input."""
        if not (self.tail or other.tail):
            return _unordered(self.settled) == _unordered(other.settled)
        one, two = Counter(_records(self.elements)), Counter(_records(other.elements))
        return (
            (one <= two or two <= one)
            and Counter(_records(self.settled)) <= two
            and Counter(_records(other.settled)) <= one
        )


def _contents(elements: Sequence[SeenElement]) -> list[Content]:
    return [element.content for element in elements]


def _records(elements: Sequence[SeenElement]) -> list[Content]:
    return [each.content for each in elements if each.kind == "record"]


def _unordered(elements: Sequence[SeenElement]) -> tuple[Counter[Content], dict[tuple[Kind, int], str]]:
    last: dict[tuple[Kind, int], str] = {
        (each.kind, each.input): each.value for each in elements if each.kind != "record"
    }
    return Counter(_records(elements)), last


def _places(ours: Sequence[Answer], flink: Sequence[Answer]) -> Iterator[PlaceComparison]:
    sides = [[_cut_runs(answer) for answer in answers] for answers in (ours, flink)]
    found = {key: None for side in sides for run in side for key in run}
    for place, attempt in found:
        mine, real = ([run.get((place, attempt), _NOTHING) for run in side] for side in sides)
        agreement = _agreement(mine, real)
        is_cut = attempt < max(map(_attempts, ours)) or ours[0].status in CUT_STATUSES
        elements = mine[0].elements
        records = len(_records(elements))
        watermarks = sum(element.kind == "watermark" for element in elements)
        different = _first_difference(mine, real) if agreement is Agreement.DIFFERENT else None
        yield PlaceComparison(place, attempt, records, watermarks, agreement, is_cut, different)


def _cut_runs(answer: Answer) -> Mapping[tuple[str, int], _Run]:
    """Returns what each place saw in each attempt.

    An attempt of a region ends while other regions go on: its last instant is that of the places that have a later one.
    """
    parted: dict[tuple[str, int], list[SeenElement]] = {}
    last_attempt: dict[str, int] = {}
    for place, elements in answer.seen.items():
        for element in elements:
            parted.setdefault((place, element.attempt), []).append(element)
            last_attempt[place] = max(element.attempt, last_attempt.get(place, 0))
    last_ns: dict[tuple[int, bool], int] = {}
    for (place, attempt), elements in parted.items():
        for has_later in (False, attempt < last_attempt[place]):
            last_ns[attempt, has_later] = max(elements[-1].time_ns, last_ns.get((attempt, has_later), 0))
    last = _attempts(answer)
    runs = {}
    for (place, attempt), elements in parted.items():
        cut = len(elements)
        if attempt < last or answer.status in CUT_STATUSES:
            end_ns = last_ns[attempt, attempt < last_attempt[place]]
            cut = next((i for i, each in enumerate(elements) if each.time_ns >= end_ns), cut)
        runs[place, attempt] = _Run(tuple(elements[:cut]), tuple(elements[cut:]))
    return runs


def _agreement(ours: Sequence[_Run], flink: Sequence[_Run]) -> Agreement:
    whole = _ordered(ours, flink)
    if whole is not Agreement.DIFFERENT or not _is_open(ours, flink):
        return whole
    mine, real = ([run.parts() for run in side] for side in (ours, flink))
    groups = dict.fromkeys(group for parts in (*mine, *real) for group in parts)
    return max(
        [Agreement.ANY_ORDER]
        + [
            _of_group(group, *([parts.get(group, _NOTHING) for parts in side] for side in (mine, real)))
            for group in groups
        ]
    )


def _ordered(ours: Sequence[_Run], flink: Sequence[_Run]) -> Agreement:
    if all(ours[0].same(run) for run in flink):
        return Agreement.EXACT
    return Agreement.ONE_ORDER if any(a.same(b) for a in ours for b in flink) else Agreement.DIFFERENT


def _is_open(ours: Sequence[_Run], flink: Sequence[_Run]) -> bool:
    """Returns True if the runs of a side differ among themselves."""
    return any(not side[0].same(run) for side in (ours, flink) for run in side[1:])


_Group = tuple[int, str | None] | None
"""An input and a key; None: the watermarks and statuses of all inputs."""
_NOTHING: Final = _Run((), ())


def _group(element: SeenElement) -> _Group:
    return (element.input, element.key) if element.kind == "record" else None


def _of_group(group: _Group, ours: Sequence[_Run], flink: Sequence[_Run]) -> Agreement:
    """Compares the records of one input, and of one key if the input is keyed; or the last watermarks and statuses."""
    if group is not None:
        ordered = _ordered(ours, flink)
        if ordered is not Agreement.DIFFERENT or not _is_open(ours, flink):
            return ordered
    return _unordered_agreement(ours, flink)


def _unordered_agreement(ours: Sequence[_Run], flink: Sequence[_Run]) -> Agreement:
    if all(ours[0].same_elements(run) for run in (*ours, *flink)):
        return Agreement.ANY_ORDER
    return Agreement.ONE_RESULT if any(a.same_elements(b) for a in ours for b in flink) else Agreement.DIFFERENT


def _first_difference(ours: Sequence[_Run], flink: Sequence[_Run]) -> FirstDifference:
    """Returns where the first run of Flink and the run here that goes with it the longest part."""
    real = flink[0].elements

    def shared(run: _Run) -> int:
        pairs = enumerate(zip(run.elements, real, strict=False))
        return next((at for at, (a, b) in pairs if a.content != b.content), min(len(run.elements), len(real)))

    closest = max(ours, key=shared)
    at, mine = shared(closest), closest.elements
    one, other = (mine[at] if at < len(mine) else None), (real[at] if at < len(real) else None)
    return FirstDifference(at, one, other, _hint(one, other, mine, real, _is_open(ours, flink)))


def _hint(
    one: SeenElement | None,
    other: SeenElement | None,
    ours: Sequence[SeenElement],
    flink: Sequence[SeenElement],
    is_open: bool,
) -> str:
    """Says what kind of difference it is."""
    if is_open:
        return "the order is left open here, but no run of Flink has the records of a run here"
    if Counter(_contents(ours)) == Counter(_contents(flink)):
        return (
            "both sides have the same elements in another order, which no run varied: try more --repeat and --schedules"
        )
    if one is None or other is None:
        return f"{'Flink' if one is None else 'the run here'} has more elements"
    if one.kind == other.kind == "watermark":
        return "the watermarks differ: see the sources and strategies upstream (section 8 of docs/flink_rules.md)"
    if one.kind == other.kind == "record" and one.value == other.value:
        return "the same record with another timestamp or on another input"
    return ""
