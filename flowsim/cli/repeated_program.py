"""Repeats a run of a program for PyFlink: by the token of an exploration, or as it was recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flowsim.cli.topics import topics_of
from flowsim.cluster.job_execution import RunOptions
from flowsim.connectors.file_system.folders import empty_output_folder
from flowsim.errors import BadInput, Deadlock, JobFailed, RunTooLong
from flowsim.explore.explored_job import EXPLORED_BOUNDS, silenced
from flowsim.explore.observed_graph import observed_digest
from flowsim.graph.stream_graph import StreamGraph
from flowsim.pyflink.program import run_program
from flowsim.pyflink.program_executor import ProgramExecutor
from flowsim.pyflink.recorded_program import RecordedProgram
from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.scenario.program_settings import ProgramSettings
from flowsim.scenario.run_description import recorded_token, recorded_until_ns
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.sampled.by_strategy import replay


def repeated(token: ChoiceToken) -> Callable[[StreamGraph], RunOptions]:
    """Returns what gives a job the options that repeat an explored run; it raises BadInput for another job."""

    def options(graph: StreamGraph) -> RunOptions:
        token.check_job(observed_digest(graph))
        return RunOptions(policy=replay(token).policy(), bounds=EXPLORED_BOUNDS)

    return options


def replayed(recording: Recording, program: RecordedProgram, folder: Path | None, out: Path) -> Recording:
    """Runs the program of a recording again and returns the recording of the same job, below ``out``. Raises BadInput."""
    file, manifest = program.file_in(folder), recording.manifest
    executor = ProgramExecutor(
        manifest.run.seed,
        None,
        recorded_until_ns(manifest),
        manifest.recorded_level,
        out,
        file,
        program.arguments,
        program.topics,
        program.settings,
    )
    token = recorded_token(manifest)
    if token is not None:
        executor.explored = repeated(token)
    elif manifest.run.policy == "random":
        executor.policy = "random"
    empty_output_folder(out / "files")
    with silenced(), suppress(JobFailed, Deadlock, RunTooLong):  # a failure is recorded, and compared
        topics, change = topics_of(program.topics, folder), ProgramSettings(program.settings).apply
        run_program(file, program.arguments, executor, topics, out / "files", change)
    run = executor.runs[program.job - 1] if len(executor.runs) >= program.job else None
    if run is None or run.recording is None:
        raise BadInput(
            f"the program executed {count_text(len(executor.runs), 'job')}, and the recording is that of job {program.job}"
        )
    return Recording.open(run.recording)
