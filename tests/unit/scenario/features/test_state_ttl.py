"""``state_ttl``: which operators have it, what it configures, and when state expires."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.datastream.state import StateTtlConfig
from tests.support.jobs.scenarios import compiled, refused, results, sinks

HEAD = """\
flowsim: 1
name: ttl
settings: {buffer_timeout: 0}
sources:
  rows:
    script:
      fields: {k: string, n: long}
      gap: 10 ms
      subtasks:
        - - {record: [a, 1], step: 0}
          - {record: [a, 2], step: 1}
          - {record: [a, 4], step: 3}
          - {record: [b, 8], step: 4}
          - {record: [a, 16], step: 6}
          - {end: true, step: 9}
"""
"""Step n is at 1010 + 10 n ms: key a at 1010, 1020, 1040 and 1070 ms, key b at 1050 ms."""
NEVER_EXPIRE = [("a", 1), ("a", 3), ("a", 7), ("b", 8), ("a", 23)]


def summed(tmp_path: Path, state_ttl: str, operator: str = "sum: n") -> list[object]:
    body = f"operators:\n  s: {{input: rows, key_by: k, {operator}, state_ttl: {state_ttl}}}\n{sinks(out='s')}"
    return results(body, tmp_path, head=HEAD, allow_python=True)["out"]


@pytest.mark.parametrize(
    ("state_ttl", "expected"),
    [
        ("31 ms", NEVER_EXPIRE),
        ("30 ms", [("a", 1), ("a", 3), ("a", 7), ("b", 8), ("a", 16)]),
        ("20 ms", [("a", 1), ("a", 3), ("a", 4), ("b", 8), ("a", 16)]),
        ("10 ms", [("a", 1), ("a", 2), ("a", 4), ("b", 8), ("a", 16)]),
        ("{ttl: 10 ms, update_type: disabled}", NEVER_EXPIRE),
        # An expired value is read once more if nothing has removed it.
        (
            "{ttl: 10 ms, state_visibility: return_expired_if_not_cleaned_up, cleanup_in_background: false}",
            NEVER_EXPIRE,
        ),
    ],
)
def test_sum_begins_again_when_the_last_record_of_the_key_is_as_old_as_the_ttl(
    state_ttl: str, expected: list[object], tmp_path: Path
) -> None:
    assert summed(tmp_path, state_ttl) == expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("reduce: {n: sum}", [1, 3, 4, 8, 16]),
        ("min: n", [1, 1, 4, 8, 16]),
        ("max: n", [1, 2, 4, 8, 16]),
        ("min_by: n", [1, 1, 4, 8, 16]),
        ("max_by: n", [1, 2, 4, 8, 16]),
    ],
)
def test_every_rolling_operator_can_expire(operator: str, expected: list[int], tmp_path: Path) -> None:
    assert [row[1] for row in summed(tmp_path, "20 ms", operator)] == expected  # type: ignore[index]


FIELDS = "fields: {k: string, n: long}"


@pytest.mark.parametrize("operator", ["process", "map", "flat_map"])
def test_state_of_a_python_function_expires_unless_it_has_its_own_ttl(operator: str, tmp_path: Path) -> None:
    kind = {"process": "", "map": "Mapped", "flat_map": "FlatMapped"}[operator]
    own = f"{operator}: {{python: 'flowsim_user_code:Remembering{kind}', {FIELDS}}}"
    assert summed(tmp_path, "20 ms", own) == [("a", 1), ("a", 3), ("a", 4), ("b", 8), ("a", 16)]
    if operator == "process":
        own = f"{operator}: {{python: 'flowsim_user_code:RememberingForever', {FIELDS}}}"
        assert summed(tmp_path, "20 ms", own) == NEVER_EXPIRE


def test_state_of_functions_of_two_inputs_expires(tmp_path: Path) -> None:
    body = (
        "operators:\n"
        "  c: {input: rows, state_ttl: 20 ms, connect: {to: rows, key_by: [k, k], process: "
        f"{{python: 'flowsim_user_code:RememberingTwo', {FIELDS}}}}}}}\n"
        "  b: {input: rows, key_by: k, state_ttl: 20 ms, broadcast: {to: rows, process: "
        f"{{python: 'flowsim_user_code:RememberingBroadcast', {FIELDS}}}}}}}\n" + sinks(out_c="c", out_b="b")
    )
    found = results(body, tmp_path, head=HEAD, allow_python=True)
    assert found["out_c"] == found["out_b"] == [("a", 1), ("a", 3), ("a", 4), ("b", 8), ("a", 16)]


def alarms(tmp_path: Path, after: str, state_ttl: str | None) -> list[object]:
    ttl = "" if state_ttl is None else f", state_ttl: {state_ttl}"
    alarm = f"alarm: {{after: {after}, time: processing, renew: false, emit: {{n: n}}}}"
    body = f"operators:\n  s: {{input: rows, key_by: k, {alarm}{ttl}}}\n{sinks(out='s')}"
    return results(body, tmp_path, head=HEAD)["out"]


def test_alarm_whose_state_expires_before_its_timer_emits_nothing(tmp_path: Path) -> None:
    assert alarms(tmp_path, "15 ms", None) == [(1, 1025), (4, 1055), (8, 1065), (16, 1085)]
    # A timer of processing time fires one millisecond after its time.
    assert alarms(tmp_path, "15 ms", "17 ms") == alarms(tmp_path, "15 ms", None)
    assert alarms(tmp_path, "15 ms", "16 ms") == []


def test_timer_of_an_expired_alarm_does_not_fire_the_next_alarm_of_its_key(tmp_path: Path) -> None:
    """Key a sets an alarm for 1045 ms at 1010 ms and, when its state has expired, one for 1075 ms at 1040 ms."""
    assert alarms(tmp_path, "35 ms", "30 ms") == []


def test_reads_renew_state_only_if_the_update_type_says_so(tmp_path: Path) -> None:
    """The record at 1020 ms reads the alarm that the one at 1010 ms has set for 1035 ms."""
    assert (1, 1035) not in alarms(tmp_path, "25 ms", "{ttl: 20 ms}")
    assert (1, 1035) in alarms(tmp_path, "25 ms", "{ttl: 20 ms, update_type: on_read_and_write}")


def config(tmp_path: Path, state_ttl: str) -> StateTtlConfig | None:
    body = f"operators:\n  s: {{input: rows, key_by: k, sum: n, state_ttl: {state_ttl}}}\n{sinks(out='s')}"
    nodes = compiled(HEAD + body, tmp_path).stream_graph().nodes.values()
    return next(node.state_ttl for node in nodes if node.name == "s")


def test_every_key_configures_its_part_of_the_ttl(tmp_path: Path) -> None:
    whole = config(
        tmp_path,
        "{ttl: 2 s, update_type: on_read_and_write, state_visibility: return_expired_if_not_cleaned_up, "
        "cleanup_full_snapshot: true, cleanup_incrementally: {cleanup_size: 7, run_cleanup_for_every_record: true}, "
        "cleanup_in_background: false}",
    )
    assert repr(whole) == "StateTtlConfig(2000 ms, OnReadAndWrite, ReturnExpiredIfNotCleanedUp)"
    assert whole is not None
    cleanup = whole.get_cleanup_strategies()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.cleanup_size, incremental.run_cleanup_for_every_record) == (7, True)
    assert (cleanup.in_full_snapshot(), cleanup.is_cleanup_in_background()) == (True, False)
    short = config(tmp_path, "1500 ms")
    assert repr(short) == "StateTtlConfig(1500 ms, OnCreateAndWrite, NeverReturnExpired)"
    assert short is not None
    cleanup = short.get_cleanup_strategies()
    assert (cleanup.in_full_snapshot(), cleanup.is_cleanup_in_background()) == (False, True)
    assert config(tmp_path, "{ttl: 1 s, update_type: disabled}") is None


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("map: {select: {n: n}}", "this map has none that can expire"),
        ("key_by: k, filter: n > 1", "this filter has none that can expire"),
        ("key_by: k, window: {tumbling: 1 s, time: processing}, aggregate: {c: count()}", "windows has none"),
        ("key_by: k, window: {tumbling: 1 s, time: processing}, reduce: {n: sum}", "windows has none"),
        ("process: {python: 'a:b', fields: {n: long}}", "state_ttl needs key_by"),
        ("connect: {to: rows, process: {python: 'a:b', fields: {n: long}}}", "state_ttl needs key_by"),
        ("connect: {to: rows, key_by: [k, k], map: [{select: {n: n}}, {select: {n: n}}]}", "this connect has none"),
        ("broadcast: {to: rows, put: k, get: k, add: {m: right.n}}", "this broadcast has none"),
        (
            "interval_join: {to: rows, key_by: [k, k], lower: 0 ms, upper: 1 ms, select: {n: left.n}}",
            "this interval_join has none",
        ),
    ],
)
def test_operator_without_keyed_state_of_a_function_refuses_a_ttl(operator: str, message: str, tmp_path: Path) -> None:
    body = f"operators:\n  s: {{input: rows, state_ttl: 1 s, {operator}}}\n{sinks(out='s')}"
    (error,) = refused(HEAD + body, tmp_path)
    assert "operators.s" in error
    assert message in error


@pytest.mark.parametrize(
    "state_ttl",
    ["0 ms", "{}", "{ttl: 1 s, update_type: sometimes}", "{ttl: 1 s, cleanup_incrementally: {cleanup_size: 0}}"],
)
def test_invalid_ttl_is_refused_with_position(state_ttl: str, tmp_path: Path) -> None:
    body = f"operators:\n  s: {{input: rows, key_by: k, sum: n, state_ttl: {state_ttl}}}\n{sinks(out='s')}"
    assert any(line.startswith("s.yaml:17:") and "state_ttl" in line for line in refused(HEAD + body, tmp_path))


@pytest.mark.parametrize(("state_ttl", "sums"), [("900 ms", [1, 2, 6, 8, 22]), ("2 s", [1, 3, 7, 8, 23])])
def test_state_of_a_checkpoint_may_expire_before_the_restart(state_ttl: str, sums: list[int], tmp_path: Path) -> None:
    """The checkpoint has the first record; the task fails 32 ms after the start and restarts a second later."""
    settings = (
        "settings: {buffer_timeout: 0, checkpointing: {interval: 25 ms}, restart_strategy: {fixed_delay: {delay: 1 s}}}"
    )
    head = HEAD.replace("settings: {buffer_timeout: 0}", settings) + "failures: [{fail_task: {task: s, at: 32 ms}}]\n"
    body = f"operators:\n  s: {{input: rows, key_by: k, sum: n, state_ttl: {state_ttl}}}\n{sinks(out='s')}"
    found = results(body, tmp_path, head=head)["out"]
    assert [row[1] for row in found] == sums  # type: ignore[index]
