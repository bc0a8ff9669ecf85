"""Laws channel-fifo and channel-end: each violation is reported and counted."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ElementKind, Level
from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.laws.judge import check_all
from flowsim.laws.law import NOTHING_YET, Outcome, Verdict
from tests.support.facts.tiny_job import FactSet, tiny_job


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def test_correct_channel_satisfies_fifo_and_every_row_is_examined() -> None:
    facts = tiny_job()
    outcome = judge(facts, "channel-fifo")
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.rows_examined == len(facts.tables["sent"]) + len(facts.tables["received"])


@pytest.mark.parametrize("column", ["fingerprint", "timestamp"])
def test_changed_element_violates_fifo_once(column: str) -> None:
    facts = tiny_job()
    row = facts.find("received", channel=1, position=2)
    row[column] = int(row[column]) + 1
    outcome = judge(facts, "channel-fifo")
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, 1)
    assert outcome.evidence[0]["what"] == "the received element differs from the sent element"
    assert (outcome.evidence[0]["channel"], outcome.evidence[0]["position"]) == (1, 2)


def test_swapped_elements_violate_fifo_at_both_positions_and_by_order() -> None:
    facts = tiny_job()
    first, second = facts.find("received", channel=0, position=0), facts.find("received", channel=0, position=1)
    first["position"], second["position"] = 1, 0
    assert judge(facts, "channel-fifo").violations == 3


def test_exchanged_receive_order_violates_fifo_once() -> None:
    facts = tiny_job()
    first, second = facts.find("received", channel=0, position=0), facts.find("received", channel=0, position=1)
    first["seq"], second["seq"] = second["seq"], first["seq"]
    assert [row["what"] for row in judge(facts, "channel-fifo").evidence] == ["received out of order"]


def test_lost_element_violates_fifo_only_in_whole_run() -> None:
    facts = tiny_job()
    end = facts.drop("received", channel=0, kind=ElementKind.END_OF_PARTITION)
    assert judge(facts, "channel-fifo").evidence[0]["what"] == "an element was sent, but never received"
    assert judge(facts, "channel-fifo").violations == 1
    for status in ("failed", "canceled", "stopped", "running"):
        assert judge(facts, "channel-fifo", status).verdict is Verdict.HOLDS, end


def test_unsent_element_and_duplicate_position_violate_fifo_in_prefix() -> None:
    facts = tiny_job()
    facts.add("received", facts.tables["received"][0], position=999)
    facts.add("sent", facts.tables["sent"][0])
    outcome = judge(facts, "channel-fifo", "failed")
    assert outcome.violations == 3
    whats = {"an element was received, but never sent", "two elements at one position", "received out of order"}
    assert {row["what"] for row in outcome.evidence} == whats


@pytest.mark.parametrize("side", ["sent", "received"])
def test_each_element_after_end_of_partition_violates_channel_end(side: str) -> None:
    facts = tiny_job()
    end = facts.find(side, channel=3, kind=ElementKind.END_OF_PARTITION)
    position = int(end["position"])
    facts.add(side, end, position=position + 1)
    facts.add(side, end, position=position + 2, kind=ElementKind.RECORD)
    outcome = judge(facts, "channel-end", "stopped")
    assert outcome.violations == 2
    assert {row["what"] for row in outcome.evidence} == {"after END_OF_PARTITION"}
    assert {row["side"] for row in outcome.evidence} == {side}


def test_each_element_after_end_of_data_violates_channel_end() -> None:
    facts = tiny_job()
    end = facts.find("sent", channel=0, kind=ElementKind.END_OF_DATA)
    record = facts.find("sent", channel=0, kind=ElementKind.RECORD)
    end["position"], record["position"] = record["position"], end["position"]
    # Everything between the two now follows END_OF_DATA as well.
    between = int(record["position"]) - int(end["position"])
    outcome = judge(facts, "channel-end")
    assert outcome.violations == between
    assert outcome.evidence[0]["what"] == "after END_OF_DATA"


def test_channel_without_end_violates_only_whole_run() -> None:
    facts = tiny_job()
    facts.drop("sent", channel=5, kind=ElementKind.END_OF_PARTITION)
    facts.drop("received", channel=5, kind=ElementKind.END_OF_PARTITION)
    outcome = judge(facts, "channel-end")
    assert [(row["side"], row["channel"]) for row in outcome.evidence] == [("sent", 5), ("received", 5)]
    assert judge(facts, "channel-end", "canceled").verdict is Verdict.HOLDS


def test_job_without_channels_is_not_applicable_and_empty_channels_are_vacuous() -> None:
    facts = tiny_job()
    facts.tables["sent"], facts.tables["received"] = [], []
    assert judge(facts, "channel-fifo").verdict is Verdict.VACUOUS
    stopped = judge(facts, "channel-end", "stopped")
    assert (stopped.verdict, stopped.reason) == (Verdict.NOT_APPLICABLE, NOTHING_YET)
    facts.tables["channels"] = []
    for law in ("channel-fifo", "channel-end", "watermark-monotone", "valve"):
        outcome = judge(facts, law)
        assert (outcome.verdict, outcome.reason) == (Verdict.NOT_APPLICABLE, "the job has no channels")


def test_evidence_is_bounded_and_violation_count_is_not() -> None:
    facts = tiny_job(Level.ELEMENTS)
    for row in facts.tables["received"]:
        row["fingerprint"] = -1
    outcome = judge(facts, "channel-fifo")
    assert outcome.violations == len(facts.tables["received"]) > len(outcome.evidence) == 20


def test_fifo_has_nothing_to_examine_where_all_elements_are_restored() -> None:
    facts = tiny_job()
    facts.tables["sent"].clear()
    for number, row in enumerate(facts.tables["received"]):
        row["position"] = RECOVERED_FIRST + number
    outcome = judge(facts, "channel-fifo", "canceled")
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.NOT_APPLICABLE, 0)
