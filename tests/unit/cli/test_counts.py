"""Counts and times in what commands print."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.conftest import Flowsim

ONE = """
flowsim: 1
name: one
sources:
  numbers: {collection: {fields: {n: long}, rows: [[1]]}}
sinks:
  out: {input: numbers, collect: {}}
"""


def test_one_thing_of_each_kind_is_singular(flowsim: Flowsim, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE)
    assert "valid: 2 operators in 1 subtask, 0 channels" in flowsim("check", "one.yaml").out
    run = flowsim("run", "one.yaml", "--out", "out").out
    assert "1 record read" in run
    assert "sink      out: 1 row\n" in run
    assert "one: 1 task, 1 subtask" in flowsim("graph", "one.yaml").out


def test_requested_failure_names_its_time_with_a_unit(flowsim: Flowsim, tmp_path: Path) -> None:
    paced = "generator: {count: 100, pace: 10 ms, fields: {n: {sequence: {}}}}"
    text = ONE.replace("collection: {fields: {n: long}, rows: [[1]]}", paced)
    (tmp_path / "fails.yaml").write_text(f"{text}failures:\n  - fail_task: {{task: numbers, at: 220 ms}}\n")
    run = flowsim("run", "fails.yaml", "--out", "out").out
    assert "fails after 220 ms, as the run asks for" in " ".join(run.split())
