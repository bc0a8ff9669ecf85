"""The Spark session for checks: local by default, a standalone cluster by ``master``, Spark Connect by ``remote``."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flowsim.errors import BadInput, MissingExtra
from flowsim.validation.java import find_java, java_home_for_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*,4]"
"""The local master with all cores. A failed task, for example after its Python worker was killed, is tried four times
as on a cluster."""
_LOOPBACK: Final = "127.0.0.1"
_CONNECT_PORT: Final = 15002
_ANSWER_WITHIN_S: Final = 10

_SETTINGS: Final[dict[str, str]] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""The settings that affect results, and the settings of sizes; set on every kind of session."""

_DRIVER_SETTINGS: Final = {
    "spark.driver.memory": "2g",
    # Every broadcast, sort and group takes at least one page. Spark's default for these 2 GB is 64 MB, so a law that
    # joins thirty small tables would need all memory for a few rows.
    "spark.buffer.pageSize": "2m",
    "spark.ui.enabled": "false",
    # Spark describes plans as text after every stage, for a page that is not shown; this mode is the cheapest.
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
}

_JUDGE_JAVA_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""JVM options for short checks: the better compiler and collector take 40 % of a check's CPU time and are not
worthwhile."""

_LOGGING: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark %p %c{1}: %m%n%ex{0}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""The logging settings: errors only. The gateway sets the root level to that of its own logger, and logs that, unless
both are equal."""


@contextmanager
def spark_session(
    master: str | None = None, remote: str | None = None, app_name: str = "flowsim", *, for_judge: bool = False
) -> Iterator[SparkSession]:
    """Provides a session for the block: on ``master`` (default ``local[*]``) or on the Spark Connect server ``remote``.

    An existing session of this process is used, and not stopped, unless it runs elsewhere than requested. Raises
    MissingExtra without pyspark, BadInput without Java or if the session cannot be created. ``for_judge``: the session
    only runs checks, so the JVM is tuned for a short life.
    """
    if find_spec("pyspark") is None:
        raise MissingExtra("spark", "validation")
    if master is not None and remote is not None:
        raise BadInput(f"--master {master} and --remote {remote} cannot be combined: give only one of them")
    _refuse_unreachable(remote or master or LOCAL)
    running = None if remote is not None else _running_session(master)
    if running is not None:
        yield running
    elif remote is not None:
        yield from _connected(remote, app_name)
    else:
        yield from _started(master or LOCAL, app_name, _JUDGE_JAVA_OPTIONS if for_judge else ())


def _running_session(master: str | None) -> SparkSession | None:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.active()
    except PySparkException:
        return None
    if master is None:
        return session
    runs_on = session.sparkContext.master
    if runs_on != master:
        raise BadInput(f"a Spark session on {runs_on} is running in this process: stop it before you use {master}")
    return session


def _refuse_unreachable(address: str) -> None:
    """Tests the connection first.

    Spark itself would retry for minutes before it reports that there is no server.
    """
    places = re.fullmatch(r"(?:spark|sc)://([^/]+)(?:/.*)?", address)
    if places is None:
        return
    for place in places[1].split(","):
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", str(_CONNECT_PORT))
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_WITHIN_S).close()
            return
        except (OSError, OverflowError) as error:
            refused = error
    raise BadInput(f"no server answers at {address} ({_first_line(refused)}): is Spark running there?")


def _connected(remote: str, app_name: str) -> Iterator[SparkSession]:
    if find_spec("grpc") is None or find_spec("grpc_status") is None:
        raise MissingExtra("connect", f"Spark Connect ({remote})")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(remote).appName(app_name).config(map={**_SETTINGS}).create()
        session.range(1).count()
    except PySparkException as error:
        raise BadInput(f"no Spark Connect session on {remote}: {_first_line(error)}") from error
    try:
        yield session
    finally:
        session.stop()


def _started(master: str, app_name: str, java_options: Sequence[str]) -> Iterator[SparkSession]:
    with (
        tempfile.TemporaryDirectory(prefix="flowsim-spark-") as folder,
        _environment(_spark_environment(master)),
    ):
        with _interrupt_handler_kept():
            session = _start(master, app_name, Path(folder), java_options)
        try:
            yield session
        finally:
            _stop(session)


def _stop(session: SparkSession) -> None:
    """Stops the session. Has no effect if the session's Java process has ended."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError):
        session.stop()


def _start(master: str, app_name: str, folder: Path, java_options: Sequence[str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    logging = folder / "log4j2.properties"
    logging.write_text(_LOGGING)
    builder = SparkSession.builder.master(master).appName(app_name).config(map={**_SETTINGS, **_DRIVER_SETTINGS})
    builder = builder.config("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())
    options = " ".join((f"-Dlog4j2.configurationFile={logging.as_uri()}", *java_options))
    builder = builder.config("spark.driver.extraJavaOptions", options)
    if java_options:
        builder = builder.config("spark.executor.extraJavaOptions", " ".join(java_options))
    if _is_on_this_machine(master):
        builder = builder.config("spark.driver.host", _LOOPBACK).config("spark.driver.bindAddress", _LOOPBACK)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise BadInput(f"no Spark session on {master}: {_first_line(error)}") from error


def _spark_environment(master: str) -> dict[str, str]:
    """Sets environment variables of the driver and its Python workers; keeps the user's own settings for a cluster."""
    variables = {"JAVA_HOME": str(java_home_for_spark(find_java()))}
    if master.startswith("local"):
        # Otherwise workers run `python3` of PATH, and the driver binds to the address of the host name.
        variables |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    else:
        variables |= {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    if _is_on_this_machine(master):
        variables |= {"SPARK_LOCAL_IP": _LOOPBACK}
    return variables


def _is_on_this_machine(master: str) -> bool:
    return master.startswith(("local", f"spark://{_LOOPBACK}:", "spark://localhost:"))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """Restores the handler of Ctrl-C.

    A Spark context installs its own handler, which cancels its jobs, and does not remove it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
