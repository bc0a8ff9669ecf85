"""Runs the cases of the corpus in processes of their own: imports flowsim once and forks for each case.

A case has 512 MB of memory above the address space of this process, and 2 seconds. The time begins after its input is
made, and time in which the case is ready but other processes occupy the cores does not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.hostile.case import FAILED, REFUSED, Case
from tests.hostile.corpus import corpus

MEMORY_BYTES: Final = 512 << 20
SECONDS: Final = 2.0
_SECONDS_TO_MAKE: Final = 30.0
_OUTPUT_BYTES: Final = 1 << 20
"""Longest output that is read."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a case ended: exit code (negative: the signal that ended it), output, seconds and peak of memory."""

    code: int
    output: str
    seconds: float
    peak_bytes: int


@dataclass(slots=True)
class Worker:
    """The process that forks."""

    process: subprocess.Popen[str]

    def run(self, group: str, name: str, folder: Path) -> Ended:
        """Runs one case in ``folder``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([group, name, str(folder)]) + "\n")
        self.process.stdin.flush()
        return Ended(**json.loads(self.process.stdout.readline()))


@contextmanager
def worker() -> Iterator[Worker]:
    """The worker, as long as the block lasts."""
    # Address space that the allocators only reserve would count against the limit.
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield Worker(process)
        finally:
            process.kill()


def serve() -> None:
    """Runs the cases that standard input names, until it ends."""
    from flowsim.cli.main import CommandGroup

    for one in CommandGroup().commands.values():
        one.load()  # type: ignore[attr-defined]
    cases = {(group, case.name): case for group, listed in corpus().items() for case in listed}
    for line in sys.stdin:
        group, name, folder = json.loads(line)
        print(json.dumps(asdict(fork(cases[group, name], Path(folder)))), flush=True)


def fork(case: Case, folder: Path, limit: float = SECONDS) -> Ended:
    """Runs a case in a process of its own, and kills it after ``limit`` seconds."""
    output = folder.with_name(folder.name + ".output")
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run(case, folder, output, writer)
    os.close(writer)
    seconds = _wait(child, reader, limit)
    os.close(reader)
    _, status, usage = os.wait4(child, 0)
    with output.open("rb") as written:
        text = written.read(_OUTPUT_BYTES).decode(errors="backslashreplace")
    return Ended(os.waitstatus_to_exitcode(status), text, round(seconds, 3), usage.ru_maxrss * 1024)


def _wait(child: int, reader: int, limit: float) -> float:
    """Seconds from the beginning of the call to its end; the pipe has a byte at the beginning, and ends at the end."""
    select.select([reader], [], [], _SECONDS_TO_MAKE)
    if not os.read(reader, 1):
        return 0.0
    begin, waited = time.monotonic(), _waited_for_a_core(child)
    seconds = 0.0
    while seconds < limit:
        has_ended = bool(select.select([reader], [], [], limit - seconds + 0.001)[0])
        seconds = time.monotonic() - begin - (_waited_for_a_core(child) - waited)
        if has_ended:
            return seconds
    os.kill(child, signal.SIGKILL)
    return seconds


def _waited_for_a_core(process: int) -> float:
    """Seconds for which the process was ready to run, but did not; 0 on systems that do not count them."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def _run(case: Case, folder: Path, output: Path, began: int) -> None:
    """The process of the case; does not return."""
    code = 70
    try:
        os.chdir(folder)
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(written, 1)
        os.dup2(written, 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        call = case.make(folder)
        _limit_memory()
        os.write(began, b".")
        if isinstance(call, tuple):
            code = _command(call)
        else:
            from flowsim.errors import BadInput
            from flowsim.scenario.runner import ScenarioRun

            try:
                result = call()
                error = result.result.error if isinstance(result, ScenarioRun) else None
                code = 0 if error is None else FAILED
                print("" if error is None else error)
            except BadInput as error:
                code = REFUSED
                print(error)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _command(arguments: tuple[str, ...]) -> int:
    from flowsim.cli.main import main

    sys.argv = ["flowsim", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (own + MEMORY_BYTES, own + MEMORY_BYTES))


if __name__ == "__main__":
    serve()
