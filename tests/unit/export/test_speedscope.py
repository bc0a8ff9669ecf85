"""A speedscope profile has the published shape and the slices of the Perfetto trace."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from flowsim import BadInput, Recording, open_recording, run_scenario
from flowsim.cli.main import app
from flowsim.export.perfetto import export_perfetto
from flowsim.export.slices import ACTION_NAMES, WAIT_NAMES
from flowsim.export.speedscope import export_speedscope
from flowsim.facts.kinds import ActionKind
from flowsim.history.task_states import Wait
from tests.support.perfetto_trace import read_trace

SCENARIOS = Path(__file__).parents[3] / "scenarios"
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
EVENT = {
    "type": "object",
    "properties": {"type": {"enum": ["O", "C"]}, "frame": NUMBER, "at": NUMBER},
    "required": ["type", "frame", "at"],
}
PROFILE = {
    "type": "object",
    "properties": {
        "type": {"const": "evented"},
        "name": TEXT,
        "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
        "startValue": NUMBER,
        "endValue": NUMBER,
        "events": {"type": "array", "items": EVENT},
    },
    "required": ["type", "name", "unit", "startValue", "endValue", "events"],
}
FILE = {
    "type": "object",
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {
            "type": "object",
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
                }
            },
            "required": ["frames"],
        },
        "profiles": {"type": "array", "items": PROFILE},
        "name": TEXT,
        "exporter": TEXT,
    },
    "required": ["$schema", "shared", "profiles"],
    "additionalProperties": False,
}
"""The published format, version of 2018 and later, without sampled profiles."""


def profile_of(recording: Recording) -> dict[str, Any]:
    file = io.BytesIO()
    export_speedscope(recording, file)
    document: dict[str, Any] = json.loads(file.getvalue())
    return document


@pytest.mark.parametrize("name", ["12_three_lateness_settings", "25_async_capacity_one", "28_async_two_designs"])
def test_profile_has_the_published_shape_and_the_slices_of_the_trace(name: str, tmp_path: Path) -> None:
    run_scenario(SCENARIOS / f"{name}.yaml", out=tmp_path, record="full")
    recording, trace = open_recording(tmp_path), io.BytesIO()
    export_perfetto(recording, trace)
    expected = {path[-1]: slices for path, slices in read_trace(trace.getvalue()).slices.items()}

    document = profile_of(recording)

    jsonschema.validate(document, FILE)
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    assert [profile["name"] for profile in document["profiles"]] == recording.table("tasks")["name"].to_pylist()
    for profile in document["profiles"]:
        stack: list[tuple[int, int]] = []
        slices = []
        for event in profile["events"]:
            assert profile["startValue"] <= event["at"] <= profile["endValue"]
            if event["type"] == "O":
                stack.append((event["frame"], event["at"]))
            else:
                frame, start = stack.pop()
                assert frame == event["frame"]
                slices.append((frames[frame], start, event["at"], len(stack)))
        assert slices == expected[profile["name"]]
        assert stack == []


def test_recording_without_actions_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path / "run", record="elements")
    called = CliRunner().invoke(
        app, ["export", str(tmp_path / "run"), "--speedscope", str(tmp_path / "new" / "a.json")]
    )
    assert (called.exit_code, "run with --record full" in called.stderr) == (2, True)
    assert [*(tmp_path / "new").iterdir()] == []
    with pytest.raises(BadInput, match="level elements"):
        profile_of(open_recording(tmp_path / "run"))


def test_every_action_and_wait_has_a_name() -> None:
    assert set(ACTION_NAMES) == set(ActionKind)
    assert set(WAIT_NAMES) == set(Wait)
