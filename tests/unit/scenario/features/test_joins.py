"""Joins, co-groups, broadcast lookups, alarms and rolling aggregates: small inputs, hand-computed results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.scenarios import refused, results, sinks

HEAD = """\
flowsim: 1
name: joins
settings: {buffer_timeout: 0}
sources:
  left:
    script:
      fields: {k: string, n: long}
      subtasks:
        - - {record: [a, 1], timestamp: 1, step: 0}
          - {record: [a, 2], timestamp: 12, step: 1}
          - {record: [b, 3], timestamp: 13, step: 2}
          - {watermark: 20, step: 3}
          - {record: [a, 4], timestamp: 8, step: 8}
          - {end: true, step: 9}
  right:
    script:
      fields: {code: string, n: long}
      subtasks:
        - - {record: [a, 10], timestamp: 3, step: 4}
          - {record: [a, 20], timestamp: 11, step: 5}
          - {record: [c, 30], timestamp: 14, step: 6}
          - {watermark: 9, step: 7}
          - {end: true, step: 9}
operators:
  two:
    input: left
"""


def found(tmp_path: Path, block: str, *sides: str) -> dict[str, list[object]]:
    streams = {"out": "two", **{side: f"two.{side}" for side in sides}}
    return results(block + sinks(**streams), tmp_path, head=HEAD)


def test_window_join_emits_each_pair_of_a_window(tmp_path: Path) -> None:
    block = """\
    join: {to: right, key_by: [k, code], window: {tumbling: 10 ms}, select: {key: left.k, a: left.n, b: right.n}}
"""
    assert found(tmp_path, block)["out"] == [("a", 1, 10), ("a", 2, 20)]


def test_late_record_joins_within_allowed_lateness(tmp_path: Path) -> None:
    block = """\
    join:
      to: right
      key_by: [k, code]
      window: {tumbling: 10 ms, allowed_lateness: 10 ms}
      select: {a: left.n, b: right.n}
"""
    assert found(tmp_path, block)["out"] == [(1, 10), (1, 10), (4, 10), (2, 20)]


def test_co_group_emits_keys_of_one_side(tmp_path: Path) -> None:
    block = """\
    co_group:
      to: right
      key_by: [k, code]
      window: {tumbling: 20 ms}
      left: {lefts: count(), s: sum(n)}
      right: {rights: count(), first_right: first(n)}
"""
    assert sorted(found(tmp_path, block)["out"]) == [
        ("a", 3, 7, 2, 10), ("b", 1, 3, 0, None), ("c", 0, None, 1, 30),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("side", "groups"),
    [("left: {s: sum(n)}", [("a", 7), ("b", 3), ("c", None)]), ("right: {n: count()}", [("a", 2), ("b", 0), ("c", 1)])],
)
def test_co_group_may_aggregate_one_side_only(tmp_path: Path, side: str, groups: list[object]) -> None:
    block = f"""\
    co_group:
      to: right
      key_by: [k, code]
      window: {{tumbling: 20 ms}}
      {side}
"""
    assert sorted(found(tmp_path, block)["out"], key=str) == groups


def test_co_group_with_all_records_evicted_emits_nothing(tmp_path: Path) -> None:
    block = """\
    co_group:
      to: right
      key_by: [k, code]
      window: {tumbling: 20 ms, evictor: {time: 0}}
      left: {lefts: count()}
"""
    assert found(tmp_path, block)["out"] == []


def test_interval_join_emits_pairs_within_bounds(tmp_path: Path) -> None:
    block = """\
    interval_join:
      to: right
      key_by: [k, code]
      lower: -2 ms
      upper: 2 ms
      select: {a: left.n, b: right.n}
      late_left: late
