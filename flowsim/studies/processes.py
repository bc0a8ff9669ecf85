"""Runs combinations in separate processes, several at the same time. Each run is the same as in this process."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from flowsim.errors import BadInput, FlowsimError, InvariantViolation
from flowsim.spawned import interrupts_blocked
from flowsim.studies.run import StudyPlan, StudyRow, run_combination
from flowsim.studies.variation import Combination

Task = tuple[StudyPlan, Combination, Path]


def run_in_processes(tasks: Sequence[Task], jobs: int) -> Iterator[StudyRow]:
    """Yields the rows as they are ready.

    Raises the first error of a run. After an error, or if the caller stops, it ends the other processes.
    """
    waiting, running = list(tasks), dict[Connection, SpawnProcess]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                receiver, process = _start(waiting.pop(0))
                running[receiver] = process
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process = running.pop(ready)
                yield _received(ready, process)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _start(task: Task) -> tuple[Connection, SpawnProcess]:
    # Not forked: this process's state (a Spark session, threads of Arrow) would be inconsistent in the child.
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, task), daemon=True)
    with interrupts_blocked():
        process.start()
    sender.close()
    return receiver, process


def _received(receiver: Connection, process: SpawnProcess) -> StudyRow:
    try:
        result: StudyRow | FlowsimError = receiver.recv()
    except EOFError:
        process.join()
        raise InvariantViolation(
            f"the process of a run ended with code {process.exitcode} and without a result"
        ) from None
    process.join()
    if isinstance(result, FlowsimError):
        raise result
    return result


def _run(sender: Connection, task: Task) -> None:
    """Runs one combination in a separate process.

    Ctrl-C reaches the whole process group, so the parent decides how this process ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    result: StudyRow | FlowsimError
    try:
        result = run_combination(*task)
    except InvariantViolation as error:
        result = InvariantViolation(str(error))
    except FlowsimError as error:
        result = BadInput(str(error))  # its own class may not be picklable
    sender.send(result)
