"""Checks recordings on Spark: its workers open the files of their tasks themselves, or get them from Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from flowsim.errors import BadInput
from flowsim.laws.judge import Judgement
from flowsim.validation.in_process import Progress
from flowsim.validation.recorded_run import Work
from flowsim.validation.remote_recording import is_uri, remote_rows
from flowsim.validation.shards import shards_of
from flowsim.validation.shipping import ship_flowsim
from flowsim.validation.spark_worker import SCHEMA, ShardExaminer
from flowsim.validation.verdict import EngineFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUNS_OF_A_JOB: Final = 250
"""Number of recordings per Spark job. If Spark fails, the verdicts of earlier jobs are known; a job costs 0.2 s."""


class OnSpark:
    """The engine on a Spark session; no rows are shuffled, and workers return only counters, summaries and evidence."""

    name = "on Spark"

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        ship_flowsim(session)

    def examine(self, works: Sequence[Work], progress: Progress) -> Iterator[Judgement | BadInput]:
        """Returns the result of each pass, or why its recording cannot be checked, in the order of ``works``.

        Raises EngineFailed if Spark fails.
        """
        for start, end in _jobs(works):
            progress(start, len(works), "recordings")
            job = works[start:end]
            with spark_errors("the recordings cannot be checked"):
                yield from _judgements(job, self._rows(job))
        progress(len(works), len(works), "recordings")

    def _rows(self, works: Sequence[Work]) -> Sequence[Any]:
        """Returns the workers' results, in the columns of ``SCHEMA``."""
        is_remote = is_uri(works[0][1].files.directory)
        shards = shards_of(works, _cores(self._session), splits_keys=not is_remote)
        if is_remote:
            return remote_rows(self._session, works[0], [piece.tasks for (piece,) in shards])
        examiner = ShardExaminer(tuple(works), tuple(map(tuple, shards)))
        numbers = self._session.range(0, len(shards), 1, len(shards))
        return numbers.mapInArrow(examiner, SCHEMA).collect()


def _jobs(works: Sequence[Work]) -> Iterator[tuple[int, int]]:
    """Returns ranges of works; each range is one job. A recording that only Spark can read has its own job."""
    start = 0
    for number, (_, run, _) in enumerate(works):
        alone = is_uri(run.files.directory)
        if number > start and (alone or number - start == _RUNS_OF_A_JOB or is_uri(works[start][1].files.directory)):
            yield start, number
            start = number
    yield start, len(works)


def _judgements(works: Sequence[Work], rows: Sequence[Any]) -> Iterator[Judgement | BadInput]:
    refused: dict[int, str] = {}
    judgements = [Judgement(errand.laws) for _, _, errand in works]
    for row in rows:
        if row["refused"]:
            refused[row["work"]] = min(row["refused"], refused.get(row["work"], row["refused"]))
        else:
            judgements[row["work"]].add(pickle.loads(row["judgement"]))
    for number, judgement in enumerate(judgements):
        yield BadInput(refused[number]) if number in refused else judgement


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Converts an error of Spark to EngineFailed with one line; the whole error stays attached."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        # Python's message for a failure in Java names the call, not the cause.
        text = str(getattr(error, "java_exception", None) or error)
        missing = [name for name in ("numpy", "pyarrow") if f"No module named '{name}'" in text]
        if missing:
            raise EngineFailed(
                f"{what}: Spark's Python workers have no {missing[0]}: install numpy and pyarrow there"
            ) from error
        first = (text.strip() or type(error).__name__).splitlines()[0]
        raise EngineFailed(f"{what}: Spark failed: {first}") from error


def _cores(session: SparkSession) -> int:
    """Returns the number of concurrent tasks if the session knows it: an estimate for the number of shards."""
    context = getattr(session, "_sc", None)
    return max(2, context.defaultParallelism) if context is not None else 8
