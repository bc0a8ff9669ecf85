"""The SQLite sink: values, names, errors, and jobs without checkpoints."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flowsim.connectors.databases.database import StagedRows
from flowsim.connectors.databases.sqlite import SqliteDatabase, SqliteSink
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, JobFailed, SuppressRestarts, ValueNotAllowed
from flowsim.operators.sink import InitContext
from flowsim.values.row import Row

FIELDS = {"name": "string", "count": "int", "at": "long", "share": "double", "ok": "boolean"}
ROWS = [("a'; DROP TABLE t; --", -(2**31), 2**63 - 1, -0.5, True), ("", 0, -(2**63), math.inf, False), (None,) * 5]
CONTEXT = InitContext("Sink: out", 0, 1)


def select(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def write(sink: SqliteSink, *rows: object, complete: bool = True) -> None:
    writer = sink.create_direct_writer(CONTEXT)
    for row in rows:
        writer.write(row, None)
    if complete:
        writer.flush(True)
    writer.close()


def test_values_are_stored_with_their_types(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/db.sqlite"
    write(SqliteSink(path, "t", FIELDS), *ROWS)
    assert select(path, 'SELECT * FROM "t"') == ROWS
    types = select(path, "SELECT typeof(name), typeof(count), typeof(at), typeof(share), typeof(ok) FROM t")
    assert types[0] == ("text", "integer", "integer", "real", "integer")
    assert types[2] == ("null",) * 5


def test_rows_and_dicts_are_written_in_the_order_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    write(SqliteSink(path, "t", {"n": "long", "s": "string"}), Row(1, "a"), {"s": "b", "n": 2})
    assert select(path, "SELECT * FROM t") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("name", ['a "quoted" name', "select", "ünï", "x]; y", "flowsim_staged_t"])
def test_any_name_can_be_that_of_a_table_and_a_column(tmp_path: Path, name: str) -> None:
    path = tmp_path / "db.sqlite"
    write(SqliteSink(path, name, {name: "long"}), 7)
    quoted = name.replace('"', '""')
    assert select(path, f'SELECT "{quoted}" FROM "{quoted}"') == [(7,)]


def test_rows_of_an_incomplete_writer_are_discarded(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    sink = SqliteSink(path, "t", {"n": "long"}, batch_rows=1)
    write(sink, 1, 2, complete=False)
    assert select(path, "SELECT * FROM t") == select(path, "SELECT * FROM flowsim_staged_t") == []
    write(sink, 3)
    assert (select(path, "SELECT * FROM t"), sink.committed_rows) == ([(3,)], 1)


def test_job_without_checkpoints_writes_all_rows_of_all_subtasks(tmp_path: Path) -> None:
    for delivery in DeliveryGuarantee:
        path = tmp_path / f"{delivery.value}.sqlite"
        env = StreamExecutionEnvironment.get_execution_environment()
        sink = SqliteSink(path, "t", {"n": "long"}, delivery, batch_rows=3)
        env.from_collection(list(range(10))).rebalance().sink_to(sink).set_parallelism(3)
        env.execute()
        assert sorted(select(path, "SELECT * FROM t")) == [(n,) for n in range(10)]
        assert sink.committed_rows == 10


def test_failed_job_without_checkpoints_adds_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = SqliteSink(path, "t", {"n": "long"}, batch_rows=1)
    env.from_collection([1, 2, "three"]).sink_to(sink)
    with pytest.raises(JobFailed, match="column 'n': expected a long"):
        env.execute()
    assert select(path, "SELECT * FROM t") == []


def test_rows_of_earlier_runs_remain_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    for number in (1, 2):
        write(SqliteSink(path, "t", {"n": "long"}), number)
    assert select(path, "SELECT * FROM t") == [(1,), (2,)]


def test_rows_of_one_commit_become_visible_together(tmp_path: Path) -> None:
    database = SqliteSink(tmp_path / "db.sqlite", "t", {"n": "long"}).open_database()
    database.create_tables()
    staged = [StagedRows("one", subtask, 1) for subtask in range(2)]
    for index, each in enumerate(staged):
        database.stage(each, 0, [(index,), (index + 10,)])
    database.stage(StagedRows("another sink", 0, 1), 0, [(5,)])
    assert database.move(staged) == 4
    assert database.move(staged) == 0
    database.close()
    assert select(tmp_path / "db.sqlite", "SELECT * FROM t") == [(0,), (10,), (1,), (11,)]


def test_failed_move_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    database = SqliteSink(path, "t", {"n": "long"}).open_database()
    database.create_tables()
    database.stage(StagedRows("one", 0, 1), 0, [(1,), (2,)])
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE UNIQUE INDEX once ON t (n)")
        other.execute("INSERT INTO t VALUES (2)")
        other.commit()
    with pytest.raises(BadInput, match="UNIQUE constraint failed"):
        database.move([StagedRows("one", 0, 1)])
    database.close()
    assert select(path, "SELECT * FROM t") == [(2,)]
    assert len(select(path, "SELECT * FROM flowsim_staged_t")) == 2


def test_nan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueNotAllowed, match=r"column 'x': SQLite has no NaN: \(nan,\)"):
        write(SqliteSink(tmp_path / "db.sqlite", "t", {"x": "double"}), math.nan)


@pytest.mark.parametrize(
    ("table", "fields", "message"),
    [
        ("", {"n": "long"}, "table: expected a name"),
        ("sqlite_master", {"n": "long"}, "table: expected a name that does not start with sqlite_"),
        ("t\0", {"n": "long"}, "table: expected a name"),
        ("t", {}, "expected at least one column"),
        ("t", {"n": "number"}, "expected a type of string, int, long, double, boolean"),
        ("t", {"Flowsim_Position": "long"}, "column 'Flowsim_Position' is used for staged rows"),
    ],
)
def test_bad_declarations_are_refused(tmp_path: Path, table: str, fields: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        SqliteSink(tmp_path / "db.sqlite", table, fields)
    assert list(tmp_path.iterdir()) == []


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(BadInput, match=r"sqlite sink 't' in notes\.txt: file is not a database"):
        write(SqliteSink(path, "t", {"n": "long"}), 1)
    assert path.read_text() == "not a database " * 100


def test_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    write(SqliteSink(path, "t", {"n": "long"}), 1)
    with pytest.raises(BadInput, match=r"sqlite sink 't' in db\.sqlite: table .*has no column named m"):
        write(SqliteSink(path, "t", {"m": "long"}), 1)


def test_staged_rows_with_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    write(SqliteSink(path, "t", {"n": "long"}), 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE t RENAME COLUMN n TO m")
    with pytest.raises(BadInput, match="table flowsim_staged_t has no column named m"):
        write(SqliteSink(path, "t", {"m": "long"}), 1)


@pytest.mark.parametrize(
    ("statement", "is_permanent"),
    [("INSERT INTO t (m) VALUES (1)", True), ("INSERT INTO t VALUES (-1)", True), ("PRAGMA user_version = 1", False)],
)
def test_result_of_sqlite_decides_whether_an_error_is_permanent(
    tmp_path: Path, statement: str, is_permanent: bool
) -> None:
    path = tmp_path / "db.sqlite"
    database = SqliteDatabase(path, "t", (), "sink")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE t (n INTEGER CHECK (n > 0))")
        if not is_permanent:
            database._connection.execute("PRAGMA busy_timeout = 1")
            other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadInput) as error, database._transaction() as run:
            run(statement)
    database.close()
    assert isinstance(error.value.__cause__, SuppressRestarts) is is_permanent


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "A"], "columns 'a' and 'A' are one column for SQLite"),
        (["word", "n", "wORD"], "columns 'word' and 'wORD' are one column for SQLite"),
        (["n\0"], "expected a name of UTF-8 text without NUL"),
        (["n\ud800"], "expected a name of UTF-8 text without NUL"),
        ([f"c{number}" for number in range(1997)], "sqlite sink 't': too many columns"),
    ],
    ids=["case", "case of later letters", "nul", "surrogate", "number"],
)
def test_columns_that_no_table_can_have_are_refused_before_a_file_exists(
    tmp_path: Path, columns: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        SqliteSink(tmp_path / "db.sqlite", "t", dict.fromkeys(columns, "long"))
    assert list(tmp_path.iterdir()) == []


def test_columns_that_sqlite_distinguishes_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    write(SqliteSink(path, "t", {"\xe4": "long", "\xc4": "long", "a b": "long", '"': "long"}), (1, 2, 3, 4))
    assert select(path, "SELECT * FROM t") == [(1, 2, 3, 4)]


def test_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="its folder cannot be created: "):
        write(SqliteSink(tmp_path / "file/db.sqlite", "t", {"n": "long"}), 1)
