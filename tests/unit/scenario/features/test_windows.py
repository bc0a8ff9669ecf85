"""Windows of a scenario: hand-computed results of each kind for one small input, and refused blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.scenarios import refused, results, sinks

HEAD = """\
flowsim: 1
name: windows
settings: {buffer_timeout: 0}
sources:
  rows:
    script:
      fields: {k: string, n: long}
      gap: 10 ms
      subtasks:
        - - {record: [a, 1], timestamp: 1, step: 0}
          - {record: [a, 2], timestamp: 4, step: 1}
          - {record: [b, 3], timestamp: 7, step: 2}
          - {record: [a, 4], timestamp: 16, step: 3}
          - {watermark: 16, step: 4}
          - {record: [a, 5], timestamp: 5, step: 5}
          - {end: true, step: 6}
"""
"""On the clock, which begins at 1000 ms, step n happens (n + 1) * 10 ms later; the record of step 5 is behind the watermark."""


def operator(window: str, what: str = "aggregate: {n: count(), s: sum(n)}", key: str = "key_by: k") -> str:
    return f"operators:\n  w:\n    input: rows\n    {key}\n    window: {window}\n    {what}\n"


def found(
    tmp_path: Path, window: str, *more: str, side: str | None = None, allow_python: bool = False, **others: str
) -> list[object]:
    wanted = {"out": "w"} if side is None else {"out": "w", "late": f"w.{side}"}
    got = results(operator(window, *more, **others) + sinks(**wanted), tmp_path, head=HEAD, allow_python=allow_python)
    return got["out"] if side is None else [got["out"], got["late"]]


KINDS = {
    "{tumbling: 10 ms}": [("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4)],
    # The record that is late comes back into its window, which fires again.
    "{tumbling: 10 ms, allowed_lateness: 10 ms}": [
        ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 0, 10, 3, 8), ("a", 10, 20, 1, 4),
    ],
    "{tumbling: 10 ms, offset: -3 ms}": [("a", -3, 7, 2, 3), ("a", 7, 17, 1, 4), ("b", 7, 17, 1, 3)],
    "{session: 5 ms}": [("a", 1, 9, 2, 3), ("b", 7, 12, 1, 3), ("a", 16, 21, 1, 4)],
    "{session: {gap: n * 3}}": [("a", 1, 10, 2, 3), ("b", 7, 16, 1, 3), ("a", 5, 28, 2, 9)],
    "{global_window: true, trigger: {count: 2}}": [("a", 2, 3), ("a", 4, 12)],
    "{global_window: true, trigger: {purging: {count: 2}}}": [("a", 2, 3), ("a", 2, 9)],
    "{global_window: true, trigger: end_of_stream}": [("a", 4, 12), ("b", 1, 3)],
    "{global_window: true, trigger: {delta: {of: n, threshold: 2}}}": [("a", 3, 7)],
    "{global_window: true, trigger: {count: 1}, evictor: {delta: {of: n, threshold: 3}}}": [
        ("a", 1, 1), ("a", 2, 3), ("b", 1, 3), ("a", 2, 6), ("a", 2, 9),
    ],
    "{global_window: true, trigger: {timeout: {of: never, after: 15 ms}}}": [("a", 2, 3), ("b", 1, 3), ("a", 3, 7)],
    "{tumbling: 10 ms, trigger: {any_of: [event_time, {count: 2}]}}": [
        ("a", 0, 10, 2, 3), ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4),
    ],
    "{tumbling: 10 ms, trigger: {purging: {any_of: [event_time, {count: 2}]}}}": [
        ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4),
    ],
    # Only the firings of one part purge.
    "{global_window: true, trigger: {any_of: [{count: 1}, {purging: {count: 3}}]}}": [
        ("a", 1, 1), ("a", 2, 3), ("b", 1, 3), ("a", 3, 7), ("a", 1, 5),
    ],
    # Two counts of one window are two states.
    "{global_window: true, trigger: {any_of: [{count: 4}, {count: 3}]}}": [("a", 3, 7), ("a", 4, 12)],
    # The counts of merged sessions are added.
    "{session: {gap: n * 3}, trigger: {any_of: [event_time, {count: 2}]}}": [
        ("a", 1, 10, 2, 3), ("a", 1, 10, 2, 3), ("b", 7, 16, 1, 3), ("a", 5, 28, 2, 9), ("a", 5, 28, 2, 9),
    ],
    "{count: 2}": [("a", 2, 3), ("a", 2, 9)],
    "{count: {size: 3, slide: 2}}": [("a", 2, 3), ("a", 3, 11)],
    "{tumbling: 30 ms, time: processing}": [
        ("a", 990, 1020, 1, 1), ("a", 1020, 1050, 2, 6), ("b", 1020, 1050, 1, 3),
    ],
}  # fmt: skip


@pytest.mark.parametrize("window", KINDS)
def test_window_kind_emits_hand_computed_results(window: str, tmp_path: Path) -> None:
    assert found(tmp_path, window) == KINDS[window]


def test_sliding_windows_overlap(tmp_path: Path) -> None:
    assert found(tmp_path, "{sliding: {size: 10 ms, slide: 5 ms}}") == [
        ("a", -5, 5, 2, 3), ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("b", 5, 15, 1, 3), ("a", 10, 20, 1, 4),
        ("a", 15, 25, 1, 4),
    ]  # fmt: skip


def test_late_output_keeps_late_records(tmp_path: Path) -> None:
    assert found(tmp_path, "{tumbling: 10 ms, late_output: late}", side="late") == [
        KINDS["{tumbling: 10 ms}"], [("a", 5)],
    ]  # fmt: skip


def test_early_firing_trigger_fires_again_at_end(tmp_path: Path) -> None:
    window = "{tumbling: 20 ms, trigger: {continuous_event_time: 8 ms}}"
    at_8_and_16, at_end = [("a", 0, 20, 3, 7), ("b", 0, 20, 1, 3)] * 2, [("b", 0, 20, 1, 3), ("a", 0, 20, 4, 12)]
    assert found(tmp_path, window) == at_8_and_16 + at_end


def test_window_without_key_takes_all_records(tmp_path: Path) -> None:
    assert found(tmp_path, "{tumbling: 10 ms}", key="# no key") == [(0, 10, 3, 6), (10, 20, 1, 4)]
    assert found(tmp_path, "{count: 3}", key="# no key") == [(3, 6)]


def test_window_may_be_reduced(tmp_path: Path) -> None:
    assert found(tmp_path, "{tumbling: 10 ms}", "reduce: {n: max}") == [("a", 2), ("b", 3), ("a", 4)]


def test_python_classes_as_trigger_and_evictor(tmp_path: Path) -> None:
    window = "{tumbling: 10 ms, trigger: {python: 'flowsim_user_code:OnEvery'}}"
    at_once = [("a", 0, 10, 1, 1), ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4)]
    assert found(tmp_path, window, allow_python=True) == at_once
    window = "{tumbling: 10 ms, evictor: {python: 'flowsim_user_code:KeepsTheFirst'}}"
    firsts = [("a", 0, 10, 1, 1), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4)]
    assert found(tmp_path, window, allow_python=True) == firsts


def test_python_name_that_is_no_evictor_is_refused(tmp_path: Path) -> None:
    window = "{tumbling: 1 s, evictor: {python: 'flowsim_user_code:OnEvery'}}"
    (error,) = refused(HEAD + operator(window) + sinks(out="w"), tmp_path, allow_python=True)
    assert "s.yaml:21:47 operators.w.window.evictor.python: expected an Evictor class" in error


def test_processing_time_windows_open_at_end_are_dropped(tmp_path: Path) -> None:
    """Question T03: pending processing-time timers are not fired when the input ends."""
    assert found(tmp_path, "{tumbling: 1 h, time: processing}") == []


REFUSED = {
    "{tumbling: 1 s, session: 1 s}": "expected one of tumbling, sliding, session, global_window, count, got tumbling and session",
    "{trigger: event_time}": "expected one of tumbling, sliding, session, global_window, count, got none of them",
    "{tumbling: 1 s, offset: 1 s}": "expected an offset shorter than the window",
    "{sliding: {size: 10 s, slide: 1 s}, offset: -2 s}": "expected an offset shorter than the slide",
    "{session: 1 s, offset: 1 ms}": "offset is for tumbling and sliding windows, this one is session",
    "{session: 1 s, stagger: random}": "stagger is for tumbling windows, this one is session",
    "{count: 3, time: processing}": "time is for tumbling, sliding and session windows, this one is count",
    "{global_window: true}": "global_window has no trigger by default, add a trigger",
    "{count: 3, trigger: never}": "count has its own trigger and evictor",
    "{tumbling: 1 s, time: processing, allowed_lateness: 1 s}": "allowed_lateness is for windows of event time",
    "{tumbling: 1 s, time: processing, late_output: l}": "late_output is only for event-time windows",
    "{tumbling: 0}": "tumbling",
    "{global_window: true, trigger: {count: 0}}": "count",
    "{global_window: true, trigger: sometimes}": "trigger",
    "{session: {gap: k}}": "expected a number, this expression gives string",
    "{session: {gap: n / 2}}": "expected milliseconds as an integer, got double",
    "{session: {gap: nn}}": "unknown name 'nn'",
    "{session: 1 s, trigger: {delta: {of: n, threshold: 1}}}": "merg",
    "{session: 1 s, trigger: {any_of: [event_time, {delta: {of: n, threshold: 1}}]}}": "merg",
    "{tumbling: 1 s, trigger: {any_of: [event_time]}}": "any_of",
    "{tumbling: 1 s, trigger: {any_of: [event_time, {count: 0}]}}": "trigger.any_of[1].count",
    "{tumbling: 1 s, trigger: {any_of: [never, {delta: {of: k, threshold: 1}}]}}": "trigger.any_of[1].delta.of",
    "{tumbling: 1 s, trigger: {python: 'a:b'}}": "runs only with --allow-python",
    "{tumbling: 1 s, evictor: {python: 'a:b'}}": "runs only with --allow-python",
    "{tumbling: 1 s, evictor: {python: 'a:b', after: true}}": "a user-defined evictor has its own methods",
    "{tumbling: 1 s, evictor: {python: 'a:b', count: 1}}": "expected one of count, time, delta, python, got count and python",
}


def test_having_drops_results(tmp_path: Path) -> None:
    """Rule 10.32: each record fires its window; only that with two records has a result."""
    window, aggregates = "{tumbling: 10 ms, trigger: {count: 1}}", "aggregate: {n: count(), s: sum(n)}"
    everything = [("a", 0, 10, 1, 1), ("a", 0, 10, 2, 3), ("b", 0, 10, 1, 3), ("a", 10, 20, 1, 4)]
    assert found(tmp_path, window, aggregates) == everything
    assert found(tmp_path, window, f"{aggregates}\n    having: n > 1 and s < 9") == [everything[1]]


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (
            "aggregate: {n: count()}\n    having: n",
            "operators.w.having: expected a condition, this expression gives long",
        ),
        ("aggregate: {n: count()}\n    having: m > 1", "operators.w.having: unknown name 'm'"),
        ("aggregate: {n: count()}\n    having: timestamp > 1", "operators.w.having: having cannot read the timestamp"),
        ("reduce: {n: sum}\n    having: n > 1", "operators.w: having needs aggregate, this operator is a reduce"),
    ],
)
def test_having_that_cannot_be_is_refused(what: str, problem: str, tmp_path: Path) -> None:
    (error,) = refused(HEAD + operator("{tumbling: 10 ms}", what) + sinks(out="w"), tmp_path)
    assert problem in error


@pytest.mark.parametrize("window", REFUSED)
def test_invalid_window_is_refused_with_position(window: str, tmp_path: Path) -> None:
    (error,) = refused(HEAD + operator(window) + sinks(out="w"), tmp_path)
    assert REFUSED[window] in error
    assert "s.yaml:21:" in error
