from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.connectors.generator import (
    Choice,
    GeneratorSource,
    JitteredTime,
    Normal,
    SequenceOf,
    UniformDouble,
    UniformInt,
)
from flowsim.connectors.memory import CollectionSource
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import DataInputStatus

FIELDS = {
    "id": SequenceOf(100, 10),
    "key": Choice(("a", "b"), weights=(3, 1)),
    "amount": UniformInt(1, 6),
    "share": UniformDouble(0.0, 1.0),
    "noise": Normal(0.0, 1.0),
    "at": JitteredTime(1000, 5, 20),
}


def generated(subtask: Callable, source: GeneratorSource, parallelism: int, seed: int) -> list[list[object]]:
    return [subtask(source.create_reader(), i, parallelism, seed=seed).drain() for i in range(parallelism)]


def test_equal_seeds_give_equal_records(subtask: Callable) -> None:
    source = GeneratorSource(50, FIELDS, timestamp_field="at")
    assert generated(subtask, source, 2, seed=1) == generated(subtask, source, 2, seed=1)
    assert generated(subtask, source, 2, seed=1) != generated(subtask, source, 2, seed=2)


def test_subtasks_share_count_by_index(subtask: Callable) -> None:
    parts = generated(subtask, GeneratorSource(7, {"id": SequenceOf(100, 10), "m": SequenceOf(modulo=3)}), 3, seed=0)
    assert parts == [
        [((100, 0), None), ((130, 0), None), ((160, 0), None)],
        [((110, 1), None), ((140, 1), None)],
        [((120, 2), None), ((150, 2), None)],
    ]


def test_drawn_fields_keep_bounds_and_timestamp_is_the_named_field(subtask: Callable) -> None:
    (part,) = generated(subtask, GeneratorSource(200, FIELDS, timestamp_field="at"), 1, seed=3)
    for index, ((number, key, amount, share, _, at), timestamp) in enumerate(part):
        assert number == 100 + 10 * index
        assert key in ("a", "b")
        assert 1 <= amount <= 6
        assert 0.0 <= share <= 1.0
        assert 1000 + 5 * index - 20 <= at <= 1000 + 5 * index
        assert timestamp == at
    assert {value[1] for value, _ in part} == {"a", "b"}


def test_pace_schedules_records_in_virtual_time(subtask: Callable) -> None:
    running = subtask(GeneratorSource(3, {"id": SequenceOf()}, pace_ns=10_000).create_reader(), cost_ns=1000)
    wakes = []
    while running.poll() is DataInputStatus.NOTHING_AVAILABLE:
        wakes.append(running.operator.wake_time_ns)
        running.clock.now_ns = running.operator.wake_time_ns
    assert wakes == [11_001, 21_001]
    assert running.take() == [((0,), None), ((1,), None), ((2,), None)]


def test_endless_source_needs_cost_unless_paced() -> None:
    assert GeneratorSource(None, {"id": SequenceOf()}).needs_cost
    assert not GeneratorSource(None, {"id": SequenceOf()}, pace_ns=1).needs_cost
    assert not GeneratorSource(5, {"id": SequenceOf()}).needs_cost


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GeneratorSource(1, {}), "expected at least one field, got none"),
        (lambda: GeneratorSource(-1, FIELDS), "expected count >= 0, got -1"),
        (lambda: GeneratorSource(1, FIELDS, timestamp_field="att"), r"no field 'att' \(did you mean 'at'\?\)"),
        (lambda: GeneratorSource(1, FIELDS, pace_ns=0), "expected pace_ns >= 1, got 0"),
        (lambda: Choice(()), "choice: expected at least one value"),
        (lambda: Choice((1, 2), weights=(1,)), "choice: expected 2 weights, got 1"),
        (lambda: Choice((1,), weights=(0,)), "choice: expected weights >= 0, not all of them 0"),
        (lambda: UniformInt(2, 1), "uniform int: expected low <= high, got 2 and 1"),
        (lambda: SequenceOf(modulo=0), "sequence: expected modulo >= 1, got 0"),
        (lambda: JitteredTime(jitter=-1), "jittered time: expected jitter >= 0 ms, got -1"),
        (lambda: UniformDouble(5.0, 1.0), "uniform double: expected low <= high, got 5.0 and 1.0"),
        (lambda: UniformDouble(float("nan"), 1.0), "uniform double: expected low <= high"),
        (lambda: UniformDouble(-1.7e308, 1.7e308), "uniform double: expected high - low to be a finite double"),
        (lambda: Normal(1.7e308, 1e308), "normal: expected the mean and 10 standard deviations to be finite doubles"),
        (lambda: Normal(0.0, float("nan")), "normal: expected a standard deviation >= 0, got nan"),
        (lambda: Choice((1, 2), weights=(1e308, 1e308)), "choice: expected weights whose sum is a finite double"),
        (lambda: Choice((1, 2), weights=(1.0, float("nan"))), "choice: expected weights >= 0"),
        (
            lambda: GeneratorSource(None, {"n": SequenceOf(2**63)}),
            r"field 'n' of record 0 \(counted from 0\) exceeds a long",
        ),
        (lambda: GeneratorSource(3, {"n": SequenceOf(2**63 - 2)}), "field 'n' of record 2 "),
        (lambda: GeneratorSource(4, {"n": SequenceOf(0, -(2**62))}), "field 'n' of record 3 "),
        (lambda: GeneratorSource(9, {"n": JitteredTime(-(2**63), 1, 1)}), "field 'n' of record 0 "),
    ],
)
def test_invalid_declarations_are_refused(make: Callable, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()


def test_collection_is_emitted_in_order_and_unchanged_for_next_run(subtask: Callable) -> None:
    source = CollectionSource([[1], [2]])
    first = subtask(source.create_reader()).drain()
    first[0][0].append("changed")
    assert subtask(source.create_reader()).drain() == [([1], None), ([2], None)]
    assert source.required_parallelism == 1


def test_values_up_to_the_ends_of_a_long_are_accepted() -> None:
    GeneratorSource(
        2, {"n": SequenceOf(2**63 - 2), "m": SequenceOf(0, -(2**62)), "t": JitteredTime(-(2**63) + 1, 0, 1)}
    )
    GeneratorSource(None, {"n": SequenceOf(2**63 - 2), "m": SequenceOf(2**63 - 1, 5, modulo=3)})
    GeneratorSource(3, {"m": SequenceOf(0, -(2**62))})
