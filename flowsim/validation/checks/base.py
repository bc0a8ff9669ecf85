"""What a check is: one law, judged for all runs at once by plans that yield counters and evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.validation.recordings import Recordings

CHANNEL = ("run", "channel")
TASK = ("run", "task")


Frame = Callable[[Recordings], DataFrame]


@dataclass(frozen=True, slots=True)
class Graph:
    """What a run's graph has for laws to speak of; decides applicability, never the number of facts."""

    run: int
    channels: int = 0
    remote_channels: int = 0
    hash_edges: int = 0
    judged_windows: int = 0
    pools: int = 0
    queues: int = 0
    """Remote channels of pipelined edges."""
    late_kinds: int = 0
    """Operators that can find a record late."""
    async_operators: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """A law on Spark.

    ``counts`` yields (run, rows_examined, violations) in one pass. Where ``exact`` is given, those violations are only
    suspects, and ``exact`` counts the violations (run, violations) by a plan that looks at the suspects alone.
    ``evidence`` yields one row per violation, with a column ``run``.
    """

    law: str
    missing: Callable[[Graph], str]
    """Why the law does not apply to the graph; '' when it does."""
    counts: Callable[[Recordings], DataFrame]
    evidence: Callable[[Recordings], DataFrame]
    exact: Callable[[Recordings], DataFrame] | None = None
    unjudged: Callable[[Recordings], dict[int, str]] | None = None
    """What of each run the law speaks of, but cannot be judged by anybody; for the outcome's reason."""


def always(graph: Graph) -> str:
    """Applies to every graph."""
    return ""


def needs_channels(graph: Graph) -> str:
    """Applies where there are channels."""
    return "" if graph.channels else "the job has no channels"


def whole(facts: Recordings) -> Column:
    """Whether the row's run reached its end (else its facts are a prefix)."""
    return ~in_runs(facts.incomplete)


def in_runs(runs: Sequence[int]) -> Column:
    """Whether the row belongs to one of the runs."""
    return F.col("run").isin(list(runs)) if runs else F.lit(False)


def kept(law: str, find: Frame) -> Frame:
    """The same findings, which are worked out once, though they are counted first and then told as evidence."""
    return lambda facts: facts.shared(f"findings of {law}", find)


def tally(*frames: DataFrame) -> DataFrame:
    """Adds up frames of (run, rows_examined, violations)."""
    return (
        union(*frames)
        .groupBy("run")
        .agg(F.sum("rows_examined").alias("rows_examined"), F.sum("violations").alias("violations"))
    )


def examined(rows: DataFrame, violation: Column | None = None) -> DataFrame:
    """Counts per run the rows of a frame, and those that break the law."""
    count = F.lit(0).cast("long") if violation is None else F.count_if(violation)
    return rows.groupBy("run").agg(F.count(F.lit(1)).alias("rows_examined"), count.alias("violations"))


def added(frame: DataFrame, violations: Column) -> DataFrame:
    """Per run the sum of ``violations``, for rows that were examined elsewhere."""
    return frame.groupBy("run").agg(
        F.lit(0).cast("long").alias("rows_examined"), F.sum(violations.cast("long")).alias("violations")
    )


def union(*frames: DataFrame) -> DataFrame:
    """All rows of all frames, columns matched by name."""
    return reduce(lambda left, right: left.unionByName(right), frames)


def graphs(facts: Recordings) -> dict[int, Graph]:
    """The graph of every run, from its description tables, in one small query."""
    from flowsim.validation.checks.async_places import KIND as ASYNC_KIND
    from flowsim.validation.checks.backlog import judged_channels
    from flowsim.validation.checks.lateness import LATE_KINDS
    from flowsim.validation.checks.window_facts import judged_operators

    names = (
        "late_kinds",
        "async_operators",
        "channels",
        "remote_channels",
        "hash_edges",
        "judged_windows",
        "pools",
        "queues",
    )

    def count(frame: DataFrame, **where: Column) -> DataFrame:
        return frame.select("run", *(where.get(n, F.lit(False)).cast("int").alias(n) for n in names))

    windows = judged_operators(facts).select("run", "task")
    rows = (
        union(
            count(facts["channels"], channels=F.lit(True), remote_channels=F.col("local") == 0),
            count(
                facts["operators"],
                late_kinds=F.col("kind").isin(*LATE_KINDS),
                async_operators=F.col("kind") == ASYNC_KIND,
            ),
            count(facts["edges"], hash_edges=F.col("partitioner") == "HASH"),
            count(windows, judged_windows=F.lit(True)),
            count(facts["pools"], pools=F.lit(True)),
            count(judged_channels(facts), queues=F.lit(True)),
        )
        .groupBy("run")
        .agg(*(F.sum(n).alias(n) for n in names))
        .collect()
    )
    found = {row["run"]: Graph(**row.asDict()) for row in rows}
    return {r.run: found.get(r.run, Graph(r.run)) for r in facts.runs}
