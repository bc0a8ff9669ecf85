"""The expected records of scenarios: the meaning of each block, and the cases in which the schedule decides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.testing import FAMILIES, DrawnScenario, Schedule, numbered_scenario, run_job
from flowsim.testing.drawing.draft import Family

RECORDS = [(1, "a", 5), (2, "b", 5), (3, "a", 5)]
NUMBERS = 6
"""Of scenarios of each family that are run."""
LEAST = 0.15
"""The share of the sinks of each family whose records are known."""


def scenario(*operators: dict[str, Any], records: Any = RECORDS, **parts: Any) -> DrawnScenario:
    """A chain of operators behind one source, and a sink."""
    subtasks = [[{"record": list(each), "timestamp": 10} for each in records]]
    source = {"script": {"fields": {"id": "long", "k": "string", "n": "long"}, "subtasks": subtasks}}
    names = ["s", *(f"o{number}" for number in range(len(operators)))]
    blocks = {
        name: {"input": before, "parallelism": 2, **block}
        for before, name, block in zip(names, names[1:], operators, strict=False)
    }
    sink = {"input": names[-1], "collect": {}, "parallelism": 2}
    return DrawnScenario(
        {"flowsim": 1, "name": "x", "sources": {"s": source}, "operators": blocks, "sinks": {"out": sink}, **parts}
    )


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ({"map": {"add": {"n": "n + id"}}}, [(1, "a", 6), (2, "b", 7), (3, "a", 8)]),
        ({"map": {"select": {"n": "n", "at": "timestamp"}}}, [(5, 10)] * 3),
        ({"filter": "id > 1"}, [(2, "b", 5), (3, "a", 5)]),
        ({"flat_map": {"each": "(n, id)", "into": "n", "type": "long", "keep": ["k"]}},
         [("a", 5), ("a", 1), ("b", 5), ("b", 2), ("a", 5), ("a", 3)]),
        ({"partition": "broadcast", "map": {"select": {"id": "id"}}}, [(1,), (2,), (3,)] * 2),
        ({"connect": {"to": "s", "partition": "broadcast", "map": [{"select": {"n": "n"}}, {"select": {"n": "0 - id"}}]}},
         [(5,)] * 3 + [(-1,), (-2,), (-3,)] * 2),
        ({"input": ["s", "s"], "map": {"select": {"id": "id"}}}, [(1,), (2,), (3,)] * 2),
        ({"async": {"mode": "ordered", "latency": "5 ms", "add": {"n": "id"}}}, [(1, "a", 1), (2, "b", 2), (3, "a", 3)]),
        ({"async": {"mode": "unordered", "latency": "5 ms", "timeout": "9 ms", "silent": {"when": "id == 2"},
                    "on_timeout": {"select": {"id": "0 - id"}}, "select": {"id": "id"}}}, [(1,), (-2,), (3,)]),
        ({"async": {"mode": "unordered", "timeout": "9 ms", "on_timeout": "drop",
                    "answers": [{"when": "id == 1", "results": []}, {"when": "id == 2", "silent": True},
                                {"results": [{"id": "id"}, {"id": "attempt"}]}]}}, [(3,), (1,)]),
    ],
)  # fmt: skip
def test_expected_records_follow_from_the_meaning_of_the_operator(
    operator: dict[str, Any], expected: list[tuple[object, ...]]
) -> None:
    drawn = scenario(operator)
    assert drawn.expected == {"out": Counter(expected)}
    assert Counter(run_job(drawn).values("out")) == drawn.expected["out"]


def test_rolling_aggregates_are_known_if_the_records_of_a_key_are_equal() -> None:
    only_keys = {"map": {"select": {"k": "k", "n": "1"}}}
    counted = scenario(only_keys, {"key_by": "k", "sum": "n"})
    assert counted.expected == {"out": Counter([("a", 1), ("a", 2), ("b", 1)])}
    assert Counter(run_job(counted).values("out")) == counted.expected["out"]
    assert scenario({"key_by": "k", "sum": "n"}).expected == {}


IN_TIME = [{"record": [1, "a", 5], "timestamp": 3}, {"watermark": 2}, {"record": [2, "a", 7], "timestamp": 12},
           {"record": [3, "b", 1], "timestamp": 14}, {"record": [4, "a", 5], "timestamp": 4}]  # fmt: skip
LATE = [*IN_TIME, {"watermark": 20}, {"record": [5, "a", 1], "timestamp": 20}]
IDLE = [*IN_TIME, {"idle": True}]
TEN_MS = {"window": {"tumbling": "10 ms"}, "key_by": "k", "aggregate": {"n": "sum(n)", "first": "first(k)"}}


def windowed(script: list[dict[str, Any]], operator: dict[str, Any], **source: Any) -> DrawnScenario:
    script_block = {"fields": {"id": "long", "k": "string", "n": "long"}, "subtasks": [script]}
    return DrawnScenario({**scenario(operator).data, "sources": {"s": {"script": script_block, **source}}})


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (TEN_MS, [("a", 0, 10, 10, "a"), ("a", 10, 20, 7, "a"), ("b", 10, 20, 1, "b")]),
        ({**TEN_MS, "having": "n > 8"}, [("a", 0, 10, 10, "a")]),
        ({"window": {"sliding": {"size": "6 ms", "slide": "3 ms"}, "offset": "1 ms"}, "key_by": {"odd": "n % 2"},
          "aggregate": {"ids": "max(id)"}},
         [(1, -2, 4, 1), (1, 1, 7, 4), (1, 4, 10, 4), (1, 7, 13, 2), (1, 10, 16, 3), (1, 13, 19, 3)]),
        ({"window": {"tumbling": "10 ms"}, "parallelism": 1, "aggregate": {"c": "count()"}}, [(0, 10, 2), (10, 20, 2)]),
    ],
)  # fmt: skip
def test_windows_of_records_in_time_are_known(operator: dict[str, Any], expected: list[tuple[object, ...]]) -> None:
    drawn = windowed(IN_TIME, operator)
    assert drawn.expected == {"out": Counter(expected)}
    assert Counter(run_job(drawn).values("out")) == drawn.expected["out"]


def test_windows_are_unknown_if_a_record_may_be_late_or_their_order_matters() -> None:
    assert windowed(LATE, TEN_MS).expected == windowed(IDLE, TEN_MS).expected == {}
    assert windowed(IN_TIME, {**TEN_MS, "aggregate": {"id": "last(id)"}}).expected == {}
    assert windowed(IN_TIME, {**TEN_MS, "window": {"tumbling": "10 ms", "trigger": {"count": 1}}}).expected == {}
    records = [each for each in IN_TIME if "record" in each]
    for bound, known in (("7 ms", False), ("12 ms", True)):
        strategy = {"timestamp": "timestamp", "emit": "every_record", "max_out_of_orderness": bound}
        assert bool(windowed(records, TEN_MS, watermarks=strategy).expected) is known


CALL = {"mode": "ordered", "add": {"n": "id"}, "timeout": "9 ms", "on_timeout": "drop"}


@pytest.mark.parametrize(
    "calls",
    [
        {**CALL, "latency": "9 ms"},
        {**CALL, "latency": {"uniform": {"low": "1 ms", "high": "2 ms"}}},
        {**CALL, "latency": "1 ms", "retry": {"fixed": {"max_attempts": 2, "delay": "4 ms"}, "when": "id == 2"}},
    ],
)
def test_records_are_unknown_if_an_answer_competes_with_its_timeout(calls: dict[str, Any]) -> None:
    assert scenario({"async": calls}).expected == {}
    assert scenario({"async": {**calls, "on_timeout": "nothing"}}).expected != {}


@pytest.mark.parametrize(
    "parts",
    [
        {"actions": [{"cancel": {"at": "1 ms"}}]},
        {"actions": [{"stop": {"at": "1 ms"}}]},
        {"phases": [{}]},
        {"failures": [{"fail_task": {"task": "s", "at": "1 ms"}}]},
        {
            "failures": [{"fail_task": {"task": "s", "at": "1 ms"}}],
            "settings": {"checkpointing": {"interval": "1 s", "mode": "at_least_once"}},
        },
    ],
)
def test_nothing_is_expected_of_a_job_that_ends_early_or_repeats_records(parts: dict[str, Any]) -> None:
    assert scenario({"filter": "id > 1"}, **parts).expected == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_runs_collect_the_expected_records(family: Family) -> None:
    numbered = [numbered_scenario(number, family=family, determined=False) for number in range(60)]
    drawn = [each for each in numbered if "phases" not in each.data]
    known = sum(len(each.expected) for each in drawn) / sum(len(each.data["sinks"]) for each in drawn)  # type: ignore[arg-type]
    assert known > LEAST
    for number, each in enumerate([each for each in drawn if each.expected][:NUMBERS]):
        run = run_job(each, schedule=Schedule("random", number, 1))
        assert run.result.status is JobStatus.FINISHED
        assert {sink: Counter(run.values(sink)) for sink in each.expected} == each.expected


def test_record_without_a_timestamp_has_that_of_the_one_before() -> None:
    stamped = scenario({"map": {"select": {"n": "n", "at": "timestamp"}}})
    sources: Any = stamped.data["sources"]
    del sources["s"]["script"]["subtasks"][0][1]["timestamp"]
    assert stamped.expected["out"] == Counter({(5, 10): 3})
    assert Counter(run_job(stamped).values("out")) == stamped.expected["out"]


def test_function_that_fails_to_open_repeats_records_without_checkpoints() -> None:
    late = {"map": {"python": "flowsim.testing.functions:LateOpening", "fields": {"n": "long"}}}
    assert scenario(late, {"map": {"add": {"n": "n"}}}).expected == {}
