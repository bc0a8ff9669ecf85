"""The PostgreSQL sink on a real server: values, exactly once under failures, locks, errors, and scenarios."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner, Result

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.main import app
from flowsim.connectors.databases import postgres_server
from flowsim.connectors.databases.database import StagedRows
from flowsim.connectors.databases.database_sink import DatabaseCommitter
from flowsim.connectors.databases.postgres import PostgresSink
from flowsim.connectors.databases.postgres_server import PostgresConnection, PostgresServer
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, JobFailed, SuppressRestarts, ValueNotAllowed
from flowsim.operators.sink import InitContext
from tests.support.operators.sink_job import Crash, ReplayedInput, SinkJob
from tests.support.postgres import PASSWORD, PrivateServer, private_server, select
from tests.unit.connectors.sinks.test_exactly_once_sinks import ALL, FIELDS, STEPS, VALUES, Place
from tests.unit.connectors.sinks.test_sink_jobs import ROWS as JOB_ROWS
from tests.unit.connectors.sinks.test_sink_jobs import job as sink_job

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[4]
CONTEXT = InitContext("Sink: out", 0, 1)
TYPES = {"name": "string", "count": "int", "at": "long", "share": "double", "ok": "boolean"}
ROWS = [
    ("a'; DROP TABLE t; --\t\\N\n", -(2**31), 2**63 - 1, -0.5, True),
    ("ünï", 0, -(2**63), math.inf, False),
    ("", 1, 1, 5e-324, True),
    (None,) * 5,
]


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    started = private_server()
    yield started
    started.stop()


@pytest.fixture
def url(server: PrivateServer) -> str:
    return server.new_schema()


def write(sink: PostgresSink, *rows: object, complete: bool = True) -> None:
    writer = sink.create_direct_writer(CONTEXT)
    try:
        for row in rows:
            writer.write(row, None)
        if complete:
            writer.flush(True)
    finally:
        writer.close()


class Table(Place):
    """A table in a schema of its own."""

    def __init__(self, url: str, delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> None:
        super().__init__(Path(), delivery)
        self.url = url

    def sink(self) -> PostgresSink:
        return PostgresSink(self.url, "rows", FIELDS, self.delivery, batch_rows=2)

    def rows(self) -> list[tuple[object, ...]]:
        return select(self.url, "SELECT * FROM rows ORDER BY number")

    def hidden(self) -> list[str]:
        return [str(row) for row in select(self.url, "SELECT * FROM flowsim_staged_rows WHERE flowsim_subtask >= 0")]


def test_values_are_stored_with_their_types(url: str) -> None:
    sink = PostgresSink(url, "t", TYPES)
    write(sink, *ROWS)
    assert select(url, "SELECT * FROM t") == ROWS
    types = select(
        url, "SELECT pg_typeof(name), pg_typeof(count), pg_typeof(at), pg_typeof(share), pg_typeof(ok) FROM t"
    )
    assert types[0] == ("text", "integer", "bigint", "double precision", "boolean")
    assert sink.committed_rows == len(ROWS)


@pytest.mark.parametrize("name", ['a "quoted" name', "select", "ünï", "x]; %s $1", "flowsim_staged_t"])
def test_any_name_can_be_that_of_a_table_and_a_column(url: str, name: str) -> None:
    write(PostgresSink(url, name, {name: "long"}), 7)
    quoted = name.replace('"', '""')
    assert select(url, f'SELECT "{quoted}" FROM "{quoted}"') == [(7,)]


def test_nan_is_stored_and_nul_is_refused(url: str) -> None:
    sink = PostgresSink(url, "t", {"x": "double", "s": "string"})
    write(sink, (math.nan, "a"))
    ((stored, _),) = select(url, "SELECT * FROM t")
    assert math.isnan(stored)
    with pytest.raises(ValueNotAllowed, match=r"postgres sink 't' on .*: column 's': a text .* cannot contain .* NUL"):
        write(sink, (0.0, "a\0b"))
    assert len(select(url, "SELECT * FROM t")) == 1


def test_rows_of_one_commit_become_visible_together_and_once(url: str) -> None:
    database = PostgresSink(url, "t", {"n": "long"}).open_database()
    database.create_tables()
    staged = [StagedRows("one", subtask, 1) for subtask in range(2)]
    for index, each in enumerate(staged):
        database.stage(each, 0, [(index,), (index + 10,)])
    database.stage(StagedRows("another sink", 0, 1), 0, [(5,)])
    assert database.move(staged) == 4
    assert database.move(staged) == 0
    database.close()
    assert select(url, "SELECT * FROM t") == [(0,), (10,), (1,), (11,)]
    assert select(url, "SELECT * FROM flowsim_staged_t") == [("another sink", 0, 1, 0, 5)]


def test_failed_move_changes_nothing(url: str) -> None:
    database = PostgresSink(url, "t", {"n": "long"}).open_database()
    database.create_tables()
    database.stage(StagedRows("one", 0, 1), 0, [(1,), (2,)])
    select(url, "CREATE UNIQUE INDEX once ON t (n)")
    select(url, "INSERT INTO t VALUES (2)")
    with pytest.raises(BadInput, match="duplicate key value violates unique constraint"):
        database.move([StagedRows("one", 0, 1)])
    database.close()
    assert select(url, "SELECT * FROM t") == [(2,)]
    assert len(select(url, "SELECT * FROM flowsim_staged_t")) == 2


def test_commits_of_two_connections_at_the_same_time_move_rows_once(url: str) -> None:
    sink, staged = PostgresSink(url, "t", {"n": "long"}), [StagedRows("one", 0, 1)]
    first, second = sink.open_database(), sink.open_database()
    first.create_tables()
    first.stage(staged[0], 0, [(1,), (2,)])
    moved: list[int] = []
    other = Thread(target=lambda: moved.append(second.move(staged)))

    def while_rows_are_locked() -> Iterator[StagedRows]:
        yield staged[0]
        other.start()
        while other.is_alive() and not select(url, "SELECT 1 FROM pg_locks WHERE NOT granted"):
            other.join(0.01)

    assert first.move(while_rows_are_locked()) == 2
    other.join(20)
    assert moved == [0]
    first.close()
    second.close()
    assert select(url, "SELECT * FROM t") == [(1,), (2,)]


def test_role_that_may_not_create_tables_writes_to_existing_ones(server: PrivateServer, url: str) -> None:
    write(PostgresSink(url, "t", {"n": "long"}), 1)
    server.run(f"CREATE ROLE writer LOGIN PASSWORD '{PASSWORD}'")
    schema = url.rpartition("%3D")[2]
    for what in (f"USAGE ON SCHEMA {schema}", f"ALL ON ALL TABLES IN SCHEMA {schema}"):
        server.run(f"GRANT {what} TO writer")
    as_writer = url.replace("//flowsim:", "//writer:")
    write(PostgresSink(as_writer, "t", {"n": "long"}), 2)
    assert select(url, "SELECT * FROM t") == [(1,), (2,)]
    with pytest.raises(BadInput, match=r"postgres sink 'other' on .*: permission denied for schema"):
        write(PostgresSink(as_writer, "other", {"n": "long"}), 2)


# Failures.


def test_crash_after_any_step_changes_no_output(server: PrivateServer) -> None:
    for step in range(1, STEPS + 1, 5):
        place = Table(server.new_schema())
        ReplayedInput(place.sink, VALUES).run([step])
        assert (place.rows(), place.hidden()) == (ALL, []), step


class Failures:
    """Fails one transaction of a sink, by its number: its connection is lost before, or its answer after the commit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: PrivateServer) -> None:
        self.transactions = 0
        self.at = 0
        self.is_committed = False
        original: Callable[[PostgresConnection], Any] = PostgresConnection.transaction

        @contextmanager
        def transaction(connection: PostgresConnection) -> Iterator[Any]:
            self.transactions += 1
            if self.transactions != self.at:
                with original(connection) as cursor:
                    yield cursor
            elif self.is_committed:
                with original(connection) as cursor:
                    yield cursor
                raise Crash
            else:
                server.run(f"SELECT pg_terminate_backend({connection._connection.info.backend_pid}, 10000)")
                try:
                    with original(connection) as cursor:
                        yield cursor
                except BadInput as error:
                    raise Crash from error

        monkeypatch.setattr(PostgresConnection, "transaction", transaction)


