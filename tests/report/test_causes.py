"""Why a record was late: the page has the chain of ``flowsim why`` for every late record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.schema import RECORD_VALUES, TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from tests.report.conftest import OpenReport

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHAINS = """
() => {
    const {facts, lateCauses} = flowsim.model
    const shown = ({place, channel, ...cause}) => ({...cause, at_ns: place === null ? null : facts.time[place]})
    return [...facts.of("late_drop").places].map(place => {
        const {statement, causes} = lateCauses.at(place)
        return [statement, ...causes].map(shown)
    })
}
"""


@pytest.mark.parametrize("name", ["01", "12", "16", "23", "42a", "42b"])
def test_page_has_the_chain_of_why_for_every_late_record(
    open_report: OpenReport, recordings: Callable[[str], Recording], name: str
) -> None:
    recording = recordings(name)
    values = dict(
        recording.table(RECORD_VALUES.name).select(["fingerprint", "value"]).to_pandas().itertuples(index=False)
    )
    late = [
        (fact.task, dict(zip(TABLES[fact.table].names, fact.row, strict=True)))
        for fact in merged_facts(recording, Selection()) if fact.table == "late_drop"
    ]  # fmt: skip
    expected = [
        why(recording, f"{values[row['fingerprint']]}@{row['timestamp']}", "--task", str(task)) for task, row in late
    ]

    assert open_report(name).evaluate(CHAINS) == expected
    assert expected


def why(recording: Recording, *about: str) -> list[dict[str, Any]]:
    asked = CliRunner().invoke(app, ["why", str(recording.directory.parent), "late", *about, "--json"])
    assert asked.exit_code == 0, asked.output
    answer = json.loads(asked.output)
    return [
        {name: cause[name] for name in ("text", "rules", "details", "task", "seq", "at_ns")}
        for cause in (answer["statement"], *answer["causes"])
    ]
