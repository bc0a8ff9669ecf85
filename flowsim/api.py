"""The functions of ``import flowsim``: run a scenario, open a recording, judge it by the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import CLAIM_MODES, SavepointRestoreSettings
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording import reader
from flowsim.report.inline import RecordingReport, report_of
from flowsim.report.payload import BUDGET_BYTES
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import Scenario, load_scenario, load_text
from flowsim.scenario.phased_run import run_phases
from flowsim.scenario.resume import newest_snapshot
from flowsim.scenario.runner import PolicyName, ScenarioRun, raise_broken_invariant, run_compiled
from flowsim.sim.policy import SchedulingPolicy
from flowsim.validation.judge import SPARK_FROM_FACTS, chosen_laws, open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.spark_session import spark_session
from flowsim.validation.verdict import Report
from flowsim.why.asked_recording import Recording


def run_scenario(
    scenario: str | Path,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    policy: PolicyName | SchedulingPolicy | None = None,
    clock: Literal["virtual", "real"] | None = None,
    record: Literal["off", "elements", "full"] | None = None,
    until_ns: int | None = None,
    overrides: Sequence[str] = (),
    from_savepoint: str | Path | None = None,
    resume: bool = False,
    claim_mode: Literal["claim", "no-claim", "legacy"] = "no-claim",
    allow_non_restored_state: bool = False,
    allow_python: bool = False,
    allow_path: bool = False,
    connections: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> ScenarioRun:
    """Runs a scenario, given as the path of a YAML file or as YAML text (a string with a line break).

    ``out`` is the directory for the recording and for the files of sinks; an earlier run there is replaced. Without
    ``out`` the facts stay in memory. Each phase has a folder in ``out``; the run of the last phase is returned. An argument
    that is None keeps the scenario's own setting. ``overrides`` are ``"KEY=VALUE"`` strings as for ``flowsim run --set``.
    ``until_ns`` counts from the start of the job. Python code and paths outside the scenario's folder need ``allow_python``
    and ``allow_path``. ``limits`` None selects the default limits. ``connections`` are the URLs of servers, by the names of
    connections in the scenario (sink ``postgres``).

    ``from_savepoint`` is the folder of a snapshot from which the job starts; ``resume`` continues the run in ``out`` from
    its newest one, where a sink ``collect`` has only the rows after it. ``claim_mode``: with ``"claim"`` the job deletes it
    when a later checkpoint replaces it. ``allow_non_restored_state`` drops state of operators that the scenario lacks.

    The returned ``ScenarioRun`` has the job's ``result.status`` and ``result.error``, and ``sinks``, ``expectations``,
    ``recording`` and ``digest``. A failed job raises no exception: see ``result.error``. Raises ScenarioError or
    BadInput if the scenario cannot run.

    >>> words = '''
    ... flowsim: 1
    ... name: words
    ... sources: {lines: {collection: {fields: {word: string}, rows: [[to], [be]]}}}
    ... sinks: {all: {input: lines, collect: {}}}
    ... '''
    >>> run = run_scenario(words)
    >>> run.result.status.value, run.sinks[0].rows
    ('finished', 2)
    """
    loaded = _loaded(scenario, overrides, limits or DEFAULT_LIMITS)
    compiled = _compiled(loaded, out, allow_python, allow_path, connections)
    start = _resumed(out, loaded, from_savepoint) if resume else from_savepoint
    level = None if record is None else Level[record.upper()]
    run_one = partial(run_compiled, seed=seed, policy=policy, clock=clock, record=level, until_ns=until_ns)
    savepoint = _savepoint(start, claim_mode, allow_non_restored_state)
    runs = run_phases(compiled, None if out is None else Path(out), savepoint, run_one)
    for run in runs:
        raise_broken_invariant(run)
    return replace(runs[-1], earlier_phases=runs[:-1])


def open_recording(path: str | Path, *, limits: Limits | None = None) -> Recording:
    """Opens a recording, or the recording in a run directory; raises BadInput if it is missing, damaged or beyond the
    limits (None: the defaults)."""
    return Recording.open(path, limits=limits or DEFAULT_LIMITS)


def validate_recording(
    path: str | Path,
    *,
    laws: Sequence[str] | None = None,
    engine: Literal["auto", "spark", "python"] = "auto",
    master: str | None = None,
    remote: str | None = None,
    limits: Limits | None = None,
) -> Report:
    """Checks a recording against ``laws``, or against all laws. ``passed`` of the report is true if every law holds.

    ``engine="spark"`` (the extra ``spark``) runs Spark locally, on a cluster (``master``), or through a Spark Connect
    server (``remote``). ``"python"`` runs in this process. ``"auto"`` selects Python below 20 million facts, unless
    ``master`` or ``remote`` is given. ``limits`` None: the defaults. Raises MissingExtra if the extra is not installed,
    and BadInput for an unknown law or an unreadable recording.
    """
    chosen_laws(laws)
    if engine == "python" and (master is not None or remote is not None):
        raise BadInput("master and remote are for Spark: the engine 'python' does not use it")
    runs = open_runs([open_recording(path, limits=limits)])
    requests_spark = engine == "spark" or master is not None or remote is not None
    if not requests_spark and (engine == "python" or runs[0].rows < SPARK_FROM_FACTS):
        return validate(runs, laws)
    with spark_session(master, remote, for_judge=True) as session:
        return validate(runs, laws, OnSpark(session))


def report_recording(
    recording: reader.Recording | str | Path, *, laws: bool = True, budget_bytes: int = BUDGET_BYTES
) -> RecordingReport:
    """Returns a recording as one HTML page, as ``flowsim report`` does; a notebook shows it in the cell.

    ``laws=False`` does not check the laws; otherwise they are checked in this process. ``budget_bytes`` limits the size of
    the page: the report of a larger recording omits tables. Raises BadInput for an unreadable recording.
    """
    opened = recording if isinstance(recording, reader.Recording) else Recording.open(recording)
    name = str(opened.directory if isinstance(recording, reader.Recording) else recording)
    return report_of(opened, name, laws=laws, budget_bytes=budget_bytes)


def _compiled(
    scenario: Scenario,
    out: str | Path | None,
    allow_python: bool,
    allow_path: bool,
    connections: Mapping[str, str] | None,
) -> CompiledScenario:
    folder = Path("out", scenario.model.name) if out is None else Path(out)
    compiled = compile_scenario(
        scenario, out_dir=folder, allow_python=allow_python, allow_path=allow_path, connections=connections
    )
    _check_memory(compiled, out)
    return compiled


def _check_memory(compiled: CompiledScenario, out: str | Path | None) -> None:
    """Raises BadInput if a run without an output directory would write files to the default one."""
    if out is not None:
        return
    name = compiled.scenario.model.name
    folder = Path("out", name)
    writing = [sink.name for sink in compiled.sinks if sink.directory is not None]
    if writing:
        raise BadInput(f"scenario {name!r}: sink {writing[0]!r} writes files: give their directory with out=")
    if any(each.is_relative_to(folder.resolve()) for each in compiled.checkpoint_folders):
        raise BadInput(f"scenario {name!r}: its checkpoints or savepoints are files: give their directory with out=")


def _resumed(out: str | Path | None, scenario: Scenario, from_savepoint: str | Path | None) -> Path:
    if from_savepoint is not None or out is None:
        raise BadInput("resume: continues the run in out=, from the checkpoint that it finds: no from_savepoint=")
    return newest_snapshot(Path(out), scenario.model.name, scenario.limits)[0]


def _savepoint(path: str | Path | None, claim_mode: str, allow: bool) -> SavepointRestoreSettings | None:
    if path is not None:
        return SavepointRestoreSettings(str(path), CLAIM_MODES[claim_mode], allow)
    if claim_mode != "no-claim" or allow:
        raise BadInput(
            "claim_mode and allow_non_restored_state: apply to a restored job only: give from_savepoint= or resume="
        )
    return None


def _loaded(scenario: str | Path, overrides: Sequence[str], limits: Limits) -> Scenario:
    if isinstance(scenario, str) and "\n" in scenario:
        return load_text(scenario, "<text>", Path.cwd(), overrides, limits)
    return load_scenario(scenario, overrides, limits)
