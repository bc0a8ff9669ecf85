"""What both window laws start from: the judged operators, and their facts with the watermark derived anew."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.validation.checks.base import Graph, in_runs, union
from flowsim.validation.recordings import Recordings

OPERATOR: Final = ("run", "task", "operator")
WATERMARK, INTAKE, FIRE, DROP = range(4)
"""``what`` a row of ``window_facts`` is."""

_PARAMS: Final = (
    "assigner string, trigger struct<kind: string>, size_ms bigint, offset_ms bigint, lateness_ms bigint, "
    "late_output boolean"
)
_COLUMNS: Final = {
    "seq": "bigint", "what": "int", "key": "bigint", "timestamp": "bigint", "fingerprint": "bigint", "watermark": "bigint",
    "side_output": "tinyint", "window_start": "bigint", "window_end": "bigint", "rows": "bigint",
    "fingerprint_sum": "bigint", "fingerprint_xor": "bigint",
}  # fmt: skip


def needs_windows(graph: Graph) -> str:
    """Applies where a window operator can be judged."""
    if graph.judged_windows:
        return ""
    return "the graph has no tumbling event-time window with the event-time trigger at the head of a one-input chain"


def judged_operators(facts: Recordings) -> DataFrame:
    """One row per (run, task, operator) that can be judged, with the window's parameters."""
    return facts.shared("judged operators", _build_operators)


def _build_operators(facts: Recordings) -> DataFrame:
    windows = facts["operators"].where((F.col("kind") == "window") & (F.col("input_operator") == -1))
    windows = windows.select("run", "vertex", "operator", F.from_json("params", _PARAMS).alias("p"))
    windows = windows.where((F.col("p.assigner") == "tumbling_event_time") & (F.col("p.trigger.kind") == "event_time"))
    tasks = facts["tasks"].where(F.col("inputs") == 1).select("run", "vertex", "task")
    return windows.join(tasks, ["run", "vertex"]).select(
        *OPERATOR,
        F.col("p.size_ms").alias("size"),
        F.coalesce("p.offset_ms", F.lit(0)).alias("offset"),
        F.coalesce("p.lateness_ms", F.lit(0)).alias("lateness"),
        F.coalesce("p.late_output", F.lit(False)).cast("int").alias("late_output"),
    )


def _aligned(rows: DataFrame, what: int) -> DataFrame:
    """The rows with the columns of ``window_facts``; what a table lacks is null."""
    rows = rows.withColumn("what", F.lit(what))
    return rows.select(
        *OPERATOR, *(F.col(c) if c in rows.columns else F.lit(None).cast(t).alias(c) for c, t in _COLUMNS.items())
    )


def _up_to(sum_of: Column) -> Column:
    """``sum_of`` with sums above the largest timestamp held there (rule 10.8)."""
    return F.coalesce(sum_of, F.lit(MAX_WATERMARK))


def _build(facts: Recordings) -> DataFrame:
    operators = judged_operators(facts)
    judged = F.broadcast(operators.select(*OPERATOR))
    marks = facts["task_watermark"].where((F.col("kind") == int(ElementKind.WATERMARK)) & (F.col("input") == 0))
    rows = union(
        _aligned(marks.join(F.broadcast(operators.select(*OPERATOR)), ["run", "task"]), WATERMARK),
        _aligned(facts["window_intake"].join(judged, list(OPERATOR)), INTAKE),
        _aligned(facts["window_fire"].join(judged, list(OPERATOR)), FIRE),
        _aligned(facts["late_drop"].join(judged, list(OPERATOR)), DROP),
    )
    before = Window.partitionBy(*OPERATOR).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    mark = F.when(F.col("what") == WATERMARK, F.col("timestamp"))
    rows = (
        rows.withColumn("derived", F.coalesce(F.last(mark, ignorenulls=True).over(before), F.lit(NO_TIMESTAMP)))
        .withColumn("intakes_before", F.coalesce(F.count_if(F.col("what") == INTAKE).over(before), F.lit(0)))
        .join(F.broadcast(operators), list(OPERATOR))
    )
    return _with_windows(rows)


def _with_windows(rows: DataFrame) -> DataFrame:
    """Adds to intakes the window they belong to (start null: to none) and whether they are late."""
    belongs = (F.col("what") == INTAKE) & (F.col("timestamp") != NO_TIMESTAMP)
    remainder = F.expr("pmod(pmod(timestamp, size) - pmod(offset, size), size)")
    return (
        rows.withColumn("into", F.when(belongs, remainder))
        .withColumn("last", F.when(belongs, _up_to(F.expr("try_add(timestamp, size - 1 - into)"))))
        .withColumn(
            "late", F.coalesce(_up_to(F.expr("try_add(last, lateness)")) <= F.col("derived"), F.lit(False)) & belongs
        )
        .withColumn("start", F.when(belongs, F.expr("try_subtract(timestamp, into)")))
        .withColumn("end", F.when(belongs, _up_to(F.expr("try_add(last, 1)"))))
        .drop("into", "size", "offset", "lateness")
    )


def window_facts(facts: Recordings) -> DataFrame:
    """Watermarks, intakes, fires and drops of judged operators, each with its derived watermark and its intakes before."""
    return facts.shared("window facts", _build)


def last_causes(facts: Recordings) -> DataFrame:
    """Per operator of an incomplete run, the last intake or watermark: its effects may be missing."""
    causes = window_facts(facts).where(F.col("what").isin(WATERMARK, INTAKE) & in_runs(facts.incomplete))
    return causes.groupBy(*OPERATOR).agg(F.max("seq").alias("last_cause"))


def compare(facts: Recordings, expected: DataFrame, actual: DataFrame, columns: list[str]) -> DataFrame:
    """Multisets compared: one row per distinct difference, with how many are ``missing`` and ``unexpected``.

    ``expected`` has a column ``cause``; what the last cause of a prefix should have brought about may be missing.
    """
    if facts.incomplete:
        expected = expected.join(F.broadcast(last_causes(facts)), list(OPERATOR), "left")
        optional = F.coalesce(F.col("cause") == F.col("last_cause"), F.lit(False)).cast("int")
    else:
        optional = F.lit(0)
    wanted = expected.select(*columns, F.lit(1).alias("e"), optional.alias("o"), F.lit(0).alias("a"))
    seen = actual.select(*columns, F.lit(0).alias("e"), F.lit(0).alias("o"), F.lit(1).alias("a"))
    sums = wanted.unionByName(seen).groupBy(*columns).agg(*(F.sum(c).alias(c) for c in "eoa"))
    missing = F.greatest(F.lit(0), F.col("e") - F.col("o") - F.col("a"))
    unexpected = F.greatest(F.lit(0), F.col("a") - F.col("e"))
    return (
        sums.withColumn("missing", missing)
        .withColumn("unexpected", unexpected)
        .where("missing + unexpected > 0")
        .drop("e", "o", "a")
    )
