"""``flowsim run``: runs a scenario, records it, and optionally checks it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument, size_argument
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import (
    AllowPath,
    AllowPython,
    ClockName,
    Engine,
    Json,
    Limit,
    Master,
    PolicyName,
    RecordLevel,
    RecordState,
    RecordValues,
    Remote,
    ScenarioFile,
    Seed,
    Set,
    Until,
    Verbose,
    default_out,
)
from flowsim.cli.progress import run_progress
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.summary import exit_code, run_data, run_waits, show_run
from flowsim.cli.varied import overrides_of
from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import CLAIM_MODES, SavepointRestoreSettings
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.phased_run import run_phases
from flowsim.scenario.resume import newest_snapshot
from flowsim.scenario.runner import (
    ScenarioInterrupted,
    ScenarioRun,
    raise_broken_invariant,
    resolved_settings,
    run_compiled,
)
from flowsim.scenario.settings import RunSettings
from flowsim.sim.choice_token import ChoiceToken, Recorded
from flowsim.sim.sampled.by_strategy import replay

if TYPE_CHECKING:
    from flowsim.cli.judged_run import JudgedRun, RunJudge
    from flowsim.cli.judging import EngineName

Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Directory for the results and the recording; default out/<scenario>."),
]
Validate = Annotated[
    bool,
    typer.Option(
        "--validate",
        help="Check the recording with the laws, and compare the verdicts with the scenario's expectations.",
    ),
]
FromSavepoint = Annotated[
    Path | None,
    typer.Option(
        "--from-savepoint",
        metavar="DIR",
        help="Start from this savepoint or checkpoint, e.g. out/savepoint-3. The parallelism may differ: --set "
        "settings.parallelism=4.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the run in the output directory from its newest complete checkpoint: rows that its sinks have "
        "committed up to it stay.",
    ),
]
ClaimModeOption = Annotated[
    Literal["claim", "no-claim", "legacy"] | None,
    typer.Option(
        "--claim-mode",
        help="claim: the job deletes the snapshot when a later checkpoint replaces it; no-claim (default) and legacy: "
        "the snapshot stays; after no-claim the first checkpoint is a full one.",
    ),
]
AllowNonRestoredState = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        help="With --from-savepoint: drop the state of operators that the scenario does not have; otherwise an error.",
    ),
]
TokenText = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Repeat a run that flowsim explore found."),
]
Connect = Annotated[
    list[str] | None,
    typer.Option(
        "--connect",
        metavar="NAME=URL",
        help="Let sinks with this connection write to a server, e.g. warehouse=postgresql://user@host/database. Real clock "
        "only.",
    ),
]


@command
def run(
    scenario: ScenarioFile,
    out: Out = None,
    seed: Seed = None,
    policy: PolicyName = None,
    clock: ClockName = None,
    record: RecordLevel = None,
    record_values: RecordValues = None,
    record_state: RecordState = None,
    until: Until = None,
    token: TokenText = None,
    set_: Set = None,
    from_savepoint: FromSavepoint = None,
    resume: Resume = False,
    claim_mode: ClaimModeOption = None,
    allow_non_restored_state: AllowNonRestoredState = False,
    limit: Limit = None,
    validate: Validate = False,
    engine: Engine = "auto",
    master: Master = None,
    remote: Remote = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    connect: Connect = None,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Run a scenario. Options override --set, and --set overrides the scenario's settings."""
    judge = _judge(validate, engine, master, remote)
    directory, chosen = out or default_out(scenario), overrides_of(token, scenario, set_, limit)
    until_ns = duration_argument("--until", until)
    compiled = compiled_scenario(scenario, directory, chosen, allow_python, allow_path, limit, until_ns, connect)
    level = None if record is None else Level[record.upper()]
    values_bytes = size_argument("--record-values", record_values)
    settings = resolved_settings(compiled.run, seed, policy, clock, level, until_ns)
    _check_options(settings, policy is not None, bool(record_state), validate)
    choices = _choices(token, compiled, settings, policy is not None)
    if judge is not None:
        judge.require(compiled.recompute is not None and allow_python)
    write_warnings(compiled)
    start = _resumed(directory, compiled, from_savepoint) if resume else from_savepoint
    savepoint = _savepoint(start, claim_mode, allow_non_restored_state)
    _warn_of_memory(compiled, start)
    with run_progress(compiled.scenario.model.name, json_output) as progress:
        run_one = partial(
            run_compiled,
            seed=seed,
            policy=policy if choices is None else choices.policy(),
            clock=clock,
            record=level,
            record_values_bytes=values_bytes,
            record_state=record_state,
            until_ns=until_ns,
            on_progress=progress if progress.is_shown else None,
        )
        try:
            runs = run_phases(compiled, directory, savepoint, run_one)
        except ScenarioInterrupted as interrupted:
            return _interrupted(interrupted.run, directory)
    return _answer(compiled, runs, directory, judge, allow_python, json_output, verbose)


def _check_options(settings: RunSettings, names_policy: bool, record_state: bool, validate: bool) -> None:
    """Raises BadInput for options that do not fit the settings of the run."""
    if settings.clock == "real" and names_policy:
        raise BadInput("--policy: applies to the virtual clock only; leave it out on the real clock")
    if record_state and settings.record is not Level.FULL:
        raise BadInput("--record-state: state changes are recorded at level full only; add --record full")
    if validate and settings.record is Level.OFF:
        raise BadInput("--validate needs a recording, but recording is off: use --record elements or full")