"""
    got = found(tmp_path, block, "late")
    assert (got["out"], got["late"]) == ([(1, 10), (2, 20)], [("a", 4)])


@pytest.mark.parametrize(
    ("bounds", "pairs"),
    [
        ("lower: -1 ms\n      upper: 2 ms", [(1, 10), (2, 20)]),
        ("lower: -1 ms\n      upper: 2 ms\n      upper_exclusive: true", [(2, 20)]),
        ("lower: -1 ms\n      upper: 2 ms\n      lower_exclusive: true", [(1, 10)]),
    ],
)
def test_interval_bounds_are_inclusive_unless_exclusive(tmp_path: Path, bounds: str, pairs: list[object]) -> None:
    block = f"""\
    interval_join:
      to: right
      key_by: [k, code]
      {bounds}
      select: {{a: left.n, b: right.n}}
"""
    assert found(tmp_path, block)["out"] == pairs


def test_broadcast_lookup_reads_state_of_every_subtask(tmp_path: Path) -> None:
    """The steps of the right side come later: only the last record of the left finds its partner."""
    block = """\
    broadcast: {to: right, put: code, get: k, add: {found: right.n}, missing: {found: "-1"}}
"""
    assert found(tmp_path, block)["out"] == [("a", 1, -1), ("a", 2, -1), ("b", 3, -1), ("a", 4, 20)]


def test_broadcast_lookup_drops_unmatched_record_by_default(tmp_path: Path) -> None:
    block = "    broadcast: {to: right, put: code, get: k, add: {sum: left.n + right.n}}\n"
    assert found(tmp_path, block)["out"] == [("a", 4, 24)]


OWN = {
    "co_group: {to: right, key_by: [k, code], window: {tumbling: 20 ms}, process: "
    "{python: 'flowsim_user_code:Sides', fields: {l: long, r: long}}}": [(0, 1), (1, 0), (3, 2)],
    "broadcast: {to: right, process: {python: 'flowsim_user_code:Passing', fields: {w: string, n: long}}}": [
        ("broadcast", 10), ("broadcast", 20), ("broadcast", 30), ("stream", 1), ("stream", 2), ("stream", 3), ("stream", 4),
    ],
    "key_by: k\n    broadcast: {to: right, process: {python: 'flowsim_user_code:KeyedPassing', fields: {k: string, n: long}}}": [
        ("a", 1), ("a", 2), ("a", 4), ("b", 3),
    ],
    "window: {global_window: true, trigger: end_of_stream}\n"
    "    process: {python: 'flowsim_user_code:WholeWindow', fields: {n: long}}": [(4,)],
}  # fmt: skip


@pytest.mark.parametrize("block", OWN)
def test_user_defined_functions_are_called(tmp_path: Path, block: str) -> None:
    got = results(f"    {block}\n" + sinks(out="two"), tmp_path, head=HEAD, allow_python=True)
    assert sorted(got["out"]) == OWN[block]


ROLLING = {
    "sum": [("a", 1), ("a", 3), ("b", 3), ("a", 7)],
    "min": [("a", 1), ("a", 1), ("b", 3), ("a", 1)],
    "max": [("a", 1), ("a", 2), ("b", 3), ("a", 4)],
    "min_by": [("a", 1), ("a", 1), ("b", 3), ("a", 1)],
    "max_by": [("a", 1), ("a", 2), ("b", 3), ("a", 4)],
}


@pytest.mark.parametrize("kind", ROLLING)
def test_rolling_aggregate_emits_for_each_record(tmp_path: Path, kind: str) -> None:
    assert found(tmp_path, f"    key_by: k\n    {kind}: n\n")["out"] == ROLLING[kind]


def test_alarm_fires_unless_cancelled(tmp_path: Path) -> None:
    block = """\
    key_by: k
    alarm: {when: n < 4, after: 5 ms, cancel: n == 2, emit: {key: k, n: n}}
"""
    # n = 2 cancels the alarm of a and sets a new one: 17; b's is 18; both go off at watermark 20.
    assert found(tmp_path, block)["out"] == [("a", 2, 17), ("b", 3, 18)]


@pytest.mark.parametrize(("renew", "at"), [("true", 72), ("false", 61)])
def test_repeated_alarm_is_moved_only_with_renew(tmp_path: Path, renew: str, at: int) -> None:
    block = f"""\
    key_by: k
    alarm: {{when: "k == 'a' and n < 4", after: 60 ms, renew: {renew}, emit: {{key: k}}}}
