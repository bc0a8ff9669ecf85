"""Checkpoints in the payload of a report; a recording without them is as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import CheckpointAction
from flowsim.facts.schema import TABLES
from flowsim.history.run_span import start_of
from flowsim.recording.reader import Recording
from flowsim.report.checkpoint_facts import points_of_job
from flowsim.report.payload import build_payload
from flowsim.trace.names import Names
from tests.support.report_payload import decode

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def recorded(scenario: str, folder: Path) -> Recording:
    (path,) = SCENARIOS.glob(f"{scenario}_*.yaml")
    done = CliRunner().invoke(app, ["run", str(path), "--record", "elements", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return Recording.open(folder)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A job that fails, and restarts from its checkpoint."""
    return recorded("38", tmp_path_factory.mktemp("restarted"))


def test_facts_of_the_job_are_in_the_payload_without_acknowledgements(recording: Recording) -> None:
    found, start_ns = decode(build_payload(recording, "out/run")), start_of(recording)

    for name in ("checkpoints", "restarts"):
        expected = [dict(zip(TABLES[name].names, row, strict=False)) for row in recording.rows(name)]
        if name == "checkpoints":
            expected = [row for row in expected if row["action"] != CheckpointAction.ACKNOWLEDGED]
        columns = found.counts[name]
        rows = [
            dict(zip(columns, row, strict=True)) for row in zip(*(of.tolist() for of in columns.values()), strict=True)
        ]
        assert rows == [{**row, "time_ns": row["time_ns"] - start_ns} for row in expected]
    assert "12" in [section["number"] for section in found.rules]


def test_names_of_states_splits_and_committables_are_texts(recording: Recording) -> None:
    found, names = decode(build_payload(recording, "out/run")), Names(recording)

    for table, column in (("stored_state", "state"), ("source_positions", "split"), ("committables", "committable")):
        at = TABLES[table].names.index(column)
        expected = [names.value(row[at]) or f"#{row[at]}" for row in recording.rows(table)]
        assert sorted(found.records[number] for number in found.tables[table][column].tolist()) == sorted(expected)


def test_stored_in_flight_data_is_in_the_payload_without_its_sums(tmp_path: Path) -> None:
    recording = recorded("42b", tmp_path / "run")

    columns = decode(build_payload(recording, "out/run")).counts["stored_channels"]

    names = [name for name in TABLES["stored_channels"].names if name in columns]
    assert {*TABLES["stored_channels"].names} - {*names} == {"element_sum", "weighted_sum", "rest_bytes"}
    rows = [dict(zip(TABLES["stored_channels"].names, row, strict=True)) for row in recording.rows("stored_channels")]
    assert len(rows) == 2
    start_ns = start_of(recording)
    expected = [[row[name] - start_ns if name == "time_ns" else row[name] for name in names] for row in rows]
    assert [list(row) for row in zip(*(columns[name].tolist() for name in names), strict=True)] == expected


def test_stored_in_flight_data_is_left_out_and_named_if_it_needs_too_much_of_the_budget(tmp_path: Path) -> None:
    recording = recorded("40b", tmp_path / "run")

    small = build_payload(recording, "out/run", budget_bytes=400)

    assert "stored_channels" in small.omitted
    assert "stored_channels" in decode(small).head["omitted"]
    assert "stored_channels" not in decode(small).counts
    assert "stored_channels" not in build_payload(recording, "out/run", budget_bytes=40_000).omitted


def test_failure_and_first_checkpoints_are_points_of_interest(recording: Recording) -> None:
    assert points_of_job(recording) == [
        (1, 150003000, "failure 0"),
        (1, 105000000, "checkpoint 1"),
        (2, 245009000, "checkpoint 2"),
    ]


def test_recording_without_checkpoints_has_no_sections_phrases_or_rules_of_them(tmp_path: Path) -> None:
    found = decode(build_payload(recorded("12", tmp_path / "run"), "out/run"))
    head = found.head

    assert not {"checkpoints", "restarts"} & set(head["sections"])
    assert not {"checkpoint_steps", "stored_state", "committables"} & set(head["wording"]["sentences"])
    assert not {"reasons", "snapshots"} & set(head["wording"])
    assert "12" not in [section["number"] for section in found.rules]
