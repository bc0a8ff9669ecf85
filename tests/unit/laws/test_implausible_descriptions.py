"""A recording whose description no run writes gets verdicts, or is refused as damaged: no law raises anything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

import pytest

from flowsim.errors import BadInput
from flowsim.facts.schema import GRAPH_TABLES
from flowsim.laws.graph_check import checked_job_graph
from flowsim.laws.judge import check_all
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.slicing import BuiltFacts
from tests.support.json_values import Step, leaves, replaced
from tests.unit.laws.test_implausible_values import JOBS, everything

NUMBERS = (-1, 0, 99, 2**31 - 1)
SETTINGS: Sequence[object] = (None, True, -1, 0, 1.5, 2**31, 2**63, 10**30, "", "x", [], [[]], {}, {"kind": "count"})


def failure(facts: FactBuilder, changed: Sequence[tuple[Row, str, int | str]]) -> str:
    """What a law raises over the facts with these cells; '' when they are judged or refused."""
    before = [(row, name, row[name]) for row, name, _ in changed]
    for row, name, value in changed:
        row[name] = value
    try:
        with suppress(BadInput):
            built = BuiltFacts(facts)
            checked_job_graph(built)
            check_all(built, "complete")
    except Exception as error:
        return repr(error)
    finally:
        for row, name, value_before in reversed(before):
            row[name] = value_before
    return ""


@pytest.mark.parametrize("job", JOBS)
def test_implausible_settings_of_operators_are_judged_or_refused(job: str, pytestconfig: pytest.Config) -> None:
    """In each round every operator has one implausible setting; a round that fails is repeated operator by operator."""
    facts = JOBS[job]()
    turns = range(len(SETTINGS)) if pytestconfig.option.hostile else range(2)
    rows = facts.rows("operators")
    texts = [str(row["params"]) for row in rows]
    found: dict[tuple[tuple[Step, ...], str], str] = {}
    for round_, paths in enumerate(zip_longest(*(list(leaves(json.loads(text))) for text in texts))):
        for turn in turns:
            changed = [
                (
                    row,
                    "params",
                    json.dumps(replaced(json.loads(text), path, SETTINGS[(turn + place + round_) % len(SETTINGS)])),
                )
                for place, (row, text, path) in enumerate(zip(rows, texts, paths, strict=True))
                if path is not None
            ]
            if failure(facts, changed):
                for one, path in zip(changed, (path for path in paths if path is not None), strict=True):
                    if what := failure(facts, [one]):
                        found[path, str(one[2])] = what
    assert found == {}


def test_implausible_numbers_in_descriptions_are_judged_or_refused(pytestconfig: pytest.Config) -> None:
    numbers = NUMBERS if pytestconfig.option.hostile else NUMBERS[-1:]
    facts = everything()
    found: dict[tuple[str, str, int], str] = {}
    for table in GRAPH_TABLES:
        rows = facts.rows(table.name)
        for row in {id(row): row for row in (rows[0], rows[-1])}.values() if rows else ():
            for column in table.columns:
                for value in numbers if column.code != "s" else ():
                    if what := failure(facts, [(row, column.name, value)]):
                        found[table.name, column.name, value] = what
    assert found == {}