def _choices(
    text: str | None, compiled: CompiledScenario, settings: RunSettings, names_policy: bool
) -> Recorded | None:
    """Returns the choices of a token. Raises BadInput for a token of another job, or if other options decide the order."""
    if text is None:
        return None
    from flowsim.explore.checked_run import check_token

    token = ChoiceToken.parse(text)
    if names_policy:
        raise BadInput("--token: it decides the order of the run: leave out --policy")
    if settings.clock == "real":
        raise BadInput("--token: applies to the virtual clock only")
    if compiled.phases:
        raise BadInput("--token: a scenario with phases cannot be explored")
    check_token(token, compiled.scenario)
    return replay(token)


def _judge(validate: bool, engine: EngineName, master: str | None, remote: str | None) -> RunJudge | None:
    """Returns the judge of a run with ``--validate``; raises BadInput for options that exclude each other."""
    if not validate and engine == "auto" and master is None and remote is None:
        return None
    from flowsim.cli.judged_run import RunJudge

    judge = RunJudge(engine, master, remote)
    return judge if validate else None


def _resumed(directory: Path, compiled: CompiledScenario, from_savepoint: Path | None) -> Path:
    """Returns the snapshot with which the run in the directory continues; prints it."""
    if from_savepoint is not None:
        raise BadInput("--resume finds the checkpoint itself: leave out --from-savepoint")
    if compiled.phases:
        raise BadInput("--resume: a scenario with phases runs all of them: leave out --resume")
    found, skipped = newest_snapshot(directory, compiled.scenario.model.name, compiled.scenario.limits)
    for reason in skipped:
        sys.stderr.write(f"warning: not resumed from: {reason}\n")
    sys.stderr.write(f"resuming from {found}\n")
    return found


def _warn_of_memory(compiled: CompiledScenario, start: Path | None) -> None:
    """Says which sinks have only the rest of the rows, since the others were in the memory of another process."""
    names = [sink.name for sink in compiled.sinks if sink.collected is not None]
    if start is not None and names:
        sys.stderr.write(
            f"warning: sink {', '.join(names)} (collect) has only the rows after {start.name}: those before it were in the "
            "memory of the run that wrote it; use csv, jsonl or parquet to keep them\n"
        )


def _savepoint(path: Path | None, claim_mode: str | None, allow: bool) -> SavepointRestoreSettings | None:
    if path is not None:
        return SavepointRestoreSettings(str(path), CLAIM_MODES[claim_mode or "no-claim"], allow)
    if claim_mode is not None or allow:
        option = "--allow-non-restored-state" if claim_mode is None else "--claim-mode"
        raise BadInput(f"{option}: applies to a restored job only: add --from-savepoint DIR or --resume")
    return None


def _answer(
    compiled: CompiledScenario,
    runs: Sequence[ScenarioRun],
    out: Path,
    judge: RunJudge | None,
    allow_python: bool,
    json_output: bool,
    verbose: bool,
) -> Answer:
    """Returns the answer of the run, or of the phases that ran."""
    answers = []
    for number, done in enumerate(runs, 1):
        raise_broken_invariant(done)
        folder = out / f"{number}" if compiled.phases else out
        judged = judge.judge(done, folder, allow_python, json_output) if judge else None
        answers.append(_answer_of_run(done, folder, judged, verbose))
    return _answer_of_phases(answers, len(compiled.phases)) if compiled.phases else answers[0]


def _answer_of_run(done: ScenarioRun, out: Path, judged: JudgedRun | None, verbose: bool) -> Answer:
    unexpected = [] if judged is None else judged.unexpected
    error = None if judged is None else judged.report.error
    code = exit_code(done, unexpected) if error is None else ExitCode.BAD_INPUT

    waits = run_waits(done)
    document: dict[str, Any] = {**run_data(done, waits), "out": str(out), "exit_code": int(code)}
    if judged is not None:
        document["validation"] = judged.data()

    def show(console: Console) -> None:
        show_run(console, done, waits)
        if judged is not None:
            judged.show(console, verbose)
        _show_next(console, done, out)

    return Answer(document, show, code, error)


def _answer_of_phases(answers: list[Answer], phases: int) -> Answer:
    """The answers of all phases that ran, with the first exit code that is not 0."""
    code = next((each.code for each in answers if each.code is not ExitCode.FINE), ExitCode.FINE)

    def show(console: Console) -> None:
        for number, each in enumerate(answers, 1):
            console.print(f"{'' if number == 1 else chr(10)}phase {number} of {phases}")
            each.show(console)

    error = next((each.error for each in answers if each.error is not None), None)
    return Answer({"phases": [each.document for each in answers], "exit_code": int(code)}, show, code, error)


def _show_next(console: Console, done: ScenarioRun, out: Path) -> None:
    if done.recording is not None:
        directory = shlex.quote(str(out))
        why = "failed" if done.result.status is JobStatus.FAILED else ""
        console.print(f"next      {f'flowsim why {directory} {why}'.rstrip()}", soft_wrap=True)
        console.print(f"          flowsim report {directory} --open", soft_wrap=True)


def _interrupted(done: ScenarioRun, out: Path) -> Answer:
    """The summary of what a run did until Ctrl-C, SIGTERM or SIGHUP canceled it."""
    code, waits = ExitCode.INTERRUPTED, run_waits(done)
    error = {"kind": "Interrupted", "message": "interrupted"}

    def show(console: Console) -> None:
        show_run(console, done, waits)
        sys.stderr.write("interrupted\n")

    return Answer({**run_data(done, waits), "out": str(out), "error": error, "exit_code": int(code)}, show, code)
