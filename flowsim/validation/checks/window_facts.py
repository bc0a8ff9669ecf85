"""What the window laws start from: the judged operators, and their facts with the watermark derived anew.

Tumbling event-time windows that fire by event time are judged by set operations, the others by a fold (``window_fold``).
"""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind, FireCause
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.validation.checks.base import Graph, in_runs, union, whole
from flowsim.validation.checks.streaming import fold_sorted, ship
from flowsim.validation.checks.window_fold import (
    DROP,
    FIRE,
    GROUP,
    INTAKE,
    MARK,
    MERGE,
    NUMBERS,
    SCHEMA,
    fold_windows,
)  # fmt: skip
from flowsim.validation.checks.window_replay import Replay
from flowsim.validation.checks.window_shape import Shape, shape_of
from flowsim.validation.recordings import Recordings

OPERATOR: Final = ("run", "task", "operator")

_PARAMS: Final = (
    "assigner string, trigger struct<kind: string>, size_ms bigint, slide_ms bigint, gap_ms bigint, offset_ms bigint, "
    "lateness_ms bigint, late_output boolean, stagger string, evictor string"
)
_COLUMNS: Final = {
    "seq": "bigint", "what": "int", "key": "bigint", "timestamp": "bigint", "fingerprint": "bigint", "time_ns": "bigint",
    "watermark": "bigint", "side_output": "tinyint", "window_start": "bigint", "window_end": "bigint", "rows": "bigint",
    "fingerprint_sum": "bigint", "fingerprint_xor": "bigint", "result": "int", "cause": "int", "at": "bigint",
}  # fmt: skip
_TABLES: Final = {INTAKE: "window_intake", MERGE: "window_merge", FIRE: "window_fire", DROP: "late_drop"}


def needs_windows(graph: Graph) -> str:
    """Applies where a window operator can be judged."""
    if graph.judged_windows:
        return ""
    return "the job has no window with a known assigner at the head of a chain with one input"


def judged_operators(facts: Recordings) -> DataFrame:
    """One row per (run, task, operator) that can be judged, with the window's parameters; ``folded``: not by set operations."""
    return facts.shared("judged operators", _build_operators)


def _build_operators(facts: Recordings) -> DataFrame:
    windows = facts["operators"].where((F.col("kind") == "window") & (F.col("input_operator") == -1))
    windows = windows.select("run", "vertex", "operator", "params", F.from_json("params", _PARAMS).alias("p"))
    tasks = facts["tasks"].where(F.col("inputs") == 1).select("run", "vertex", "task")
    by_sets = (
        (F.col("p.assigner") == "tumbling_event_time")
        & F.coalesce(F.col("p.trigger.kind") == "event_time", F.lit(False))
        & F.col("p.evictor").isNull()
    )
    return windows.where(_is_known()).join(tasks, ["run", "vertex"]).select(
        *OPERATOR,
        F.col("p.size_ms").alias("size"),
        F.coalesce("p.offset_ms", F.lit(0)).alias("offset"),
        F.coalesce("p.lateness_ms", F.lit(0)).alias("lateness"),
        F.coalesce("p.late_output", F.lit(False)).cast("int").alias("late_output"),
        (~by_sets).alias("folded"),
        "params",
    )  # fmt: skip


def unjudged_windows(facts: Recordings) -> dict[int, str]:
    """Per run the window operators of which something cannot be judged, and what; runs where all is are left out."""
    inputs = facts["tasks"].groupBy("run", "vertex").agg(F.max("inputs").alias("inputs"))
    windows = facts["operators"].where("kind = 'window'").withColumn("p", F.from_json("params", _PARAMS))
    known = _is_known() & (F.col("input_operator") == -1) & (F.col("inputs") == 1)
    rows = windows.join(inputs, ["run", "vertex"], "left").withColumn("known", F.coalesce(known, F.lit(False)))
    told: dict[int, list[str]] = {}
    for row in (
        rows.select("run", "vertex", "operator", "name", "params", "known")
        .orderBy("run", "vertex", "operator")
        .collect()
    ):
        missing = _unforetold(shape_of(json.loads(row["params"]))) if row["known"] else "all"
        if missing:
            told.setdefault(row["run"], []).append(f"{row['name']} ({missing})")
    return {run: f"not judged: {', '.join(names)}" for run, names in told.items()}


def _unforetold(shape: Shape) -> str:
    if shape.unknown_evictor:
        return "when it fires, and which rows its evictor leaves"
    return "" if shape.foretold else "when it fires"


