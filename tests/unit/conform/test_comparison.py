"""Answers of two sides, made by hand, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from flowsim.conform.comparison import Agreement, Comparison, PlaceComparison, compared
from flowsim.conform.seen import Answer, SeenElement


def record(value: str, *, time: int = 0, key: str | None = None, attempt: int = 0, input: int = 0) -> SeenElement:
    return SeenElement(attempt, time, "record", input, value, 5, key)


def watermark(value: int, *, time: int = 0) -> SeenElement:
    return SeenElement(0, time, "watermark", 0, str(value), None)


def answer(*elements: SeenElement, status: str = "finished", **more: object) -> Answer:
    return Answer(status, {"sum/0": elements}, **more)  # type: ignore[arg-type]


def records(values: str, status: str = "finished") -> Answer:
    return answer(*map(record, values), status=status)


def only_place(ours: Sequence[Answer], flink: Sequence[Answer]) -> PlaceComparison:
    (place,) = compared(ours, flink).places
    return place


def agreement(ours: Sequence[Answer], flink: Sequence[Answer]) -> Agreement:
    return only_place(ours, flink).agreement


def test_equal_runs_agree_exactly() -> None:
    comparison = compared([records("ab")], [records("ab"), records("ab")])
    assert comparison.agrees
    assert comparison.worst is Agreement.EXACT
    assert comparison.open_places == []


def test_times_of_the_clock_are_not_compared() -> None:
    assert agreement([answer(record("a", time=3))], [answer(record("a", time=4))]) is Agreement.EXACT


def test_another_order_that_no_run_varies_is_a_difference() -> None:
    place = only_place([records("abc")], [records("acb")])
    assert place.agreement is Agreement.DIFFERENT
    assert place.first_difference is not None
    assert (place.first_difference.position, str(place.first_difference.ours), str(place.first_difference.flink)) == (
        1,
        "record b @ 5",
        "record c @ 5",
    )
    assert "in another order, which no run varied" in place.first_difference.hint


def test_an_order_of_another_schedule_is_one_of_the_orders() -> None:
    assert agreement([records("ab"), records("ba")], [records("ba")]) is Agreement.ONE_ORDER


def test_orders_that_flink_varies_agree_as_records() -> None:
    assert agreement([records("abc")], [records("bca"), records("cab")]) is Agreement.ANY_ORDER


def test_the_order_of_a_key_counts_where_only_the_order_of_keys_is_open() -> None:
    first, second, other = record("1", key="a"), record("2", key="a"), record("3", key="b")
    varied = [answer(first, second, other), answer(first, other, second)]
    assert agreement(varied, [answer(other, first, second)]) is Agreement.ANY_ORDER
    assert agreement(varied, [answer(other, second, first)]) is Agreement.DIFFERENT


def test_the_order_of_an_input_counts_where_only_the_order_of_inputs_is_open() -> None:
    left, right, other = record("1"), record("2"), record("3", input=1)
    varied = [answer(left, right, other), answer(left, other, right)]
    assert agreement(varied, [answer(other, left, right)]) is Agreement.ANY_ORDER
    assert agreement(varied, [answer(other, right, left)]) is Agreement.DIFFERENT


def test_the_last_watermark_counts_in_any_order() -> None:
    varied = [answer(record("1"), record("2"), watermark(9)), answer(record("2"), record("1"), watermark(9))]
    late = answer(record("1"), watermark(3), record("2"), watermark(9))
    assert agreement(varied, [late]) is Agreement.ANY_ORDER
    assert agreement(varied, [answer(record("1"), watermark(3), record("2"))]) is Agreement.DIFFERENT


def test_a_result_of_flink_that_is_one_of_ours_agrees() -> None:
    dropped, kept = answer(record("1"), watermark(9)), answer(record("1"), record("2"), watermark(9))
    flink = answer(record("2"), record("1"), watermark(9))
    assert agreement([dropped, kept], [flink]) is Agreement.ONE_RESULT
    place = only_place([dropped, kept], [answer(record("3"), watermark(9))])
    assert place.agreement is Agreement.DIFFERENT
    assert place.first_difference is not None
    assert "no run of Flink has the records of a run here" in place.first_difference.hint


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_a_cut_attempt_is_compared_up_to_the_end_of_the_shorter_side(status: str) -> None:
    assert agreement([records("abc", status)], [records("ab", status)]) is Agreement.EXACT
    assert agreement([records("abc", status)], [records("ax", status)]) is Agreement.DIFFERENT
    assert agreement([records("abc")], [records("ab")]) is Agreement.DIFFERENT


def test_what_a_cut_attempt_saw_before_its_last_instant_must_be_complete() -> None:
    whole = answer(record("a", time=1), record("b", time=1), record("c", time=2), status="failed")
    assert agreement([whole], [answer(record("a", time=1), record("b", time=1), status="failed")]) is Agreement.EXACT
    early = Answer("failed", {"sum/0": [record("a", time=1)], "other/0": [record("x", time=2)]})
    assert not compared([whole], [early]).agrees


def test_the_last_instant_of_a_region_is_before_the_end_of_other_regions() -> None:
    other = {"other/0": [record("x", time=9)]}

    def restarted(*elements: SeenElement) -> Answer:
        return Answer("finished", {"sum/0": [*elements, record("a", time=5, attempt=1)]} | other)

    assert compared([restarted(record("a", time=1), record("b", time=2))], [restarted(record("a", time=1))]).agrees
    differing = [restarted(record("x", time=1), record("b", time=2))]
    assert not compared(differing, [restarted(record("a", time=1))]).agrees


def test_attempts_are_compared_one_by_one() -> None:
    ours = answer(record("a"), record("b"), record("a", attempt=1), record("b", attempt=1))
    flink = answer(record("a"), record("a", attempt=1), record("b", attempt=1))
    comparison = compared([ours], [flink])
    assert [(place.attempt, place.agreement, place.is_cut) for place in comparison.places] == [
        (0, Agreement.EXACT, True),
        (1, Agreement.EXACT, False),
    ]
    assert not compared([ours], [answer(record("a"), record("b"))]).agrees


def fact(comparison: Comparison, what: str) -> tuple[str, str, bool]:
    (found,) = (each for each in comparison.facts if each.what == what)
    return found.ours, found.flink, found.agrees


def test_statuses_are_compared() -> None:
    comparison = compared([records("a")], [records("a", "running")])
    assert fact(comparison, "status") == ("finished", "running", False)
    assert not comparison.agrees


def test_snapshots_and_commits_are_compared() -> None:
    ours = answer(checkpoints=["1 checkpoint", "2 savepoint"], commits={"out": ["[1]", "[2]"]})
    flink = answer(checkpoints=["1 checkpoint", "2 savepoint"], commits={"out": ["[2]", "[1]"]})
    comparison = compared([ours], [flink])
    assert fact(comparison, "snapshots") == ("1 checkpoint, 2 savepoint", "1 checkpoint, 2 savepoint", True)
    assert fact(comparison, "commits of out") == ("[1], [2]", "[2], [1]", True)
    lacking = compared([ours], [answer()])
    assert fact(lacking, "snapshots") == ("1 checkpoint, 2 savepoint", "none", False)
    assert fact(lacking, "commits of out") == ("[1], [2]", "none", False)


def test_commits_of_a_sink_whose_input_is_open_are_compared_as_records() -> None:
    first = answer(record("a"), record("b"), commits={"sum": ["[1,2]", "[3]"]})
    flink = answer(record("b"), record("a"), commits={"sum": ["[1]", "[2,3]"]})
    assert not fact(compared([first], [replace(flink, seen=first.seen)]), "commits of sum")[2]
    assert fact(compared([first, replace(first, seen=flink.seen)], [flink]), "commits of sum")[2]
    lost = replace(flink, commits={"sum": ["[1]", "[2]"]})
    assert not fact(compared([first, replace(first, seen=flink.seen)], [lost]), "commits of sum")[2]


def test_a_failure_is_named_with_its_task() -> None:
    ours = answer(status="failed", task="a -> b (1/2)", cause="ValueError: no")
    flink = answer(status="failed", task="a -> b (1/2)", cause="IllegalStateException: no")
    assert fact(compared([ours], [flink]), "failure") == (
        "a -> b (1/2): ValueError: no",
        "a -> b (1/2): IllegalStateException: no",
        True,
    )
