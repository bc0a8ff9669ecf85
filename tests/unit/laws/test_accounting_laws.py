"""Laws conservation, credits and actions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    Level,
    LifeEvent,
    WaitKind,
)  # fmt: skip
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from tests.support.facts.tiny_job import FactSet, tiny_job


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def bump(table: str, column: str, by: int = 1, **where: int | str) -> Callable[[FactSet], None]:
    def change(facts: FactSet) -> None:
        row = facts.find(table, **where)
        row[column] = int(row[column]) + by

    return change


def lose(table: str, **where: int | str) -> Callable[[FactSet], None]:
    def change(facts: FactSet) -> None:
        facts.drop(table, **where)

    return change


@pytest.mark.parametrize(
    ("change", "equations"),
    [
        (bump("operator_counts", "records_in", task=0, operator=0), ["fewer records went out than went in"]),
        (
            bump("operator_counts", "records_out", task=0, operator=1),
            ["more records went out than went in", "fewer records went in than went out of the operator before"],
        ),
        (
            bump("operator_counts", "records_dropped", task=0, operator=2),
            ["fewer records went in than went out or were filtered out"],
        ),
        (bump("operator_counts", "records_out", task=3), ["more records went out of a sink than 0"]),
        (
            bump("operator_counts", "records_in", task=1),
            ["more records went in than the task received", "more records went in than were taken in by windows"],
        ),
        (
            bump("operator_counts", "records_dropped", task=2),
            ["more records were counted as dropped than were dropped"],
        ),
        (
            bump("operator_counts", "records_side", task=1),
            ["fewer records were read from side outputs than went to them"],
        ),
        (bump("operator_counts", "records_out", task=1), ["fewer records were sent over edge 1 than went out"]),
        (lose("sent", channel=0, kind=ElementKind.RECORD), ["fewer records were sent over edge 0 than went out"]),
        (
            lose("sent", channel=4, kind=ElementKind.RECORD),
            ["fewer records were read from side outputs than went to them"],
        ),
        (lose("received", task=4, kind=ElementKind.RECORD), ["more records went in than the task received"]),
        (lose("window_intake", task=1), ["more records went in than were taken in by windows"]),
        (lose("operator_counts", task=4), ["the counters of an operator were not written exactly once"]),
        (bump("late_drop", "side_output", -1), ["fewer records were counted as dropped than were dropped"]),
        (
            bump("operator_counts", "records_in", task=4, operator=0),
            ["more records went in than the task received", "more records went in than were put into the queue"],
        ),
        (
            bump("operator_counts", "records_out", task=4, operator=0),
            [
                "more records went out than were results of elements",
                "fewer records went in than went out of the operator before",
            ],
        ),
    ],
)
def test_each_violated_equation_is_reported(change: Callable[[FactSet], None], equations: list[str]) -> None:
    facts = tiny_job()
    change(facts)
    outcome = judge(facts, "conservation")
    assert [row["what"] for row in outcome.evidence] == equations
    assert outcome.violations == len(equations)


@pytest.mark.parametrize("policy", ["drop", "output"])
def test_source_may_keep_back_records_without_timestamp_if_its_strategy_allows_them(policy: str) -> None:
    facts = tiny_job()
    bump("operator_counts", "records_in", 2, task=0, operator=0)(facts)
    bump("operator_counts", "records_dropped", 2, task=0, operator=0)(facts)
    assert [row["what"] for row in judge(facts, "conservation").evidence] == ["fewer records went out than went in"]
    source = facts.find("operators", vertex=0, operator=0)
    source["params"] = f'{{"watermarks":{{"kind":"bounded","bound_ms":0,"missing_timestamp":"{policy}"}}}}'
    assert judge(facts, "conservation").verdict is Verdict.HOLDS
    bump("operator_counts", "records_dropped", task=0, operator=0)(facts)
    assert [row["what"] for row in judge(facts, "conservation").evidence] == [
        "fewer records went in than went out or had no timestamp"
    ]


def test_sorted_input_has_passed_all_records_at_its_end() -> None:
    """In BATCH mode the head of a task gets its records when the input has ended."""
    facts = tiny_job()
    facts.find("operators", vertex=1, operator=0)["params"] = '{"batch":true}'
    end = facts.find("lifecycle", task=1, event=LifeEvent.END_INPUT)
    ended = {column: end[column] for column in end}
    facts.drop("lifecycle", task=1, event=LifeEvent.END_INPUT)
    counts = facts.find("operator_counts", task=1, operator=0)
    counts["records_in"] = int(counts["records_in"]) - 1
    what = "fewer records went in than the task received"
    assert what not in [row["what"] for row in judge(facts, "conservation").evidence]
    facts.add("lifecycle", ended)
    assert what in [row["what"] for row in judge(facts, "conservation").evidence]


def test_records_without_timestamp_go_to_side_output() -> None:
    facts = tiny_job()
    source = facts.find("operators", vertex=0, operator=0)
    source["params"] = '{"watermarks":{"kind":"bounded","bound_ms":0,"missing_timestamp":"output"}}'
    like = facts.find("operators", vertex=0, operator=1)
    facts.add("operators", like, operator=3, kind="process", input_operator=0, input_tag="untimed", params="{}")
    counts = facts.find("operator_counts", task=0, operator=0)
    facts.add("operator_counts", counts, seq=9_999, operator=3, records_in=2, records_out=0)
    counts.update(records_in=int(counts["records_in"]) + 2, records_dropped=2, records_side=2)
    assert judge(facts, "conservation").verdict is Verdict.HOLDS
    counts.update(records_in=int(counts["records_in"]) + 1, records_dropped=3)
    assert [row["what"] for row in judge(facts, "conservation").evidence] == [
        "more records had no timestamp than went to side outputs"
    ]


def test_records_after_the_end_of_an_input_do_not_reach_its_operator() -> None:
    """Rule 4.11: timers of the sender that were interrupted fire after its END_OF_DATA (FLINK-39481)."""
    facts = tiny_job()
    facts.find("operators", kind="window")["params"] = '{"interruptible_timers":true}'
    record = facts.all("received", task=3, kind=ElementKind.RECORD)[-1]
    end = facts.all("received", task=3, kind=ElementKind.END_OF_DATA)[-1]
    record["seq"], end["seq"] = end["seq"], record["seq"]
    assert [row["what"] for row in judge(facts, "conservation").evidence] == [
        "more records went in than the task received"
    ]
    bump("operator_counts", "records_in", -1, task=3)(facts)
    assert judge(facts, "conservation").verdict is Verdict.HOLDS


def test_counters_written_twice_violate_prefix() -> None:
    facts = tiny_job()
    facts.add("operator_counts", facts.tables["operator_counts"][0], seq=10_000)
    assert judge(facts, "conservation", "failed").violations == 1


def test_unfinished_task_may_differ_by_one_record() -> None:
    facts = tiny_job()
    facts.drop("lifecycle", task=0, event=LifeEvent.FINISHED)
    bump("operator_counts", "records_out", -1, task=0, operator=1)(facts)
    assert judge(facts, "conservation", "failed").verdict is Verdict.HOLDS
    bump("operator_counts", "records_out", -1, task=0, operator=1)(facts)
    assert judge(facts, "conservation", "failed").violations == 2


def test_unfinished_task_with_emitter_may_differ_by_three_records() -> None:
    """Rule 11.30: its loop, its timers and the emitter."""
    facts = tiny_job()
    facts.find("operators", vertex=0, operator=1)["params"] = '{"design":"legacy"}'
    bump("operator_counts", "records_out", -3, task=0, operator=1)(facts)
    assert judge(facts, "conservation").verdict is Verdict.VIOLATED
    facts.drop("lifecycle", task=0, event=LifeEvent.FINISHED)
    assert judge(facts, "conservation", "failed").verdict is Verdict.HOLDS
    bump("operator_counts", "records_out", -1, task=0, operator=1)(facts)
    assert judge(facts, "conservation", "failed").violations == 2


def test_broadcast_sends_every_record_to_every_channel() -> None:
    facts = tiny_job()
    facts.find("edges", edge=0)["partitioner"] = "BROADCAST"
    outcome = judge(facts, "conservation")
    assert [(row["what"], row["counted"], row["expected"]) for row in outcome.evidence] == [
        ("fewer records were sent over edge 0 than went out", 5, 11),
        ("fewer records were sent over edge 0 than went out", 6, 11),
    ]  # fmt: skip


def test_chained_side_outputs_are_counted_per_tag() -> None:
    facts = tiny_job()
    like = facts.find("operators", vertex=1)
    facts.add("operators", like, operator=1, kind="process", input_operator=0, input_tag="late", params="{}")
    for task in (1, 2):
        counts = facts.find("operator_counts", task=task)
        facts.add("operator_counts", counts, seq=9_999, operator=1, records_in=counts["records_side"])
    assert judge(facts, "conservation").verdict is Verdict.HOLDS
    bump("operator_counts", "records_in", task=2, operator=1)(facts)
    assert [row["what"] for row in judge(facts, "conservation").evidence] == [
        "fewer records of side output late were read by one reader than by another",
        "more records were read from side outputs than went to them",
    ]  # fmt: skip


def test_run_without_counters_is_not_applicable() -> None:
    facts = tiny_job()
    counters, facts.tables["operator_counts"] = facts.tables["operator_counts"], []
    outcome = judge(facts, "conservation", "running")
    reason = "the run did not reach its end: no operator had written its counters"
    assert (outcome.verdict, outcome.reason) == (Verdict.NOT_APPLICABLE, reason)
    assert judge(facts, "conservation").violations == len(counters)


@pytest.mark.parametrize(
    ("change", "violations", "what"),
    [
        (
            bump("credits", "credits", channel=0, kind=CreditKind.INITIAL_GRANTED),
            1,
            "fewer initial credits reached the sender than were granted",
        ),
        (
            bump("credits", "credits", channel=0, kind=CreditKind.ANNOUNCED),
            1,
            "fewer credits reached the sender than were announced",
        ),
        (
            lose("buffers", channel=0, side=BufferSide.RECEIVED, kind=BufferKind.DATA),
            1,
            "fewer data buffers were received than were sent",
        ),
        (bump("credits", "balance", channel=0, kind=CreditKind.GOT), 1, "credits got with a wrong balance"),
        (bump("buffers", "credits", channel=0, side=BufferSide.SENT), 1, "a data buffer was sent with a wrong balance"),
        (
            bump("buffers", "credits", channel=0, side=BufferSide.SENT, kind=BufferKind.EVENT),
            1,
            "an event was sent with a wrong balance",
        ),
    ],
)
def test_each_violation_of_credits_is_reported(change: Callable[[FactSet], None], violations: int, what: str) -> None:
    facts = tiny_job()
    change(facts)
    outcome = judge(facts, "credits")
    assert outcome.violations == violations
    assert outcome.evidence[0]["what"] == what


def test_wrong_balance_violates_once_until_it_is_another() -> None:
    facts = tiny_job()
    rows = facts.all("buffers", channel=0, side=BufferSide.SENT)
    assert len(rows) > 2
    for row in (*rows, *facts.all("credits", channel=0, kind=CreditKind.GOT)):
        column = "credits" if "side" in row else "balance"
        row[column] = int(row[column]) + 3
    assert judge(facts, "credits").violations == 1
    rows[-1]["credits"] = int(rows[-1]["credits"]) + 1
    assert judge(facts, "credits").violations == 2


def test_data_sent_without_credit_is_reported_without_credit_facts() -> None:
    facts = tiny_job()
    like = facts.find("buffers", channel=0, side=BufferSide.SENT)
    facts.tables["credits"] = [row for row in facts.tables["credits"] if row["channel"] != 0]
    facts.tables["buffers"] = [row for row in facts.tables["buffers"] if row["channel"] != 0]
    facts.add("buffers", like, credits=-1)
    outcome = judge(facts, "credits", "stopped")
    assert [row["what"] for row in outcome.evidence] == ["a data buffer was sent without credit"]


def test_prefix_may_have_credits_in_flight_but_not_too_many() -> None:
    facts = tiny_job()
    announced = facts.all("credits", channel=0, kind=CreditKind.ANNOUNCED)[-1]
    announced["credits"] = 5
    assert judge(facts, "credits", "failed").verdict is Verdict.HOLDS
    announced["credits"] = 0
    assert judge(facts, "credits", "failed").violations == 1


def test_local_channels_have_no_credits() -> None:
    facts = tiny_job()
    for channel in facts.tables["channels"]:
        channel["local"] = 1
    outcome = judge(facts, "credits")
    assert (outcome.verdict, outcome.reason) == (
        Verdict.NOT_APPLICABLE, "every channel is local: local channels have no credits",
    )  # fmt: skip
    facts.find("channels", channel=3)["local"] = 0
    outcome = judge(facts, "credits")
    assert outcome.verdict is Verdict.HOLDS
    moved = [row for row in facts.all("buffers", channel=3) if row["side"] in (BufferSide.SENT, BufferSide.RECEIVED)]
    assert outcome.rows_examined == len(facts.all("credits", channel=3)) + len(moved)


BEGIN, END, WAIT, RESUME = ActionPhase.BEGIN, ActionPhase.END, ActionPhase.WAIT, ActionPhase.RESUME
Step = tuple[ActionPhase, int, int]


def with_actions(steps: list[Step]) -> FactSet:
    facts = tiny_job()
    facts.tables["actions"] = [
        {
            "seq": seq,
            "task": 1,
            "time_ns": seq,
            "phase": phase,
            "kind": kind,
            "action": action,
            "priority": -1,
            "suspended": 0,
        }
        for seq, (phase, kind, action) in enumerate(steps)
    ]
    return facts


DEFAULT, MAIL, COST, YIELD, BUFFER = (
    ActionKind.DEFAULT_ACTION,
    ActionKind.MAIL,
    WaitKind.COST,
    WaitKind.YIELD,
    WaitKind.BUFFER,
)


@pytest.mark.parametrize(
    ("steps", "violations"),
    [
        ([(BEGIN, DEFAULT, 0), (END, DEFAULT, 0), (WAIT, COST, 0), (RESUME, COST, 0)], 0),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, YIELD, 0),
                (BEGIN, MAIL, 1),
                (END, MAIL, 1),
                (RESUME, YIELD, 0),
                (END, DEFAULT, 0),
            ],
            0,
        ),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, YIELD, 0),
                (WAIT, COST, 1),
                (RESUME, COST, 1),
                (RESUME, YIELD, 0),
                (END, DEFAULT, 0),
            ],
            0,
        ),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, YIELD, 1),
                (BEGIN, MAIL, 2),
                (WAIT, COST, 3),
                (RESUME, COST, 3),
                (END, MAIL, 2),
                (RESUME, YIELD, 1),
                (END, DEFAULT, 0),
            ],
            0,
        ),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, COST, 1),
                (WAIT, YIELD, 2),
                (RESUME, YIELD, 2),
                (RESUME, COST, 1),
                (END, DEFAULT, 0),
            ],
            1,
        ),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, YIELD, 1),
                (BEGIN, MAIL, 2),
                (RESUME, YIELD, 1),
                (END, MAIL, 2),
                (END, DEFAULT, 0),
            ],
            1,
        ),
        ([(BEGIN, DEFAULT, 0), (BEGIN, MAIL, 1), (END, MAIL, 1), (END, DEFAULT, 0)], 1),
        (
            [
                (BEGIN, DEFAULT, 0),
                (WAIT, BUFFER, 0),
                (BEGIN, MAIL, 1),
                (END, MAIL, 1),
                (RESUME, BUFFER, 0),
                (END, DEFAULT, 0),
            ],
            1,
        ),
        ([(WAIT, COST, 0), (BEGIN, DEFAULT, 0), (RESUME, COST, 0), (END, DEFAULT, 0)], 2),
        ([(WAIT, COST, 0), (WAIT, BUFFER, 1), (RESUME, BUFFER, 1), (RESUME, COST, 0)], 1),
        ([(BEGIN, DEFAULT, 0), (END, DEFAULT, 1), (END, DEFAULT, 0)], 1),
        ([(BEGIN, DEFAULT, 0), (END, MAIL, 0), (END, DEFAULT, 0)], 1),
        ([(END, DEFAULT, 0)], 1),
        ([(BEGIN, DEFAULT, 0), (WAIT, YIELD, 0), (END, DEFAULT, 0), (RESUME, YIELD, 0)], 1),
    ],
)
def test_actions_overlap_only_inside_yield(steps: list[Step], violations: int) -> None:
    outcome = judge(with_actions(steps), "actions")
    assert outcome.violations == violations
    assert outcome.rows_examined == len(steps)


def test_unfinished_action_violates_only_whole_run() -> None:
    facts = with_actions([(BEGIN, DEFAULT, 0), (WAIT, YIELD, 1)])
    assert [row["what"] for row in judge(facts, "actions").evidence] == [
        "an action or wait never ends",
        "an action or wait never ends",
    ]
    assert judge(facts, "actions", "running").verdict is Verdict.HOLDS


def test_laws_of_level_full_are_not_applicable_below_it() -> None:
    facts = tiny_job(Level.ELEMENTS)
    for law in ("credits", "actions"):
        outcome = judge(facts, law)
        assert outcome.verdict is Verdict.NOT_APPLICABLE
        assert outcome.reason == "needs recording level full, the run was recorded at level elements"
