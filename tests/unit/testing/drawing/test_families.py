"""Drawn scenarios are valid, run without violating a law, and reach every feature of the language."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.conform.both_sides import Here
from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.features.windows import ASSIGNERS
from flowsim.scenario.loader import load_text
from flowsim.scenario.operators import OPERATOR_KINDS
from flowsim.testing import FAMILIES, DrawnScenario, Schedule, numbered_scenario, register_part, run_job
from flowsim.testing.drawing.choices import RandomChoices
from flowsim.testing.drawing.draft import Draft, Family
from flowsim.testing.drawing.families import _MORE

ENDS = (JobStatus.FINISHED, JobStatus.CANCELED)
NUMBERS = 4
DRAWN = 400
"""Scenarios of each family and each form in which every feature must occur."""

FEATURES: dict[str, Callable[[dict[str, Any], str], bool]] = {
    **{f"operator {kind}": lambda data, text, kind=kind: f" {kind}:" in text or f"{{{kind}:" in text
       for kind in OPERATOR_KINDS},
    **{f"assigner {one}": lambda data, text, one=one: f"{one}: " in text for one in ASSIGNERS},
    **{f"text {part}": lambda data, text, part=part: part in text for part in (
        "any_of:", "purging:", "continuous_event_time:", "continuous_processing_time:", "delta:", "timeout: {of:", "never",
        "end_of_stream", "after: true", "allowed_lateness:", "late_output:", "time: processing", "gap: \"", "split:",
        "idle: true", "end: true", "assignment: dynamic", "legacy: true", "idle_after:", "alignment:", "punctuated:",
        "emit: every_record", "emit: periodic", "emit: never", "partition: broadcast", "partition: shuffle",
        "partition: rescale", "partition: rebalance", "partition: global", "partition: forward", "exchange: blocking",
        "mode: ordered", "mode: unordered", "capacity: 1", "silent:", "fails:", "exponential:", "fixed:", "design: legacy",
        "on_timeout: drop", "on_timeout: nothing", "on_timeout: {add", "checkpoint:", "savepoint:", "stop:", "cancel:",
        "unaligned: true", "aligned_timeout:", "mode: at_least_once", "fail_task:", "lose_job_manager:", "in_snapshot:",
        "in_notification:", "at_record:", "attempt: 1", "fixed_delay:", "exponential_delay:", "object_reuse: true",
        "latency_interval:", "buffer_debloat:", "adaptive_partitioner:", "links:", "interruptible_timers: true",
        "task_managers: {left:", "task_managers: one", "operator_chaining: false", "slot_sharing_group:", "chaining: never",
        "chaining: head", "state_ttl:", "max_parallelism:", "read: second", "pauses:", "phases:",
        "operators.o0.parallelism:", "answers:", "results: []", "error:",
        "having:", "functions:Orders", "functions:OrdersOfTwo", "functions:OrdersWithRules", "functions:Contexts",
        "functions:ContextsOfTwo", "functions:Rules", "functions:OperatorStates", "functions:LateOpening",
        "functions:WindowContents", "functions:AllWindowContents", "functions:OrderedTrigger", "side_outputs:",
        "partition: {key: n}", "missing:", "late_left", "lower_exclusive: true", "lose_task_manager:", "retention:",
        "stagger: natural", "generator:", "partitioned_generator:", "collection: {", "drain: true", "i: int", "key_by: i",
        "parallelism: 4",
    )},
    "union": lambda data, text: any(isinstance(each["input"], list) for each in data["operators"].values()),
    "third phase": lambda data, text: len(data.get("phases", [])) > 1,
    "checkpoints that only actions take": lambda data, text: "checkpointing" in data["settings"]
    and "interval" not in data["settings"]["checkpointing"],
    "failure without checkpoints": lambda data, text: "failures" in data and "checkpointing" not in data["settings"],
    "failure before the end of a phase": lambda data, text: "failures" in data and "phases" in data,
    "stream twice in a union": lambda data, text: any(
        isinstance(each["input"], list) and len(set(each["input"])) < len(each["input"])
        for each in data["operators"].values()
    ),
    "record with the timestamp before": lambda data, text: any(
        "record" in entry and "timestamp" not in entry and "timestamp" in str(script)
        for each in data["sources"].values()
        if "script" in each
        for script in each["script"]["subtasks"]
        for entry in script
    ),
    "calls behind a key": lambda data, text: any("async" in each and "key_by" in each for each in data["operators"].values()),
    "timeout that fails the job": lambda data, text: any(
        "timeout" in each["async"] and "on_timeout" not in each["async"]
        for each in data["operators"].values()
        if "async" in each
    ),
    "record that fails the job": lambda data, text: "f'fail'" in text,
    "several subtasks": lambda data, text: any(
        len(each["script"]["subtasks"]) > 1 for each in data["sources"].values() if "script" in each
    ),
    "two async operators in a chain": lambda data, text: sum("async" in each for each in data["operators"].values()) > 1,
    **{f"key {key}": lambda data, text, key=key: f"key_by: {key}" in text for key in (
        "k", '"n % 3"', '"n > 20"', '"n / 2"', "[k, n]", "{k: k", '"(k, n % 2)"', "[k, k]",
    )},
}  # fmt: skip


@pytest.mark.parametrize("determined", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_scenarios_run_and_violate_no_law(family: Family, determined: bool) -> None:
    for number in range(NUMBERS):
        scenario = numbered_scenario(number, family=family, determined=determined)
        schedule = Schedule() if determined else Schedule("random", number, 1)
        run = run_job(scenario, schedule=schedule)
        assert run.result.status in ENDS, (number, run.result.report)
        assert [each.law for each in run.outcomes if each.verdict is Verdict.VIOLATED] == [], number


@pytest.mark.parametrize(
    ("family", "numbers", "error"),
    [("plain", (9, 17, 29, 35, 52), "refused "), ("async", range(16), "call has timed out")],
)
def test_scenarios_fail_if_that_is_asked_for(family: Family, numbers: Sequence[int], error: str) -> None:
    runs = [run_job(numbered_scenario(number, family=family, failing=True)) for number in numbers]
    failed = [run for run in runs if run.result.status is JobStatus.FAILED]
    assert any(error in str(run.result.error) for run in failed)
    assert [each.law for run in failed for each in run.outcomes if each.verdict is Verdict.VIOLATED] == []


def test_drawn_scenarios_reach_every_feature() -> None:
    missing = dict(FEATURES)
    for number in range(DRAWN):
        for family in FAMILIES:
            for determined in (True, False):
                failing = number % 2 == 0
                scenario = numbered_scenario(number, family=family, determined=determined, failing=failing)
                data: Any = scenario.data
                missing = {name: has for name, has in missing.items() if not has(data, scenario.yaml)}
        if not missing:
            return
    pytest.fail(f"not drawn: {list(missing)}")


@pytest.mark.parametrize("family", FAMILIES)
def test_yaml_of_a_drawn_scenario_gives_the_same_text_and_recording(family: Family, tmp_path: Path) -> None:
    drawn = numbered_scenario(3, family=family)
    again = DrawnScenario.of(drawn.yaml)
    assert (again.yaml, again.data, repr(again)) == (drawn.yaml, drawn.data, drawn.yaml)
    digests = []
    for name, scenario in (("first", drawn), ("second", again)):
        run_job(scenario).save(tmp_path / name)
        digests.append(json.loads((tmp_path / name / "recording" / "manifest.json").read_text())["facts_digest"])
    assert digests[0] == digests[1]


def test_determined_scenario_has_one_step_for_each_instant() -> None:
    for number in range(40):
        data: Any = numbered_scenario(number, family="event_time").data
        scripts = [script for each in data["sources"].values() for script in each["script"]["subtasks"]]
        steps = [entry["step"] for script in scripts for entry in script if "sleep" not in entry]
        assert len(steps) == len(set(steps))
        assert data["settings"]["cost"] == 0


@pytest.mark.parametrize("family", ["checkpoints", "unaligned"])
def test_snapshots_have_times_that_neither_others_nor_steps_of_a_later_attempt_have(family: Family) -> None:
    for number in range(80):
        data = numbered_scenario(number, family=family).data
        times = [
            int(block["at"].removesuffix(" ms")) for action in data.get("actions", ()) for block in action.values()
        ]
        assert len(set(times)) == len(times)
        failures = [block for each in data.get("failures", ()) for block in each.values()]
        if any("in_snapshot" in block or "in_notification" in block for block in failures):
            assert len({time % 97 for time in times}) == len(times)


def test_source_functions_are_not_stopped() -> None:
    stopped = 0
    for number in range(200):
        data = numbered_scenario(number, family="checkpoints").data
        if any("stop" in action for action in data.get("actions", ())):
            stopped += 1
            assert not any("legacy" in block for block in data["sources"].values())
    assert stopped > 5


def test_checkpoints_that_time_out_have_no_slow_links() -> None:
    for number in range(DRAWN):
        data: Any = numbered_scenario(number, family="checkpoints", seed=11, determined=False).data
        slow = {"latency": "20 ms"} in data["settings"].get("links", [])
        assert not (slow and "timeout" in data["settings"]["checkpointing"]), number


def test_same_seed_draws_the_same_scenario_and_another_one_another() -> None:
    first, again, other = (numbered_scenario(2, family="async", seed=seed) for seed in (5, 5, 6))
    assert first == again != other
    assert hash(first) == hash(again)


@pytest.mark.parametrize("family", ["checkpoints", "unaligned"])
def test_calls_that_must_be_retried_do_not_read_windows_that_fire_until_the_end(family: Family) -> None:
    """Rule 11.27: after the end of the input nothing is retried, so the last calls would fail every attempt of the job."""
    for number in range(DRAWN):
        text = numbered_scenario(number, family=family, seed=11).yaml
        window, _, calls = text.partition("continuous_processing_time")
        assert "global_window" not in window or not any(part in calls for part in ("attempt <= ", "fails: {")), number


def test_unknown_family_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no family 'best' of scenarios; there are: plain, event_time"):
        numbered_scenario(1, family="best")  # type: ignore[arg-type]


def test_registered_part_is_drawn() -> None:
    def add_toy(draft: Draft) -> bool:
        draft.operators["toy"] = {"input": "s0", "map": {"add": {"n": "n + 1"}}}
        return True

    register_part(add_toy, "plain", 1000)
    try:
        assert "toy" in str(numbered_scenario(5, family="plain").data["operators"])
    finally:
        _MORE.pop()
    with pytest.raises(BadInput, match="expected a weight >= 1, got 0"):
        register_part(add_toy, "plain", 0)


def test_random_choices_stay_within_their_limits() -> None:
    choices = RandomChoices(Random(1))
    assert {choices.integer(1, 3) for _ in range(50)} == {1, 2, 3}
    assert {len(choices.some(lambda: 0, 0, 2)) for _ in range(50)} == {0, 1, 2}
    assert {choices.often(100), choices.often(0)} == {True, False}


@pytest.mark.parametrize(("number", "seed"), [(2, 3001), (5, 3003), (3, 3004), (6, 3004)])
def test_phase_that_is_cancelled_leaves_a_snapshot(number: int, seed: int, tmp_path: Path) -> None:
    scenario = numbered_scenario(number, family="unaligned", seed=seed)
    assert any("cancel" in action for action in scenario.data["actions"])
    assert any("async" in block for block in scenario.data["operators"].values())
    compiled = compile_scenario(load_text(scenario.yaml, "drawn.yaml", tmp_path), out_dir=tmp_path, allow_python=True)
    phases = Here(jobs_of_scenario(compiled)).run()
    assert phases[0].answer.checkpoints
    assert len(phases) == 1 + len(scenario.data["phases"])
