from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from flowsim.connectors.script import ScriptedSource, end, idle, record, sleep, watermark
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import DataInputStatus

MS = 1_000_000


def test_each_subtask_emits_its_own_script(subtask: Callable) -> None:
    source = ScriptedSource([record("a", 3), watermark(2)], [record("b", 7)])
    assert source.required_parallelism == 2
    assert subtask(source.create_reader(), 0, 2).drain() == [("a", 3), ("wm", 2)]
    assert subtask(source.create_reader(), 1, 2).drain() == [("b", 7)]


def test_record_without_timestamp_repeats_previous_timestamp(subtask: Callable) -> None:
    source = ScriptedSource([record("a"), record("b", 5), watermark(9), record("c")])
    assert subtask(source.create_reader()).drain() == [("a", None), ("b", 5), ("wm", 9), ("c", 5)]


def test_record_ends_idleness(subtask: Callable) -> None:
    source = ScriptedSource([idle(), idle(), record("a", 1)])
    assert subtask(source.create_reader()).drain() == ["IDLE", "ACTIVE", ("a", 1)]


def test_sleep_delays_next_entry_and_end_in_virtual_time(subtask: Callable) -> None:
    playing = subtask(ScriptedSource([sleep(5), record("a", 1), sleep(7)]).create_reader())
    assert playing.poll() is DataInputStatus.NOTHING_AVAILABLE
    assert playing.operator.wake_time_ns == 1 + 5 * MS
    playing.clock.now_ns = playing.operator.wake_time_ns
    assert playing.poll() is DataInputStatus.NOTHING_AVAILABLE
    assert playing.take() == [("a", 1)]
    assert playing.operator.wake_time_ns == 1 + 5 * MS + 1000 + 7 * MS
    assert playing.drain() == []


def test_end_skips_remaining_entries(subtask: Callable) -> None:
    assert subtask(ScriptedSource([record("a", 1), end(), record("b", 2)]).create_reader()).drain() == [("a", 1)]


def test_steps_order_entries_across_subtasks_and_sources(subtask: Callable) -> None:
    first = ScriptedSource([record("a", 1, step=0), record("c", 3, step=2)], [record("b", 2, step=1)])
    second = ScriptedSource([record("d", 4, step=3)])
    times = {}
    for source, index, parallelism in ((first, 0, 2), (first, 1, 2), (second, 0, 1)):
        playing = subtask(source.create_reader(), index, parallelism, cost_ns=0)
        while playing.poll() is DataInputStatus.NOTHING_AVAILABLE:
            playing.clock.now_ns = playing.operator.wake_time_ns
            playing.poll(records=0)
            times[playing.take()[0][0]] = playing.clock.now_ns
    assert times == {"a": 1 + 10 * MS, "b": 1 + 20 * MS, "c": 1 + 30 * MS, "d": 1 + 40 * MS}


def test_batch_ends_between_two_entries(subtask: Callable) -> None:
    playing = subtask(ScriptedSource([record("a", 1), record("b", 2)]).create_reader())
    assert playing.poll(records=1) is DataInputStatus.MORE_AVAILABLE
    assert playing.take() == [("a", 1)]
    assert playing.drain() == [("b", 2)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScriptedSource(), "expected one script per subtask, got none"),
        (
            lambda: ScriptedSource([record(1, step=1), record(2, step=1)]),
            "entry 1: expected a step of at least 2, because entry 0 of the subtask has step 1, got 1",
        ),
        (lambda: ScriptedSource([], [idle(step=-2)]), "subtask 1, entry 0: expected step >= -1, got -2"),
        (lambda: ScriptedSource([], gap_ms=0), "expected gap_ms >= 1, got 0"),
        (lambda: sleep(-1), "sleep: expected 0 ms or more, got -1"),
    ],
)
def test_invalid_scripts_are_refused(make: Callable, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()


def test_entries_of_split_use_output_of_that_split(subtask: Callable) -> None:
    """Rule 8.6: both splits are there from the beginning, so the watermark of one waits for the other."""
    script = [
        watermark(9, split="a"),
        record("x", 1, split="b"),
        watermark(4, split="b"),
        end(split="b"),
        watermark(10, split="a"),
    ]
    assert subtask(ScriptedSource(script).create_reader()).drain() == [("x", 1), ("wm", 4), ("wm", 10)]


def test_entries_of_paused_split_wait_and_others_are_emitted(subtask: Callable) -> None:
    """Rule 8.24."""
    script = [record(name, 1, split=split) for name, split in (("p1", "p"), ("q1", "q"), ("p2", "p"), ("q2", "q"))]
    reader = ScriptedSource(script).create_reader()
    playing = subtask(reader)
    reader.pause_or_resume_splits(["q"], [])
    assert playing.poll() is DataInputStatus.NOTHING_AVAILABLE
    assert playing.take() == [("p1", 1), ("p2", 1)]
    assert playing.operator.wake_time_ns is None
    reader.pause_or_resume_splits([], ["q"])
    assert playing.poll() is DataInputStatus.END_OF_DATA
    assert playing.take() == [("q1", 1), ("q2", 1)]


def test_entry_after_end_of_split_is_refused() -> None:
    with pytest.raises(BadInput, match="subtask 0, entry 1: split 'a' has already ended"):
        ScriptedSource([end(split="a"), record("x", 1, split="a")])


def test_script_with_splits_has_params_and_repr() -> None:
    source = ScriptedSource([record("x", 1, split="a"), idle(step=2, split="b"), end(split="a")])
    assert source.params == {"entries": [3], "splits": [["a", "b"]]}
    assert repr(source) == (
        "ScriptedSource([record('x', 1, split='a'), idle(step=2, split='b'), end(split='a')], gap_ms=10)"
    )


@pytest.mark.parametrize(
    ("scripts", "said"),
    [
        (
            [[[record("a", 1)], [record("b", 2)]]],
            "subtask 0, entry 0: expected record(...), watermark(...), idle(), sleep(...)",
        ),
        (
            [[record("a", 1)], ["b"]],
            "subtask 1, entry 0: expected record(...), watermark(...), idle(), sleep(...) or end(), got 'b' of type str",
        ),
        ([record("a", 1)], "subtask 0: expected a list of entries, got RecordEntry("),
        ([[], 7], "subtask 1: expected a list of entries, got 7"),
    ],
    ids=["a bracket too many", "a bare value", "no brackets", "no list"],
)
def test_invalid_script_is_refused_with_position(scripts: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        ScriptedSource(*scripts)


def test_unneeded_brackets_are_reported() -> None:
    with pytest.raises(TypeError, match=r"of type list: pass the list of each subtask as a separate argument$"):
        ScriptedSource([[record("a", 1)]])  # type: ignore[list-item]
