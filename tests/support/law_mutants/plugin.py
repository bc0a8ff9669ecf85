"""Runs the tests of the laws with a part of a law switched off, one part at a time, until a test fails.

``python -m pytest -p tests.support.law_mutants.plugin --law-mutants=TABLE PATHS`` reads from the table which test missed
each part before, and runs that one first. If it passes, all tests of PATHS run once with nothing switched off, which
shows the lines of the laws that each executes. Then those that execute the part run, first those in the law's own file,
the quickest first. The run fails if no test misses a part; ``--law-mutants-write`` writes the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.support.law_mutants.switches import FOLDER, Switch, all_switches, switched_off
from tests.support.law_mutants.table import Key, read_table, write_table

MOST_SECONDS = 3.0
"""Tests that take longer are no cases."""
Fixture = tuple[str, str]
"""Module and name."""
MATRIX = "test_faulty_components.py"
"""The tests of the fault matrix: they come after the hand-made cases."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--law-mutants", metavar="TABLE", help="switch off each part of laws over rows")
    parser.addoption("--law-mutants-of", metavar="REGEX", default="", help="only of these modules and functions")
    parser.addoption("--law-mutants-write", action="store_true", help="write the table")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.getoption
    if option("--law-mutants") is None:
        return None
    path = Path(option("--law-mutants"))
    known = read_table(path) if path.exists() else {}
    cases = Cases(session.items)
    seen: dict[Key, str] = {}
    for key, switch in all_switches().items():
        if re.search(option("--law-mutants-of"), f"{switch.module}.{switch.function}"):
            seen[key] = cases.seen_by(switch, known.get(key, ""))
            if not seen[key] or seen[key] != known.get(key):
                print(" | ".join((*key, seen[key] or "NOTHING")), flush=True)
    if option("--law-mutants-write"):
        found = {key: test for key, test in seen.items() if test or cases.includes(known.get(key, ""))}
        write_table(path, {**{key: test for key, test in known.items() if key in all_switches()}, **found})
    nothing = sum(not test for test in seen.values())
    faults = sum(MATRIX in test for test in seen.values())
    print(f"{len(seen)} parts of laws: a hand-made case sees {len(seen) - faults - nothing}, a fault {faults} more,"
          f" nothing {nothing}")  # fmt: skip
    session.testsfailed = nothing
    session.testscollected = len(seen)
    return True


class Cases:
    """The collected tests, and the lines of the laws that each of them executes."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._by_id = {item.nodeid: item for item in items}
        self._passes_intact: dict[str, bool] = {}
        self._seconds: dict[str, float] = {}
        self._lines: dict[str, Mapping[int, list[str]]] = {}
        self._shared: set[Fixture] = set()
        """The fixtures of modules that exist."""

    def includes(self, test: str) -> bool:
        """Whether a test was collected; '' for none."""
        return not test or test in self._by_id

    def seen_by(self, switch: Switch, known: str) -> str:
        """The test that fails with this part switched off, first of all the known one; '' if there is none."""
        item = self._by_id.get(known)
        if item is not None and self._is_intact(item) and self._fails_without(switch, item):
            return known
        return next((item.nodeid for item in self._executing(switch) if self._fails_without(switch, item)), "")

    def _fails_without(self, switch: Switch, item: pytest.Item) -> bool:
        if not shared_fixtures(item) <= self._shared:
            self._passes(item)  # Fixtures of its module come from laws with nothing switched off.
        with switched_off(switch):
            return not self._passes(item)

    def _is_intact(self, item: pytest.Item) -> bool:
        """Whether a test passes with nothing switched off."""
        if item.nodeid not in self._passes_intact:
            self._passes_intact[item.nodeid] = self._passes(item)
        return self._passes_intact[item.nodeid]

    def _executing(self, switch: Switch) -> Iterator[pytest.Item]:
        if not self._seconds:
            self._run_intact()
        lines = self._lines.get(str(switch.path), {})
        found = {one for number in switch.lines for one in lines.get(number, ())} if switch.lines else set(self._by_id)
        family, _, law = switch.module.partition(".")
        own = re.compile(f"/test_({law}|{family[:-1]})")
        cases = found & self._seconds.keys()
        ranked = sorted(cases, key=lambda one: (MATRIX in one, not own.search(one), self._seconds[one], one))
        return (self._by_id[one] for one in ranked)

    def _run_intact(self) -> None:
        """Runs each test once; those that fail, or take long, are no cases."""
        lines = coverage.Coverage(data_file=None, config_file=False, include=[f"{FOLDER}/*"])
        slow: set[Fixture] = set()
        lines.start()
        for name, item in self._by_id.items():
            lines.switch_context(name)
            start, created = process_time(), shared_fixtures(item) - self._shared
            if self._passes(item):
                self._seconds[name] = process_time() - start
            if process_time() - start > MOST_SECONDS:
                slow |= created
                self._seconds.pop(name, None)
        lines.stop()
        self._seconds = {
            name: took for name, took in self._seconds.items() if not slow & shared_fixtures(self._by_id[name])
        }
        found = lines.get_data()
        self._lines = {path: found.contexts_by_lineno(path) for path in found.measured_files()}

    def _passes(self, item: pytest.Item) -> bool:
        """Runs a test; its module and the fixtures of that stay, until a test of another module runs."""
        module = item.parent
        assert module is not None
        item.session._setupstate.teardown_exact(module)  # type: ignore[arg-type]
        item._initrequest()  # type: ignore[attr-defined]
        passes = not any(one.failed for one in runtestprotocol(item, log=False, nextitem=module))  # type: ignore[arg-type]
        self._shared = {one for one in self._shared if one[0] == module.nodeid} | shared_fixtures(item)
        return passes


def shared_fixtures(item: pytest.Item) -> set[Fixture]:
    """The fixtures of its module that a test uses."""
    assert item.parent is not None
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    return {(item.parent.nodeid, name) for name, defined in known.items() if defined[-1].scope == "module"}
