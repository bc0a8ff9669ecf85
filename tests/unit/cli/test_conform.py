"""``flowsim conform`` without Java: against saved answers, which runs of flowsim gave here. With it: tests/differential."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.scenarios import compiled_scenario
from flowsim.conform.both_sides import Here
from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.saved_answers import SavedAnswers

JOB = """\
flowsim: 1
name: small-job
sources:
  lines: {collection: {fields: {word: string}, rows: [[to], [be], [or]]}}
operators:
  counted: {input: lines, key_by: word, reduce: {word: last}, parallelism: 2}
sinks:
  all: {input: counted, collect: {}}
"""
SAVED = Path("answers/small-job.json")


def save_own_answers(scenario: str = "job.yaml", seeds: tuple[int, ...] = (0,)) -> None:
    """Saves what flowsim answers in runs with these schedules, as if Flink had answered it."""
    compiled = compiled_scenario(Path(scenario), Path("out"), None, False, False, None)
    jobs = jobs_of_scenario(compiled)
    runs = [[run.answer for run in Here(jobs).run(seed)] for seed in seeds]
    digests = [job.digest() for job in jobs]
    SavedAnswers("small-job", digests, compiled.scenario.text, runs).write(Path("answers"))


def change(edit: Callable[[Any], object]) -> None:
    document = json.loads(SAVED.read_text())
    edit(document)
    SAVED.write_text(json.dumps(document))


@pytest.fixture
def conform(flowsim: Any, tmp_path: Path) -> Any:
    (tmp_path / "job.yaml").write_text(JOB)
    return lambda *arguments: flowsim("conform", "job.yaml", *arguments)


def test_equal_answers_agree_and_changes_are_named_first(conform: Any) -> None:
    save_own_answers()
    called = conform("--against", "answers")
    assert called.code == 0
    assert called.out.splitlines()[0] == "small-job: agrees (1 run on Flink 2.3.0, 1 here)"
    assert "counted/0" in called.out
    assert called.err.splitlines()[0] == (
        "not compared: costs of records: Flink's operators take no virtual time: 0 on both sides"
    )


def test_a_difference_exits_1_and_shows_both_sides(conform: Any) -> None:
    save_own_answers()

    def another_value(document: Any) -> None:
        first = document["runs"][0][0]["seen"]["Sink: all/0"][0]
        first[4] = '["changed"]'

    change(another_value)
    called = conform("--against", "answers")
    assert called.code == 1
    assert called.out.splitlines()[0] == "small-job: differs: 1 subtask (1 run on Flink 2.3.0, 20 here)"
    lines = called.out[called.out.index("Sink: all/0 differs from element 1 on:") :].splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [
        ["flowsim", "record", '["to"]'],
        ["Flink", "record", '["changed"]'],
    ]


def test_json_has_facts_and_subtasks(conform: Any) -> None:
    save_own_answers()

    def another_status(document: Any) -> None:
        document["runs"][0][0]["status"] = "running"

    change(another_status)
    document = conform("--against", "answers", "--json", "--schedules", 2).document
    assert (document["verdict"], document["exit_code"], document["flink"]) == ("differs", 1, "2.3.0")
    (phase,) = document["phases"]
    assert phase["runs"] == {"flowsim": 2, "flink": 1}
    assert phase["facts"][0] == {"what": "status", "flowsim": "finished", "flink": "running", "agrees": False}
    assert {place["subtask"]: place["agreement"] for place in phase["subtasks"]} == {
        "counted/0": "exact",
        "counted/1": "exact",
        "Sink: all/0": "exact",
    }


def test_an_order_that_flink_varies_is_open(conform: Any) -> None:
    save_own_answers()

    def other_order(document: Any) -> None:
        (answer,) = document["runs"][0]
        elements = answer["seen"]["Sink: all/0"]
        reversed_ = [*reversed(elements[:-1]), elements[-1]]
        again = {**answer, "seen": {**answer["seen"], "Sink: all/0": reversed_}}
        document["runs"] = [[again], [answer]]

    change(other_order)
    called = conform("--against", "answers", "--schedules", 1)
    assert called.code == 0
    assert called.out.splitlines()[0] == (
        "small-job: agrees; Flink leaves the order open at 1 subtask (2 runs on Flink 2.3.0, 1 here)"
    )


def test_answers_of_a_changed_job_are_refused(conform: Any) -> None:
    save_own_answers()
    called = conform("--against", "answers", "--set", "operators.counted.parallelism=1")
    assert called.code == 2
    assert "answers/small-job.json: has the answers to another job" in called.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "answers/small-job.json: there is no such file: write it with"),
        ("{", "cannot be read"),
        ('{"flowsim_conform": 9}', "expected saved answers with flowsim_conform 1, got 9"),
        ('{"flowsim_conform": 1}', "is damaged (KeyError: 'runs')"),
        ("[]", "expected saved answers with flowsim_conform 1, got None"),
    ],
)
def test_unusable_answers_exit_2(text: str | None, message: str, conform: Any) -> None:
    SAVED.parent.mkdir()
    if text is not None:
        SAVED.write_text(text)
    called = conform("--against", "answers")
    assert (called.code, message in called.err) == (2, True), called.err


def test_answers_of_a_job_with_savepoints_are_found_again(conform: Any, tmp_path: Path) -> None:
    """The folder of a run here is another one each time."""
    (tmp_path / "job.yaml").write_text(JOB + "actions: [{savepoint: {at: 1s, directory: kept}}]\n")
    save_own_answers()
    called = conform("--against", "answers")
    assert called.code == 0, called.err


def test_faults_are_off(conform: Any, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + "faults: [{fault: valve_takes_maximum, operator: counted}]\n")
    save_own_answers()
    called = conform("--against", "answers")
    assert (called.code, "not compared: faults: Flink has none" in called.err) == (0, True), called.err


def test_what_flink_cannot_run_is_refused_before_it_starts(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(
        JOB.replace("counted: {", "old: {input: lines, async: {legacy: true}}\n  counted: {")
    )
    called = flowsim("conform", "old.yaml", "--against", "answers")
    assert called.code == 2, called.out


def test_without_flink_the_message_says_what_to_install(conform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowsim.conform.java_machine.FLINK_JAR", "flink-dist-0.jar")
    called = conform()
    assert (called.code, called.out) == (2, "")
    assert "the jars of Flink 2.3.0 are not installed: get them from PyPI with  pip install" in called.err


def test_save_and_against_exclude_each_other(conform: Any) -> None:
    called = conform("--save", "a", "--against", "a")
    assert (called.code, "--save and --against" in called.err) == (2, True)


BUILDERS = """\
from flowsim.datastream import StreamExecutionEnvironment

