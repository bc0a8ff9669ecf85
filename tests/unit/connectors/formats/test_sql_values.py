"""Dates, times and exact numbers in JSON and CSV: the answers of the schemas of Flink 2.3.0."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from flowsim.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from flowsim.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from flowsim.datastream.common import Row, Types
from flowsim.errors import BadInput

at = datetime.fromisoformat
NAMES = ["n", "c", "d", "t", "z"]
TYPE = Types.ROW_NAMED(
    NAMES, [Types.BIG_INT(), Types.BIG_DEC(), Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP()]
)
ROW = [2**90, Decimal("1.50"), date(2020, 1, 2), time(3, 4, 5), at("2020-01-02T03:04:05.120")]


def from_json(text: str) -> list[object]:
    read = JsonRowDeserializationSchema.builder().type_info(TYPE).build().deserialize(text.encode())
    assert isinstance(read, Row)
    return list(read)


def from_csv(text: str) -> list[object]:
    read = CsvRowDeserializationSchema.Builder(TYPE).build().deserialize(text.encode())
    assert isinstance(read, Row)
    return list(read)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('"n":123456789012345678901234567890', 123456789012345678901234567890),
        ('"n":" 7 "', 7),
        ('"c":1.50', Decimal("1.5")),
        ('"c":"1.50"', Decimal("1.50")),
        ('"c":123456789.123456789123456789', Decimal("123456789.123456789123456789")),
        ('"c":1e3', Decimal(1000)),
        ('"d":"2020-01-02"', date(2020, 1, 2)),
        ('"t":"03:04:05.000Z"', time(3, 4, 5)),
        ('"z":"2020-01-02T03:04:05Z"', at("2020-01-02T03:04:05")),
        ('"z":"2020-01-02T03:04:05.123456789Z"', at("2020-01-02T03:04:05.123456")),
    ],
)
def test_value_in_json_is_read_as_flink_reads_it(field: str, value: object) -> None:
    read = from_json(f"{{{field}}}")
    assert [each for each in read if each is not None] == [value]
    assert str(next(each for each in read if each is not None)) == str(value) or field == '"c":1e3'


@pytest.mark.parametrize(
    "field",
    ['"n":1.5', '"n":1e3', '"c":"x"', '"c":"NaN"', '"c":true', '"d":"2020-1-2"', '"d":"2020-02-30"', '"d":5',
     '"t":"03:04:05"', '"t":"03:04Z"', '"t":"03:04:05.5Z"', '"z":"2020-01-02 03:04:05Z"', '"z":"2020-01-02T03:04:05"'],
)  # fmt: skip
def test_value_in_json_that_flink_cannot_read_is_an_error(field: str) -> None:
    with pytest.raises(BadInput, match="Failed to deserialize JSON"):
        from_json(f"{{{field}}}")


def test_values_in_csv_are_read_as_flink_reads_them() -> None:
    line = "1,1.50,2020-01-02,03:04:05,2020-01-02 03:04:05"
    expected = [1, Decimal("1.50"), date(2020, 1, 2), time(3, 4, 5), at("2020-01-02T03:04:05")]
    assert from_csv(line) == expected
    assert from_csv("1, 1.50 ,2020-1-2,3:4:5,2020-1-2 3:4:5.0") == expected
    assert from_csv("1,1.50,2020-02-30,3:4:5,2020-1-2 3:4:5.0")[2] == date(2020, 3, 1)
    for wrong in (
        "x,1,2020-01-02,3:4:5,2020-1-2 3:4:5",
        "1,1,2020-01-02,3:4,2020-1-2 3:4:5",
        line.replace(" 03", "T03"),
    ):
        with pytest.raises(BadInput, match="Failed to deserialize CSV row"):
            from_csv(wrong)


def test_values_are_written_as_flink_writes_them() -> None:
    to_json = JsonRowSerializationSchema.builder().with_type_info(TYPE).build()
    to_csv = CsvRowSerializationSchema.Builder(TYPE).build()
    assert to_json.serialize(Row(*ROW)).decode() == (
        '{"n":1237940039285380274899124224,"c":1.50,"d":"2020-01-02","t":"03:04:05Z","z":"2020-01-02T03:04:05.12Z"}'
    )
    assert to_csv.serialize(Row(*ROW)).decode() == (
        '1237940039285380274899124224,1.50,2020-01-02,03:04:05,"2020-01-02 03:04:05.12"\n'
    )
    whole = Row(1, Decimal("1000.0"), date(999, 1, 2), time(3, 4), at("2020-01-02T03:04:05"))
    assert to_json.serialize(whole).endswith(b'"c":1000.0,"d":"0999-01-02","t":"03:04:00Z","z":"2020-01-02T03:04:05Z"}')
    assert to_csv.serialize(whole) == b'1,1000.0,0999-01-02,03:04:00,"2020-01-02 03:04:05.0"\n'
    with pytest.raises(BadInput, match="expected a value of type SQL_DATE, got"):
        to_json.serialize(Row(1, None, at("2020-01-02T00:00:00"), None, None))
