"""The answer of ``flowsim conform`` as text and as JSON values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from flowsim.cli.tables import Column, show_table
from flowsim.cli.verdicts import show_line
from flowsim.conform.both_sides import Conformed
from flowsim.conform.compared_job import ComparedJob
from flowsim.conform.comparison import Agreement, Comparison, FirstDifference, PlaceComparison
from flowsim.conform.saved_answers import FLINK_VERSION
from flowsim.conform.seen import SeenElement
from flowsim.quantities import count_text, duration_text
from flowsim.sim.virtual_time_loop import START_NS


def show_changes(jobs: Sequence[ComparedJob]) -> None:
    """Writes what the comparison changes to standard error, before the runs."""
    changes = dict.fromkeys((change.what, change.why) for job in jobs for change in job.changes)
    for what, why in changes:
        sys.stderr.write(f"not compared: {what}: {why}\n")


def verdict(found: Conformed) -> str:
    """Returns agrees, open (it agrees, where Flink leaves an order or a result open) or differs."""
    if not found.agrees:
        return "differs"
    return "open" if found.is_open else "agrees"


def show_conformance(console: Console, name: str, found: Conformed, verbose: bool) -> None:
    """Shows the verdict, a table for each phase, and the first difference; with ``verbose`` that of every subtask."""
    show_line(console, _line(name, found), found.agrees)
    for number, phase in enumerate(found.phases, 1):
        if len(found.phases) > 1:
            console.print(f"\nphase {number}")
        _show_phase(console, phase, verbose)


def _line(name: str, found: Conformed) -> str:
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
            what = [*facts, *([count_text(places, "subtask")] if places else [])]
            return f"{name}: differs: {', '.join(what)} ({runs})"


def _show_phase(console: Console, phase: Comparison, verbose: bool) -> None:
    for fact in phase.facts:
        both = fact.ours if fact.ours == fact.flink else f"{fact.ours} here, {fact.flink} on Flink"
        console.print(f"{fact.what}: {both}", style="" if fact.agrees else "red", soft_wrap=True)
    has_attempts = any(place.attempt for place in phase.places)
    rows = [_row(place, has_attempts) for place in phase.places]
    names = ["subtask", *(["attempt"] if has_attempts else [])]
    columns = [Column("records"), Column("watermarks"), Column("compared", left=True), Column("result", left=True)]
    styles = ["red" if place.agreement is Agreement.DIFFERENT else "" for place in phase.places]
    show_table(console, names, columns, rows, styles)
    for place in phase.differing if verbose else phase.differing[:1]:
        if place.first_difference is not None:
            _show_difference(console, place, place.first_difference)


def _row(place: PlaceComparison, has_attempts: bool) -> tuple[str, ...]:
    differs = place.agreement is Agreement.DIFFERENT
    how = "in order" if differs else place.agreement.label
    return (
        place.place,
        *([str(place.attempt)] if has_attempts else []),
        f"{place.records:,}",
        f"{place.watermarks:,}",
        f"{how}, up to the failure" if place.is_cut else how,
        "different" if differs else "equal",
    )


def _show_difference(console: Console, place: PlaceComparison, first: FirstDifference) -> None:
    attempt = f" in attempt {place.attempt}" if place.attempt else ""
    console.print(f"\n{place.place}{attempt} differs from element {first.position + 1} on:", style="bold red")
    console.print(f"  flowsim  {_text(first.ours)}", soft_wrap=True)
    console.print(f"  Flink    {_text(first.flink)}", soft_wrap=True)
    if first.hint:
        console.print(f"  {first.hint}", soft_wrap=True)


def _text(element: SeenElement | None) -> str:
    if element is None:
        return "no more elements"
    return f"{element}, after {duration_text(max(element.time_ns - START_NS, 0))}"


def conformance_data(name: str, jobs: Sequence[ComparedJob], found: Conformed) -> dict[str, Any]:
    """Returns the comparison as JSON values."""
    return {
        "job": name,
        "verdict": verdict(found),
        "flink": FLINK_VERSION,
        "not_compared": [{"what": change.what, "why": change.why} for job in jobs for change in job.changes],
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
