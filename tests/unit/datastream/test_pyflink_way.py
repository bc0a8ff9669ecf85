"""Programs for PyFlink behave as PyFlink where Python's API behaves as Java."""

from __future__ import annotations

import sys
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.building.declared_values import change_of
from flowsim.datastream.building.java_text import java_text
from flowsim.datastream.common import Instant, Row, RowKind, Types
from flowsim.datastream.pyflink_way import pyflink_way
from flowsim.errors import BadInput, JobFailed, ValueNotAllowed
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS
from flowsim.values.equality import are_equal
from flowsim.values.types import TypeInformation

ROW = Types.ROW_NAMED(["a", "b"], [Types.FLOAT(), Types.STRING()])


@pytest.mark.parametrize(
    ("declared", "value", "changed"),
    [
        (Types.FLOAT(), 1.1, 1.100000023841858),
        (Types.FLOAT(), 1e300, float("inf")),
        (Types.FLOAT(), 2, 2.0),
        (Types.DOUBLE(), 2, 2.0),
        (Types.SHORT(), 43878, -21658),
        (Types.BYTE(), -129, 127),
        (Types.INT(), 2**31 - 1, 2**31 - 1),
        (Types.TUPLE([Types.STRING(), Types.SHORT()]), ["a", 43878], ("a", -21658)),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "a"), Row(f0=1, f1="a")),
        (ROW, (1.1, "x"), Row(a=1.100000023841858, b="x")),
        (ROW, Row.of_kind(RowKind.DELETE, 0.5, "x"), Row.of([0.5, "x"], ["a", "b"], RowKind.DELETE)),
        (ROW, Row.of_kind(RowKind.DELETE, b="x", c=9, a=0.5), Row.of([0.5, "x"], ["a", "b"], RowKind.DELETE)),
        (Types.LIST(Types.FLOAT()), [1.1, None], [1.100000023841858, None]),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1}, {"a": 1.0}),
        (
            Types.SQL_TIMESTAMP(),
            datetime.fromisoformat("2024-01-02T03:04:05.678901"),
            datetime.fromisoformat("2024-01-02T03:04:05.678"),
        ),
        (Types.SHORT(), "no number", "no number"),
    ],
    ids=repr,
)
def test_declared_type_changes_value_as_the_coder_of_pyflink(
    declared: TypeInformation, value: object, changed: object
) -> None:
    change = change_of(declared)
    assert change is not None
    assert are_equal(change(value), changed)


@pytest.mark.parametrize(("declared", "value"), [(Types.INT(), 2**31), (Types.LONG(), -(2**63) - 1)], ids=repr)
def test_whole_number_beyond_its_declared_type_is_refused(declared: TypeInformation, value: int) -> None:
    change = change_of(declared)
    assert change is not None
    with pytest.raises(ValueNotAllowed, match=f"{value} does not fit its declared type {declared.name}"):
        change(value)


def test_row_without_a_field_of_its_declared_type_is_refused() -> None:
    change = change_of(ROW)
    assert change is not None
    with pytest.raises(
        ValueNotAllowed, match=r"^Row\(a=1\.5, c='x'\) has no field 'b' of its declared type: name all of"
    ):
        change(Row(a=1.5, c="x"))


@pytest.mark.parametrize(
    "declared",
    [None, Types.STRING(), Types.PICKLED_BYTE_ARRAY(), Types.LIST(Types.STRING()), Types.SQL_DATE()],
    ids=repr,
)
def test_other_types_change_nothing(declared: TypeInformation | None) -> None:
    assert change_of(declared) is None


