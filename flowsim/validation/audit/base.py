"""What an audit is: a law judged anew without the columns that the recorder derived; those are only held against the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.validation.checks.base import union
from flowsim.validation.recordings import Recordings


@dataclass(frozen=True, slots=True)
class Audit:
    """The slow form of one law: how many rows it examined, and how often and where the law is broken.

    ``broken`` yields one row per finding with the columns run, what and n; only whether there is one must agree with the
    fast form, for one broken fact may show in several findings.
    """

    law: str
    examined: Callable[[Recordings], DataFrame]
    broken: Callable[[Recordings], DataFrame]


def findings(rows: DataFrame, ways: Mapping[str, Column]) -> DataFrame:
    """One row (run, what, n) for each way in which a row breaks the law; all ways in one pass over the rows."""
    marks = F.array(*(F.when(violation, F.lit(what)) for what, violation in ways.items()))
    broken = rows.select("run", F.explode(F.filter(marks, lambda mark: mark.isNotNull())).alias("what"))
    return broken.withColumn("n", F.lit(1).cast("long"))


def wrong(rows: DataFrame, what: str) -> DataFrame:
    """Findings of rows that are wrong because they are there."""
    return rows.select("run", F.lit(what).alias("what"), F.lit(1).cast("long").alias("n"))


def rows_of(*frames: DataFrame) -> DataFrame:
    """The runs of some frames, one row each: what was examined."""
    return union(*(frame.select("run") for frame in frames))


def kind_is(kind: int) -> Column:
    """Whether a row of ``sent``, ``received`` or ``task_watermark`` is of one kind."""
    return F.col("kind") == int(kind)


def examine(audit: Audit, facts: Recordings) -> dict[int, tuple[int, tuple[tuple[str, int], ...]]]:
    """Per run the rows examined, and every finding with how often it was made."""
    counted = audit.examined(facts).groupBy("run").agg(F.lit("").alias("what"), F.count(F.lit(1)).alias("n"))
    broken = audit.broken(facts).where("n > 0").groupBy("run", "what").agg(F.sum("n").alias("n"))
    found: dict[int, dict[str, int]] = {recording.run: {} for recording in facts.runs}
    for row in counted.unionByName(broken).collect():
        found[row["run"]][row["what"]] = row["n"]
    return {run: (told.pop("", 0), tuple(sorted(told.items()))) for run, told in found.items()}
