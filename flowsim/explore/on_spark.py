"""Makes the runs of units on a Spark cluster, whose Python has flowsim and sees the files of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.msgpack import decode, encode

from flowsim.explore.job_exploration import States, Worker
from flowsim.explore.processes import Opens
from flowsim.explore.unit import DEFAULT, Unit, UnitResult

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

_UNITS_OF_A_CORE: Final = 8
"""How many units of each core are made in one Spark job, which costs 0.2 s; results are merged after it."""

Task = tuple[list[tuple[int, Unit]], bytes]
"""Units with their places among those of the job, and where the first one continues if they are those of a search."""


class MakesTasks:
    """Makes the runs of tasks, by their numbers; for ``mapInPandas``. A task that is made again has the same rows."""

    SCHEMA: Final = "place long, result binary"

    def __init__(self, opens: Opens, tasks: Sequence[Task]) -> None:
        self._opens = opens
        self._tasks = tasks

    def __call__(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas

        for frame in frames:
            for number in frame["id"]:
                results = self._results(*self._tasks[number])
                yield pandas.DataFrame(results, columns=["place", "result"])

    def _results(self, units: Sequence[tuple[int, Unit]], state: bytes) -> list[tuple[int, bytes]]:
        results = []
        with self._opens() as run:
            for place, unit in units:
                result = run(unit, state, lambda: False)
                results.append((place, encode(result)))
                if unit.continues:
                    state = result.state
                    if result.has_ended:
                        break
        return results


def on_spark(session: SparkSession, opens: Opens) -> Worker:
    """Makes the runs in the tasks of Spark jobs; the units of a search are one task, and the others depend on nothing."""
    cores = session.sparkContext.defaultParallelism

    def work(units: Iterable[Unit], states: States) -> Iterator[UnitResult]:
        planned = iter(units)
        while batch := _batch(planned, cores * _UNITS_OF_A_CORE):
            tasks = _tasks(batch, states, cores)
            numbers = session.range(0, len(tasks), 1, len(tasks))
            try:
                rows = numbers.mapInPandas(MakesTasks(opens, tasks), MakesTasks.SCHEMA).collect()
            except KeyboardInterrupt:
                session.sparkContext.cancelAllJobs()
                yield UnitResult(batch[0], is_interrupted=True)
                return
            is_whole = True
            for _, content in sorted((row["place"], bytes(row["result"])) for row in rows):
                result = decode(content, type=UnitResult)
                states[result.unit.space, result.unit.strategy] = result.state
                is_whole &= result.is_whole
                result.follows_gap = not is_whole
                yield result
            if not is_whole:
                return

    return work


def _batch(units: Iterator[Unit], most: int) -> list[Unit]:
    """Returns the next units; a default run, on which further units depend, is the last one."""
    batch: list[Unit] = []
    for unit in units:
        batch.append(unit)
        if unit.strategy == DEFAULT or len(batch) == most:
            break
    return batch


def _tasks(batch: Sequence[Unit], states: States, cores: int) -> list[Task]:
    """Returns one task for each search, and the other units in as many tasks as there are cores."""
    searches: dict[tuple[str, str], Task] = {}
    others: list[Task] = [([], b"") for _ in range(cores)]
    number = 0
    for place, unit in enumerate(batch):
        where = unit.space, unit.strategy
        if unit.continues:
            searches.setdefault(where, ([], states.get(where, b"")))[0].append((place, unit))
        else:
            others[number % cores][0].append((place, unit))
            number += 1
    return [*searches.values(), *(task for task in others if task[0])]
