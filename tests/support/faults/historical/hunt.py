"""How soon each strategy shows each historical bug: python -m tests.support.faults.historical.hunt --help.

All laws are checked on every run. Bugs need FLOWSIM_PURE=1, because a compiled core ignores changes of its methods.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.faults.historical.bug import Bug
from flowsim.quantities import count_text
from tests.support.explore.clean_runs import Clean, explore_jobs
from tests.support.faults.historical.catalogue import BUGS
from tests.support.faults.historical.hits import Row, hunt
from tests.support.faults.historical.strategies import STRATEGIES, strategies_of

PAGE: Final = Path(__file__).parents[4] / "docs" / "historical_bugs.md"
_BEGIN, _END = "<!-- begin of the tables: make hunt WRITE=1 -->\n", "<!-- end of the tables -->\n"


def rows_of(
    bugs: Sequence[Bug],
    strategies: Sequence[str],
    limits: tuple[int, int, float],
    progress: Callable[[int, int, str], None],
) -> Iterator[Row]:
    """Hunts the bugs with those of the strategies that have their spaces."""
    pairs = [(bug, each) for bug in bugs for each in strategies_of(bug) if each.name in strategies]
    for number, (bug, strategy) in enumerate(pairs):
        progress(number, len(pairs), f"{bug.ticket}, {strategy.name}")
        yield hunt(bug, strategy, *limits)


def table(rows: Iterable[Row]) -> str:
    """Returns the table of bugs and strategies: runs and CPU seconds until the bug was shown, medians of the seeds."""
    of_bug: dict[str, dict[str, Row]] = {}
    for row in rows:
        of_bug.setdefault(row.ticket, {})[row.strategy] = row
    names = [name for name in STRATEGIES if any(name in of for of in of_bug.values())]
    lines = [
        f"| bug | shown by | space | {' | '.join(names)} | choices |",
        f"|---|---|---|{'---|' * len(names)}---|",
    ]
    for ticket, bug in BUGS.items():
        of = of_bug.get(ticket)
        if of is None:
            continue
        sizes = [row.deviations for row in of.values() if row.deviations is not None]
        cells = [_cell(of.get(name)) for name in names]
        size = str(min(sizes)) if sizes else ""
        lines.append(f"| {ticket} | {bug.detector} | {bug.space} | {' | '.join(cells)} | {size} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row.runs is None or row.cpu_s is None:
        return f"{row.shown} of {row.seeds}" if row.shown else "-"
    return f"{row.runs:g}, {row.cpu_s:.2f} s"


def descriptions(bugs: Iterable[Bug]) -> str:
    """Returns the table of what was wrong, and where each bug is described."""
    lines = ["| bug | described in | what was wrong |", "|---|---|---|"]
    lines += [f"| {bug.ticket} | {bug.repaired_by} | {bug.was_wrong} |" for bug in bugs]
    return "\n".join(lines) + "\n"


def page_of(rows: Sequence[Row], clean: Clean | None, given: argparse.Namespace) -> str:
    """Returns the part of the page that a hunt writes."""
    shown = {row.ticket for row in rows if row.runs is not None}
    slowest = max(
        (min(r.cpu_s for r in rows if r.ticket == ticket and r.cpu_s is not None) for ticket in shown), default=0
    )
    parts = [
        (
            f"{count_text(given.seeds, 'seed')} for each strategy with random choices (three, where none of these shows the "
            f"bug); at most {given.runs} runs and {given.cpu_seconds:g} CPU seconds for each seed; pure Python. {len(shown)} "
            f"of {len({row.ticket for row in rows})} bugs were shown; the fastest strategy of the slowest one needed "
            f"{slowest:.2f} CPU seconds.\n"
        ),
        table(rows),
    ]
    if clean is not None:
        parts.append(f"Without a bug: {clean}.\n")
    hidden = [bug for bug in BUGS.values() if bug.not_shown]
    parts.append("".join(f"- {bug.ticket} is not shown: {bug.not_shown}.\n" for bug in hidden))
    parts.append(descriptions(BUGS.values()))
    return "\n".join(parts)


def write(part: str) -> None:
    """Replaces the tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(_BEGIN)
    PAGE.write_text(f"{head}{_BEGIN}\n{part}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")


def rows_in(file: Path) -> list[Row]:
    """Returns the rows that an earlier hunt printed; several hunts can share the bugs."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Row(**line) for line in lines if "ticket" in line]


def _show_progress(number: int, of: int, what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{number} of {of}: {what}", end="", file=sys.stderr, flush=True)


def _no_progress(number: int, of: int, what: str) -> None:
    """Shows nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bugs", nargs="*", metavar="TICKET", help="only these bugs")
    parser.add_argument("--strategies", nargs="*", choices=STRATEGIES, default=[*STRATEGIES], help="only these")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each strategy that chooses at random")
    parser.add_argument("--runs", type=int, default=60, help="the most runs of a seed")
    parser.add_argument("--cpu-seconds", type=float, default=10.0, help="the most CPU seconds of a seed")
    parser.add_argument("--clean", type=int, default=0, metavar="JOBS", help="also run random jobs without a bug")
    parser.add_argument("--clean-seed", type=int, default=0, help="the seed of the first of these jobs")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print lines of JSON")
    parser.add_argument("--rows", nargs="*", type=Path, metavar="FILE", help="files of --json, instead of a hunt")
    parser.add_argument("--write", action="store_true", help=f"write the tables of docs/{PAGE.name}")
    given = parser.parse_args()
    bugs = [bug for ticket, bug in BUGS.items() if bug.detector and (given.bugs is None or ticket in given.bugs)]
    unknown = sorted(set(given.bugs or ()) - BUGS.keys())
    if unknown:
        parser.error(f"there is no bug {', '.join(unknown)}; there are: {', '.join(BUGS)}")
    if bugs and not given.rows and execution_mode() == COMPILED:
        parser.error("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1, or name no bugs (--bugs)")
    progress = _no_progress if given.quiet else _show_progress
    rows = [row for file in given.rows or () for row in rows_in(file)]
    for row in [] if rows else rows_of(bugs, given.strategies, (given.seeds, given.runs, given.cpu_seconds), progress):
        rows.append(row)
        if given.json:
            print(json.dumps(asdict(row)), flush=True)
    clean = None
    if given.clean:
        clean = explore_jobs(
            given.clean, given.clean_seed, on_job=lambda job: progress(job, given.clean, "jobs without a bug")
        )
    if given.json and clean is not None:
        print(json.dumps(asdict(clean)))
    elif given.write:
        write(page_of(rows, clean, given))
    elif not given.json:
        print(page_of(rows, clean, given))
    if clean is not None and clean.alarms:
        sys.exit("\n".join(("false alarms:", *clean.alarms)))


if __name__ == "__main__":
    main()
