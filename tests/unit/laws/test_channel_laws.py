"""Laws channel-fifo and channel-end: each violation is reported and counted."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import DRAIN, ElementKind, Level
from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.laws.judge import check_all
from flowsim.laws.law import NOTHING_YET, Outcome, Verdict
from flowsim.testing import DrawnScenario, run_job
from tests.support.facts.tiny_job import FactSet, tiny_job


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def test_correct_channel_satisfies_fifo_and_every_row_is_examined() -> None:
    facts = tiny_job()
    outcome = judge(facts, "channel-fifo")
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.rows_examined == len(facts.tables["sent"]) + len(facts.tables["received"])


def whats(facts: FactSet, law: str = "channel-fifo", status: str = "complete") -> list[object]:
    outcome = judge(facts, law, status)
    assert outcome.violations == len(outcome.evidence)
    return [row["what"] for row in outcome.evidence]


def numbered(facts: FactSet) -> FactSet:
    """Gives the elements of each channel different values, so that no element looks like another."""
    for side in ("sent", "received"):
        for row in facts.tables[side]:
            row["fingerprint"] = 1000 * int(row["channel"]) + int(row["position"])
    return facts


def without(facts: FactSet, channel: int, position: int) -> FactSet:
    """Loses an element on its way: the receiver counts on without it."""
    facts.drop("received", channel=channel, position=position)
    for row in facts.tables["received"]:
        if row["channel"] == channel and int(row["position"]) > position:
            row["position"] = int(row["position"]) - 1
    return facts


@pytest.mark.parametrize("column", ["fingerprint", "timestamp"])
def test_changed_element_violates_fifo_once(column: str) -> None:
    facts = tiny_job()
    row = facts.find("received", channel=1, position=2)
    row[column] = int(row[column]) + 1
    outcome = judge(facts, "channel-fifo")
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, 1)
    [evidence] = outcome.evidence
    sent, received = evidence.pop("sent"), evidence.pop("received")
    assert isinstance(sent, dict)
    assert received == sent | {column: sent[column] + 1}
    assert evidence == {
        "what": "the element at position 2 of channel 1 was changed", "channel": 1, "position": 2, "side": "received",
    }  # fmt: skip


@pytest.mark.parametrize("status", ["complete", "failed"])
def test_lost_element_violates_fifo_once_although_all_later_ones_move_up(status: str) -> None:
    facts = numbered(tiny_job())
    sent = facts.find("sent", channel=0, position=1)
    [evidence] = judge(without(facts, 0, 1), "channel-fifo", status).evidence
    assert evidence == {
        "what": "the element at position 1 of channel 0 was sent and never received", "channel": 0, "position": 1,
        "side": "sent",
        "sent": {"kind": "record", "timestamp": sent["timestamp"], "fingerprint": 1},
    }  # fmt: skip


@pytest.mark.parametrize("status", ["complete", "failed"])
def test_doubled_element_violates_fifo_once_although_all_later_ones_move_back(status: str) -> None:
    facts = numbered(tiny_job())
    for row in facts.tables["received"]:
        if row["channel"] == 0 and int(row["position"]) > 1:
            row["position"] = int(row["position"]) + 1
    facts.add("received", facts.find("received", channel=0, position=1), position=2)
    assert whats(facts, status=status) == ["the element at position 2 of channel 0 was received again"]


def test_lost_and_doubled_elements_of_one_channel_violate_fifo_once_each() -> None:
    facts = without(numbered(tiny_job()), 0, 0)
    last = facts.find("received", channel=0, kind=ElementKind.END_OF_PARTITION)
    facts.add("received", last, position=int(last["position"]) + 1)
    assert whats(facts) == [
        "the element at position 0 of channel 0 was sent and never received",
        f"the element at position {int(last['position']) + 1} of channel 0 was received again",
    ]


def test_exchanged_elements_violate_fifo_once() -> None:
    facts = numbered(tiny_job())
    first, second = facts.find("received", channel=0, position=0), facts.find("received", channel=0, position=1)
    first["seq"], second["seq"] = second["seq"], first["seq"]
    [evidence] = judge(facts, "channel-fifo").evidence
    assert evidence["what"] == "the elements at positions 1 and 0 of channel 0 were exchanged"
    assert [[each["fingerprint"] for each in evidence[side]] for side in ("sent", "received")] == [[0, 1], [1, 0]]  # type: ignore[attr-defined]


def test_equal_elements_at_other_positions_violate_fifo_once() -> None:
    facts = tiny_job()
    first, second = facts.find("received", channel=0, position=0), facts.find("received", channel=0, position=1)
    first["position"], second["position"] = 1, 0
    what = "positions of channel 0 do not ascend, or differ between sent and received"
    assert whats(facts) == [what]
    facts = tiny_job()
    for side in ("sent", "received"):
        facts.find(side, channel=0, position=1)["position"] = 0
    assert whats(facts) == [what]


def test_lost_last_element_violates_fifo_only_in_whole_run() -> None:
    facts = tiny_job()
    end = facts.drop("received", channel=0, kind=ElementKind.END_OF_PARTITION)
    position = facts.find("sent", channel=0, kind=ElementKind.END_OF_PARTITION)["position"]
    assert whats(facts) == [f"the element at position {position} of channel 0 was sent and never received"]
    for status in ("failed", "canceled", "stopped", "running"):
        assert judge(facts, "channel-fifo", status).verdict is Verdict.HOLDS, end


def test_unsent_element_and_repeated_position_violate_fifo_in_prefix() -> None:
    facts = numbered(tiny_job())
    facts.add("received", facts.find("received", channel=0, position=0), position=999, fingerprint=7)
    facts.add("sent", facts.find("sent", channel=1, position=0), fingerprint=8)
    assert whats(facts, status="failed") == [
        "the element at position 999 of channel 0 was received and never sent",
        "the element at position 0 of channel 1 was sent and never received",
    ]


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


STOPPED_WITHOUT_DRAIN = """
flowsim: 1
name: stopped-without-drain
settings:
  operator_chaining: false
  checkpointing: {interval: 20 ms}
sources:
  s: {generator: {count: 100, pace: 5 ms, fields: {n: {sequence: {}}}}}
sinks:
  out: {input: s, collect: {}}
actions:
  - stop: {at: 50 ms, savepoint: {}}
"""


def test_committables_may_follow_end_of_data_without_drain() -> None:
    """Rule 12.30: a writer that was not drained emits them before the barrier of the savepoint."""
    facts = FactSet(run_job(DrawnScenario.of(STOPPED_WITHOUT_DRAIN)).facts)
    assert judge(facts, "channel-end").verdict is Verdict.HOLDS
    for side in ("sent", "received"):
        for end in facts.all(side, kind=ElementKind.END_OF_DATA):
            end["timestamp"] = DRAIN
    assert whats(facts, "channel-end") == ["after END_OF_DATA"] * 6, "a summary and two committables, on both sides"


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
