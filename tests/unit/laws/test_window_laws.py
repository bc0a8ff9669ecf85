"""Laws window-fire and late-rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.job_graph import Operator
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.windows.plan import WindowPlan, last_of, window_plan
from flowsim.testing import DrawnScenario, run_job
from flowsim.units import MAX_WATERMARK
from tests.support.facts.tiny_job import FactSet, TinyJob, tiny_job


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def plan(**params: object) -> WindowPlan:
    tumbling = {"assigner": "tumbling_event_time", "trigger": {"kind": "event_time"}}
    found = window_plan(Operator(0, 0, "window", "window", tumbling | params, -1, ""))
    assert found is not None
    return found


def test_correct_job_fires_on_time_late_and_at_the_end() -> None:
    facts = tiny_job()
    fires = [(row["key"], row["window_end"], row["watermark"], row["rows"]) for row in facts.tables["window_fire"]]
    assert sorted(fires) == [
        (1000, 10, 9, 3), (1000, 10, 9, 4), (1000, 10, 11, 5), (1001, 10, 9, 1), (1001, 20, 24, 1), (1002, 20, 24, 1),
        (1002, 30, MAX_WATERMARK, 1),
    ]  # fmt: skip
    assert [(row["timestamp"], row["watermark"]) for row in facts.tables["late_drop"]] == [(6, 12), (8, 24)]
    assert judge(facts, "window-fire").verdict is Verdict.HOLDS
    assert judge(facts, "window-fire").rows_examined == 11 + 7
    assert judge(facts, "late-rows").rows_examined == 11 + 2


@pytest.mark.parametrize(("timestamp", "start"), [(-1, -5), (0, 0), (4, 0), (5, 5), (-6, -10)])
def test_window_starts_equal_flinks(timestamp: int, start: int) -> None:
    columns = (np.array([number]) for number in (timestamp, 0, 0))
    starts, windows = plan(size_ms=5).assign(*columns)
    assert (starts.tolist(), windows.tolist()) == ([start], [1])


def test_cleanup_time_never_exceeds_max_watermark() -> None:
    last = last_of(MAX_WATERMARK - 12, MAX_WATERMARK - 2)
    assert last == MAX_WATERMARK - 3
    assert plan(size_ms=10, lateness_ms=5).cleanup_of(last) == MAX_WATERMARK
    assert plan(size_ms=10, lateness_ms=5).cleanup_of(90) == 95


@pytest.mark.parametrize("column", ["window_start", "window_end", "key"])
def test_firing_of_another_window_is_one_missing_and_one_unexpected(column: str) -> None:
    facts = tiny_job()
    row = facts.tables["window_fire"][0]
    row[column] = int(row[column]) + 1
    outcome = judge(facts, "window-fire")
    assert outcome.violations == 2
    assert [found["what"] for found in outcome.evidence] == [
        "a window did not fire", "a window fired that should not have fired",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("rows", "a window fired with other contents"),
        ("fingerprint_sum", "a window fired with other contents"),
        ("fingerprint_xor", "a window fired with other contents"),
        ("at", "a window fired with another result or cause"),
    ],
)
def test_firing_with_another_value_violates_once_with_both_values(column: str, what: str) -> None:
    facts = tiny_job()
    row = facts.tables["window_fire"][0]
    expected = row[column]
    row[column] = int(row[column]) + 1
    [evidence] = judge(facts, "window-fire").evidence
    assert evidence["what"] == what
    name = {"at": "cause_at"}.get(column, column)
    differing = {name: value for name, value in evidence.items() if name.startswith("expected_")}
    assert (evidence[name], differing) == (row[column], {f"expected_{name}": expected})


def test_missing_or_duplicate_firing_violates() -> None:
    facts = tiny_job()
    row = facts.drop("window_fire", key=1001, window_end=20)
    assert judge(facts, "window-fire").violations == 1
    assert judge(facts, "window-fire", "failed").violations == 1
    facts.add("window_fire", row)
    facts.add("window_fire", row)
    assert judge(facts, "window-fire").violations == 1


def test_firing_with_missing_record_violates_by_fingerprint() -> None:
    facts = tiny_job()
    fire = facts.find("window_fire", key=1000, rows=3)
    lost = facts.find("window_intake", key=1000)
    fire["rows"] = 2
    fire["fingerprint_sum"] = int(fire["fingerprint_sum"]) - (int(lost["fingerprint"]) >> 31)
    fire["fingerprint_xor"] = int(fire["fingerprint_xor"]) ^ int(lost["fingerprint"])
    assert judge(facts, "window-fire").violations == 1


def test_firing_before_its_watermark_or_after_next_intake_violates() -> None:
    early = tiny_job()
    fire = early.find("window_fire", key=1002, window_end=20)
    cause = early.find("task_watermark", task=2, timestamp=24)
    fire["seq"] = int(cause["seq"]) - 1
    assert [row["what"] for row in judge(early, "window-fire").evidence] == [
        "a window fired at another time", "the recorded watermark is not the watermark of the task",
    ]  # fmt: skip
    delayed = tiny_job()
    fire = delayed.find("window_fire", key=1002, window_end=20)
    intakes = [int(row["seq"]) for row in delayed.all("window_intake", task=2) if int(row["seq"]) > int(fire["seq"])]
    fire["seq"] = intakes[0] + 1
    assert [row["what"] for row in judge(delayed, "window-fire").evidence] == ["a window fired at another time"]


@pytest.mark.parametrize(
    ("table", "law"), [("window_intake", "window-fire"), ("window_fire", "window-fire"), ("late_drop", "late-rows")]
)
def test_watermark_of_operator_must_be_that_of_its_task(table: str, law: str) -> None:
    facts = tiny_job()
    facts.tables[table][-1]["watermark"] = 7
    outcome = judge(facts, law)
    assert outcome.violations == 1
    assert outcome.evidence[0]["what"] == "the recorded watermark is not the watermark of the task"


def test_missing_late_drop_violates_only_late_rows() -> None:
    facts = tiny_job()
    facts.drop("late_drop", timestamp=6)
    outcome = judge(facts, "late-rows")
    assert outcome.violations == 1
    assert (outcome.evidence[0]["what"], outcome.evidence[0]["timestamp"]) == ("a late record was not dropped", 6)
    assert judge(facts, "late-rows", "canceled").violations == 1


def test_drop_of_record_that_was_not_late_violates() -> None:
    facts = tiny_job()
    on_time = facts.find("window_intake", key=1000, timestamp=9)
    facts.add(
        "late_drop",
        facts.tables["late_drop"][0],
        **{n: on_time[n] for n in ("seq", "task", "key", "timestamp", "fingerprint", "watermark")},
    )
    facts.tables["late_drop"][-1]["seq"] = int(on_time["seq"]) + 1
    assert [row["what"] for row in judge(facts, "late-rows").evidence] == ["a record was dropped that is not late"]


def test_late_record_in_wrong_output_violates() -> None:
    facts = tiny_job()
    facts.tables["late_drop"][0]["side_output"] = 0
    [evidence] = judge(facts, "late-rows").evidence
    assert evidence["what"] == "a late record was dropped with other values"
    assert (evidence["side_output"], evidence["expected_side_output"]) == (0, 1)


def test_other_lateness_makes_other_records_late() -> None:
    facts = tiny_job()
    params = json.loads(str(facts.find("operators", kind="window")["params"]))
    facts.find("operators", kind="window")["params"] = json.dumps({**params, "lateness_ms": 0})
    # The two rows that fired late but allowed should have been dropped.
    assert judge(facts, "late-rows").violations == 2
    assert TinyJob(Level.ELEMENTS, lateness_ms=0).play().tables["late_drop"] != facts.tables["late_drop"]
    assert judge(TinyJob(Level.ELEMENTS, lateness_ms=0).play(), "late-rows").verdict is Verdict.HOLDS


def test_effects_of_last_cause_may_be_missing_in_prefix() -> None:
    facts = tiny_job()
    last = facts.find("task_watermark", task=2, timestamp=MAX_WATERMARK)
    facts.cut(lambda row: row["task"] != 2 or int(row["seq"]) <= int(last["seq"]))
    assert judge(facts, "window-fire", "running").verdict is Verdict.HOLDS
    assert judge(facts, "window-fire").violations == 1


@pytest.mark.parametrize(
    "change", [{"assigner": "sliding_event_time"}, {"assigner": "MyWindows"}, {"stagger": "random"}, {"size_ms": None}]
)
def test_unsupported_windows_are_not_applicable(change: dict[str, object]) -> None:
    facts = tiny_job()
    operator = facts.find("operators", kind="window")
    operator["params"] = json.dumps(json.loads(str(operator["params"])) | change)
    for law in ("window-fire", "late-rows"):
        assert judge(facts, law).verdict is Verdict.NOT_APPLICABLE


def test_window_inside_chain_or_with_two_inputs_is_not_applicable() -> None:
    inside = tiny_job()
    inside.find("operators", kind="window")["input_operator"] = 0
    assert judge(inside, "window-fire").verdict is Verdict.NOT_APPLICABLE
    two_inputs = tiny_job()
    for task in two_inputs.all("tasks", vertex=1):
        task["inputs"] = 2
    assert judge(two_inputs, "late-rows").verdict is Verdict.NOT_APPLICABLE


def test_window_without_intake_is_vacuous() -> None:
    facts = tiny_job()
    for table in ("window_intake", "window_fire", "late_drop"):
        facts.tables[table] = []
    facts.tables["sent"] = facts.all("sent", kind=ElementKind.WATERMARK)
    assert judge(facts, "window-fire").verdict is Verdict.VACUOUS
    assert judge(facts, "late-rows").verdict is Verdict.VACUOUS


TIMEOUT_OF_AN_EMPTY_WINDOW = """
flowsim: 1
name: timeout-of-an-empty-window
sources:
  s:
    script:
      fields: {k: string, n: long}
      subtasks: [[{record: [a, 1]}, {record: [a, 2]}, {sleep: 250 ms}, {record: [a, 3]}, {sleep: 250 ms}]]
