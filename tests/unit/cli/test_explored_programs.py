"""``flowsim explore PROGRAM.py``: the orders of a program for PyFlink, and tokens that ``flowsim pyflink`` repeats."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode

PROGRAM = """
import sys
from pyflink.datastream import StreamExecutionEnvironment

def main(most):
    env = StreamExecutionEnvironment.get_execution_environment()
    one = env.from_collection([("a", n) for n in range(most)])
    other = env.from_collection([("a", 10), ("b", 20)])
    one.union(other).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], max(a[1], b[1]))).print()
    print("starting")
    env.execute("maxima")

main(int(sys.argv[2]))
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "maxima.py").write_text(PROGRAM)
    return "maxima.py"


def test_all_results_are_listed_and_each_token_repeats_its_own(flowsim: Any, program: str) -> None:
    explore = ("explore", program, "--allow-python", "--space", "order", "--json", "--", "--most", "2")
    called = flowsim(*explore)
    assert (called.code, called.err) == (0, "")
    document = called.document
    assert document["spaces"]["order"]["proven"]
    printed = []
    for result in document["results"]:
        again = flowsim(*shlex.split(result["replay"])[1:])
        printed.append([line for line in again.out.splitlines() if line.startswith("(")])
        assert [str(tuple(row)) for row in result["sinks"]["Print to Std. Out"][0]] == printed[-1]
        assert again.out.startswith("starting\n")
    assert len(printed) == len({tuple(lines) for lines in printed}) == 6
    assert flowsim("why", "out/maxima/1", "late").code == 0
    assert flowsim("validate", "out/maxima/1").code == 0


def test_settings_of_the_user_are_those_of_the_explored_job(flowsim: Any, program: str) -> None:
    given = ("--set", "settings.parallelism=2", "--json", "--", "--most", "2")
    document = flowsim("explore", program, "--allow-python", "--space", "order", *given).document
    result = document["results"][0]
    assert "--set settings.parallelism=2" in result["replay"]
    assert len(result["sinks"]["Print to Std. Out"]) == 2
    assert flowsim(*shlex.split(result["replay"])[1:]).code == 0


def test_results_are_those_of_several_processes(flowsim: Any, program: str) -> None:
    explore = ("explore", program, "--allow-python", "--runs", "60", "--json")
    one = flowsim(*explore, "--", "--most", "2").document
    assert flowsim(*explore, "--jobs", "2", "--", "--most", "2").document == one
    assert one["runs"] > 30


OBJECTS = """
from dataclasses import dataclass
from pyflink.datastream import StreamExecutionEnvironment

@dataclass
class Order:
    user: str
    price: int

def double(order):
    import prices
    from pyflink.common import Row
    return Order(order.user, prices.FACTOR * order.price)

env = StreamExecutionEnvironment.get_execution_environment()
one, other = env.from_collection([Order("a", 1)]), env.from_collection([Order("b", 3)])
one.union(other).key_by(lambda order: order.user).map(double).print()
env.execute("orders")
"""


