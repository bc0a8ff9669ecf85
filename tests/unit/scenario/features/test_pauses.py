"""Pauses of subtasks: which record waits, until when, and what is in flight meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.facts.kinds import ElementKind
from flowsim.facts.schema import TABLES
from flowsim.graph.operator_cost import Pause
from flowsim.scenario.runner import ScenarioRun
from flowsim.units import NS_PER_MS
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: paused
settings: {cost: 0, buffer_timeout: 0, checkpointing: {unaligned: true, interval: 10 min}}
sources:
  words:
    script:
      fields: {n: long}
      subtasks: [[{record: [0], step: 0}, {record: [1], step: 1}, {record: [2], step: 2}, {record: [3], step: 5}]]
operators:
  doubled: {input: words, partition: rebalance, parallelism: 2, map: {select: {n: 2 * n}}}
sinks:
  out: {input: doubled, collect: {}}
"""
PAUSE = "pauses: [{task: doubled, from: 5 ms, to: 75 ms}]\n"


def sent(run: ScenarioRun) -> list[tuple[str, int]]:
    """Returns when, in ms after the start, the subtasks sent a record."""
    assert run.facts is not None
    names = ("words", "doubled/0", "doubled/1", "out")
    return [
        (names[row[1]], row[2] // NS_PER_MS - 1000)
        for row in sorted(run.facts.rows("sent"))
        if row[5] == ElementKind.RECORD
    ]


@pytest.mark.parametrize("legacy", ["false", "true"])
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("doubled, subtask: 0", {"words": [10, 20, 30, 60], "doubled/0": [45, 60], "doubled/1": [10, 30]}),
        ("doubled", {"words": [10, 20, 30, 60], "doubled/0": [45, 60], "doubled/1": [10, 45]}),
        ("words", {"words": [10, 45, 45, 60], "doubled/0": [45, 60], "doubled/1": [10, 45]}),
    ],
)
def test_the_first_record_in_a_pause_waits_for_its_end(task: str, expected: dict[str, list[int]], legacy: str) -> None:
    job = JOB.replace("  words:\n", f"  words:\n    legacy: {legacy}\n")
    run = flowsim.run_scenario(f"{job}pauses: [{{task: {task}, from: 15 ms, to: 45 ms}}]\n")
    found: dict[str, list[int]] = {}
    for name, at_ms in sent(run):
        found.setdefault(name, []).append(at_ms)
    assert found == expected


def test_what_a_chain_sends_before_the_pause_of_a_later_operator_leaves_before_it() -> None:
    """Rule 5.14: a source sends each record over the network before the rest of its chain gets it."""
    chained = "  chained: {input: words, map: {select: {n: n}}}\nsinks:\n  other: {input: chained, collect: {}}\n"
    run = flowsim.run_scenario(
        f"{JOB}pauses: [{{task: chained, from: 15 ms, to: 45 ms}}]\n".replace("sinks:\n", chained)
    )
    assert [at_ms for name, at_ms in sent(run) if name == "words"] == [10, 20, 45, 60]
    assert sorted(at_ms for name, at_ms in sent(run) if name.startswith("doubled")) == [10, 20, 45, 60]


@pytest.mark.parametrize("legacy", ["false", "true"])
def test_a_failure_in_a_pause_ends_it(legacy: str) -> None:
    """Flink interrupts the thread. The next attempt begins at 40 ms, and its first record is in the pause again."""
    settings = "checkpointing: {unaligned: true, interval: 10 min}"
    job = JOB.replace("  words:\n", f"  words:\n    legacy: {legacy}\n")
    job = job.replace(settings, f"{settings}, restart_strategy: {{fixed_delay: {{attempts: 1, delay: 0}}}}")
    job += "pauses: [{task: words, from: 25 ms, to: 75 ms}]\n"
    run = flowsim.run_scenario(f"{job}failures: [{{fail_task: {{task: words, subtask: 0, at: 40 ms}}}}]\n")
    assert [at_ms for name, at_ms in sent(run) if name == "words"] == [10, 20, 75, 75, 75, 100]


def test_an_idle_source_function_is_idle_until_the_end_of_its_pause() -> None:
    """It pauses with the record, and hands it to its context behind the pause."""
    job = JOB.replace("  words:\n", "  words:\n    legacy: true\n").replace(
        "{record: [1], step: 1}", "{idle: true, step: 1}"
    )
    run = flowsim.run_scenario(f"{job}pauses: [{{task: words, from: 15 ms, to: 45 ms}}]\n", record="elements")
    assert run.facts is not None
    rows = [row for row in sorted(run.facts.rows("sent")) if row[1] == 0 and row[5] == ElementKind.STATUS]
    assert [row[2] // NS_PER_MS - 1000 for row in rows] == [20, 20, 45, 45]


@pytest.mark.parametrize(("pauses", "expected"), [("", set()), (PAUSE, {1, 2, 3})])
def test_a_pause_leaves_data_in_flight_at_a_checkpoint(pauses: str, expected: set[int]) -> None:
    """Each subtask waits inside its first record; the barrier overtakes the second one, and the first one's output."""
    text = JOB + f"{pauses}actions: [{{checkpoint: {{at: 65 ms}}}}]\n"
    run = flowsim.run_scenario(text.replace("step: 5}", "step: 5}, {sleep: 100 ms}"), record="full")
    assert run.facts is not None
    names = TABLES["checkpoint_metrics"].names
    rows = [dict(zip(names, row, strict=True)) for row in run.facts.rows("checkpoint_metrics")]
    with_data = {row["task"] for row in rows if row["checkpoint"] == 1 and row["persisted_bytes"] > 0}
    assert with_data == expected


@pytest.mark.parametrize(
    ("pause", "message"),
    [
        (
            "{task: double, from: 1 ms, to: 2 ms}",
            "s.yaml:13:17 pauses[0].task: there is no node 'double' (did you mean 'doubled'?)",
        ),
        (
            "{task: doubled, subtask: 2, from: 1 ms, to: 2 ms}",
            "s.yaml:13:35 pauses[0].subtask: 'doubled' has 2 subtasks, expected 0 to 1, got 2",
        ),
        (
            "{task: doubled, from: 2 ms, to: 2 ms}",
            "s.yaml:13:10 pauses[0]: expected an end after the start of the pause: to above from",
        ),
    ],
)
def test_a_pause_that_cannot_be_is_refused(pause: str, message: str, tmp_path: Path) -> None:
    assert refused(f"{JOB}pauses: [{pause}]\n", tmp_path) == [message]


def test_pauses_are_in_ns_by_the_names_of_the_graph(tmp_path: Path) -> None:
    text = "pauses:\n- {task: words, from: 1 ms, to: 2 ms}\n- {task: out, subtask: 0, from: 0, to: 1 us}\n"
    text += "- {task: words, from: 3 ms, to: 4 ms}\n"
    job = compiled(JOB + text, tmp_path)
    ms = NS_PER_MS
    assert job.pauses == {
        "Source: words": (Pause(None, ms, 2 * ms), Pause(None, 3 * ms, 4 * ms)),
        "Sink: out": (Pause(0, 0, 1000),),
    }
    assert {node.name: len(node.pauses) for node in job.stream_graph().nodes.values()} == {
        "Source: words": 2,
        "doubled": 0,
        "Sink: out": 1,
    }
