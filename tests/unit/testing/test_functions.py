"""The functions for tests in scenarios: what each order does, and what each function shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.errors import JobFailed
from flowsim.testing.functions import OneRecord
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.jobs.scenarios import refused

SEEN = "{what: string, key: string, record: string, timestamp: long, watermark: long, state: string}"
HEAD = """\
flowsim: 1
name: orders
settings: {cost: 0, buffer_timeout: 0}
sources:
  events: {script: {fields: {n: long, key: string, orders: string}, subtasks: [[%s]]}}
"""
RULES = "  rules: {script: {fields: {id: long, orders: string}, subtasks: [[%s]]}}\n"


def entry(record: str, step: int) -> str:
    return f"{{record: [{record}], timestamp: {10 + step}, step: {step}}}"


def job(events: list[str], operator: str, rules: list[str] | None = None, side: bool = False) -> str:
    """The events happen at steps 0, 1, ..., those of the rules between them."""
    text = HEAD % ", ".join(e if e.startswith("{") else entry(e, step) for step, e in enumerate(events))
    if rules is not None:
        text += RULES % ", ".join(entry(rule, step) for step, rule in enumerate(rules))
    sinks = "sinks:\n  out: {input: ordered, collect: {}}\n" + (
        "  side: {input: ordered.side, collect: {}}\n" if side else ""
    )
    return f"{text}operators:\n  ordered: {{input: events, {operator}}}\n{sinks}"


def function(name: str, fields: str = SEEN, more: str = "") -> str:
    return f"process: {{python: 'flowsim.testing.functions:{name}', fields: {fields}{more}}}"


def rows(text: str, sink: int = 0) -> list[tuple[object, ...]]:
    records = flowsim.run_scenario(text).sinks[sink].records
    assert records is not None
    return [row for row, _ in records]  # type: ignore[misc]


KEYED = "key_by: key, " + function("Orders")


@pytest.mark.parametrize(
    ("orders", "state"),
    [
        ("value 3; value 4", "value 7"),
        ("value 3; -value", ""),
        ("list 1 2; list 3", "list [1, 2, 3]"),
        ("list 1; list= 5 6", "list [5, 6]"),
        ("list 1; -list", ""),
        ("map 2 3; map 1 4", "map {1: 4, 2: 3}"),
        ("map 2 3; map 1 4; -map 1", "map {2: 3}"),
        ("map 2 3; -map", ""),
        ("reduce 3; reduce 9; reduce 4", "reduce 9"),
        ("reduce 3; -reduce", ""),
        ("aggregate 3; aggregate 4", "aggregate 7/2"),
        ("aggregate 3; -aggregate", ""),
        ("value 1; list 2; map 3 4; reduce 5; aggregate 6", "value 1; list [2]; map {3: 4}; reduce 5; aggregate 6/1"),
    ],
)
def test_orders_change_the_states_of_the_key(orders: str, state: str) -> None:
    found = rows(job([f"1, a, '{orders}'", "2, b, ''", "3, a, ''"], KEYED))
    assert found == [
        ("record", "a", "1 a", 10, NO_TIMESTAMP, state),
        ("record", "b", "2 b", 11, NO_TIMESTAMP, ""),
        ("record", "a", "3 a", 12, NO_TIMESTAMP, state),
    ]


def test_orders_register_and_delete_timers_of_the_key() -> None:
    """A timer at a multiple of 5 ms registers another one; a processing-time timer is due on the clock of the job."""
    events = [
        "1, a, 'event 15; event 13; processing 1036; processing 1032; value 1'",
        "2, a, '-event 13; -processing 1032'",
        "{watermark: 15, step: 2}",
        "{sleep: 100 ms, step: 3}",
    ]
    assert rows(job(events, KEYED))[2:] == [
        ("event_time timer", "a", None, 15, 15, "value 1"),
        ("processing_time timer", "a", None, 1036, 15, "value 1"),
        ("event_time timer", "a", None, 19, MAX_WATERMARK, "value 1"),
    ]


def test_records_and_timers_go_to_the_side_output() -> None:
    operator = "key_by: key, " + function("Orders", more=f", side_outputs: {{side: {SEEN}}}")
    text = job(["1, a, 'side; event 15'", "2, a, 'event 14'"], operator, side=True)
    assert [row[:4] for row in rows(text, 1)] == [("record", "a", "1 a", 10), ("event_time timer", "a", None, 15)]


def test_two_inputs_share_the_states_and_timers_of_the_key() -> None:
    operator = "connect: {to: rules, key_by: [n, id], " + function("OrdersOfTwo") + "}"
    found = rows(job(["7, a, 'value 1'"], operator, ["7, 'event 12; value 2'", "8, value 4"]))
    assert sorted(found, key=str) == [
        ("event_time timer", "7", None, 12, MAX_WATERMARK, "value 3"),
        ("record 1", "7", "7 a", 10, NO_TIMESTAMP, "value 1"),
        ("record 2", "7", "7", 10, NO_TIMESTAMP, "value 3"),
        ("record 2", "8", "8", 11, NO_TIMESTAMP, "value 4"),
    ]


def test_a_keyed_function_reads_the_rules_and_its_keys() -> None:
    operator = "key_by: key, broadcast: {to: rules, " + function("OrdersWithRules") + "}"
    rules = ["1, 'rule 5 6; rule 4 1'", "2, '-rule 4; keys'"]
    events = ["1, b, 'value 3; event 13'", "2, a, 'value 4'"]
    assert sorted(rows(job(events, operator, rules)), key=str) == [
        ("broadcast", None, "1", 10, NO_TIMESTAMP, "; rules {4: 1, 5: 6}"),
        ("broadcast", None, "2", 11, NO_TIMESTAMP, "; rules {5: 6}"),
        ("event_time timer", "b", None, 13, MAX_WATERMARK, "value 3; rules {5: 6}"),
        ("key", "a", "2", 11, NO_TIMESTAMP, "4"),
        ("key", "b", "2", 11, NO_TIMESTAMP, "3"),
        ("record", "a", "2 a", 11, NO_TIMESTAMP, "value 4; rules {4: 1, 5: 6}"),
        ("record", "b", "1 b", 10, NO_TIMESTAMP, "value 3"),
    ]


def test_functions_without_a_key_show_timestamps_watermarks_and_rules() -> None:
    events = ["1, a, ''", "{watermark: 8, step: 1}", "2, b, ''"]
    assert rows(job(events, function("Contexts"))) == [
        ("record", None, "1 a", 10, NO_TIMESTAMP, ""),
        ("record", None, "2 b", 12, 8, ""),
    ]
    of_two = rows(job(["1, a, ''"], "connect: {to: rules, " + function("ContextsOfTwo") + "}", ["1, ''"]))
    assert sorted(of_two, key=str) == [
        ("record 1", None, "1 a", 10, NO_TIMESTAMP, ""),
        ("record 2", None, "1", 10, NO_TIMESTAMP, ""),
    ]
    with_rules = rows(
        job(["1, a, ''", "2, a, ''"], "broadcast: {to: rules, " + function("Rules") + "}", ["9, 'rule 1 2'"])
    )
    assert with_rules[-1] == ("record", None, "2 a", 11, NO_TIMESTAMP, "; rules {1: 2}")
    assert ("broadcast", None, "9", 10, NO_TIMESTAMP, "; rules {1: 2}") in with_rules


def test_windows_show_their_records_and_count_their_firings() -> None:
    fields = "{key: string, start: long, end: long, records: string, watermark: long, firings: long, of_key: long}"
    window = "key_by: key, window: {tumbling: 10 ms, trigger: {count: 1}}, "
    events = ["1, a, ''", "2, a, ''", "{watermark: 19, step: 2}", "{record: [3, a, ''], timestamp: 25, step: 3}"]
    assert rows(job(events, window + function("WindowContents", fields))) == [
        ("a", 10, 20, "1 a", NO_TIMESTAMP, 1, 1),
        ("a", 10, 20, "1 a; 2 a", NO_TIMESTAMP, 2, 2),
        ("a", 20, 30, "3 a", 19, 1, 3),
    ]
    everything = "window: {global_window: true, trigger: end_of_stream}, "
    fields = "{start: long, end: long, records: string}"
    assert rows(job(["1, a, ''", "2, b, ''"], everything + function("AllWindowContents", fields))) == [
        (None, None, "1 a; 2 b")
    ]


def test_records_order_watermarks_and_idleness() -> None:
    text = job(["1, a, watermark 5", "2, a, idle", "3, a, 'active; watermark 7'", "4, a, ''"], function("Contexts"))
    operators = (
        "operators:\n  marked: {input: events, watermarks: {timestamp: n, "
        "generator: 'flowsim.testing.functions:Watermarks'}}\n"
    )
    text = text.replace("operators:\n", operators).replace("ordered: {input: events", "ordered: {input: marked")
    assert [row[4] for row in rows(text)] == [NO_TIMESTAMP, 5, 5, 7]


@pytest.mark.parametrize(
    ("order", "error"),
    [("fail", "refused 1 a"), ("evnt 15", "unknown order 'evnt'"), ("value x", "invalid literal for int")],
)
def test_an_order_that_cannot_be_fails_the_job(order: str, error: str) -> None:
    result = flowsim.run_scenario(job([f"1, a, '{order}'"], KEYED)).result
    assert isinstance(result.error, JobFailed)
    assert error in str(result.error)


def test_only_the_functions_of_the_module_need_no_permission(tmp_path: Path) -> None:
    text = job([], KEYED)
    assert refused(text.replace("functions:Orders", "functions:Order"), tmp_path) == [
        "s.yaml:7:59 operators.ordered.process.python: flowsim.testing.functions has no 'Order' (did you mean 'Orders'?)"
    ]
    for other in ("flowsim.testing.functions:TimeWindow", "flowsim.testing.runs:run_job"):
        assert len(refused(text.replace("flowsim.testing.functions:Orders", other), tmp_path)) == 1


def test_records_order_what_the_trigger_of_their_window_does() -> None:
    fields = "{key: string, start: long, end: long, records: string, watermark: long, firings: long, of_key: long}"
    trigger = "trigger: {python: 'flowsim.testing.functions:OrderedTrigger'}"
    events = [
        "1, a, fire",
        "2, a, purge",
        "3, a, 'event 14'",
        "4, b, 'fire; purge'",
        "5, b, ''",
        "{watermark: 14, step: 5}",
        "{watermark: 19, step: 6}",
    ]
    operator = f"key_by: key, window: {{tumbling: 10 ms, {trigger}}}, {function('WindowContents', fields)}"
    assert [(row[0], row[3], row[4]) for row in rows(job(events, operator))] == [
        ("a", "1 a", NO_TIMESTAMP),
        ("b", "4 b", NO_TIMESTAMP),
        ("a", "3 a", 14),
        ("b", "5 b", 19),
        ("a", "3 a", 19),
    ]


def test_operator_states_are_split_or_given_to_all_when_the_job_is_rescaled(tmp_path: Path) -> None:
    text = job(
        [*(f"{number}, a, ''" for number in range(5)), entry("5, a, ''", 7), entry("6, a, ''", 8)],
        function("OperatorStates"),
    )
    text = text.replace("ordered: {", "ordered: {partition: rebalance, ").replace(
        "settings: {", "settings: {parallelism: 1, "
    )
    text += (
        "actions: [{stop: {at: 60 ms, savepoint: {directory: s}}}]\n"
        "phases: [{set: {operators.ordered.parallelism: 2}}]\n"
    )
    last = flowsim.run_scenario(text, out=tmp_path)
    assert last.sinks[0].records is not None
    assert sorted(row[-1] for row, _ in last.sinks[0].records) == [  # type: ignore[index]
        "list [0, 1, 2]; union [5]; broadcast 1",
        "list [3, 4]; union [5]; broadcast 1",
    ]


def test_a_function_fails_when_it_opens_in_its_first_attempts() -> None:
    operator = "map: {python: 'flowsim.testing.functions:LateOpening', fields: {n: long, key: string, orders: string}}"
    text = job(["1, a, ''"], operator).replace(
        "settings: {", "settings: {restart_strategy: {fixed_delay: {attempts: 2, delay: 1 ms}}, "
    )
    run = flowsim.run_scenario(text)
    assert (run.result.status.value, run.result.restarts) == ("finished", 2)
    failed = flowsim.run_scenario(text.replace("attempts: 2", "attempts: 1"))
    assert "attempt 1 does not open" in str(failed.result.error)


def test_one_record_is_overwritten_by_the_next_one_and_punctual_fails_at_a_late_one() -> None:
    one = OneRecord()
    first = one.map((1, "a"))
    assert (one.map((2, "b")) is first, first) == (True, [2, "b"])
    operator = function("Punctual", "{n: long, key: string, orders: string}")
    assert len(rows(job(["1, a, ''", "{sleep: 1400 ms}", "2, a, ''"], operator))) == 2
    failed = flowsim.run_scenario(job(["1, a, ''", "{sleep: 1500 ms}", "2, a, ''"], operator))
    assert "2 a comes 1500 ms after the first record" in str(failed.result.error)
