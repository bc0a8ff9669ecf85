"""The process of one run: it imports what a run needs, and then waits for the request."""

from __future__ import annotations

import glob
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import msgspec

from flowsim.cli.command import our_bug
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.judged_run import JudgedRun, RunJudge
from flowsim.cli.output import accept_all_characters, printable_output
from flowsim.cli.report_file import write_report
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.summary import exit_code
from flowsim.cli.watching.file_stamps import Stamps, exactly, inputs_in, stamps_of
from flowsim.cli.watching.run_process import Outcome, RunRequest
from flowsim.errors import BadInput, FlowsimError, InvariantViolation
from flowsim.facts.kinds import Level
from flowsim.limits import limits_of
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.runner import ScenarioRun, raise_broken_invariant, run_compiled
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.sim.signal_handler import LIKE_CTRL_C, PATIENCE_SECONDS

_NO_RUN: Final = "not run"
_INPUT: Final = 0
_OUTPUT: Final = 1
_ERRORS: Final = 2


def main() -> None:
    """Runs the request of standard input, and writes its outcome to standard output, as JSON.

    What the job prints goes to standard error. The end of standard input ends the run as Ctrl-C does.
    """
    accept_all_characters()
    answer = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)
    ScenarioModel.model_rebuild()
    request = sys.stdin.buffer.readline()
    if not request:
        return
    # Bytecode is compared with its source by seconds and size, which two saves may share.
    sys.dont_write_bytecode = True
    try:
        for number in (signal.SIGINT, *LIKE_CTRL_C):
            signal.signal(number, signal.default_int_handler)
        threading.Thread(target=_end_with_input, daemon=True).start()
        with printable_output(), redirect_stdout(sys.stderr):
            outcome = outcome_of(msgspec.json.decode(request, type=RunRequest))
        with os.fdopen(answer, "wb") as file:
            file.write(msgspec.json.encode(outcome))
    except KeyboardInterrupt:
        sys.stderr.flush()
        os._exit(ExitCode.INTERRUPTED)


def _end_with_input() -> None:
    """Interrupts the run at the end of standard input; a step that does not end is broken off."""
    while os.read(_INPUT, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(2 * PATIENCE_SECONDS)
    os._exit(ExitCode.INTERRUPTED)


def outcome_of(request: RunRequest) -> Outcome:
    """Runs and judges a scenario, and writes its report into the output directory. An error is part of the outcome.

    Which files an invalid scenario reads is not known completely: those that it may read are given.
    """
    file = Path(request.scenario)
    stamps, around = stamps_of([exactly(file)]), stamps_of(inputs_in(file.parent))
    try:
        compiled = compiled_scenario(
            file, Path(request.out), request.overrides, request.allow_python, request.allow_path, request.limits
        )
        stamps |= stamps_of(_inputs(compiled))
        return _run(compiled, request, stamps)
    except InvariantViolation as error:
        traceback.print_exc()
        return Outcome(_NO_RUN, (our_bug(error),), None, stamps | around)
    except FlowsimError as error:
        return Outcome(_NO_RUN, (str(error),), None, stamps | around)


def _run(compiled: CompiledScenario, request: RunRequest, stamps: Stamps) -> Outcome:
    out = Path(request.out)
    if compiled.run.record is Level.OFF:
        raise BadInput("settings.record is off, and the page shows a recording: use elements or full")
    write_warnings(compiled)
    done = run_compiled(compiled, out=out)
    stamps |= stamps_of(_modules(compiled.scenario.folder) if request.allow_python else ())
    raise_broken_invariant(done)
    judged = RunJudge("python", None, None).judge(done, out, request.allow_python, quiet=True)
    report = out / "report.html"
    write_report(out, report, verdicts=judged.report, quiet=True, limits=limits_of(request.limits))
    line = f"{done.result.status.value}: {judged.report.line}"
    return Outcome(line, tuple(_problems(done, judged)), str(report), stamps)


def _problems(done: ScenarioRun, judged: JudgedRun) -> Iterator[str]:
    """Yields what is not as the scenario expects."""
    if exit_code(done, []) is ExitCode.JOB_FAILED:
        yield str(done.result.error or done.result.report)
    if judged.report.error is not None:
        yield str(judged.report.error)
    for outcome in done.expectations:
        if outcome.met is False:
            yield f"expected {outcome.what}: {outcome.expected}, found: {outcome.found}"
    yield from judged.unexpected


def _inputs(compiled: CompiledScenario) -> Iterator[str]:
    """Yields the patterns of the files that the scenario names."""
    yield from (exactly(file.path) for file in compiled.inputs)
    for source in compiled.scenario.model.sources.values():
        if source.files is not None:
            names = [source.files.path] if isinstance(source.files.path, str) else source.files.path
            patterns = filter(glob.has_magic, names)
            yield from (os.path.join(exactly(compiled.scenario.folder), name) for name in patterns)
    if compiled.recompute is not None:
        yield exactly(compiled.recompute.script)


def _modules(folder: Path) -> Iterator[str]:
    """Yields the patterns of the imported Python files below the folder of the scenario."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path is not None and Path(path).is_relative_to(folder):
            yield exactly(Path(path))
