"""Laws watermark-monotone and valve."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flowsim.explore.checked_run import judged_in_memory
from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.facts.schema import TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.testing import DrawnScenario, run_job
from flowsim.units import MAX_WATERMARK
from tests.support.facts.async_history import AsyncHistory
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.facts.tiny_job import FactSet, tiny_job
from tests.support.flink.golden import cases

SCENARIOS = Path(__file__).parents[3] / "scenarios"
WATERMARK, STATUS = ElementKind.WATERMARK, ElementKind.STATUS


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def with_channel(elements: list[tuple[ElementKind, int]], channel: int = 0) -> FactSet:
    """The tiny job with these elements, and nothing else, on a channel; the source sends on channel 0."""
    facts = tiny_job()
    like = facts.find("sent", channel=channel)
    facts.tables["sent"] = []
    facts.tables["task_watermark"] = []
    for position, (kind, timestamp) in enumerate(elements):
        facts.add("sent", like, position=position, kind=kind, timestamp=timestamp)
    return facts


@pytest.mark.parametrize(
    ("elements", "violations"),
    [
        ([(WATERMARK, 1), (WATERMARK, 2), (WATERMARK, 5)], 0),
        ([(WATERMARK, 1), (WATERMARK, 1)], 1),
        ([(WATERMARK, 5), (WATERMARK, 3), (WATERMARK, 4)], 1),
        ([(WATERMARK, 5), (STATUS, -1), (STATUS, 0), (WATERMARK, 3)], 0),
        ([(WATERMARK, 5), (STATUS, 0), (WATERMARK, 3)], 1),
        ([(STATUS, -1), (WATERMARK, 3), (WATERMARK, 4)], 1),
        ([(WATERMARK, 5), (STATUS, -1), (WATERMARK, 6), (WATERMARK, 6)], 2),
        ([(WATERMARK, 5), (WATERMARK, MAX_WATERMARK), (WATERMARK, 4), (WATERMARK, 6)], 0),
        ([(WATERMARK, 5), (WATERMARK, MAX_WATERMARK), (WATERMARK, 6), (WATERMARK, MAX_WATERMARK)], 1),
    ],
)
def test_channel_watermarks_increase_while_active(elements: list[tuple[ElementKind, int]], violations: int) -> None:
    outcome = judge(with_channel(elements), "watermark-monotone")
    assert outcome.violations == violations
    assert outcome.rows_examined == sum(kind is WATERMARK for kind, _ in elements)


def test_watermark_after_the_last_one_violates_in_task_that_is_no_source() -> None:
    facts = with_channel([(WATERMARK, 5), (WATERMARK, MAX_WATERMARK), (WATERMARK, 4), (WATERMARK, 6)], channel=4)
    assert facts.find("channels", channel=4)["source_task"] == 1
    assert judge(facts, "watermark-monotone").violations == 1


def test_source_that_is_drained_at_a_periodic_emission_violates_nothing() -> None:
    """Rule 4.10: the emission that was due at the time of the stop runs after the last watermark."""
    scenario = load_scenario(SCENARIOS / "08b_stop_without_drain.yaml", ("actions=[{stop: {at: 3 s, drain: true}}]",))
    run = run_compiled(compile_scenario(scenario, out_dir=Path("never-written")), record=Level.FULL)
    assert run.facts is not None
    kind, timestamp = (TABLES["sent"].names.index(name) for name in ("kind", "timestamp"))
    sent = [row[timestamp] for row in run.facts.rows("sent") if row[kind] == WATERMARK]
    assert sent[-2:] == [MAX_WATERMARK, 2989]
    assert [outcome.law for outcome in judged_in_memory(run) if outcome.verdict is Verdict.VIOLATED] == []


RESTORED_QUEUE = """
flowsim: 1
name: restored-queue
settings:
  checkpointing: {interval: 1 h}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 1 ms}}
sources:
  s:
    script:
      fields: {n: long}
      subtasks:
        - - {record: [1], timestamp: 100}
          - {sleep: 50 ms}
          - {record: [2], timestamp: 50}
          - {record: [3], timestamp: 120}
    watermarks: {timestamp: timestamp, emit: every_record}
operators:
  asked: {input: s, async: {mode: ordered, latency: 20 ms, timeout: 1 s, add: {m: n}}}
sinks:
  out: {input: asked, partition: rebalance, collect: {}}
actions:
  - {checkpoint: {at: 5 ms}}
failures:
  - {fail_task: {task: asked, at: 10 ms}}
