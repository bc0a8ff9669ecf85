"""Makes the runs of units in several processes at the same time."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final, Protocol

from flowsim.errors import BadInput, FlowsimError, InvariantViolation
from flowsim.explore.job_exploration import Worker
from flowsim.explore.plan import States
from flowsim.explore.unit import Unit, UnitResult
from flowsim.spawned import interrupts_blocked

_AHEAD: Final = 4
"""How many units for each process are planned before the ones that are merged."""


class RunUnit(Protocol):
    """Makes the runs of a unit."""

    def __call__(self, unit: Unit, state: bytes, is_over: Callable[[], bool], /) -> UnitResult:
        """Returns what they found, until ``is_over``."""


Opens = Callable[[], AbstractContextManager[RunUnit]]
"""Opens the job in a process; can be pickled."""


def in_processes(opens: Opens, jobs: int) -> Worker:
    """Makes the runs in so many processes. A run is the same in each of them.

    Ctrl-C ends the runs, and what they found until then is yielded. Raises the first error of a process.
    """

    def work(units: Iterable[Unit | None], states: States) -> Iterator[UnitResult]:
        pool = _Pool(opens, jobs, iter(units), states)
        try:
            yield from pool.results()
        finally:
            pool.close()

    return work


class _Pool:
    """Gives each process one unit after the other; results wait until those before them are there."""

    def __init__(self, opens: Opens, jobs: int, units: Iterator[Unit | None], states: States) -> None:
        context = get_context("spawn")
        self._stop = context.Event()
        self._free: list[Connection] = []
        self._processes: dict[Connection, SpawnProcess] = {}
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self._stop, opens), daemon=True)
            with interrupts_blocked():
                process.start()
            theirs.close()
            self._free.append(ours)
            self._processes[ours] = process
        self._units = units
        self._states = states
        self._has_more = True
        self._waiting: deque[tuple[int, Unit]] = deque()
        self._running: dict[Connection, tuple[int, Unit]] = {}
        self._ready: dict[int, UnitResult] = {}
        self._planned = self._yielded = 0
        self._waits = False
        """True if further units depend on all that were planned."""
        self._is_over = False

    def results(self) -> Iterator[UnitResult]:
        """Yields the results in the order of the units; at the end, those without the ones that are missing."""
        while not self._is_over:
            while (ready := self._ready.pop(self._yielded, None)) is not None:
                self._yielded += 1
                yield ready
            self._start()
            if not self._running:
                return
            try:
                self._receive()
            except KeyboardInterrupt:
                self._is_over = True
                yield from self._rest(is_interrupted=True)
                return
        yield from self._rest(is_interrupted=False)

    def _start(self) -> None:
        """Gives units to the processes that have none."""
        most = _AHEAD * len(self._processes)
        while self._has_more and self._planned - self._yielded < (1 if self._waits else most):
            try:
                unit = next(self._units)
            except StopIteration:
                self._has_more = False
                break
            self._waits = unit is None
            if unit is not None:
                self._waiting.append((self._planned, unit))
                self._planned += 1
        blocked = {unit.chain for _, unit in self._running.values() if unit.continues}
        for number, unit in list(self._waiting):
            if not self._free:
                return
            if unit.chain in blocked:
                continue
            if unit.continues:
                blocked.add(unit.chain)
            self._waiting.remove((number, unit))
            connection = self._free.pop()
            connection.send((unit, self._states.get(unit.chain, b"") if unit.continues else b""))
            self._running[connection] = number, unit

    def _receive(self) -> None:
        for connection in wait(list(self._running)):
            assert isinstance(connection, Connection)
            number, unit = self._running[connection]
            result = self._received(connection)
            del self._running[connection]
            self._free.append(connection)
            self._ready[number] = result
            self._states[unit.chain] = result.state
            self._is_over |= not result.is_whole

    def _received(self, connection: Connection) -> UnitResult:
        try:
            result: UnitResult | FlowsimError = connection.recv()
        except EOFError:
            process = self._processes[connection]
            process.join()
            raise InvariantViolation(
                f"a process of the exploration ended with code {process.exitcode} and without a result"
            ) from None
        if isinstance(result, FlowsimError):
            raise result
        return result

    def _rest(self, *, is_interrupted: bool) -> Iterator[UnitResult]:
        """Ends the runs, and yields the results that are there."""
        self._stop.set()
        while self._running:
            self._receive()
        follows_gap = False
        for number, result in sorted(self._ready.items()):
            follows_gap |= number != self._yielded or not result.is_whole
            result.is_interrupted |= is_interrupted
            result.follows_gap = follows_gap
            self._yielded = number + 1
            yield result

    def close(self) -> None:
        """Ends the processes."""
        for connection, process in self._processes.items():
            if connection in self._running:
                process.terminate()
            else:
                connection.close()
        for process in self._processes.values():
            process.join()


def _serve(connection: Connection, stop: Any, opens: Opens) -> None:
    """Makes the runs of units until the connection ends.

    Ctrl-C reaches the whole process group, so the parent decides when this process ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with opens() as run:
            while True:
                unit, state = connection.recv()
                connection.send(run(unit, state, stop.is_set))
    except (EOFError, BrokenPipeError):
        return
    except InvariantViolation as error:
        connection.send(InvariantViolation(str(error)))
    except FlowsimError as error:
        connection.send(BadInput(str(error)))  # its own class may not be picklable
