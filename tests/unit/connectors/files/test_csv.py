from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.connectors.files.csv import CsvSource
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import DataInputStatus

FLIGHTS = "origin,flight\nJFK,1\nEWR,2\nLGA,3\nEWR,4\nJFK,5\n"
COLUMNS = {"origin": "string", "flight": "int"}


@pytest.fixture
def flights(tmp_path: Path) -> str:
    path = tmp_path / "flights.csv"
    path.write_text(FLIGHTS)
    return str(path)


def values(elements: list[object]) -> list[object]:
    return [value for value, _ in elements]  # type: ignore[misc]


def test_single_subtask_emits_all_rows_in_file_order_without_timestamps(flights: str, subtask: Callable) -> None:
    source = CsvSource(flights, COLUMNS)
    assert source.required_parallelism == 1
    assert subtask(source.create_reader()).drain() == [
        (("JFK", 1), None), (("EWR", 2), None), (("LGA", 3), None), (("EWR", 4), None), (("JFK", 5), None),
    ]  # fmt: skip


def test_poll_ends_with_batch_and_next_poll_continues(flights: str, subtask: Callable) -> None:
    reading = subtask(CsvSource(flights, COLUMNS).create_reader())
    assert reading.poll(records=2) is DataInputStatus.MORE_AVAILABLE
    assert values(reading.take()) == [("JFK", 1), ("EWR", 2)]
    assert reading.poll(records=3) is DataInputStatus.MORE_AVAILABLE
    assert values(reading.take()) == [("LGA", 3), ("EWR", 4), ("JFK", 5)]
    assert reading.poll() is DataInputStatus.END_OF_DATA
    assert reading.poll() is DataInputStatus.END_OF_INPUT


@pytest.mark.parametrize(("rows", "flown"), [(1, [1]), (3, [1, 2, 3]), (5, [1, 2, 3, 4, 5]), (9, [1, 2, 3, 4, 5])])
def test_rows_limits_rows_read(rows: int, flown: list[int], flights: str, subtask: Callable) -> None:
    reading = subtask(CsvSource(flights, COLUMNS, rows=rows).create_reader())
    assert [flight for _, flight in values(reading.drain())] == flown  # type: ignore[misc]


def test_rows_limit_may_be_in_later_block(tmp_path: Path, subtask: Callable) -> None:
    path = tmp_path / "many.csv"
    path.write_text("origin,flight\n" + "".join(f"JFK,{row:0100d}\n" for row in range(6_000)))
    reading = subtask(CsvSource(path, {"flight": "string"}, rows=5_000).create_reader())
    assert [int(flight) for (flight,) in values(reading.drain())] == list(range(5_000))  # type: ignore[misc]


def test_rows_limit_counts_rows_of_file_before_split(flights: str, subtask: Callable) -> None:
    source = CsvSource(flights, COLUMNS, split_by="origin", rows=3)
    parts = [values(subtask(source.create_reader(), index, 2).drain()) for index in range(2)]
    assert parts == [[("EWR", 2), ("LGA", 3)], [("JFK", 1)]]


def test_split_by_assigns_sorted_values_round_robin(flights: str, subtask: Callable) -> None:
    source = CsvSource(flights, COLUMNS, split_by="origin")
    assert source.required_parallelism is None
    parts = [values(subtask(source.create_reader(), index, 2).drain()) for index in range(2)]
    assert parts == [[("EWR", 2), ("LGA", 3), ("EWR", 4)], [("JFK", 1), ("JFK", 5)]]


def test_groups_assign_values_to_subtasks_in_order(flights: str, subtask: Callable) -> None:
    source = CsvSource(flights, COLUMNS, split_by="origin", groups=[["LGA", "JFK"], "EWR"])
    parts = [values(subtask(source.create_reader(), index, 3).drain()) for index in range(3)]
    assert parts == [[("JFK", 1), ("LGA", 3), ("JFK", 5)], [("EWR", 2), ("EWR", 4)], []]


def test_value_without_group_is_refused_with_line_and_column(flights: str, subtask: Callable) -> None:
    source = CsvSource(flights, COLUMNS, split_by="origin", groups=["JFK", "EWR"])
    with pytest.raises(BadInput, match=r"flights.csv:4:1 column 'origin': value 'LGA' belongs to no declared group"):
        subtask(source.create_reader()).drain()


def test_params_have_file_name_without_folder(flights: str) -> None:
    assert CsvSource(flights, COLUMNS, split_by="origin").params == {
        "file": "flights.csv", "columns": ["origin", "flight"], "split_by": "origin",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_by": "orgin"}, "split_by: no column 'orgin' (did you mean 'origin'?)"),
        ({"groups": ["JFK"]}, "groups need split_by"),
        ({"rows": 0}, "rows: expected at least 1, got 0"),
        ({"delimiter": ";;"}, "expected a delimiter of one character, got ';;'"),
    ],
)
def test_invalid_options_are_refused_by_constructor(flights: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        CsvSource(flights, COLUMNS, **options)  # type: ignore[arg-type]
    assert message in str(refused.value)
