"""Makes the runs of units on a Spark cluster, whose Python has flowsim and sees the files of the job."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final

from msgspec.msgpack import decode, encode

from flowsim.explore.job_exploration import Worker
from flowsim.explore.plan import States
from flowsim.explore.processes import Opens
from flowsim.explore.unit import Chain, Unit, UnitResult

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_UNITS_OF_A_CORE: Final = 8
"""How many units of each core are made in one Spark job, which costs 0.2 s; results are merged after it."""

_STOPS_WITHIN: Final = 300
"""How many tenths of a second tasks have to end after Ctrl-C, before Spark cancels them and their runs are lost."""
_ANSWER_WITHIN_S: Final = 5
_MOST_TASKS: Final = 4096
"""That wait for the end of an exploration at the same time; further ones are not stopped."""

Place = tuple[str, int]
"""Host and port."""

Task = tuple[list[tuple[int, Unit]], States]
"""Units with their places among those of the job, and where those of searches continue."""


class MakesTasks:
    """Makes the runs of tasks, by their numbers; for ``mapInPandas``. A task that is made again has the same rows."""

    SCHEMA: Final = "place long, result binary"

    def __init__(self, opens: Opens, tasks: Sequence[Task], stop: Place) -> None:
        """``stop``: the place of a ``StopLine``."""
        self._opens = opens
        self._tasks = tasks
        self._stop = stop

    def __call__(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas

        for frame in frames:
            for number in frame["id"]:
                results = self._results(*self._tasks[number])
                yield pandas.DataFrame(results, columns=["place", "result"])

    def _results(self, units: Sequence[tuple[int, Unit]], first: States) -> list[tuple[int, bytes]]:
        results, states, ended = [], dict(first), set()
        with _connected(self._stop) as stops, self._opens() as run:
            for place, unit in units:
                if unit.chain in ended:
                    continue
                result = run(unit, states.get(unit.chain, b""), stops)
                results.append((place, encode(result)))
                if unit.continues:
                    states[unit.chain] = result.state
                    if result.has_ended:
                        ended.add(unit.chain)
        return results


class StopLine:
    """Tells the tasks on other machines when to stop: they connect, and it hangs up. Nothing is sent."""

    def __init__(self, session: SparkSession) -> None:
        settings = session.sparkContext.getConf()
        host = settings.get("spark.driver.host", "127.0.0.1") or ""
        address = settings.get("spark.driver.bindAddress", host) or ""
        # The system accepts the connections; they are closed with the socket, or by ``hang_up``.
        self._listening = socket.create_server((address, 0), backlog=_MOST_TASKS)
        self.place: Place = (host, self._listening.getsockname()[1])

    def hang_up(self, job: Future[Any]) -> None:
        """Stops the tasks of a job, and those that begin later, until all have ended or the time is over."""
        self._listening.settimeout(0.1)
        for _ in range(_STOPS_WITHIN):
            if job.done():
                return
            with suppress(TimeoutError):
                while True:
                    self._listening.accept()[0].close()

    def close(self) -> None:
        self._listening.close()


@contextmanager
def _connected(stop: Place) -> Iterator[Callable[[], bool]]:
    """Returns a function that is True after the end of the connection; without a connection it never is."""
    try:
        line = socket.create_connection(stop, timeout=_ANSWER_WITHIN_S)
    except OSError:
        yield lambda: False
        return
    with line:
        yield lambda: bool(wait([line], 0))


def on_spark(session: SparkSession, opens: Opens) -> Worker:
    """Makes the runs in the tasks of Spark jobs; the units of a chain are in one task, and the others depend on nothing.

    At Ctrl-C the tasks end after their current run, and what they found until then is yielded.
    """
    cores = session.sparkContext.defaultParallelism

    def work(units: Iterable[Unit | None], states: States) -> Iterator[UnitResult]:
        planned, stop = iter(units), StopLine(session)
        try:
            while batch := _batch(planned, cores * _UNITS_OF_A_CORE):
                tasks = _tasks(batch, states, cores)
                contents, is_interrupted = _collected(session, MakesTasks(opens, tasks, stop.place), len(tasks), stop)
                is_whole = True
                for content in contents:
                    result = decode(content, type=UnitResult)
                    states[result.unit.chain] = result.state
                    is_whole &= result.is_whole
                    result.follows_gap = not is_whole
                    result.is_interrupted |= is_interrupted
                    yield result
                if is_interrupted and not contents:
                    yield UnitResult(batch[0], is_interrupted=True)
                if is_interrupted or not is_whole:
                    return
        finally:
            stop.close()

    return work


def _collected(session: SparkSession, makes: MakesTasks, tasks: int, stop: StopLine) -> tuple[list[bytes], bool]:
    """Returns the results of a Spark job in the order of their units, and True if Ctrl-C has ended it early."""
    frame = session.range(0, tasks, 1, tasks).mapInPandas(makes, MakesTasks.SCHEMA)
    is_interrupted = False
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(frame.collect)
        try:
            job.exception()
        except KeyboardInterrupt:
            is_interrupted = True
            stop.hang_up(job)
        finally:
            if not job.done():
                session.sparkContext.cancelAllJobs()
    if is_interrupted and job.exception() is not None:
        return [], True
    return [
        content for _, content in sorted((row["place"], bytes(row["result"])) for row in job.result())
    ], is_interrupted


def _batch(units: Iterator[Unit | None], most: int) -> list[Unit]:
    """Returns the next units, up to those that depend on their results."""
    batch: list[Unit] = []
    for unit in units:
        if unit is not None:
            batch.append(unit)
        if batch and (unit is None or len(batch) == most):
            break
    return batch


def _tasks(batch: Sequence[Unit], states: States, cores: int) -> list[Task]:
    """Returns a task for each core, so that all begin at once; each chain is in one task, and they have equally many runs."""
    tasks: list[Task] = [([], {}) for _ in range(cores)]
    runs = [0] * cores
    searches: dict[Chain, int] = {}
    for place, unit in enumerate(batch):
        number = runs.index(min(runs))
        if unit.continues:
            number = searches.setdefault(unit.chain, number)
            tasks[number][1][unit.chain] = states.get(unit.chain, b"")
        tasks[number][0].append((place, unit))
        runs[number] += unit.runs
    return [task for task in tasks if task[0]]
