"""Runs a compiled scenario: resolves its options, records it, and keeps the recording readable after any end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from flowsim.checkpoints.storage.directory.manifest import read_manifest
from flowsim.cluster.checkpoint_folders import locked_folders
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, Progress, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.recorded_run import run_and_close
from flowsim.cluster.run_bounds import UNBOUNDED, RunBounds
from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.errors import BadInput, InvariantViolation, JobFailed, MemoryLimitReached, MissingTimestamp, NoTimestamp
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.faults.fault_checks import check_faults
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.notebook_html import html_block, html_table
from flowsim.quantities import count_text
from flowsim.recording.manifest import Manifest, RunDescription
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.expectations import ExpectationOutcome, FinishedRun, judge_expectations
from flowsim.scenario.run_description import describe_run, input_digests
from flowsim.scenario.run_directory import RunDirectory, Start
from flowsim.scenario.settings import RunSettings
from flowsim.scenario.timestamps import ADVICE, MISSING_ADVICE
from flowsim.sim.policy import SchedulingPolicy, policy_of
from flowsim.sim.rng import RandomStreams
from flowsim.sim.signal_handler import interrupts_of_run

PolicyName = Literal["fifo", "random"]
OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class SinkOutcome:
    """The outcome of a sink.

    ``rows``: those in the output of a job with checkpoints, otherwise those that the sink received. ``directory`` and
    ``records`` (value, timestamp) are set if the kind of the sink has them.
    """

    name: str
    kind: str
    rows: int
    directory: Path | None
    records: tuple[tuple[object, int | None], ...] | None
    is_kept: bool
    """True if the rows remain after the run: the job finished or was stopped, or its checkpoints committed them."""


@dataclass(frozen=True, slots=True, repr=False)
class ScenarioRun:
    """One run of a scenario and the outputs of the run."""

    compiled: CompiledScenario
    settings: RunSettings
    """The resolved settings of the run."""
    result: JobExecutionResult
    recording: Path | None
    """The recording on disk; None without recording, or without an output directory."""
    manifest: Manifest | None
    facts: MemoryRecorder | None
    """The facts of a run without an output directory, unless recording is off."""
    sinks: tuple[SinkOutcome, ...]
    expectations: tuple[ExpectationOutcome, ...]
    earlier_phases: tuple[ScenarioRun, ...] = ()
    """The runs of the phases before this one, if ``run_scenario`` ran a scenario with phases."""

    @property
    def digest(self) -> str | None:
        """The digest of the facts: a replay must have the same digest; None without recording."""
        if self.manifest is not None:
            return self.manifest.facts_digest
        return None if self.facts is None else self.facts.facts_digest()

    def __repr__(self) -> str:
        return f"<ScenarioRun {self.result.summary}>"

    def _repr_html_(self) -> str:
        """Shows in a notebook how the job ended, its expectations, and the rows of its sinks."""
        rows = [(f"sink {sink.name}", count_text(sink.rows, "row")) for sink in self.sinks]
        for outcome in self.expectations:
            met = {True: "met", False: "not met", None: "not checked"}[outcome.met]
            rows.append((outcome.what, f"{met}: expected {outcome.expected}, found {outcome.found}"))
        where = [] if self.recording is None else [("recording", str(self.recording))]
        return html_block("ScenarioRun", self.result.summary, html_table((), [*rows, *where]))


class ScenarioInterrupted(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP canceled the job of a scenario; ``run`` has what it did until then."""

    def __init__(self, run: ScenarioRun) -> None:
        super().__init__()
        self.run = run


def run_compiled(
    compiled: CompiledScenario,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    policy: PolicyName | SchedulingPolicy | None = None,
    clock: Literal["virtual", "real"] | None = None,
    record: Level | None = None,
    record_values_bytes: int | None = None,
    record_state: bool | None = None,
    until_ns: int | None = None,
    budget_records: int | None = None,
    faults: Sequence[Fault] = (),
    on_progress: OnProgress | None = None,
    bounds: RunBounds = UNBOUNDED,
    savepoint: SavepointRestoreSettings | None = None,
) -> ScenarioRun:
    """Runs a scenario; an argument that is None keeps the scenario's setting (with its ``--set`` overrides).

    ``out`` must be the directory that the scenario was compiled for; an earlier run there is replaced, other contents
    raise BadInput. Without ``out`` facts stay in memory. ``faults`` are added to the scenario's. ``savepoint``: the
    snapshot from which the job starts. The result reports a failed or deadlocked job. Raises BadInput,
    InvariantViolation, or KeyboardInterrupt (ScenarioInterrupted with the run) after the recording was closed.
    """
    name = policy if isinstance(policy, str) else None
    settings = resolved_settings(compiled.run, seed, name, clock, record, until_ns, record_values_bytes, record_state)
    schedule = policy_of(settings.policy if policy is None else policy, RandomStreams(settings.seed))
    _check(compiled, settings.clock, savepoint, faults)
    run = describe_run(compiled, settings, schedule, until_ns, budget_records, faults, savepoint)
    start = _start(compiled, savepoint)
    is_continued = out is not None and RunDirectory(out).continues(start)
    recorder = _recorder(compiled, out, settings, run, start)
    # A signal waits for the run, so that no opened recording stays open.
    with interrupts_of_run(), _memory_of_sinks(compiled), recorder as (writer, facts):
        options = replace(
            _options(compiled, settings, savepoint),
            policy=schedule,
            recorder=writer or facts,
            on_progress=on_progress,
            budget_records=budget_records,
            bounds=bounds,
        )
        options = with_faults(options, (*compiled.faults, *faults))
        collected = {sink.name: sink.collected for sink in compiled.sinks if sink.collected is not None}
        cluster, ended, manifest = run_and_close(
            compiled.stream_graph(), options, writer, _wall(compiled, savepoint), collected
        )
    result, sinks = _advised(ended, compiled), _sinks(compiled, cluster, ended)
    recording = None if writer is None else writer.directory
    finished = FinishedRun(
        result,
        sinks={sink.name: (sink.rows, sink.records) for sink in sinks},
        facts=(lambda: facts) if recording is None else partial(Recording.open, recording),
        is_cut_short=result.is_interrupted or (until_ns is not None and result.status is JobStatus.STOPPED),
        is_continued=is_continued,
        has_other_schedule=_has_other_schedule(compiled, settings, schedule, budget_records),
        costs_pass=settings.clock == "virtual",
    )
    expectations = judge_expectations(compiled.scenario.model, finished)
    return _uninterrupted(ScenarioRun(compiled, settings, result, recording, manifest, facts, sinks, expectations))


