"""``flowsim conform PROGRAM.py`` against answers of the real PyFlink, which ``make pyflink-conform`` compares again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flowsim.conform.programs import installed_pyflink
from tests.unit.cli.conftest import Flowsim

PROGRAMS = Path(__file__).parents[2] / "support/conform/programs"


@pytest.fixture
def conform(flowsim: Flowsim, tmp_path: Path) -> Callable[..., Any]:
    """Compares a program of ``PROGRAMS`` with its saved answers, which a test may change."""
    shutil.copytree(PROGRAMS / "answers", tmp_path / "answers")
    return lambda name, *more: flowsim("conform", PROGRAMS / name, "--against", "answers", *more)


def change(name: str, edit: Callable[[Any], object]) -> None:
    file = Path("answers", f"{name}.json")
    document = json.loads(file.read_text())
    for run in document["runs"]:
        edit(run[0])
    file.write_text(json.dumps(document))


def test_program_agrees_with_the_answers_of_pyflink(conform: Any) -> None:
    document = conform("orders.py", "--json").document
    assert document["exit_code"] == 0
    (phase,) = document["phases"]
    assert phase["facts"] == [{"what": "status", "flowsim": "exit status 3", "flink": "exit status 3", "agrees": True}]
    assert document["verdict"] in ("agrees", "open")
    places = {place["subtask"]: place["records"] for place in phase["subtasks"]}
    assert places == {
        "lines of the program/0": 5,
        "print 1 totals/0": 4,
        "files totals/of/orders/0": 4,
        "collected 1/0": 3,
    }


def test_program_in_batch_mode_agrees_with_the_answers_of_pyflink(conform: Any) -> None:
    document = conform("batch.py", "--json").document
    assert (document["exit_code"], document["verdict"]) == (0, "agrees")
    (phase,) = document["phases"]
    places = {place["subtask"]: place["records"] for place in phase["subtasks"]}
    assert places == {
        "print 1 numbered/1": 2,
        "print 1 numbered/2": 12,
        "print 2 sums/1": 1,
        "print 2 sums/2": 4,
        "print 3 pickled/1": 1,
        "print 3 pickled/2": 2,
        "print 4 declared/1": 1,
        "print 4 declared/2": 2,
        "files batch/out/0": 14,
        "lines of the program/0": 3,
    }
    change("batch.py", lambda answer: answer["seen"]["print 1 numbered/2"].reverse())
    called = conform("batch.py")
    assert (called.code, "print 1 numbered/2 differs from line 1 on:" in called.out) == (1, True)


def test_failure_agrees_with_the_one_in_pyflink(conform: Any) -> None:
    called = conform("fails.py")
    assert called.code == 0, called.out + called.err
    assert "status: failed" in called.out
    assert "failure: the job: ValueError: no ratio of 3" in called.out
    assert called.err.splitlines()[0].startswith("not compared: default parallelism: 1 on both sides")
    change("fails.py", lambda answer: answer.update(cause="ValueError: another"))
    assert conform("fails.py", "--schedules", 1).code == 1


def test_difference_names_the_output_and_shows_both_lines(conform: Any) -> None:
    change("orders.py", lambda answer: answer["seen"]["files totals/of/orders/0"][0].__setitem__(4, "milk 2"))
    called = conform("orders.py", "--schedules", 2)
    assert called.code == 1
    assert called.out.splitlines()[0] == "orders.py: differs: 1 output (2 runs on Flink 2.3.0, 2 here)"
    lines = called.out[called.out.index("files totals/of/orders differs from line 1 on:") :].splitlines()
    assert [line.split() for line in lines[1:3]] == [["flowsim", "milk", "1"], ["Flink", "milk", "2"]]


def test_answers_to_other_arguments_are_refused(conform: Any) -> None:
    called = conform("orders.py", "--", "argument")
    assert (called.code, "has the answers to another job" in called.err) == (2, True)


READS_A_TOPIC = """
from pyflink.common import SimpleStringSchema, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaSource

env = StreamExecutionEnvironment.get_execution_environment()
source = KafkaSource.builder().set_bootstrap_servers("b:1").set_topics("orders")
source = source.set_value_only_deserializer(SimpleStringSchema()).build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").print()
env.execute()
"""
WRITES_A_TOPIC = """
from pyflink.common import SimpleStringSchema, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink

env = StreamExecutionEnvironment.get_execution_environment()
schema = KafkaRecordSerializationSchema.builder().set_topic("orders")
schema = schema.set_value_serialization_schema(SimpleStringSchema()).build()
sink = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(schema).build()
env.from_collection(["a"], Types.STRING()).sink_to(sink)
env.execute()
"""


@pytest.mark.parametrize("text", [READS_A_TOPIC, WRITES_A_TOPIC])
def test_program_with_topics_is_refused_before_pyflink_starts(text: str, flowsim: Flowsim, tmp_path: Path) -> None:
    (tmp_path / "topics.py").write_text(text)
    called = flowsim("conform", "topics.py", "--against", "answers")
    assert called.code == 2
    assert "topic 'orders': the real PyFlink would need a broker of Kafka" in called.err


def test_what_flowsim_does_not_simulate_is_refused_with_the_line(flowsim: Flowsim, tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("from pyflink.table import TableEnvironment\nTableEnvironment.create()\n")
    called = flowsim("conform", "tables.py", "--against", "answers")
    assert (called.code, "tables.py:2: TableEnvironment.create: flowsim does not simulate" in called.err) == (2, True)


def test_program_without_end_is_ended(flowsim: Flowsim, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    called = flowsim("conform", "endless.py", "--against", "answers", "--timeout", "1s")
    assert (called.code, "endless.py here: has not ended after 1 s" in called.err) == (2, True), called.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.py", "--set", "a=1"], "p.py: --set: not for a program"),
        (["p.py", "--explored", "3"], "p.py: --explored: not for a program"),
        (["p.py", "--seed", "3"], "p.py: --seed: not for a program"),
        (["tiny.yaml", "--timeout", "3s"], "tiny.yaml: --timeout: not for a job that is no program"),
        (["tiny.yaml", "--", "x"], "tiny.yaml: arguments: not for a job that is no program"),
    ],
)
def test_options_of_the_other_kind_are_refused(
    arguments: list[str], message: str, flowsim: Flowsim, tmp_path: Path
) -> None:
    (tmp_path / "p.py").write_text("")
    called = flowsim("conform", *arguments)
    assert (called.code, message in called.err) == (2, True), called.err


def test_pyflink_that_pip_cannot_install_is_an_error(
    flowsim: Flowsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "p.py").write_text("")
    called = flowsim("conform", "p.py")
    assert (called.code, "error: PyFlink cannot be installed" in called.err) == (2, True), called.err
    assert list((tmp_path / "cache/flowsim").iterdir()) == []


def test_python_that_pyflink_does_not_support_is_an_error(
    flowsim: Flowsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_pyflink, "NEWEST_PYTHON", (3, 8))
    monkeypatch.setattr(installed_pyflink, "shutil", SimpleNamespace(which=lambda _: None))
    (tmp_path / "p.py").write_text("")
    called = flowsim("conform", "p.py")
    assert (called.code, "PyFlink 2.3.0 needs a Python from 3.9 to 3.12" in called.err) == (2, True), called.err
