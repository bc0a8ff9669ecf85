"""Why records were late or not: the page has the chain of ``flowsim why`` for each record that was behind the watermark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import flowsim
from flowsim.cli.main import app
from flowsim.facts.schema import RECORD_VALUES, TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import RunFacts
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


@pytest.mark.parametrize("name", ["01", "12", "16", "23", "42a", "42b", "47a"])
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


BEHIND = """
() => {
    const {facts, arrivalCauses} = flowsim.model
    const shown = ({place, channel, ...cause}) => ({...cause, at_ns: place === null ? null : facts.time[place]})
    return [...facts.of("window_intake").places].map(place => arrivalCauses.at(place)).filter(chain => chain)
        .map(({statement, causes}) => [statement, ...causes].map(shown))
}
"""
GAPS = """
flowsim: 1
name: gaps-between-windows
settings: {record: full}
sources:
  numbers:
    script:
      fields: {n: long}
      subtasks:
        - - {record: [1], timestamp: 3}
          - {watermark: 19}
          - {record: [2], timestamp: 17}
          - {record: [3], timestamp: 12}
operators:
  counts:
    input: numbers
    key_by: "'all'"
    window: {sliding: {size: 5 ms, slide: 10 ms}, allowed_lateness: 50 ms}
    aggregate: {n: count()}
sinks:
  out: {input: counts, collect: {}}
"""


@pytest.mark.parametrize("name", ["01", "12", "13", "gaps"])
def test_page_has_the_answer_of_why_for_other_records_behind_the_watermark(
    open_report: OpenReport, recordings: Callable[[str], Recording], tmp_path: Path, name: str
) -> None:
    """A record in the gap between two windows has no window that could be open."""
    recording = recorded(GAPS, tmp_path) if name == "gaps" else recordings(name)
    facts = RunFacts(recording)
    late = {(row["task"], row["fingerprint"]) for row in facts.all_rows("late_drop")}
    rows = [
        dict(zip(TABLES[fact.table].names, fact.row, strict=True))
        for fact in merged_facts(recording, Selection()) if fact.table == "window_intake"
    ]  # fmt: skip
    behind = [
        row for row in rows
        if NO_TIMESTAMP < row["timestamp"] <= row["watermark"] and (row["task"], row["fingerprint"]) not in late
    ]  # fmt: skip
    expected = [
        why(recording, f"{facts.names.value(row['fingerprint'])}@{row['timestamp']}", "--task", str(row["task"]))
        for row in behind
    ]

    found = open_report(recording).evaluate(BEHIND)

    assert found == expected
    assert ("no window contains it" in found[0][0]["text"]) is (name == "gaps")


def recorded(text: str, folder: Path) -> Recording:
    (folder / "job.yaml").write_text(text)
    flowsim.run_scenario(folder / "job.yaml", out=folder / "out")
    return flowsim.open_recording(folder / "out")
