"""A window fires when its trigger demands it, in order, with the rows that belong to it; and merges as its key's windows meet."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.validation.checks.base import Check, added, examined, tally, union
from flowsim.validation.checks.window_facts import (
    OPERATOR,
    compare,
    folded,
    folded_rows,
    needs_windows,
    unjudged_windows,
    window_facts,
)
from flowsim.validation.checks.window_fold import FIRE, INTAKE, MARK, MERGE
from flowsim.validation.recordings import Recordings

_PANE: Final = (*OPERATOR, "key", "start", "end")
_CONTENTS: Final = ("rows", "fingerprint_sum", "fingerprint_xor")
_WHY: Final = ("result", "cause", "at")
_FIRE: Final = [*OPERATOR, "key", "window_start", "window_end", "derived", "intakes_before", *_CONTENTS, *_WHY]


def _contents() -> list[Column]:
    return [
        F.count(F.lit(1)),
        F.sum(F.shiftright("fingerprint", 31)),
        F.bit_xor("fingerprint"),
    ]


def _why(cause: FireCause, at: Column) -> list[Column]:
    return [F.lit(int(WindowResult.FIRE)).alias("result"), F.lit(int(cause)).alias("cause"), at.alias("at")]


def _pane_rows(facts: Recordings) -> DataFrame:
    """The intakes that belong to a pane, with whether the watermark had passed the pane already."""
    rows = window_facts(facts).where((F.col("what") == INTAKE) & ~F.col("late") & F.col("last").isNotNull())
    return rows.select(
        *_PANE,
        "seq",
        "timestamp",
        "fingerprint",
        "derived",
        "intakes_before",
        "last",
        (F.col("derived") >= F.col("last")).alias("passed"),
    )


def _passing_watermarks(facts: Recordings) -> DataFrame:
    """The watermarks above all watermarks before them: the first that reaches a time is one of these."""
    marks = window_facts(facts).where(F.col("what") == MARK)
    before = Window.partitionBy(*OPERATOR).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    highest = F.max("timestamp").over(before)
    marks = marks.withColumn("highest", highest).where(
        F.col("highest").isNull() | (F.col("timestamp") > F.col("highest"))
    )
    return marks.select(
        *OPERATOR, F.col("timestamp").alias("reaches"), F.struct("seq", "timestamp", "intakes_before").alias("mark")
    )


def _on_time(facts: Recordings) -> DataFrame:
    """One expected fire per pane with rows before its time came, caused by the first watermark that reaches its last ms."""
    rows, total, xor = _contents()
    panes = (
        _pane_rows(facts).where(~F.col("passed")).groupBy(*_PANE, F.col("last").alias("reaches"))
        .agg(rows.alias("rows"), total.alias("fingerprint_sum"), xor.alias("fingerprint_xor"))
    )  # fmt: skip
    marks = _passing_watermarks(facts)
    pane = F.struct("key", "start", "end", *_CONTENTS)
    both = union(
        marks.withColumn("pane", F.lit(None).cast(panes.select(pane.alias("p")).schema[0].dataType)).withColumn("rank", F.lit(0)),
        panes.select(*OPERATOR, "reaches", pane.alias("pane")).withColumn("mark", F.lit(None).cast(marks.schema["mark"].dataType))
        .withColumn("rank", F.lit(1)),
    )  # fmt: skip
    # Downwards in time, the nearest mark seen so far is the lowest one that is not below the pane.
    order = Window.partitionBy(*OPERATOR).orderBy(F.desc("reaches"), "rank").rowsBetween(Window.unboundedPreceding, 0)
    first = both.withColumn("first", F.last("mark", ignorenulls=True).over(order))
    first = first.where(F.col("pane").isNotNull() & F.col("first").isNotNull())
    return first.select(
        *OPERATOR, "pane.key", F.col("pane.start").alias("window_start"), F.col("pane.end").alias("window_end"),
        F.col("first.timestamp").alias("derived"), F.col("first.intakes_before").alias("intakes_before"),
        *(F.col(f"pane.{c}").alias(c) for c in _CONTENTS),
        *_why(FireCause.EVENT_TIME_TIMER, F.col("reaches")), F.col("first.seq").alias("cause_seq"),
    )  # fmt: skip


def _late_but_allowed(facts: Recordings) -> DataFrame:
    """One expected fire per row that reached its pane after the watermark had passed it, with all rows so far."""
    rows = _pane_rows(facts)
    panes = rows.where("passed").select(*_PANE).distinct()
    rows = rows.join(panes, list(_PANE), "semi")
    so_far = Window.partitionBy(*_PANE).orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    for name, column in zip(_CONTENTS, _contents(), strict=True):
        rows = rows.withColumn(name, column.over(so_far))
    return rows.where("passed").select(
        *OPERATOR, "key", F.col("start").alias("window_start"), F.col("end").alias("window_end"), "derived",
        (F.col("intakes_before") + 1).alias("intakes_before"), *_CONTENTS, *_why(FireCause.ELEMENT, F.col("timestamp")),
        F.col("seq").alias("cause_seq"),
    )  # fmt: skip


def _differences(facts: Recordings) -> DataFrame:
    expected = _on_time(facts).unionByName(_late_but_allowed(facts))
    actual = window_facts(facts).where(F.col("what") == FIRE)
    return compare(facts, expected, actual, _FIRE)


def _judged_rows(facts: Recordings) -> DataFrame:
    return window_facts(facts).where(F.col("what").isin(INTAKE, FIRE, MERGE))


def _ways() -> dict[str, Column]:
    """What may be wrong with a row by itself; no windows merge here."""
    early = (F.col("cause") == int(FireCause.PROCESSING_TIME_TIMER)) & F.expr("time_ns div 1000000 <= at")
    fires = F.col("what") == FIRE
    return {
        "recorded watermark ": F.col("watermark") != F.col("derived"),
        "out of order": fires & F.col("overtakes"),
        "before its time": fires & early,
        "unexpected merge": F.col("what") == MERGE,
    }


def _counts(facts: Recordings) -> DataFrame:
    rows = _judged_rows(facts)
    wrong = sum((way.cast("int") for way in _ways().values()), start=F.lit(0))
    found = folded(facts).where("law = 'window-fire'")
    return tally(
        examined(rows), added(rows, wrong), added(_differences(facts), F.col("missing") + F.col("unexpected")),
        examined(folded_rows(facts, "window_intake", "window_fire", "window_merge")), added(found, F.col("n")),
    )  # fmt: skip


def _evidence(facts: Recordings) -> DataFrame:
    def told(rows: DataFrame, what: Column, watermark: str, seq: Column) -> DataFrame:
        return rows.select(
            *OPERATOR, what.alias("what"), "key", "window_start", "window_end", F.col(watermark).alias("watermark"),
            "intakes_before", *_CONTENTS, *_WHY, seq.alias("seq"),
        )  # fmt: skip

    def number(name: str) -> Column:
        return F.concat(F.lit(name), "watermark") if name.endswith(" ") else F.lit(name)

    none = F.lit(None).cast("long")
    missing = F.when(F.col("missing") > 0, "missing fire").otherwise("unexpected fire")
    frames = [told(_differences(facts), missing, "derived", none)]
    frames += [
        told(_judged_rows(facts).where(way), number(name), "derived", F.col("seq")) for name, way in _ways().items()
    ]
    frames.append(told(folded(facts).where("law = 'window-fire'"), F.col("what"), "watermark", F.col("seq")))
    return union(*frames)


WINDOW_FIRE = Check("window-fire", needs_windows, _counts, _evidence, unjudged=unjudged_windows)
