"""Running a compiled scenario: options, results, files, and failures."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from flowsim.cluster.job_execution import JobStatus, Progress
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.manifest import RunStatus, SinkRows
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.scenario.run_description import rerun_of
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.sim.policy import ScriptedPolicy

COUNTS = """\
flowsim: 1
name: counts
settings: {record: full}
sources:
  words: {collection: {fields: {word: string}, rows: [[a], [b], [a], [c], [a]]}}
operators:
  counts: {input: words, key_by: word, parallelism: 2, reduce: {word: max}}
sinks:
  all: {input: counts, collect: {}}
expect: {rows: {all: 5}}
"""


def compiled(out: Path, *overrides: str) -> CompiledScenario:
    return compile_scenario(load_text(COUNTS, "counts.yaml", out, overrides), out_dir=out)


def run(folder: Path, **options: object) -> ScenarioRun:
    return run_compiled(compiled(folder), **options)  # type: ignore[arg-type]


def test_facts_in_memory_have_same_digest_as_on_disk(tmp_path: Path) -> None:
    in_memory, on_disk = run(tmp_path, policy="random"), run(tmp_path / "o", policy="random", out=tmp_path / "o")
    assert in_memory.digest == on_disk.digest == Recording.open(tmp_path / "o").computed_facts_digest
    assert in_memory.recording is None
    assert on_disk.facts is None


def test_arguments_override_scenario_settings(tmp_path: Path) -> None:
    done = run(tmp_path, seed=8, policy="random", record=Level.ELEMENTS, until_ns=10**9, budget_records=1)
    settings = done.settings
    assert (settings.seed, settings.policy, settings.record, settings.until_ns) == (8, "random", Level.ELEMENTS, 10**9)


def test_manifest_has_settings_to_repeat_run(tmp_path: Path) -> None:
    done = run(tmp_path / "o", out=tmp_path / "o", seed=8, policy="random", until_ns=10**9, budget_records=2)
    manifest = Recording.open(tmp_path / "o").manifest
    rerun = rerun_of(manifest)
    assert (rerun.seed, rerun.policy, rerun.record) == (8, "random", Level.FULL)
    assert (rerun.until_ns, rerun.budget_records) == (10**9, 2)
    assert manifest.run.settings["budget_records"] == 2
    assert manifest.facts_digest == done.digest
    assert str(tmp_path) not in repr(manifest)


def test_run_with_faults_of_a_program_cannot_be_repeated(tmp_path: Path) -> None:
    done = run(tmp_path / "o", out=tmp_path / "o", faults=(Fault("drop_element", "counts"),))
    assert done.manifest is not None
    with pytest.raises(BadInput, match="faults were switched on by a Python program"):
        rerun_of(done.manifest)


def test_fault_argument_breaks_its_law(tmp_path: Path) -> None:
    done = run(tmp_path, faults=(Fault("drop_element", "counts"),))
    assert done.facts is not None
    verdicts = {outcome.law: outcome.verdict for outcome in check_all(done.facts)}
    assert verdicts["channel-fifo"] is Verdict.VIOLATED


def test_run_with_policy_object_cannot_be_repeated(tmp_path: Path) -> None:
    done = run(tmp_path / "o", out=tmp_path / "o", policy=ScriptedPolicy([0, 0]))
    assert done.manifest is not None
    assert done.manifest.run.policy == "scripted"
    with pytest.raises(BadInput, match="only its own program"):
        rerun_of(done.manifest)


def test_run_has_sink_results_and_expectation_outcomes(tmp_path: Path) -> None:
    done = run(tmp_path)
    (sink,) = done.sinks
    assert (sink.rows, sorted(str(value) for value, _ in sink.records or ())) == (
        5, ["('a',)", "('a',)", "('a',)", "('b',)", "('c',)"],
    )  # fmt: skip
    assert [(e.what, e.met) for e in done.expectations] == [("job", True), ("rows of sink all", True)]


def test_manifest_has_first_rows_of_sinks_outside_the_digest(tmp_path: Path) -> None:
    manifest = run(tmp_path / "o", out=tmp_path / "o").manifest
    assert manifest is not None

    assert manifest.results == {"all": SinkRows(5, ('["b"]', '["c"]', '["a"]', '["a"]', '["a"]'))}
    assert Recording.open(tmp_path / "o").manifest == manifest
    assert replace(manifest, results={}).hashed() == manifest.digest


def test_progress_is_reported_during_run(tmp_path: Path) -> None:
    reported: list[Progress] = []
    run(tmp_path, on_progress=reported.append)
    assert reported[-1].records == 5


def test_ctrl_c_leaves_complete_recording_with_status_canceled(tmp_path: Path) -> None:
    pressed: list[Progress] = []

    def press_ctrl_c(progress: Progress) -> None:
        if not pressed:
            pressed.append(progress)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "o", out=tmp_path / "o", on_progress=press_ctrl_c)
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.CANCELED
    assert recording.computed_facts_digest == recording.manifest.facts_digest

    with pytest.raises(BadInput, match="its run was interrupted"):
        rerun_of(recording.manifest)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_ctrl_c_while_the_recording_is_opened_leaves_it_closed(
    tmp_path: Path, clock: Literal["virtual", "real"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*arguments: Any, **settings: Any) -> RecordingWriter:
        writer = RecordingWriter(*arguments, **settings)
        signal.raise_signal(signal.SIGINT)
        return writer

    monkeypatch.setattr("flowsim.scenario.runner.RecordingWriter", opened)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "o", out=tmp_path / "o", clock=clock)
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED


def test_job_canceled_by_action_meets_expectation_and_can_be_repeated(tmp_path: Path) -> None:
    cancel = ("actions=[{cancel: {at: 3 us}}]", "expect={}")
    done = run_compiled(compiled(tmp_path / "o", *cancel), out=tmp_path / "o")
    assert (done.result.status, done.result.elapsed_ns) == (JobStatus.CANCELED, 3_000)
    (job,) = (outcome for outcome in done.expectations if outcome.what == "job")
    assert (job.expected, job.found, job.met) == ("finished", "canceled", True)
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.CANCELED
    assert rerun_of(recording.manifest).seed == done.settings.seed
    again = run_compiled(compiled(tmp_path, *cancel))
    assert again.digest == done.digest


@pytest.mark.parametrize("watermarks", [False, True])
def test_any_source_may_run_as_legacy_source(tmp_path: Path, watermarks: bool) -> None:
    overrides = ["sources.words.legacy=true", "settings.latency_interval=1 ms"]
    if watermarks:
        overrides.append("sources.words.watermarks={timestamp: len(word), emit: every_record}")
    done = run_compiled(compiled(tmp_path, *overrides))
    assert done.result.status is JobStatus.FINISHED
    assert done.sinks[0].rows == 5
    assert done.result.tasks[0].name.startswith("Source: words -> words watermarks" if watermarks else "Source: words")
    assert done.result.latencies
    assert done.facts is not None
    assert [o for o in check_all(done.facts) if o.verdict is Verdict.VIOLATED] == []


def test_compiled_scenario_runs_twice_with_equal_digest(tmp_path: Path) -> None:
    job = compiled(tmp_path)
    first, second = run_compiled(job), run_compiled(job)
    assert first.result.status is second.result.status is JobStatus.FINISHED
    assert first.digest == second.digest
