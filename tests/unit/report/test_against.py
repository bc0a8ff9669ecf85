"""The first difference of two recordings: that of a comparison fact by fact."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.report.against import first_difference

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def recorded(name: str, out: Path, *options: str) -> Recording:
    (scenario,) = SCENARIOS.glob(f"{name}_*.yaml")
    done = CliRunner().invoke(app, ["run", str(scenario), "--record", "full", "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return Recording.open(out)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded("13", tmp_path_factory.mktemp("against") / "run")


def test_recordings_differ_at_the_first_different_fact(recording: Recording, tmp_path: Path) -> None:
    other = recorded("12", tmp_path / "other")
    facts, others = (list(merged_facts(one, Selection())) for one in (recording, other))
    expected = next(step for step, pair in enumerate(zip_longest(facts, others)) if pair[0] != pair[1])

    assert first_difference(recording, other) == expected


def test_end_of_the_shorter_recording_is_a_difference(recording: Recording, tmp_path: Path) -> None:
    shorter = recorded("13", tmp_path / "shorter", "--until", "2 us")
    facts, others = (list(merged_facts(one, Selection())) for one in (recording, shorter))
    expected = next(step for step, pair in enumerate(zip_longest(facts, others)) if pair[0] != pair[1])

    assert len(others) < len(facts)
    assert first_difference(recording, shorter) == first_difference(shorter, recording) == expected


def test_recordings_of_equal_runs_do_not_differ(recording: Recording, tmp_path: Path) -> None:
    assert first_difference(recording, recorded("13", tmp_path / "again")) is None
