"""What a failed job names: the innermost operator, and its record or timer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from flowsim.connectors.source import BlockReader
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import JobFailed
from flowsim.failure_location import (
    OperatorCall,
    note_operator,
    note_place,
    note_record,
    note_timer,
    take_location,
)


def test_innermost_note_wins_and_later_notes_add_what_is_missing() -> None:
    error = ValueError()
    note_timer(error, "key", 7)
    note_record(error, "inner", "the record that advanced the watermark", 3)
    note_operator(error, "outer")
    location = take_location(error)
    assert (location.operator, location.record, location.timer) == ("inner", None, ("key", 7))


def test_taken_location_is_removed_from_exception() -> None:
    error = ValueError()
    note_record(error, "first", "a", None)
    assert take_location(error).record == ("a", None)
    note_record(error, "second", "b", None)
    assert (take_location(error).operator, vars(error)) == ("second", {})


def test_exception_that_refuses_attributes_gets_a_location() -> None:
    @dataclass(frozen=True)
    class Refused(Exception):
        reason: str

    error = Refused("no")
    with pytest.raises(Refused), OperatorCall("map", ("a", 1)):
        raise error
    assert take_location(error).record == ("a", 1)


def test_place_is_asked_for_only_with_a_record() -> None:
    def never() -> str:
        raise AssertionError("the reader has read no record")

    error = ValueError()
    note_place(error, never)
    note_record(error, "source", "a", None)
    note_place(error, lambda: "in.csv:7")
    assert take_location(error).place == "in.csv:7"


def test_same_exception_object_names_the_record_of_each_run() -> None:
    error = ValueError("always this object")

    def fails(value: int) -> int:
        raise error

    def failed(value: int) -> JobFailed:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([value]).map(fails).print()
        with pytest.raises(JobFailed) as caught:
            env.execute()
        return caught.value

    assert [failed(value).record for value in (1, 2)] == ["1", "2"]


def test_failure_in_chain_names_the_operator_and_what_it_got() -> None:
    def fails(value: int) -> int:
        raise ValueError(value)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda value: value + 10).name("adds").map(fails).name("fails").print()
    with pytest.raises(JobFailed) as caught:
        env.execute()
    assert (caught.value.operator, caught.value.record) == ("fails", "11")


class TwoValues:
    """A source whose second value cannot be made."""

    kind = "two_values"
    params: Mapping[str, object] = {}
    required_parallelism = 1
    emits_watermarks = False
    needs_cost = False

    def create_reader(self) -> BlockReader:
        return BlockReader(lambda ctx: iter((self._values(),)))

    def _values(self) -> Iterator[int]:
        yield 1
        raise ValueError("the second value")


def test_failure_of_source_names_no_record_of_before() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(TwoValues(), WatermarkStrategy.for_monotonous_timestamps(), "values").print()
    with pytest.raises(JobFailed) as caught:
        env.execute()
    assert (caught.value.operator, caught.value.record) == ("Source: values", None)
