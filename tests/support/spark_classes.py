"""An archive of the classes of Spark, from which Java starts in two thirds of the CPU time (AppCDS).

``python -m tests.support.spark_classes`` writes it into the environment, as ``make test`` does once. Tests start a dozen
virtual machines; without the archive, or with that of another Java, they start as always.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ARCHIVE: Final = Path(sys.prefix, "spark-classes.jsa")
JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Many small plans run once each: what Java's second compiler would make of them is never earned back."""
WITH_ARCHIVE: Final = f"{JAVA_OPTIONS} -XX:SharedArchiveFile={ARCHIVE}"

_USE: Final = """\
import sys
from pyspark import SparkContext
from flowsim.cli.main import main
from flowsim.validation.spark_session import spark_session

with spark_session("local[2]") as session:
    sys.argv = ["flowsim", "validate", sys.argv[1], "--engine", "spark"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
    rows = session.range(1000).selectExpr("id % 7 AS key", "id")
    assert rows.groupBy("key").count().join(rows.groupBy("key").max("id"), "key").count() == 7
    java = SparkContext._gateway.proc
java.stdin.close()
java.wait()
"""
"""Runs what tests use, then lets Java end by itself, which writes the archive."""


def main() -> None:
    """Writes the archive; an empty one, which Java ignores, if this Java cannot."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SPARK_SUBMIT_OPTS": f"{JAVA_OPTIONS} -XX:ArchiveClassesAtExit={ARCHIVE}"}
        run = [sys.executable, "-m", "flowsim", "run", "scenarios/02_wordcount_inline.yaml", "--out", f"{folder}/run"]
        subprocess.run(run, capture_output=True, check=True)
        done = subprocess.run(
            [sys.executable, "-c", _USE, f"{folder}/run"], env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode or not ARCHIVE.exists():
        print(f"Java wrote no archive of Spark's classes; the tests need a minute more. {done.stderr[-300:]}")
        ARCHIVE.touch()


if __name__ == "__main__":
    main()