"""


def test_watermark_of_a_restored_queue_may_be_above_the_first_new_one() -> None:
    """Rule 11.22: the queue has a watermark of the attempt before, and the generator of the source begins anew."""
    run = run_job(DrawnScenario.of(RESTORED_QUEUE))
    kind, timestamp = (TABLES["sent"].names.index(name) for name in ("kind", "timestamp"))
    sent = [row[timestamp] for row in run.facts.rows("sent") if row[kind] == WATERMARK]
    assert sent == [99, 49, 119, MAX_WATERMARK]
    assert [each.law for each in run.outcomes if each.verdict is Verdict.VIOLATED] == []


def test_only_a_watermark_below_one_from_a_snapshot_violates_nothing() -> None:
    history = AsyncHistory(opens=False).puts_mark(0, 99)
    history.life(LifeEvent.OPEN, 0)
    history.puts_mark(1, 49).leaves(0, 1).puts_mark(2, 48).leaves(2)
    assert history.broken("watermark-monotone", whole=False) == ["watermark does not grow"] * 2, "once per channel"
    assert AsyncHistory().puts_mark(0, 99).puts_mark(1, 49).leaves(0, 1).broken("watermark-monotone", whole=False)


def test_task_watermark_that_does_not_increase_violates() -> None:
    facts = tiny_job()
    rows = facts.all("task_watermark", task=2)
    rows[1]["timestamp"] = rows[0]["timestamp"]
    outcome = judge(facts, "watermark-monotone")
    assert outcome.violations == 1
    assert (outcome.evidence[0]["task"], outcome.evidence[0]["timestamp"]) == (2, rows[0]["timestamp"])


def test_run_without_watermarks_is_vacuous() -> None:
    facts = with_channel([(ElementKind.RECORD, 1)])
    assert judge(facts, "watermark-monotone").verdict is Verdict.VACUOUS


@pytest.mark.golden
def test_valve_model_equals_flinks_valve() -> None:
    numbers = {"IDLE": -1, "ACTIVE": 0}
    judged = 0
    for case in cases("component/status_watermark_valve"):
        model = ValveModel(0, case["channels"])
        for (what, channel, value), answer in zip(case["cmds"], case["out"], strict=True):
            given = (WATERMARK, value) if what == "wm" else (STATUS, numbers[value])
            expected = [(0, WATERMARK, t) if kind == "wm" else (0, STATUS, numbers[t]) for kind, t in answer]
            assert model.on_element(channel, *given) == expected, case["id"]
            judged += 1
    assert judged > 10_000


def as_recorded(case: dict[str, Any]) -> FactBuilder:
    """A recorded run of the real valve as the facts of task 1, behind tasks that nothing is known of."""
    facts, numbers, positions = FactBuilder(Level.ELEMENTS), {"IDLE": -1, "ACTIVE": 0}, Counter[int]()
    for task in (0, 1):
        facts.add("tasks", task=task, vertex=task, inputs=task, parallelism=1, max_parallelism=8)
    facts.add("edges", edge=0, source_vertex=0, target_vertex=1)
    for channel in range(case["channels"]):
        facts.add("channels", channel=channel, target_task=1, input_channel=channel)
    for (what, channel, value), answer in zip(case["cmds"], case["out"], strict=True):
        kind, number = (WATERMARK, value) if what == "wm" else (STATUS, numbers[value])
        facts.add("received", task=1, channel=channel, position=positions[channel], kind=kind, timestamp=number)
        positions[channel] += 1
        for found, value in answer:
            kind, number = (WATERMARK, value) if found == "wm" else (STATUS, numbers[value])
            facts.add("task_watermark", task=1, kind=kind, timestamp=number)
    return facts


@pytest.mark.golden
@pytest.mark.parametrize("epochs", [1, 3])
def test_law_holds_for_emissions_of_flinks_valve_and_no_fewer(epochs: int) -> None:
    law = tuple(law for law in LAWS if law.id == "valve")
    for number, case in enumerate(cases("component/status_watermark_valve")):
        facts = as_recorded(case)
        outcome = judged_in_slices(BuiltFacts(facts), law, "complete", epochs, number)["valve"]
        assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, len(case["cmds"])), case["id"]
        emitted = facts.rows("task_watermark")
        if emitted:
            facts.remove("task_watermark", emitted[number % len(emitted)])
            outcome = judged_in_slices(BuiltFacts(facts), law, "complete", epochs, number)["valve"]
            assert outcome.violations == 1, case["id"]


def test_wrong_valve_emission_is_reported_at_its_cause() -> None:
    facts = tiny_job()
    row = facts.all("task_watermark", task=3)[0]
    row["timestamp"] = int(row["timestamp"]) + 1
    outcome = judge(facts, "valve")
    assert outcome.violations == 1
    assert outcome.evidence[0]["task"] == 3


def test_watermark_forwarded_too_late_violates_at_both_places() -> None:
    facts = tiny_job()
    for name in ("received", "task_watermark"):
        for row in facts.tables[name]:
            row["seq"] = 2 * int(row["seq"])
    emitted = facts.find("task_watermark", task=1)
    later = [int(row["seq"]) for row in facts.all("received", task=1) if int(row["seq"]) > int(emitted["seq"])]
    emitted["seq"] = later[0] + 1
    assert judge(facts, "valve").violations == 2


def test_missing_emission_is_allowed_only_as_last_step_of_prefix() -> None:
    facts = tiny_job()
    emitted = facts.all("task_watermark", task=4)[-1]
    facts.tables["task_watermark"].remove(emitted)
    assert judge(facts, "valve").violations == 1
    assert judge(facts, "valve", "failed").violations == 1
    facts.cut(lambda row: row["task"] != 4 or int(row["seq"]) < int(emitted["seq"]))
    assert judge(facts, "valve").violations == 1
    assert judge(facts, "valve", "failed").verdict is Verdict.HOLDS
    facts.add("task_watermark", emitted, timestamp=int(emitted["timestamp"]) - 1)
    assert judge(facts, "valve", "failed").violations == 1


def test_watermark_without_cause_violates() -> None:
    facts = tiny_job()
    facts.add("task_watermark", facts.tables["task_watermark"][0], task=0)
    first = facts.tables["task_watermark"][0]
    facts.add("task_watermark", first, seq=-1)
    assert judge(facts, "valve").violations == 2


def test_run_without_received_watermarks_is_vacuous() -> None:
    facts = tiny_job()
    facts.tables["received"] = facts.all("received", kind=ElementKind.RECORD)
    facts.tables["task_watermark"] = []
    assert judge(facts, "valve").verdict is Verdict.VACUOUS
