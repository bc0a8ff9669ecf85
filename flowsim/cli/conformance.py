"""The answer of ``flowsim conform`` as text and as JSON values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console

from flowsim.cli.tables import Column, show_table
from flowsim.cli.verdicts import show_line
from flowsim.conform.both_sides import Conformed
from flowsim.conform.comparison import Agreement, Comparison, FirstDifference, PlaceComparison
from flowsim.conform.saved_answers import FLINK_VERSION
from flowsim.conform.seen import SeenElement
from flowsim.conform.settings import Difference
from flowsim.quantities import count_text, duration_text
from flowsim.sim.virtual_time_loop import START_NS


@dataclass(frozen=True, slots=True)
class Shown:
    """What is compared: the subtasks of a job, or what a program gave."""

    place: str
    """The word for one of them."""
    is_job: bool


JOB: Final = Shown("subtask", True)
PROGRAM: Final = Shown("output", False)


def show_changes(changes: Sequence[Difference]) -> None:
    """Writes what the comparison changes to standard error, before the runs."""
    for what, why in dict.fromkeys((change.what, change.why) for change in changes):
        sys.stderr.write(f"not compared: {what}: {why}\n")


def verdict(found: Conformed) -> str:
    """Returns agrees, open (it agrees, where Flink leaves an order or a result open) or differs."""
    if not found.agrees:
        return "differs"
    return "open" if found.is_open else "agrees"


def show_conformance(console: Console, name: str, found: Conformed, verbose: bool, shown: Shown = JOB) -> None:
    """Shows the verdict, a table for each phase, and the first difference; with ``verbose`` that of every subtask."""
    show_line(console, _line(name, found, shown), found.agrees)
    for number, phase in enumerate(found.phases, 1):
        if len(found.phases) > 1:
            console.print(f"\nphase {number}")
        _show_phase(console, phase, verbose, shown)


def _line(name: str, found: Conformed, shown: Shown) -> str:
    runs = f"{count_text(found.phases[0].flink, 'run')} on Flink {FLINK_VERSION}, {found.phases[0].ours} here"
    match verdict(found):
        case "agrees":
            return f"{name}: agrees ({runs})"
        case "open":
            places = sum(len(phase.open_places) for phase in found.phases)
            return f"{name}: agrees; Flink leaves the order open at {count_text(places, 'subtask')} ({runs})"
        case _:
            places = sum(len(phase.differing) for phase in found.phases)
            facts = [fact.what for phase in found.phases for fact in phase.facts if not fact.agrees]
            what = [*facts, *([count_text(places, shown.place)] if places else [])]
            return f"{name}: differs: {', '.join(what)} ({runs})"


def _show_phase(console: Console, phase: Comparison, verbose: bool, shown: Shown) -> None:
    for fact in phase.facts:
        both = fact.ours if fact.ours == fact.flink else f"{fact.ours} here, {fact.flink} on Flink"
        console.print(f"{fact.what}: {both}", style="" if fact.agrees else "red", soft_wrap=True)
    has_attempts = any(place.attempt for place in phase.places)
    rows = [_row(place, has_attempts, shown) for place in phase.places]
    names = [shown.place, *(["attempt"] if has_attempts else [])]
    counts = [Column("records"), Column("watermarks")] if shown.is_job else [Column("lines")]
    columns = [*counts, Column("compared", left=True), Column("result", left=True)]
    styles = ["red" if place.agreement is Agreement.DIFFERENT else "" for place in phase.places]
    show_table(console, names, columns, rows, styles)
    for place in phase.differing if verbose else phase.differing[:1]:
        if place.first_difference is not None:
            _show_difference(console, place, place.first_difference, shown)


def _row(place: PlaceComparison, has_attempts: bool, shown: Shown) -> tuple[str, ...]:
    differs = place.agreement is Agreement.DIFFERENT
    how = "in order" if differs else place.agreement.label
    return (
        _place_text(place, shown),
        *([str(place.attempt)] if has_attempts else []),
        f"{place.records:,}",
        *([f"{place.watermarks:,}"] if shown.is_job else []),
        f"{how}, up to the failure" if place.is_cut else how,
        "different" if differs else "equal",
    )


def _place_text(place: PlaceComparison, shown: Shown) -> str:
    return place.place if shown.is_job else place.place.removesuffix("/0")


def _show_difference(console: Console, place: PlaceComparison, first: FirstDifference, shown: Shown) -> None:
    attempt = f" in attempt {place.attempt}" if place.attempt else ""
    unit = "element" if shown.is_job else "line"
    where = f"{_place_text(place, shown)}{attempt}"
    console.print(f"\n{where} differs from {unit} {first.position + 1} on:", style="bold red")
    console.print(f"  flowsim  {_text(first.ours, shown)}", soft_wrap=True)
    console.print(f"  Flink    {_text(first.flink, shown)}", soft_wrap=True)
    if first.hint:
        console.print(f"  {first.hint}", soft_wrap=True)


def _text(element: SeenElement | None, shown: Shown) -> str:
    if element is None:
        return f"no more {'elements' if shown.is_job else 'lines'}"
    if not shown.is_job:
        return element.value
    return f"{element}, after {duration_text(max(element.time_ns - START_NS, 0))}"


def conformance_data(name: str, changes: Sequence[Difference], found: Conformed) -> dict[str, Any]:
    """Returns the comparison as JSON values."""
    return {
        "job": name,
        "verdict": verdict(found),
        "flink": FLINK_VERSION,
        "not_compared": [{"what": change.what, "why": change.why} for change in changes],
        "phases": [
            {
                "runs": {"flowsim": phase.ours, "flink": phase.flink},
                "facts": [
                    {"what": fact.what, "flowsim": fact.ours, "flink": fact.flink, "agrees": fact.agrees}
                    for fact in phase.facts
                ],
                "subtasks": [_place_data(place) for place in phase.places],
            }
            for phase in found.phases
        ],
    }


def _place_data(place: PlaceComparison) -> dict[str, Any]:
    first = place.first_difference
    return {
        "subtask": place.place,
        "attempt": place.attempt,
        "records": place.records,
        "watermarks": place.watermarks,
        "agreement": place.agreement.name.lower(),
        "up_to_failure": place.is_cut,
        "first_difference": None
        if first is None
        else {
            "position": first.position,
            "flowsim": None if first.ours is None else first.ours._asdict(),
            "flink": None if first.flink is None else first.flink._asdict(),
            "hint": first.hint,
        },
    }