@pytest.mark.parametrize(
    ("declared", "value", "text"),
    [
        (Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]), ("hi", 0, None), "(hi,0,null)"),
        (Types.BOOLEAN(), True, "true"),
        (Types.FLOAT(), 1.100000023841858, "1.1"),
        (Types.FLOAT(), 16777216.0, "1.6777216E7"),
        (Types.DOUBLE(), 1e7, "1.0E7"),
        (Types.DOUBLE(), 1234567.875, "1234567.875"),
        (Types.DOUBLE(), 0.001, "0.001"),
        (Types.DOUBLE(), -0.00012, "-1.2E-4"),
        (Types.DOUBLE(), 100.0, "100.0"),
        (Types.DOUBLE(), -0.0, "-0.0"),
        (Types.DOUBLE(), float("nan"), "NaN"),
        (Types.DOUBLE(), float("-inf"), "-Infinity"),
        (Types.LIST(Types.DOUBLE()), [1.0, 2.5], "[1.0, 2.5]"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, "b": 2}, "{a=1, b=2}"),
        (ROW, Row.of_kind(RowKind.UPDATE_AFTER, 1.5, None), "+U[1.5, null]"),
        (Types.ROW([Types.STRING(), ROW]), Row("x", Row(1.0, "y")), "+I[x, +I[1.0, y]]"),
        (Types.TUPLE([ROW, Types.LIST(Types.INT())]), (Row(1.0, "y"), [1, 2]), "(+I[1.0, y],[1, 2])"),
        (Types.BIG_DEC(), Decimal("1.10"), "1.10"),
        (Types.SQL_DATE(), date(2024, 1, 2), "2024-01-02"),
        (Types.SQL_TIME(), time(3, 4, 5, 6000), "03:04:05"),
        (Types.SQL_TIMESTAMP(), datetime.fromisoformat("2024-01-02T03:04:05.060"), "2024-01-02 03:04:05.06"),
        (Types.INSTANT(), Instant(1, 500_000_000), "1970-01-01T00:00:01.500Z"),
        (Types.INSTANT(), Instant(-1, 0), "1969-12-31T23:59:59Z"),
    ],
    ids=repr,
)
def test_value_of_declared_type_has_its_text_in_java(declared: TypeInformation, value: object, text: str) -> None:
    assert java_text(value, declared) == text


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_types_are_enforced_and_printed_as_in_java_only_in_a_program_for_pyflink(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run() -> str:
        env = environment()
        typed = env.from_collection([1]).map(lambda value: [value, 1.1], Types.TUPLE([Types.INT(), Types.FLOAT()]))
        typed.print()
        typed.map(repr).print()
        env.execute()
        return capsys.readouterr().out

    assert run() == "[1, 1.1]\n[1, 1.1]\n"
    with pyflink_way():
        assert run() == "(1,1.1)\n(1, 1.100000023841858)\n"


def test_count_windows_that_slide_are_complete_in_a_program_for_pyflink() -> None:
    def sums() -> list[object]:
        stream = environment().from_collection(list(range(1, 8))).key_by(lambda value: 0)
        return list(stream.count_window(3, 2).reduce(lambda first, second: first + second).execute_and_collect())

    assert sums() == [3, 9, 15]
    with pyflink_way():
        assert sums() == [6, 12, 18]
        stream = environment().from_collection([1, 2, 3]).key_by(lambda value: 0)
        pairs = stream.count_window(2).reduce(lambda first, second: first + second)
        assert list(pairs.execute_and_collect()) == [3]


def test_count_windows_of_a_program_for_pyflink_are_in_checkpoints() -> None:
    with pyflink_way():
        env = environment()
        env.enable_checkpointing(15)
        env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=0)
        numbers = env.from_collection(list(range(1, 8))).cost(10 * NS_PER_MS)
        sums = numbers.key_by(lambda value: 0).count_window(3, 2).reduce(lambda first, second: first + second)
        sink = CollectSink()
        sums.sink_to(sink)
        result = env.flowsim_settings(failures=(FailTask("Source: Collection Source", at_ns=45 * NS_PER_MS),)).execute()
    assert result.restarts == 1
    # Without the windows of a checkpoint, the sum of 1, 2 and 3 would be there twice.
    assert sink.values() == [6, 12, 18]


def test_flat_map_that_returns_none_is_refused_in_a_program_for_pyflink() -> None:
    def run() -> list[object]:
        return list(environment().from_collection([1]).flat_map(lambda value: None).execute_and_collect())

    assert run() == []
    with pyflink_way(), pytest.raises(JobFailed, match="flat_map returned None: PyFlink iterates over the result"):
        run()


def test_keys_hash_as_in_pyflink_only_in_a_program_for_it() -> None:
    def key_types() -> list[str | None]:
        env = environment()
        for key_type in (None, Types.INT()):
            env.from_collection([1]).key_by(lambda value: value, key_type).map(lambda value: value).print()
        hashed = [edge.partitioner for edge in env.stream_graph().edges if edge.partitioner is not None]
        return [partitioner.key_type for partitioner in hashed]

    assert key_types() == [None, "INT"]
    with pyflink_way():
        assert key_types() == ["PICKLED_KEY<PICKLED_BYTE_ARRAY>", "ROW_KEY<INT>"]


def test_print_of_rows_has_the_text_of_values_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    with pyflink_way():
        env = environment()
        env.from_collection([Row(1.5, None)], ROW).print()
        env.execute()
    assert capsys.readouterr().out == "+I[1.5,None]\n"


def test_keyed_stream_collects_rows_of_key_and_value() -> None:
    with pyflink_way():
        keyed = environment().from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda pair: pair[0])
        collected = list(keyed.execute_and_collect())
    assert collected == [Row(f0=key, f1=(key, n)) for key, n in (("a", 1), ("b", 2), ("a", 3))]


def test_functions_import_python_files_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "adding_for_a_job.py"
    file.write_text("def add(n):\n    return n + 1\n")

    def add(n: int) -> int:
        from adding_for_a_job import add  # type: ignore[import-not-found]

        return add(n)  # type: ignore[no-any-return]

    env = environment()
    env.add_python_file(str(file))
    assert list(env.from_collection([1]).map(add).execute_and_collect()) == [2]
    with pytest.raises(BadInput, match=r"add_python_file: missing\.py: no such file"):
        env.add_python_file("missing.py")
