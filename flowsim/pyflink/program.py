"""Runs a program that was written for PyFlink, as ``python PROGRAM.py`` does."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from flowsim.connectors.file_system.folders import output_folder
from flowsim.connectors.kafka.topics import Topics, simulated_topics
from flowsim.datastream.job_executor import ChangeSettings, JobExecutor, context_executor, keep_settings
from flowsim.errors import BadInput, FlowsimError
from flowsim.pyflink.import_finder import pyflink_imports


class ProgramFailed(FlowsimError):
    """The program raised an error, or ended with an exit code that is not 0; the cause is that error or SystemExit."""


def run_program(
    program: Path,
    arguments: Sequence[str],
    executor: JobExecutor,
    topics: Topics | None = None,
    files: Path | None = None,
    change: ChangeSettings = keep_settings,
) -> None:
    """Runs a program with these arguments; ``executor`` runs its jobs, ``topics`` has what its Kafka sources read.

    Its file sinks write below ``files``; None: where the program says. ``change`` changes the settings of its jobs.

    The program is ``__main__``, and imports modules that are beside it. Raises BadInput for what flowsim does not do, with
    the line of the program; JobFailed or Deadlock for a job; ProgramFailed for any other error.
    """
    if not program.is_file():
        raise BadInput(f"{program}: no such file")
    with (
        surroundings(program, arguments),
        context_executor(executor, change),
        simulated_topics(topics),
        output_folder(files),
    ):
        try:
            runpy.run_path(str(program), run_name="__main__")
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise ProgramFailed(f"{program}: ended with exit code {ended.code}") from ended
        except BadInput as error:
            line = _line_of(program, error.__traceback__)
            raise BadInput(f"{program}{line}: {error}") from error
        except FlowsimError:
            raise
        except Exception as error:
            raise ProgramFailed(f"{program}: the program failed\n{_own_traceback(program, error)}") from error


@contextmanager
def surroundings(program: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Gives the process what a program finds: PyFlink's modules, those beside the program, and its arguments."""
    argv, path = sys.argv, sys.path
    sys.argv = [str(program), *arguments]
    sys.path = [str(program.resolve().parent), *path]
    try:
        with pyflink_imports():
            yield
    finally:
        sys.argv, sys.path = argv, path


def _line_of(program: Path, frames: TracebackType | None) -> str:
    """Returns the innermost line of the program in a traceback, as ``:7``."""
    lines = [line for frame, line in traceback.walk_tb(frames) if frame.f_code.co_filename == str(program)]
    return f":{lines[-1]}" if lines else ""


def _own_traceback(program: Path, error: Exception) -> str:
    """Returns the traceback of an error from the first line of the program on."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(program):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()
