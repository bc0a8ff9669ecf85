"""Numbers that no run records: the laws of event time report violations and raise no error."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from tests.support.facts.event_time_history import ACTIVE, IDLE, STATUS, WATERMARK, History
from tests.support.facts.tiny_job import tiny_job

IDS = ("watermark-monotone", "valve", "task-watermark", "idle", "timers", "end")
FAR = 2**62


def verdicts(history: History) -> dict[str, Verdict]:
    laws = [law for law in LAWS if law.id in IDS]
    return {outcome.law: outcome.verdict for outcome in check_all(history, laws=laws)}


@pytest.mark.parametrize("inputs", [-FAR, -1, 2, FAR])
def test_wrong_number_of_inputs_violates_task_watermark(inputs: int) -> None:
    """Nothing can come of an input that a task does not have, or of all together while one never emitted."""
    history = History(inputs=inputs).hears(WATERMARK, 5, of=1).sends(WATERMARK, 5)
    assert history.hears(STATUS, IDLE, of=-1).hears(STATUS, ACTIVE, of=FAR).broken("task-watermark") != []
    assert verdicts(history)["idle"] is Verdict.HOLDS


@pytest.mark.parametrize("kind", [-1, 77, 127])
@pytest.mark.parametrize("table", ["received", "task_watermark", "sent", "generated_watermark", "async_elements"])
def test_unknown_kinds_raise_no_error(table: str, kind: int) -> None:
    facts = tiny_job()
    for row in facts.tables[table]:
        row["kind"] = kind
    laws = [law for law in LAWS if law.id in IDS]
    assert len(check_all(facts, laws=laws)) == len(laws)


def test_evidence_shows_unknown_kind_as_number() -> None:
    history = History(inputs=0, chain=(("source", {"watermarks": {"kind": "bounded", "bound_ms": 1}}),))
    history.sends(ElementKind.RECORD, 9, 0).makes(77, 5, 0, 0)  # type: ignore[arg-type]
    (row,) = history.judged("task-watermark").evidence
    assert (row["what"], row["kind"]) == ("the strategy did not count the sent records", 77)


@pytest.mark.parametrize("column", ["input", "input_channel", "source_task", "target_task", "subpartition"])
@pytest.mark.parametrize("value", [-FAR, -1, 9, FAR])
def test_unknown_channel_places_raise_no_error(column: str, value: int) -> None:
    facts = tiny_job()
    for row in facts.tables["channels"]:
        row[column] = value
    laws = [law for law in LAWS if law.id in IDS]
    assert len(check_all(facts, laws=laws)) == len(laws)


@pytest.mark.parametrize("table", ["sent", "received", "task_watermark"])
@pytest.mark.parametrize("column", ["channel", "input", "timestamp", "position"])
@pytest.mark.parametrize("value", [-(2**63), -1, 2**63 - 1])
def test_extreme_numbers_raise_no_error(table: str, column: str, value: int) -> None:
    facts = tiny_job()
    for row in facts.tables[table]:
        if column in row:
            row[column] = value
    laws = [law for law in LAWS if law.id in IDS]
    assert len(check_all(facts, laws=laws)) == len(laws)


def test_evidence_of_emission_before_all_causes_has_first_seq() -> None:
    chain = (("async_wait", {"mode": "ordered", "capacity": 5}),)
    history = History(chain=chain)
    history._add("async_elements", 0, 0, 0, AsyncAction.EMIT, WATERMARK, 5, 0, 0, 0, 0)
    assert {row["seq"] for row in history.judged("task-watermark").evidence} == {0}


def test_operator_params_that_are_no_json_are_refused_as_damaged() -> None:
    history = History()
    history.tables["operators"] = [(0, 0, "map", "map", "{", -1, "")]
    with pytest.raises(BadInput, match="damaged: the params of operator 0 of vertex 0 are not JSON"):
        check_all(history)