operators:
  w:
    input: s
    key_by: k
    window:
      global_window: true
      trigger: {any_of: [{purging: {count: 2}}, {timeout: {of: never, after: 120 ms}}]}
    aggregate: {n: sum(n)}
sinks:
  out: {input: w, collect: {}}
"""


def test_timeout_of_a_window_that_another_part_has_purged_is_not_predicted() -> None:
    """The one at 120 ms is not recorded, and it ends the state of the timeout, so record 3 begins another one."""
    run = run_job(DrawnScenario.of(TIMEOUT_OF_AN_EMPTY_WINDOW))
    assert len(run.facts.rows("window_fire")) == 2
    (outcome,) = (each for each in run.outcomes if each.law == "window-fire")
    assert (outcome.verdict, outcome.violations) == (Verdict.HOLDS, 0)
    assert "when it fires" in outcome.reason


@pytest.mark.parametrize(
    ("purges", "clears", "is_predicted"), [(True, True, False), (True, False, True), (False, True, True)]
)
def test_timeout_beside_another_trigger_is_predicted_unless_it_may_pass_unseen(
    purges: bool, clears: bool, is_predicted: bool
) -> None:
    count: dict[str, object] = {"kind": "count", "count": 2}
    timeout = {"kind": "timeout", "of": count, "interval_ms": 5, "reset_on_element": False, "clear_on_timeout": clears}
    first = {"kind": "purging", "of": count} if purges else count
    found = plan(size_ms=10, trigger={"kind": "any_of", "of": [first, timeout]})
    assert (found.trigger is not None) == is_predicted
