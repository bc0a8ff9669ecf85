"""Law key-routing, and the Java hashes of the laws."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.facts.kinds import ElementKind
from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.values.java_hash_code import java_hash
from flowsim.values.keys import key_json
from flowsim.values.row import Row
from flowsim.values.types import Types
from tests.support.facts.tiny_job import FactSet, tiny_job
from tests.support.flink.golden import cases


def judge(facts: FactSet, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == "key-routing")


def test_every_keyed_record_is_examined_and_routed_to_its_owner() -> None:
    outcome = judge(tiny_job())
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 11)


@pytest.mark.parametrize(
    ("table", "column", "value", "what", "violations"),
    [
        ("sent", "channel", 1, "sent to a subtask that does not own the key group", 1),
        ("sent", "key_hash", 98, "the row's hash code is not its key's", 1),
        ("sent", "key", 5, "the sender never described this key", 1),
        ("keys", "key_json", '"z"', "the recorded hash code is not Java's", 6),
        ("keys", "key_type", "LONG", "the recorded hash code is not Java's", 6),
        ("keys", "key_hash", 1, "the row's hash code is not its key's", 6),
        ("keys", "task", 4, "the sender never described this key", 6),
    ],
)
def test_each_wrong_routing_is_reported(table: str, column: str, value: int | str, what: str, violations: int) -> None:
    facts = tiny_job()
    # Key "a" is sent six times, from task 0, to channel 0.
    facts.find(table, task=0, key=1000)[column] = value
    outcome = judge(facts, "stopped")
    assert outcome.violations == violations
    assert {row["what"] for row in outcome.evidence} == {what}


def test_job_without_keyed_edge_is_not_applicable_and_without_records_vacuous() -> None:
    facts = tiny_job()
    facts.tables["sent"] = facts.all("sent", kind=ElementKind.WATERMARK)
    assert judge(facts).verdict is Verdict.VACUOUS
    facts.find("edges", partitioner="HASH")["partitioner"] = "REBALANCE"
    assert judge(facts).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.golden
def test_hash_and_owner_equal_flinks() -> None:
    boxed = {"String": "STRING", "Integer": "INT", "Long": "LONG", "Double": "DOUBLE", "Boolean": "BOOLEAN"}
    judged = 0
    for case in cases("component/key_groups"):
        if case["kind"] != "key":
            continue
        declared, key = boxed.get(case["type"]), case["key"]
        if declared is None:
            declared, key = _tuple_type(key), _as_tuple(key)
        name, text = key_json(key, declared)
        key_hash = recorded_key_hash(name, text)
        assert key_hash == case["hash"], case
        if "subtask" in case:
            assert owner_subtask(key_hash, case["parallelism"], case["max_parallelism"]) == case["subtask"], case
        judged += 1
    assert judged > 1000


def _tuple_type(items: list[Any]) -> str:
    kinds = (_tuple_type(i) if isinstance(i, list) else "STRING" if isinstance(i, str) else "INT" for i in items)
    return f"TUPLE<{','.join(kinds)}>"


def _as_tuple(items: list[Any]) -> tuple[object, ...]:
    return tuple(_as_tuple(i) if isinstance(i, list) else i for i in items)


@pytest.mark.parametrize(
    ("key", "declared"),
    [
        (b"\x00\x80\xff", None),
        (float("nan"), None),
        (float("-inf"), None),
        (-0.0, None),
        (1.5, Types.FLOAT()),
        (float("nan"), Types.FLOAT()),
        ("\U0001f605", None),
        ("x", Types.CHAR()),
        (True, None),
        (-1, Types.BYTE()),
        (Row("a", 1, None), None),
        (Row(1.0, b"\x01"), None),
        (("a", None, (1, True)), None),
        ((), None),
        (-(2**63), None),
    ],
)
def test_recorded_key_of_any_type_gives_its_hash(key: object, declared: Any) -> None:
    assert recorded_key_hash(*key_json(key, declared)) == java_hash(key, declared)


@pytest.mark.parametrize(
    ("key_type", "text"),
    [("STRING", "1"), ("LONG", '"a"'), ("TUPLE<LONG>", "[1,2]"), ("NO_TYPE", "1"), ("LONG", "{"), ("LONG", "9" * 20)],
)
def test_recorded_key_of_wrong_type_has_no_hash(key_type: str, text: str) -> None:
    assert recorded_key_hash(key_type, text) is None