def test_objects_of_a_program_are_shown_by_any_process_and_its_functions_import(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(OBJECTS)
    (tmp_path / "prices.py").write_text("FACTOR = 2")
    explore = ("explore", "job.py", "--allow-python", "--runs", "20", "--json")
    one = flowsim(*explore).document
    assert [result["status"] for result in one["results"]] == ["finished", "finished"]
    first = one["results"][0]["sinks"]["Print to Std. Out"][0]
    assert first == [
        {"class": "__main__.Order", "user": "a", "price": 2},
        {"class": "__main__.Order", "user": "b", "price": 6},
    ]
    assert flowsim(*explore, "--jobs", "2").document == one
    assert 'Print to Std. Out: {"class":"__main__.Order",' in flowsim(*explore[:-1]).out


def test_kept_exploration_of_objects_is_continued_by_another_process(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(OBJECTS)
    (tmp_path / "prices.py").write_text("FACTOR = 2")
    explore = ("explore", "job.py", "--allow-python", "--runs", "20", "--json", "--resume", "kept.jsonl")
    again = [sys.executable, "-m", "flowsim", *explore]
    one, other = (subprocess.run(again, capture_output=True, text=True, check=True) for _ in range(2))
    assert one.stdout == other.stdout


def test_finding_of_a_program_names_the_report_of_its_job(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "maxima.py").write_text(PROGRAM.replace("max(a[1], b[1])", "a[1] // b[1]"))
    called = flowsim("explore", "maxima.py", "--allow-python", "--space", "order", "--json", "--", "--most", "2")
    finding = called.document["findings"][0]
    assert finding["report"].startswith("flowsim report out/maxima/1 ")
    assert flowsim(*shlex.split(finding["replay"])[1:]).code == ExitCode.JOB_FAILED
    assert flowsim("report", "out/maxima/1").code == 0
    assert flowsim("replay", "out/maxima/1", "--allow-python").code == 0


KAFKA = """
from pyflink.common import SimpleStringSchema, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
source = (KafkaSource.builder().set_bootstrap_servers("kafka:9092").set_topics("orders").set_group_id("group")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_bounded(KafkaOffsetsInitializer.latest())
    .set_value_only_deserializer(SimpleStringSchema()).build())
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
orders.union(env.from_collection(["other"])).print()
env.execute("orders")
"""


def test_topics_of_a_program_are_explored_and_replayed(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(KAFKA)
    (tmp_path / "orders.jsonl").write_text('{"value": "a"}\n{"value": "b"}\n')
    topic = ("--topic", "orders=orders.jsonl")
    document = flowsim("explore", "orders.py", "--allow-python", *topic, "--space", "order", "--json").document
    assert (len(document["results"]), document["spaces"]["order"]["proven"]) == (3, True)
    for result in document["results"]:
        again = flowsim(*shlex.split(result["replay"])[1:])
        assert again.out.splitlines()[:3] == result["sinks"]["Print to Std. Out"][0]
        assert flowsim("replay", "out/orders/1", "--allow-python").code == 0
    (tmp_path / "lines").write_text("a\nb\n")
    assert flowsim("pyflink", "--topic", f"orders=text:{tmp_path}/lines@10/s", "orders.py").code == 0
    assert str(tmp_path) not in Path("out/orders/1/recording/manifest.json").read_text()
    (tmp_path / "moved").mkdir()
    for name in ("orders.py", "lines"):
        shutil.copy(name, tmp_path / "moved" / name)
    for folder in ([], ["--folder", "moved"]):
        again = flowsim("replay", "out/orders/1", "--allow-python", *folder)
        assert (again.code, again.out.startswith("the same")) == (0, True), again.err
    missing = flowsim("explore", "orders.py", "--allow-python")
    assert (missing.code, "topic 'orders' has no records here" in missing.err) == (ExitCode.BAD_INPUT, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explore", "maxima.py", "--", "--most", "2"), "runs a Python program: use --allow-python if you trust it"),
        (("explore", "maxima.py", "--allow-python"), "IndexError: list index out of range"),
        (
            ("explore", "maxima.py", "--allow-python", "--set", "settings.seed=3"),
            "settings.seed: this is a setting of the run",
        ),
        (("explore", "maxima.py", "--allow-python", "--limit", "a=1"), "--limit applies to scenarios only"),
        (("explore", "maxima.py", "--allow-python", "--until", "3s"), "--until applies to scenarios only"),
        (("explore", "idle.py", "--allow-python"), "idle.py: the program executed no job"),
        (("explore", "job.yaml", "--", "2"), "arguments and --topic apply to a program for PyFlink (PROGRAM.py) only"),
        (("pyflink", "--token", "fx1.o.Zm9vYmE.", "maxima.py", "--most", "2"), "the token belongs to another job"),
        (("pyflink", "--token", "3", "maxima.py", "--most", "2"), "expected a token such as fx1.o."),
        (
            ("pyflink", "--token", "fx1.o.Zm9vYmE.", "--seed", "3", "maxima.py"),
            "leave out --seed, --policy and --until",
        ),
    ],
)
def test_refused(flowsim: Any, program: str, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "idle.py").write_text("import pyflink\n")
    called = flowsim(*arguments)
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err
    assert not (tmp_path / "out").exists()
