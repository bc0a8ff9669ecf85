"""What a task input emits is the valve's function of what its channels delivered (rules 8.9 to 8.12)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.checks.base import TASK, Check, added, examined, kept, needs_channels, tally, whole
from flowsim.validation.checks.streaming import fold_sorted
from flowsim.validation.checks.valve_fold import COLUMNS, SCHEMA, fold_valves
from flowsim.validation.recordings import Recordings

_STEERING = (int(ElementKind.WATERMARK), int(ElementKind.STATUS))
_RECEIVED, _EMITTED = 0, 1


def _steering(facts: Recordings) -> DataFrame:
    return facts["received"].where(F.col("kind").isin(*_STEERING))


def _telling_rows(facts: Recordings) -> DataFrame:
    """Emissions, what steers the valve, and every received row that owns an emission or is its task's last.

    All other received rows own nothing and should own nothing, so they need not travel further.
    """
    received = facts["received"].select(*TASK, "seq", F.lit(_RECEIVED).alias("what"), "channel", "kind", "timestamp")
    emitted = facts["task_watermark"].select(
        *TASK, "seq", F.lit(_EMITTED).alias("what"), (-1 - F.col("input")).alias("channel"), "kind", "timestamp"
    )
    following = F.lead("what").over(Window.partitionBy(*TASK).orderBy("seq"))
    rows = received.unionByName(emitted).withColumn("following", following)
    steers = F.col("kind").isin(*_STEERING)
    return rows.where(steers | F.coalesce(F.col("following") == _EMITTED, F.lit(True))).drop("following")


def _find(facts: Recordings) -> DataFrame:
    channels = facts["channels"].select("run", "channel", F.col("target_task").alias("task"), "input", "input_channel")
    counted = channels.groupBy(*TASK, "input").agg(F.count(F.lit(1)).cast("int").alias("channels"))
    known = channels.join(counted, [*TASK, "input"]).drop("task")
    rows = _telling_rows(facts).join(F.broadcast(known), ["run", "channel"], "left")
    emitted = F.col("what") == _EMITTED
    rows = (
        rows.withColumn("input", F.when(emitted, -1 - F.col("channel")).otherwise(F.coalesce("input", F.lit(-1))))
        .withColumn("input_channel", F.coalesce("input_channel", F.lit(-1)))
        .withColumn("channels", F.coalesce("channels", F.lit(0)))
        .withColumn("whole", whole(facts))
    )
    return fold_sorted(rows.select(*COLUMNS), TASK, "seq", fold_valves, SCHEMA)


_violations = kept("valve", _find)


def _counts(facts: Recordings) -> DataFrame:
    return tally(examined(_steering(facts)), added(_violations(facts), F.col("violations")))


VALVE = Check("valve", needs_channels, _counts, lambda facts: _violations(facts).drop("violations"))