def gets(env):
    env.from_collection([1, 2]).map(lambda n: n + 1).print()

def returns():
    env = StreamExecutionEnvironment.get_execution_environment()
    gets(env)
    return env

def builds_nothing(env):
    pass

def returns_text():
    return "job"

def fails(env):
    raise ValueError("no")
"""


@pytest.mark.parametrize("function", ["gets", "returns"])
def test_a_python_job_is_compared(function: str, flowsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python_jobs_of_conform.py").write_text(BUILDERS)
    name = f"python_jobs_of_conform:{function}"
    refused = flowsim("conform", name, "--against", "answers")
    assert (refused.code, "runs only with --allow-python" in refused.err) == (2, True)
    lacking = flowsim("conform", name, "--against", "answers", "--allow-python")
    assert (lacking.code, f"answers/python_jobs_of_conform_{function}.json: there is no such file" in lacking.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("builds_nothing", "the job has no operators"),
        ("returns_text", "expected a function that returns a StreamExecutionEnvironment"),
        ("fails", "the job cannot be built: ValueError: no"),
        ("lacking", "has no function or class 'lacking'"),
    ],
)
def test_a_function_without_a_job_exits_2(function: str, message: str, flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "python_jobs_of_conform.py").write_text(BUILDERS)
    called = flowsim("conform", f"python_jobs_of_conform:{function}", "--allow-python")
    assert (called.code, message in called.err) == (2, True), called.err


def change_value(document: Any) -> None:
    document["runs"][1][0]["seen"]["Sink: all/0"][0][4] = '["changed"]'


def test_explored_results_contain_all_runs_of_the_job(conform: Any) -> None:
    save_own_answers(seeds=(0, 1, 2, 3))
    called = conform("--against", "answers", "--explored", 400)
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[-1].startswith("explored: ")
    assert lines[-1].endswith("(all); the results of Flink are among them")
    found = conform("--against", "answers", "--explored", 400, "--json").document["explored"]
    assert (found["complete"], found["proven"], found["flink"]) == (True, True, [True] * 4)


def test_result_that_no_order_has_is_a_difference(conform: Any) -> None:
    save_own_answers(seeds=(0, 1))
    change(change_value)
    called = conform("--against", "answers", "--explored", 400)
    assert called.code == 1
    assert called.out.splitlines()[-1].endswith("(all); not among them: the result of Flink's run 2")


def test_sample_of_the_orders_does_not_show_a_difference(conform: Any) -> None:
    save_own_answers(seeds=(0, 1))
    change(change_value)
    found = conform("--against", "answers", "--explored", 1, "--json").document["explored"]
    assert (found["results"], found["complete"], found["proven"], found["flink"][1]) == (1, False, False, False)


def test_phases_are_not_explored(conform: Any) -> None:
    settings = "settings: {checkpointing: {interval: 1 h}}\n"
    phases = "actions: [{stop: {at: 1 s, savepoint: {directory: savepoints}}}]\nphases: [{}]\n"
    Path("job.yaml").write_text(JOB + settings + phases)
    called = conform("--explored", 3)
    assert called.code == 2
    assert "--explored: a scenario with phases cannot be explored" in called.err
