"""Spark's own daemons on loopback: a standalone cluster and a Connect server, stopped by their process ids."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from flowsim.validation.java import find_java, java_home_for_spark
from tests.support.spark_classes import WITH_ARCHIVE

HOST = "127.0.0.1"
_HOME = Path(pyspark.__file__).parent
_READY_WITHIN_S = 90
_SMALL = {"JDK_JAVA_OPTIONS": WITH_ARCHIVE, "SPARK_DAEMON_MEMORY": "512m"}
"""Of daemons, and of the executors that they start."""


def environment(**more: str) -> dict[str, str]:
    """What Spark's scripts need."""
    java = str(java_home_for_spark(find_java()))
    return os.environ | {"SPARK_HOME": str(_HOME), "JAVA_HOME": java, "SPARK_LOCAL_IP": HOST, **_SMALL, **more}


@contextmanager
def _daemon(folder: Path, name: str, command: list[str], ready: str, **variables: str) -> Iterator[re.Match[str]]:
    """Runs a daemon until the block ends; yields what its log says when it is ready."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment(**variables), stdout=output, stderr=output, start_new_session=True, cwd=folder
        )
    try:
        deadline = time.monotonic() + _READY_WITHIN_S
        while (found := re.search(ready, log.read_text(errors="replace"))) is None:
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, f"{name} is not ready: {log.read_text(errors='replace')}"
            time.sleep(0.1)
        yield found
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """A master and a worker of two cores, as processes; yields the master's URL."""
    run = [str(_HOME / "bin" / "spark-class")]
    address = ["--host", HOST, "--port", "0", "--webui-port", "0"]
    master = [*run, "org.apache.spark.deploy.master.Master", *address]
    with _daemon(folder, "master", master, r"Starting Spark master at (spark://[\d.]+:\d+)") as found:
        url = found[1]
        worker = [*run, "org.apache.spark.deploy.worker.Worker", url, *address]
        worker += ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work")]
        with _daemon(folder, "worker", worker, "Successfully registered with master"):
            yield url


@contextmanager
def connect_server(folder: Path, python: str = sys.executable) -> Iterator[str]:
    """A Spark Connect server on two local cores, with the interpreter of its workers; yields its address."""
    submit = [str(_HOME / "bin" / "spark-submit"), "--master", "local[2,4]", "--driver-memory", "1g"]
    for setting in (
        "spark.connect.grpc.binding.port=0", f"spark.connect.grpc.binding.address={HOST}", "spark.ui.enabled=false",
    ):  # fmt: skip
        submit += ["--conf", setting]
    submit += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    ready = r"Spark Connect server started at:? \S*?:(\d+)"
    with _daemon(folder, "connect", submit, ready, PYSPARK_PYTHON=python) as found:
        yield f"sc://{HOST}:{found[1]}"


def bare_python(folder: Path, *packages: str) -> Path:
    """An interpreter that finds the standard library and these packages only."""
    libraries = folder / "libraries"
    libraries.mkdir(parents=True)
    for package in packages:
        for found in Path(_HOME.parent).glob(f"{package}*"):
            if found.name.removeprefix(package) in ("", ".libs"):
                (libraries / found.name).symlink_to(found)
    script = folder / "python"
    real = Path(sys.executable).resolve()
    script.write_text(f'#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:{libraries}"\nexec {real} -S "$@"\n')
    script.chmod(0o755)
    return script