def _options(
    compiled: CompiledScenario, settings: RunSettings, savepoint: SavepointRestoreSettings | None
) -> RunOptions:
    """Returns the options that the scenario and its settings decide."""
    return RunOptions(
        seed=settings.seed,
        clock=settings.clock,
        until_ns=settings.until_ns,
        actions=compiled.actions,
        failures=compiled.failures,
        limits=compiled.scenario.limits,
        savepoint=savepoint,
    )


@contextmanager
def _memory_of_sinks(compiled: CompiledScenario) -> Iterator[None]:
    """Adds advice to a MemoryError, if the scenario has sinks that hold their rows in memory."""
    try:
        yield
    except MemoryError as error:
        if advice := _advice_for_memory(compiled):
            error.add_note(advice)
        raise


def _advice_for_memory(compiled: CompiledScenario) -> str:
    names = [sink.name for sink in compiled.sinks if sink.collected is not None]
    return f"sink {', '.join(names)} (collect) holds all its rows: use csv, jsonl or parquet" if names else ""


def _uninterrupted(run: ScenarioRun) -> ScenarioRun:
    """Returns the run, or raises ScenarioInterrupted with it."""
    if run.result.is_interrupted:
        raise ScenarioInterrupted(run)
    return run


def _has_other_schedule(
    compiled: CompiledScenario, settings: RunSettings, schedule: SchedulingPolicy, budget_records: int | None
) -> bool:
    """Returns True if the caller changed what decides the order of a run: its seed, its policy, or its batches."""
    own_budget = compiled.env.settings.budget_records
    budget = own_budget if budget_records is None else budget_records
    own = compiled.run.seed, compiled.run.policy, own_budget
    return (settings.seed, schedule.name, budget) != own


def _check(
    compiled: CompiledScenario,
    clock: Literal["virtual", "real"],
    savepoint: SavepointRestoreSettings | None,
    faults: Sequence[Fault],
) -> None:
    """Raises BadInput for a job that cannot be deployed or restored, or lacks what faults name; writes nothing."""
    if compiled.phases:
        raise BadInput(
            f"scenario {compiled.scenario.model.name!r} has phases: only 'flowsim run' and 'replay' run them"
        )
    graph = compiled.stream_graph()
    graph.check_run(clock)
    job = create_job_graph(graph)
    if faults:
        check_faults(faults, create_execution_graph(job, compiled.scenario.limits))
    if savepoint is not None:
        options = RunOptions(clock=clock, limits=compiled.scenario.limits, savepoint=savepoint)
        MiniCluster(compiled.stream_graph(), options)


def _wall(compiled: CompiledScenario, savepoint: SavepointRestoreSettings | None) -> dict[str, object]:
    """Returns the folders of this run, for a replay on the same machine."""
    folders: dict[str, object] = {"scenario_folder": str(compiled.scenario.folder)}
    return folders if savepoint is None else {**folders, "savepoint": str(Path(savepoint.path).absolute())}


def _start(compiled: CompiledScenario, savepoint: SavepointRestoreSettings | None) -> Start | None:
    if savepoint is None:
        return None
    path = Path(savepoint.path)
    manifest = read_manifest(path, compiled.scenario.limits)
    return Start(path, manifest.checkpoint_id, manifest.digest)


