"""The PostgreSQL sink without a server: URLs, clocks, connections that the caller did not give, and messages."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim import run_scenario
from flowsim.cli.main import app
from flowsim.connectors.databases.postgres import NamedConnection, PostgresSink
from flowsim.connectors.databases.postgres_server import PostgresServer
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, MissingExtra

SECRET = "s3cret"
FIELDS = {"n": "long"}
SCENARIO = """\
flowsim: 1
name: ticks
sources: {ticks: {generator: {fields: {n: {sequence: {}}}, count: 3}}}
sinks: {out: {input: ticks, postgres: {connection: warehouse}}}
"""
URL = f"postgresql://me:{SECRET}@127.0.0.1:1/flights"
"""Port 1: no server."""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, "127.0.0.1:1/flights"),
        ("postgres://me@one,two:5433/flights?sslmode=require", "one,two:5433/flights"),
        ("postgresql:///flights?host=/run/postgresql", "/run/postgresql/flights"),
        ("postgresql://", "the default host/"),
    ],
)
def test_server_is_shown_by_host_port_and_database(url: str, shown: str) -> None:
    server = PostgresServer.of(url, "sink")
    assert server.shown == shown
    assert SECRET not in repr(server)


@pytest.mark.parametrize("secret", [f":{SECRET}%2F@here/flights", f"@here/flights?sslpassword={SECRET}%2F"])
def test_message_of_the_server_is_shown_without_the_secrets_of_the_url(secret: str) -> None:
    server = PostgresServer.of(f"postgresql://me{secret}", "sink")
    assert server.message_of(Exception(f"role {SECRET}/ does not exist")) == "role *** does not exist"


@pytest.mark.parametrize(
    "url",
    [
        "",
        f"host=here password={SECRET}",
        f"mysql://me:{SECRET}@here/flights",
        f"postgresql://me:{SECRET}/more@here/flights",
        f"postgresql://me:more@{SECRET}@here/flights",
        f"postgresql://me:{SECRET}%zz@here/flights",
        f"postgresql://here/flights?{SECRET}=1",
        f"postgresql://here:{SECRET}/flights",
        f"postgresql://here/flights?host=%00{SECRET}",
    ],
)
def test_bad_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(
        BadInput, match=r"postgres sink 't': expected the URL of a server, .* are written as %2F"
    ) as error:
        PostgresSink(url, "t", FIELDS)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("table", "fields", "prefix", "message"),
    [
        ("", FIELDS, "p", "postgres sink: table: expected a name of at most 48 bytes, got ''"),
        ("t" * 49, FIELDS, "p", "table: expected a name of at most 48 bytes"),
        ("ü" * 25, FIELDS, "p", "table: expected a name of at most 48 bytes"),
        ("t\0", FIELDS, "p", "table: expected a name"),
        ("t", {"n" * 64: "long"}, "p", "postgres sink 't': column: expected a name of at most 63 bytes"),
        ("t", {"flowsim_number": "long"}, "p", "column 'flowsim_number' is used for staged rows"),
        ("t", FIELDS, "p\0", "prefix: expected a text without NUL"),
    ],
)
def test_bad_declarations_are_refused(table: str, fields: dict[str, str], prefix: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        PostgresSink(URL, table, fields, prefix=prefix)


def test_job_on_the_virtual_clock_is_refused_before_it_starts(tmp_path: Path) -> None:
    for is_recorded in (False, True):
        env = StreamExecutionEnvironment.get_execution_environment()
        if is_recorded:
            env.flowsim_recording(tmp_path / "recording")
        env.from_collection([1]).sink_to(PostgresSink(URL, "t", FIELDS))
        with pytest.raises(BadInput, match=r"postgres sink 't' is not available on the virtual clock: .*--clock real"):
            env.execute()
    assert list(tmp_path.iterdir()) == []


def test_job_without_a_reachable_server_is_refused_before_it_starts(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(clock="real")
    env.flowsim_recording(tmp_path / "recording")
    env.from_collection([1]).sink_to(PostgresSink(URL, "t", FIELDS)).name("out")
    with pytest.raises(BadInput, match=r"^postgres sink 't' on 127\.0\.0\.1:1/flights: connection failed") as failed:
        env.execute()
    assert SECRET not in str(failed.value)
    assert list(tmp_path.iterdir()) == []


def test_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="the postgres sink needs the extra 'postgres'"):
        PostgresSink(URL, "t", FIELDS)
    PostgresSink(NamedConnection("warehouse"), "t", FIELDS)


def command(folder: Path, name: str, *options: str) -> tuple[int, str]:
    (folder / "ticks.yaml").write_text(SCENARIO)
    done = CliRunner().invoke(app, [name, str(folder / "ticks.yaml"), *options])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--connect", f"warehouse={URL}"], "is not available on the virtual clock"),
        (
            ["--clock", "real"],
            "no server was given for its connection 'warehouse': .*add --connect warehouse=postgresql://",
        ),
        (["--clock", "real", "--connect", f"warehous={URL}"], r"'warehous': no sink .*did you mean 'warehouse'"),
        (["--clock", "real", "--connect", URL], "--connect: expected NAME=URL"),
        (["--connect", f"warehouse={URL}", "--connect", f"warehouse={URL}"], "--connect warehouse: .* given twice"),
        (
            ["--clock", "real", "--connect", f"warehouse={URL}"],
            "postgres sink 'out' on 127.0.0.1:1/flights: connection",
        ),
        (["--connect", f"warehouse=x{URL}"], r"ticks.yaml:4:\d+ sinks.out.postgres: .*expected the URL of a server"),
    ],
)
def test_run_without_a_usable_connection_is_refused(tmp_path: Path, options: list[str], message: str) -> None:
    code, output = command(tmp_path, "run", "--out", str(tmp_path / "out"), *options)
    assert code == 2
    assert found(message, output), output
    assert SECRET not in output
    assert not (tmp_path / "out").exists()


def found(pattern: str, text: str) -> bool:
    return re.search(pattern, " ".join(text.split())) is not None


def test_scenario_is_checked_without_a_connection(tmp_path: Path) -> None:
    assert command(tmp_path, "check")[0] == 0


def test_run_scenario_takes_connections_by_name() -> None:
    with pytest.raises(BadInput, match="add --connect warehouse="):
        run_scenario(SCENARIO, clock="real")
    with pytest.raises(BadInput, match=r"postgres sink 'out' on 127\.0\.0\.1:1/flights: connection failed"):
        run_scenario(SCENARIO, clock="real", connections={"warehouse": URL})
