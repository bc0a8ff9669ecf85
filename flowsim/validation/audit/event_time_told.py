"""What each origin of event time tells its outputs, by windows over the rows of a task (rules 5.8, 8.16)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.units import NO_TIMESTAMP
from flowsim.validation.audit.base import kind_is
from flowsim.validation.audit.event_time_queues import told_by_queues
from flowsim.validation.checks.base import TASK
from flowsim.validation.checks.event_time_paths import INPUTS
from flowsim.validation.checks.event_time_rows import STEERING
from flowsim.validation.recordings import Recordings

ORIGIN = (*TASK, "origin")
_IDLE, _ACTIVE = -1, 0


def is_status() -> Column:
    return kind_is(ElementKind.STATUS)


def is_mark() -> Column:
    return kind_is(ElementKind.WATERMARK)


def told(facts: Recordings) -> DataFrame:
    """(run, task, origin, seq, sub, kind, timestamp), what outputs let pass, and ``next``: the seq of the next cause, or null."""
    return facts.shared("audited event time", _told)


def _told(facts: Recordings) -> DataFrame:
    made = facts["generated_watermark"].where("split = -1").select(
        *TASK, F.col("operator").alias("origin"), "seq", F.lit(0).alias("sub"), "kind", "timestamp"
    )  # fmt: skip
    rows = inputs_told(facts).withColumn("origin", F.lit(INPUTS)).unionByName(made)
    order = Window.partitionBy(*ORIGIN).orderBy("seq", "sub")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    status = F.last(F.when(is_status(), F.col("timestamp")), ignorenulls=True).over(before)
    rows = rows.withColumn("was", F.coalesce(status, F.lit(_ACTIVE)))
    rows = rows.where(F.when(is_status(), F.col("timestamp") != F.col("was")).otherwise(F.col("was") != _IDLE)).drop(
        "was"
    )
    rows = rows.withColumn("next", next_cause(ORIGIN))
    return rows.unionByName(told_by_queues(facts, rows)) if facts.has("async_elements") else rows


def heard(facts: Recordings) -> DataFrame:
    """The same of the inputs, as the head of a chain hears them: no output lies between."""
    rows = inputs_told(facts).withColumn("origin", F.lit(INPUTS))
    return rows.withColumn("next", next_cause(ORIGIN))


def next_cause(keys: tuple[str, ...]) -> Column:
    """The seq of the next row that has another one."""
    return F.min("seq").over(Window.partitionBy(*keys).orderBy("seq").rangeBetween(1, Window.unboundedFollowing))


def inputs_told(facts: Recordings) -> DataFrame:
    """(run, task, seq, sub, kind, timestamp) of what the inputs of each task make together."""
    inputs = facts["tasks"].select(*TASK, "inputs")
    rows = facts["task_watermark"].where(F.col("kind").isin(*STEERING)).join(F.broadcast(inputs), list(TASK), "left")
    rows = rows.fillna(1, ["inputs"]).select(*TASK, "seq", "input", "kind", "timestamp", "inputs")
    alone = rows.where("inputs = 1").select(*TASK, "seq", F.lit(0).alias("sub"), "kind", "timestamp")
    several = rows.where("inputs > 1 and input >= 0 and input < inputs")
    return alone.unionByName(_together(several))


def _together(rows: DataFrame) -> DataFrame:
    """Every row once for each input of its task, so that each input remembers its own watermark and status."""
    each = rows.withColumn("of", F.explode(F.sequence(F.lit(0), F.col("inputs") - 1)))
    own = F.col("of") == F.col("input")
    so_far = Window.partitionBy(*TASK, "of").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    mark = F.max(F.when(own & is_mark(), F.col("timestamp"))).over(so_far)
    quiet = F.last(F.when(own, is_status() & (F.col("timestamp") == _IDLE)), ignorenulls=True).over(so_far)
    each = each.withColumns({"mark": F.coalesce(mark, F.lit(NO_TIMESTAMP)), "quiet": F.coalesce(quiet, F.lit(False))})
    now = each.groupBy(*TASK, "seq").agg(
        F.first("kind").alias("kind"), F.first("timestamp").alias("timestamp"), F.every("quiet").alias("silent"),
        F.coalesce(F.min(F.when(~F.col("quiet"), F.col("mark"))), F.max("mark")).alias("goal"),
    )  # fmt: skip
    order = Window.partitionBy(*TASK).orderBy("seq")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    now = now.withColumns({
        "reached": F.coalesce(F.max("goal").over(earlier), F.lit(NO_TIMESTAMP)),
        "was_silent": F.coalesce(F.lag("silent").over(order), F.lit(False)),
    })  # fmt: skip
    marks = now.where(F.col("goal") > F.col("reached")).select(
        *TASK, "seq", F.lit(0).alias("sub"), F.lit(int(ElementKind.WATERMARK)).cast("tinyint").alias("kind"),
        F.col("goal").alias("timestamp"),
    )  # fmt: skip
    changes = now.where(is_status() & (F.col("silent") != F.col("was_silent")))
    return marks.unionByName(changes.select(*TASK, "seq", F.lit(1).alias("sub"), "kind", "timestamp"))