@contextmanager
def _recorder(
    compiled: CompiledScenario,
    out: str | Path | None,
    settings: RunSettings,
    description: RunDescription,
    start: Start | None,
) -> Iterator[tuple[RecordingWriter | None, MemoryRecorder | None]]:
    """Returns the recorder of a run: a writer below ``out``, which it locks, or memory, or None."""
    level, values_bytes = settings.record, settings.record_values_bytes
    with _locked_directory(compiled, out, start) as directory:
        if directory is None:
            yield None, None if level is Level.OFF else MemoryRecorder(level, values_bytes, settings.record_state)
        elif level is Level.OFF:
            yield None, None
        else:
            writer = RecordingWriter(
                directory.recording,
                level,
                description,
                values_bytes=values_bytes,
                records_state=settings.record_state,
                inputs=lambda: input_digests(compiled),
            )
            yield writer, None


@contextmanager
def _locked_directory(
    compiled: CompiledScenario, out: str | Path | None, start: Start | None
) -> Iterator[RunDirectory | None]:
    """Locks ``out``, if there is one, and the folders of checkpoints; those below ``out`` are locked with it."""
    checkpoints = [folder.resolve() for folder in compiled.checkpoint_folders]
    if out is None:
        with locked_folders(checkpoints):
            yield None
        return
    directory, base = RunDirectory(out), Path(out).resolve()
    _begin_tables(compiled, start, base, continues=directory.continues(start))
    sinks = [sink.directory.resolve() for sink in compiled.sinks if sink.directory is not None]
    with locked_folders(folder for folder in checkpoints if not folder.is_relative_to(base)):
        directory.begin(compiled.scenario.model.name, sinks, checkpoints, start)
        try:
            yield directory
        finally:
            directory.end()


def _begin_tables(compiled: CompiledScenario, start: Start | None, base: Path, *, continues: bool) -> None:
    """Prepares the database files that stay. Raises BadInput if one holds rows that the run would write again."""
    for sink in compiled.sinks:
        is_kept = sink.directory is not None and (continues or not sink.directory.resolve().is_relative_to(base))
        if is_kept and isinstance(sink.output, SqliteSink):
            sink.output.begin_run(None if start is None else start.checkpoint_id)


def _advised(result: JobExecutionResult, compiled: CompiledScenario) -> JobExecutionResult:
    """Adds advice for scenarios, if it depends on how a job is written."""
    failed = result.error
    if isinstance(failed, MemoryLimitReached) and (advice := _advice_for_memory(compiled)):
        return replace(result, error=MemoryLimitReached(f"{failed}; {advice}"))
    if isinstance(failed, JobFailed) and isinstance(failed.cause, NoTimestamp):
        return replace(result, error=failed.advised(ADVICE))
    if isinstance(failed, JobFailed) and isinstance(failed.cause, MissingTimestamp):
        return replace(result, error=failed.advised(MISSING_ADVICE))
    return result


def resolved_settings(
    settings: RunSettings,
    seed: int | None = None,
    policy: PolicyName | None = None,
    clock: Literal["virtual", "real"] | None = None,
    record: Level | None = None,
    until_ns: int | None = None,
    record_values_bytes: int | None = None,
    record_state: bool | None = None,
) -> RunSettings:
    """Returns the scenario's settings, overridden by the caller's settings."""
    return RunSettings(
        seed=settings.seed if seed is None else seed,
        policy=settings.policy if policy is None else policy,
        clock=settings.clock if clock is None else clock,
        until_ns=settings.until_ns if until_ns is None else until_ns,
        record=settings.record if record is None else record,
        record_values_bytes=settings.record_values_bytes if record_values_bytes is None else record_values_bytes,
        record_state=settings.record_state if record_state is None else record_state,
    )


def broken_invariant(error: Exception | None) -> InvariantViolation | None:
    """Returns the violated invariant that is or caused a job's error; None for any other error."""
    if isinstance(error, JobFailed) and isinstance(error.cause, InvariantViolation):
        return error.cause
    return error if isinstance(error, InvariantViolation) else None


def raise_broken_invariant(run: ScenarioRun) -> None:
    """Raises InvariantViolation if a violated invariant ended the job, unless the scenario has faults."""
    if broken_invariant(run.result.error) is not None and not run.compiled.faults:
        raise InvariantViolation(str(run.result.error))


def _sinks(compiled: CompiledScenario, cluster: MiniCluster, result: JobExecutionResult) -> tuple[SinkOutcome, ...]:
    has_checkpoints = cluster.execution.job.graph.settings.checkpointing is not None
    is_out_of_memory = isinstance(result.error, MemoryLimitReached)
    received: dict[str, int] = {}
    for task in cluster.deployment.tasks if cluster.deployment is not None else ():
        for wrapper in task.chain.wrappers:
            received[wrapper.name] = received.get(wrapper.name, 0) + wrapper.operator.records_in
    outcomes = tuple(
        SinkOutcome(
            sink.name,
            sink.kind,
            sink.output.committed_rows if has_checkpoints else received.get(f"Sink: {sink.name}", 0),
            sink.directory,
            None if sink.collected is None else () if is_out_of_memory else tuple(sink.collected.records()),
            has_checkpoints or result.status in (JobStatus.FINISHED, JobStatus.STOPPED),
        )
        for sink in compiled.sinks
    )
    for sink in compiled.sinks:
        if is_out_of_memory and sink.collected is not None:
            sink.collected.clear()  # What follows needs memory: the summary, and the commands of the process.
    return outcomes