def _is_known() -> Column:
    """Whether the assigner's windows can be told from a record."""
    name = F.col("p.assigner")
    ends = r"_(event|processing)_time$"
    sized = name.rlike("^(tumbling|sliding)" + ends) & (F.col("p.size_ms") >= 1)
    return F.coalesce(F.col("p.stagger") == "aligned", F.lit(True)) & (
        (sized & (name.startswith("tumbling") | (F.col("p.slide_ms") >= 1)))
        | (name.rlike("^session" + ends) & (F.col("p.gap_ms") >= 1))
        | name.rlike("^dynamic_session" + ends)
        | (name == "global")
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
    operators = judged_operators(facts).where("not folded").drop("folded", "params")
    judged = F.broadcast(operators.select(*OPERATOR))
    marks = _marks(facts).join(judged, ["run", "task"])
    rows = union(
        _aligned(marks, MARK),
        *(_aligned(facts[table].join(judged, list(OPERATOR)), what) for what, table in _TABLES.items()),
    )
    order = Window.partitionBy(*OPERATOR).orderBy("seq", "what")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    mark = F.when(F.col("what") == MARK, F.col("timestamp"))
    rows = (
        rows.withColumn("derived", F.coalesce(F.last(mark, ignorenulls=True).over(before), F.lit(NO_TIMESTAMP)))
        .withColumn("intakes_before", F.coalesce(F.count_if(F.col("what") == INTAKE).over(before), F.lit(0)))
        .withColumn("overtakes", _overtakes(order))
        .join(F.broadcast(operators), list(OPERATOR))
    )
    return _with_windows(rows)


def _marks(facts: Recordings) -> DataFrame:
    return facts["task_watermark"].where((F.col("kind") == int(ElementKind.WATERMARK)) & (F.col("input") == 0))


def _overtakes(order: WindowSpec) -> Column:
    """Whether a fire is out of order behind the row directly before it, which is a fire for the same reason."""
    before = {name: F.lag(name).over(order) for name in ("what", "cause", "at", "window_start")}
    by_element = F.col("cause") == int(FireCause.ELEMENT)
    overtakes = F.when(by_element, before["window_start"] < F.col("window_start")).otherwise(before["at"] > F.col("at"))
    same = (F.col("what") == FIRE) & (before["what"] == FIRE) & (before["cause"] == F.col("cause"))
    return F.coalesce(same & overtakes, F.lit(False))


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
    """All facts of operators judged by set operations, each with its derived watermark and its intakes before."""
    return facts.shared("window facts", _build)


def last_causes(facts: Recordings) -> DataFrame:
    """Per operator of an incomplete run, the last intake or watermark: its effects may be missing."""
    causes = window_facts(facts).where(F.col("what").isin(MARK, INTAKE) & in_runs(facts.incomplete))
    return causes.groupBy(*OPERATOR).agg(F.max("seq").alias("last_cause"))


def compare(facts: Recordings, expected: DataFrame, actual: DataFrame, columns: list[str]) -> DataFrame:
    """Multisets compared: one row per distinct difference, with how many are ``missing`` and ``unexpected``.

    ``expected`` has a column ``cause_seq``; what the last cause of a prefix should have brought about may be missing.
    """
    if facts.incomplete:
        expected = expected.join(F.broadcast(last_causes(facts)), list(OPERATOR), "left")
        optional = F.coalesce(F.col("cause_seq") == F.col("last_cause"), F.lit(False)).cast("int")
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


def folded(facts: Recordings) -> DataFrame:
    """What the fold over all other judged operators finds, and how many records each of them found late."""
    return facts.shared("folded windows", _fold)


def folded_rows(facts: Recordings, *tables: str) -> DataFrame:
    """The rows of these tables that belong to folded operators."""
    operators = F.broadcast(judged_operators(facts).where("folded").select(*OPERATOR))
    if _nothing_folded(facts):
        return operators.select("run")
    return union(*(facts[table].join(operators, list(OPERATOR)).select("run") for table in tables))


def _nothing_folded(facts: Recordings) -> bool:
    """Whether reading the tables once more can be saved."""
    return judged_operators(facts).where("folded").isEmpty()


def _fold(facts: Recordings) -> DataFrame:
    if _nothing_folded(facts):
        return facts.spark.createDataFrame([], SCHEMA)
    operators = F.broadcast(judged_operators(facts).where("folded").select(*OPERATOR, "params"))
    frames = [_numbered(_marks(facts).join(operators, ["run", "task"]), MARK)]
    frames += [_numbered(facts[t].join(operators, list(OPERATOR)), what) for what, t in _TABLES.items()]
    rows = union(*frames).withColumn("whole", whole(facts))
    ship(shape_of)
    ship(Replay.mark)
    return fold_sorted(rows, GROUP, "place", fold_windows, SCHEMA)


def _numbered(rows: DataFrame, what: int) -> DataFrame:
    """The rows with the columns of the fold; what a table lacks is 0."""
    rows = rows.withColumn("what", F.lit(what))
    columns = (F.col(c) if c in rows.columns else F.lit(0) for c in NUMBERS)
    numbers = (c.cast("bigint").alias(n) for c, n in zip(columns, NUMBERS, strict=True))
    return rows.select(*OPERATOR, "params", (F.col("seq") * 8 + what).alias("place"), *numbers)