@pytest.mark.parametrize("is_committed", [False, True], ids=["connection lost before", "answer lost after the commit"])
def test_failure_of_any_transaction_changes_no_output(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    failures = Failures(monkeypatch, server)
    place = Table(server.new_schema())
    job = ReplayedInput(place.sink, VALUES)
    first = failures.transactions + 1
    job.run()
    last = failures.transactions
    assert (place.rows(), place.hidden()) == (ALL, [])
    for number in range(first, last + 1, 3):
        place = Table(server.new_schema())
        failures.transactions, failures.at = 0, 0
        job = ReplayedInput(place.sink, VALUES)
        assert failures.transactions == first - 1
        failures.at, failures.is_committed = number, is_committed
        job.run()
        assert job.job.attempt == 1
        assert (place.rows(), place.hidden()) == (ALL, []), number


def test_restored_job_commits_what_was_staged_and_discards_what_no_checkpoint_has(url: str) -> None:
    place = Table(url)
    job = SinkJob(place.sink)
    job.subtasks[0].write((1, "a"), (2, "b"))
    job.checkpoint(1, notify=False)
    job.subtasks[0].write((3, "c"), (4, "d"))
    assert (len(place.rows()), len(place.hidden())) == (0, 4)
    job.fail()
    assert (place.rows(), place.hidden()) == ([(1, "a"), (2, "b")], [])
    job.subtasks[0].write((3, "c"))
    job.finish(2)
    assert place.rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_new_run_discards_what_a_killed_run_has_staged(url: str) -> None:
    place = Table(url)
    killed = SinkJob(place.sink, 2)
    for subtask in killed.subtasks:
        subtask.write((1, "a"), (2, "b"))
    killed.close()
    assert len(place.hidden()) == 4
    SinkJob(place.sink, 1).finish(1)
    assert (place.rows(), place.hidden()) == ([], [])


def test_second_run_with_the_same_prefix_is_refused_until_the_first_ends(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "LOCK_SECONDS", 0.05)
    sink = PostgresSink(url, "t", {"n": "long"}, prefix="mine")
    first = sink.create_writer(CONTEXT)
    with pytest.raises(BadInput, match=r"subtask 0 of another run may write as 'mine: Sink: out': .* another prefix"):
        sink.create_writer(CONTEXT)
    PostgresSink(url, "t", {"n": "long"}, prefix="yours").create_writer(CONTEXT).close()
    sink.create_writer(InitContext("Sink: out", 1, 2)).close()
    first.close()
    sink.create_writer(CONTEXT).close()


# Jobs on the real clock.


def real(job: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    return job.flowsim_settings(clock="real")


def test_table_of_a_failing_job_has_every_row_once(url: str) -> None:
    sink = PostgresSink(url, "rows", FIELDS)
    real(sink_job(sink, [7, 19])).execute()
    assert (Table(url).rows(), Table(url).hidden(), sink.committed_rows) == (JOB_ROWS, [], len(JOB_ROWS))


def test_at_least_once_table_of_a_failing_job_has_replayed_rows_again(url: str) -> None:
    real(sink_job(PostgresSink(url, "rows", FIELDS, DeliveryGuarantee.AT_LEAST_ONCE), [11])).execute()
    rows = Table(url).rows()
    assert sorted(set(rows)) == JOB_ROWS
    assert len(rows) >= len(JOB_ROWS)


class CrashingServerSink(PostgresSink):
    """Crashes and starts the server before the second commit."""

    server: PrivateServer
    commits = 0

    def create_committer(self, context: InitContext) -> DatabaseCommitter:
        sink = self

        class Committer(DatabaseCommitter):
            def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
                sink.commits += 1
                if sink.commits == 2:
                    sink.server.crash()
                    sink.server.start()
                super().commit(requests)

        return Committer(self, context)


def test_job_whose_server_crashes_during_a_commit_writes_every_row_once(server: PrivateServer, url: str) -> None:
    sink = CrashingServerSink(url, "rows", FIELDS)
    sink.server = server
    real(sink_job(sink)).execute()
    assert sink.commits > 2
    assert (Table(url).rows(), Table(url).hidden()) == (JOB_ROWS, [])


def test_failed_job_names_task_operator_and_server_without_the_password(url: str) -> None:
    select(url, "CREATE TABLE rows (number bigint)")
    with pytest.raises(JobFailed) as failed:
        real(sink_job(PostgresSink(url, "rows", FIELDS), restarts=0)).execute()
    message = str(failed.value)
    assert "operator out" in message
    assert "task " in message
    assert re.search(r"postgres sink 'rows' on /tmp/\S+/postgres: column \"name\" .* does not exist", message), message
    assert PASSWORD not in message


def causes_of(error: BaseException) -> str:
    """The messages of an error and its causes."""
    return str(error) + (causes_of(error.__cause__) if error.__cause__ else "")


PERMANENT = [
    "CREATE TABLE rows (number bigint)",
    "CREATE TABLE rows (number bigint CHECK (number < 0), name text)",
]


@pytest.mark.parametrize("table", PERMANENT)
@pytest.mark.parametrize("delivery", DeliveryGuarantee)
def test_table_that_never_works_fails_the_job_at_the_first_error(
    url: str, table: str, delivery: DeliveryGuarantee
) -> None:
    select(url, table)
    with pytest.raises(JobFailed) as failed:
        real(sink_job(PostgresSink(url, "rows", FIELDS, delivery), restarts=10**9)).execute()
    assert "postgres sink 'rows' on " in str(failed.value)
    assert PASSWORD not in causes_of(failed.value)


@pytest.mark.parametrize("delivery", DeliveryGuarantee)
def test_role_without_rights_fails_the_job_at_the_first_error(
    server: PrivateServer, url: str, delivery: DeliveryGuarantee
) -> None:
    schema, role = re.findall(r"schema\d+$", url)[0], f"reader_{delivery.name.lower()}"
    server.run(f"CREATE ROLE {role} LOGIN PASSWORD 'reads'")
    server.run(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    server.run(f"CREATE TABLE {schema}.rows (number bigint, name text)")
    limited = re.sub(r"//flowsim:[^@]*@", f"//{role}:reads@", url)
    with pytest.raises(JobFailed) as failed:
        real(sink_job(PostgresSink(limited, "rows", FIELDS, delivery), restarts=10**9)).execute()
    assert "permission denied for" in str(failed.value)


@pytest.mark.parametrize(
    ("state", "is_permanent"),
    [
        ("42P01", True),
        ("42501", True),
        ("22003", True),
        ("28P01", True),
        ("3D000", True),
        ("P0001", True),
        ("55000", True),
    ]
    + [(each, False) for each in ("08006", "25006", "40001", "40P01", "53100", "53300", "55P03", "57P01", "58030")],
)
def test_class_of_sqlstate_decides_whether_an_error_is_permanent(url: str, state: str, is_permanent: bool) -> None:
    connection = PostgresConnection(PostgresServer.of(url, "sink"), "sink")
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(BadInput, match="no") as error, connection.transaction() as cursor:
        cursor.execute(raising.encode())
    connection.close()
    assert isinstance(error.value.__cause__, SuppressRestarts) is is_permanent


@pytest.mark.parametrize("wrong", ["wrong", "s3cret"])
def test_refused_login_names_the_server_without_the_password(url: str, wrong: str) -> None:
    refused = re.sub(r":[^:@]+@", f":{wrong}@", url)
    with pytest.raises(BadInput, match=r"postgres sink 't' on /tmp/.*password authentication failed") as error:
        PostgresSink(refused, "t", {"n": "long"}).open_database()
    assert wrong not in str(error.value)


# Scenarios.

(SCENARIO,) = re.findall(r"^```yaml\n(# arrivals.yaml\n.*?)^```$", (ROOT / "docs/sinks.md").read_text(), re.M | re.S)
"""The example of the documentation."""


def run_scenario_file(folder: Path, *options: str, text: str = SCENARIO) -> Result:
    (folder / "arrivals.yaml").write_text(text)
    return CliRunner().invoke(app, ["run", str(folder / "arrivals.yaml"), "--out", str(folder / "out"), *options])


def test_scenario_writes_to_the_server_of_its_connection_and_records_no_credentials(url: str, tmp_path: Path) -> None:
    done = run_scenario_file(tmp_path, "--connect", f"warehouse={url}", "--validate", "--engine", "python")
    assert done.exit_code == 0, done.output
    found = select(url, "SELECT flight, delay FROM late_flights")
    assert f"late_flights: {len(found)} rows" in done.output
    assert 100 < len({flight for flight, _ in found}) == len(found) < 200
    assert {delay for _, delay in found} == {5, 60}
    secrets = [PASSWORD, quote(PASSWORD, safe=""), "flowsim-postgres-"]
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    for content in [done.output.encode(), *(path.read_bytes() for path in files)]:
        assert not [secret for secret in secrets if secret.encode() in content]


def test_failure_of_the_server_is_recorded_without_the_password(url: str, tmp_path: Path) -> None:
    select(url, "CREATE TABLE late_flights (m bigint)")
    text = SCENARIO.replace("clock: real", "clock: real, restart_strategy: {none: {}}")
    done = run_scenario_file(tmp_path, "--connect", f"warehouse={url}", text=text)
    assert done.exit_code == ExitCode.JOB_FAILED, done.output
    assert "does not exist" in done.output
    for content in [done.output.encode(), *(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())]:
        assert PASSWORD.encode() not in content
