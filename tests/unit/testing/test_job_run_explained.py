"""A run inside a test: its recording, the causes of what happened, its facts as text, and its report."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import flowsim
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.testing import JobRun, Schedule, run_job


@pytest.fixture(scope="module")
def reordered() -> JobRun:
    """Two records that a rebalance sends to two subtasks; the last operator reads the second one first."""
    env = StreamExecutionEnvironment.get_execution_environment()
    spread = env.from_collection([0, 1]).rebalance().map(lambda number: number).set_parallelism(2)
    spread.map(lambda number: number).set_parallelism(1).name("collected")
    run = run_job(env, schedule=Schedule(seed=1))
    assert run.values() == [1, 0]
    return run


def test_why_names_the_place_where_the_order_changed(reordered: JobRun) -> None:
    found = reordered.why("order", 0, 1)
    assert found.statement == (
        "Record 0 comes before record 1 at Source: Collection Source (1/1), and after it at collected (1/1)."
    )
    assert found.causes[1].startswith("Record 0 went to Map (2/2) and record 1 to Map (1/2)")
    assert "7.3" in found.rules
    assert found.to_json()["statement"]["text"] == found.statement
    assert repr(found) == str(found) == "\n".join(found.lines())
    assert found._repr_html_().startswith('<pre style="white-space:pre-wrap">Record 0 comes before')
    assert ".html#" not in str(found)


def test_why_takes_words_values_a_time_and_a_task(reordered: JobRun) -> None:
    assert reordered.why("order", "0", "1").causes == reordered.why("order", 0, 1).causes
    assert "after it" not in reordered.why("order", 0, 1, at="2us").statement
    assert reordered.why("order", 0, 1, task="collected").statement == (
        "Record 1 comes before record 0 at collected (1/1)."
    )
    with pytest.raises(BadInput, match=r"there is no question 'ordr' \(did you mean 'order'\?\)"):
        reordered.why("ordr")
    with pytest.raises(BadInput, match="--at: expected a time"):
        reordered.why("late", at="soon")


def test_trace_prints_the_chosen_facts(reordered: JobRun) -> None:
    trace = reordered.trace(kinds="elements", task="collected", limit=2)
    about, _, *facts = trace.lines()
    assert about == "Flink Streaming Job, schedule fifo-1-4096: complete, level full"
    assert "reads record 1 from" in facts[0]
    assert facts[-1] == "stopped after 2 facts (--limit)"
    assert repr(trace) == str(trace)
    assert "reads record 1 from" in trace._repr_html_()
    with pytest.raises(BadInput, match="--detail all: expected overview, normal or everything"):
        reordered.trace(detail="all")  # type: ignore[arg-type]  # as an untyped test may write it


def test_saved_run_is_the_recording_of_its_facts(reordered: JobRun, tmp_path: Path) -> None:
    saved = reordered.save(tmp_path / "run")
    saved.verify()
    assert saved.computed_facts_digest == saved.manifest.facts_digest == reordered.facts.facts_digest()
    assert saved.manifest.run.seed == 1
    opened = flowsim.open_recording(tmp_path / "run")
    assert opened.why("order", 0, 1).statement == reordered.why("order", 0, 1).statement
    ours, theirs = (
        one.to_arrow("received", values=True).sort_by([("task", "ascending")]) for one in (opened, reordered)
    )
    assert ours.equals(theirs)
    assert reordered.save(tmp_path / "run").manifest.digest == saved.manifest.digest


def test_report_is_one_page_that_answers_link_to(reordered: JobRun, tmp_path: Path) -> None:
    saved = reordered.save(tmp_path / "run")
    report = reordered.report(tmp_path / "run/report.html")
    assert (tmp_path / "run/report.html").read_text(encoding="utf-8") == report.html
    assert str(tmp_path) not in report.html
    assert '"name":"Flink Streaming Job, schedule fifo-1-4096"' in report.html
    assert f"{tmp_path / 'run/report.html'}#view=" in str(saved.why("order", 0, 1))


def test_state_of_a_run_is_explained() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a", "b", "a"]).key_by(lambda word: word).count_window(2).reduce(lambda a, b: a + b).name(
        "two"
    )
    assert "two" in run_job(env).why("state", "two", "b").statement


def test_recording_lives_as_long_as_the_run_or_the_answer() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda number: number)
    run = run_job(env)
    recording = run.recording
    assert run.recording is recording
    directory = recording.directory
    del run
    gc.collect()
    assert recording.row_count("lifecycle") > 0
    del recording
    gc.collect()
    assert not directory.exists()


def test_failed_run_says_why_rows_are_missing() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 0]).rebalance().map(lambda number: 1 // number).name("divide")
    run = run_job(env)
    found = run.why("no-output")
    assert found.causes[0].startswith("The job failed in divide -> Collect: divide (1/1): ZeroDivisionError")
    assert found.notes[-1] == "the run did not finish: its status is failed"


def test_run_without_facts_cannot_be_asked() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(ScriptedSource([record(1)])).map(lambda number: number)
    with pytest.raises(BadInput, match="the run has no facts"):
        run_job(env, level=Level.OFF).why("late")


def test_run_with_object_reuse_is_saved_whatever_its_sink_has(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_config().enable_object_reuse()
    env.from_collection([1]).map(lambda number: (each for each in (number,)))

    saved = run_job(env).save(tmp_path)

    assert [rows.first for rows in saved.manifest.results.values()] == [("a generator, which is no value of a record",)]
