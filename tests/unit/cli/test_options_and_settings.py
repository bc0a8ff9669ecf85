"""An option that sets a setting is accepted by every command that accepts the setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ENDLESS = """\
flowsim: 1
name: endless
settings: {record: full}
sources:
  numbers: {generator: {pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  doubled: {input: numbers, map: {add: {m: 2 * n}}}
sinks:
  kept: {input: doubled, collect: {}}
"""


@pytest.fixture(autouse=True)
def endless(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "endless.yaml").write_text(ENDLESS)


def test_endless_generator_without_until_is_refused_with_line_and_column(flowsim: Any) -> None:
    for command in (("run",), ("explore",), ("study", "--vary", "settings.seed=1,2"), ("check",), ("graph",)):
        called = flowsim(command[0], "endless.yaml", *command[1:])
        assert called.code == 2
        assert "endless.yaml:5:24 sources.numbers.generator: an endless generator needs settings.until or --until" in (
            called.err
        )


@pytest.mark.parametrize(
    ("option", "setting"),
    [("--until", "until=20ms"), ("--seed", "seed=7"), ("--policy", "policy=random"), ("--record", "record=elements")],
)
def test_run_option_gives_same_digest_as_setting(flowsim: Any, option: str, setting: str) -> None:
    end = () if option == "--until" else ("--until", "20ms")
    name, _, value = setting.partition("=")
    by_option = flowsim("run", "endless.yaml", option, value, *end, "--json")
    by_setting = flowsim("run", "endless.yaml", "--set", f"settings.{name}={value}", *end, "--json")
    assert (by_option.code, by_setting.code) == (0, 0)
    assert by_option.document["digest"] == by_setting.document["digest"]
    assert by_option.document["tasks"] == by_setting.document["tasks"]


def test_explore_and_study_accept_until_option(flowsim: Any) -> None:
    explored = flowsim("explore", "endless.yaml", "--runs", "2", "--until", "20ms", "--json")
    assert explored.code in (0, 1)
    assert explored.document["runs"] == 2
    studied = flowsim("study", "endless.yaml", "--vary", "settings.seed=1,2", "--until", "20ms", "--no-plot", "--json")
    assert studied.code == 0
    assert len(studied.document["rows"]) == 2


def test_recording_ended_by_until_option_replays_equal(flowsim: Any) -> None:
    assert flowsim("run", "endless.yaml", "--until", "20ms", "--out", "o").code == 0
    replayed = flowsim("replay", "o", "--json")
    assert replayed.code == 0
    assert replayed.document["same"] is True
