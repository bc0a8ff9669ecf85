"""Judges recordings on Spark: one job, whose workers open the files of their tasks themselves."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flowsim.errors import BadInput
from flowsim.laws.judge import Judgement
from flowsim.validation.in_process import Progress
from flowsim.validation.recorded_run import Work
from flowsim.validation.shards import shards_of
from flowsim.validation.shipping import ship_flowsim
from flowsim.validation.spark_worker import SCHEMA, ShardExaminer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OnSpark:
    """The engine on a Spark session; no rows are shuffled, and only counters, summaries and evidence leave the workers."""

    name = "on Spark"

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        ship_flowsim(session)

    def examine(self, works: Sequence[Work], progress: Progress) -> list[Judgement]:
        """What each walk showed, in the order of ``works``; raises BadInput for a damaged recording, or when Spark fails."""
        shards = shards_of(works, _cores(self._session))
        progress(0, len(shards), "shards")
        examiner = ShardExaminer(tuple(works), tuple(map(tuple, shards)))
        with spark_errors("the recordings cannot be judged"):
            numbers = self._session.range(0, len(shards), 1, len(shards))
            rows = numbers.mapInArrow(examiner, SCHEMA).collect()
        refused = sorted(row["refused"] for row in rows if row["refused"])
        if refused:
            raise BadInput(refused[0])
        found = [Judgement(errand.laws) for _, _, errand in works]
        for row in rows:
            found[row["work"]].add(pickle.loads(row["judgement"]))
        progress(len(shards), len(shards), "shards")
        return found


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Says in one line what Spark could not do; the whole error stays attached."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        # What Python says of a failure in Java names the call, not what went wrong there.
        said = str(getattr(error, "java_exception", None) or error)
        missing = [name for name in ("numpy", "pyarrow") if f"No module named '{name}'" in said]
        if missing:
            raise BadInput(
                f"{what}: Spark's Python workers have no {missing[0]}: install numpy and pyarrow there"
            ) from error
        first = (said.strip() or type(error).__name__).splitlines()[0]
        raise BadInput(f"{what}: Spark failed: {first}") from error


def _cores(session: SparkSession) -> int:
    """How many tasks run at once, as far as the session knows; a guess that only the number of shards depends on."""
    context = getattr(session, "_sc", None)
    return max(2, context.defaultParallelism) if context is not None else 8