"""
    assert found(tmp_path, block)["out"] == [("a", at)]


def test_processing_time_alarm_fires_after_arrival_of_record(tmp_path: Path) -> None:
    block = """\
    key_by: k
    alarm: {when: n == 1, after: 15 ms, time: processing, emit: {key: k, n: n}}
"""
    ((key, n, at),) = found(tmp_path, block)["out"]  # type: ignore[misc]
    assert (key, n, at) == ("a", 1, 1025)


REFUSED = {
    "join: {to: right, key_by: [k, code], window: {tumbling: 1 s}, select: {a: n}}": "unknown name 'n'",
    "join: {to: right, key_by: [k, code], window: {tumbling: 1 s}, select: {a: left.m}}": "did you mean 'left.n'?",
    "join: {to: right, key_by: [k, code], window: {session: {gap: n}}, select: {a: left.n}}": "needs a fixed gap",
    "join: {to: right, key_by: [k, n], window: {tumbling: 1 s}, select: {a: left.n}}": "expected keys of one type",
    "join: {to: right, key_by: [k, code], window: {tumbling: 1 s, late_output: l}, select: {a: left.n}}": "late_output",
    "join: {to: wrong, key_by: [k, code], window: {tumbling: 1 s}, select: {a: left.n}}": "there is no stream 'wrong' above",
    "co_group: {to: right, key_by: [k, code], window: {tumbling: 1 s}, left: {key: count()}}": (
        "'key' is already a field of the result"
    ),
    "co_group: {to: right, key_by: [k, code], window: {tumbling: 1 s}}": "expected left and right, or one of them; or process",
    "co_group: {to: right, key_by: [k, code], window: {tumbling: 1 s}, left: {n: count()}, right: {n: count()}}": (
        "'n' is already a field of the result"
    ),
    "interval_join: {to: right, key_by: [k, code], lower: 1 s, upper: -1 s, select: {a: left.n}}": "expected lower <= upper",
    "interval_join: {to: right, key_by: [k, code], lower: 1, upper: 2, select: {a: left.n}}": "expected a duration",
    "broadcast: {to: right, put: code, add: {f: right.n}}": "add needs put and get",
    "broadcast: {to: right}": "expected one of add, process, got none of them",
    "broadcast: {to: right, put: code, get: k, add: {n: right.n}}": "'n' is already a field of the record",
    "broadcast: {to: right, put: code, get: k, add: {f: right.n}, missing: {g: 1}}": "expected missing to give the fields",
    "broadcast: {to: right, put: code, get: k, add: {f: right.n}, missing: {f: left.k}}": "the types of add, long, got",
    "key_by: k\n    broadcast: {to: right, put: code, get: k, add: {f: right.n}}": "remove key_by",
    "sum: k": "operators.two: sum needs key_by",
    "alarm: {after: 1 s, emit: {n: n}}": "alarm needs key_by",
    "key_by: k\n    sum: k": "sum takes a number, k is string",
    "key_by: k\n    max_by: m": "there is no field 'm'",
    "key_by: k\n    alarm: {after: 1 s, emit: {alarm_ms: n}}": "alarm_ms is the name of the field for the time of the alarm",
    "key_by: k\n    alarm: {when: n, after: 1 s, emit: {n: n}}": "expected a condition",
    "key_by: k\n    join: {to: right, key_by: [k, code], window: {tumbling: 1 s}, select: {a: left.n}}": "remove key_by",
}


@pytest.mark.parametrize("block", REFUSED)
def test_invalid_block_is_refused(tmp_path: Path, block: str) -> None:
    errors = refused(HEAD + f"    {block}\n" + sinks(out="two"), tmp_path)
    assert any(REFUSED[block] in error for error in errors), errors
    assert all(error.startswith("s.yaml:") for error in errors)
