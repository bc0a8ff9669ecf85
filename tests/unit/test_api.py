"""The functions of ``import flowsim``."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from flowsim import (
    BadInput,
    Deadlock,
    FlowsimError,
    InvariantViolation,
    JobFailed,
    MissingExtra,
    Recording,
    ScenarioError,
    api,
    open_recording,
    run_scenario,
    validate_recording,
)
from flowsim.laws.law_ids import LAW_IDS
from flowsim.recording.manifest import RunStatus
from flowsim.scenario import runner
from flowsim.simulation import JobStatus, Verdict

WORDS = """\
flowsim: 1
name: words
settings: {record: full}
sources:
  lines: {collection: {fields: {word: string}, rows: [[to], [be], [to]]}}
operators:
  counts: {input: lines, key_by: word, parallelism: 2, reduce: {word: max}}
sinks:
  all: {input: counts, collect: {}}
"""
FILES = WORDS.replace("collect: {}", "csv: {}")


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.yaml"
    path.write_text(WORDS)
    return path


def test_text_path_and_file_give_same_facts(words: Path) -> None:
    runs = [run_scenario(words), run_scenario(str(words)), run_scenario(WORDS)]
    assert {run.result.status for run in runs} == {JobStatus.FINISHED}
    assert len({run.digest for run in runs}) == 1


def test_arguments_override_overrides_and_scenario() -> None:
    run = run_scenario(WORDS, seed=5, record="elements", overrides=["settings.seed=4", "settings.policy=random"])
    settings = run.settings
    assert (settings.seed, settings.policy, settings.record.name) == (5, "random", "ELEMENTS")


def test_run_with_out_writes_recording_that_satisfies_laws(words: Path, tmp_path: Path) -> None:
    run = run_scenario(words, out=tmp_path / "out")
    recording = open_recording(tmp_path / "out")
    assert isinstance(recording, Recording)
    assert (recording.status, recording.directory) == (RunStatus.COMPLETE, run.recording)
    report = validate_recording(tmp_path / "out", engine="python")
    assert report.passed
    assert tuple(report.of(0)) == LAW_IDS


def test_violated_law_is_named_in_report(tmp_path: Path) -> None:
    run_scenario(WORDS, out=tmp_path / "out", overrides=["faults=[{fault: drop_element, at: 1}]"])
    report = validate_recording(tmp_path / "out", laws=["channel-fifo", "credits"], engine="python")
    assert not report.passed
    assert {law: outcome.verdict for law, outcome in report.of(0).items()} == {
        "channel-fifo": Verdict.VIOLATED,
        "credits": Verdict.HOLDS,
    }


def test_failed_job_is_a_result() -> None:
    run = run_scenario(
        WORDS.replace("key_by: word, parallelism: 2, reduce: {word: max}", "filter: 1 // (len(word) - 2) > 0")
    )
    assert run.result.status is JobStatus.FAILED
    assert isinstance(run.result.error, JobFailed)
    assert run.result.error.operator == "counts"


def test_broken_invariant_is_raised_unless_caused_by_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "broken_invariant", lambda error: InvariantViolation("a count went below zero"))
    with pytest.raises(InvariantViolation):
        run_scenario(WORDS)
    run_scenario(WORDS, overrides=["faults=[{fault: drop_element, at: 1}]"])


def test_sinks_writing_files_need_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="scenario 'words': sink 'all' writes files: give their directory with out="):
        run_scenario(FILES)
    assert list(tmp_path.iterdir()) == []
    run = run_scenario(FILES, out=tmp_path / "out")
    assert run.sinks[0].directory == tmp_path / "out" / "sinks" / "all"


def test_invalid_scenario_is_refused_with_position(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"^<text>:5:\d+ .*colection"):
        run_scenario(WORDS.replace("collection", "colection"))
    with pytest.raises(ScenarioError, match="there is no such file"):
        run_scenario(tmp_path / "none.yaml")


def test_python_code_of_scenario_runs_only_when_allowed(tmp_path: Path) -> None:
    (tmp_path / "shouting.py").write_text("def shout(word):\n    return (word[0].upper(),)\n")
    path = tmp_path / "python.yaml"
    function = "map: {python: shouting:shout, fields: {word: string}}"
    path.write_text(WORDS.replace("key_by: word, parallelism: 2, reduce: {word: max}", function))
    with pytest.raises(ScenarioError, match="allow"):
        run_scenario(path)
    records = run_scenario(path, allow_python=True).sinks[0].records
    assert records is not None
    assert [value for value, _ in records] == [("TO",), ("BE",), ("TO",)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"laws": ["credit"]}, r"there is no law 'credit' \(did you mean 'credits'\?\)"),
        ({"engine": "python", "remote": "sc://localhost"}, "the engine 'python' does not use it"),
        ({"engine": "python", "master": "local[2]"}, "the engine 'python' does not use it"),
    ],
)
def test_invalid_validation_options_are_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        validate_recording(tmp_path, **options)  # type: ignore[arg-type]


def test_path_without_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such recording"):
        open_recording(tmp_path / "nothing")
    with pytest.raises(BadInput, match="no such recording"):
        validate_recording(tmp_path / "nothing", engine="python")


@pytest.mark.parametrize("options", [{"engine": "spark"}, {"master": "local[2]"}, {"remote": "sc://localhost"}])
def test_validation_on_spark_without_it_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    run_scenario(WORDS, out=tmp_path / "out")
    monkeypatch.setattr("flowsim.validation.spark_session.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="'spark'"):
        validate_recording(tmp_path / "out", **options)  # type: ignore[arg-type]
    assert validate_recording(tmp_path / "out").engine == "in this process"


@pytest.mark.parametrize("kind", [BadInput, ScenarioError, MissingExtra, JobFailed, Deadlock, InvariantViolation])
def test_every_error_is_a_flowsim_error(kind: type[Exception]) -> None:
    assert issubclass(kind, FlowsimError)


def test_docstring_example_runs() -> None:
    assert doctest.testmod(api) == doctest.TestResults(0, 3)
