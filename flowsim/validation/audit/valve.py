"""The valve, slowly: asked channel by channel at every element, and what follows an element is what it should emit."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.audit.base import Audit, kind_is, rows_of
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.valve_machine import COLUMNS, ValveMachine
from flowsim.validation.checks.base import TASK, whole
from flowsim.validation.recordings import Recordings


def _steering(facts: Recordings) -> DataFrame:
    return rows_of(facts["received"].where(kind_is(ElementKind.WATERMARK) | kind_is(ElementKind.STATUS)))


def _broken(facts: Recordings) -> DataFrame:
    channels = facts["channels"].select("run", "channel", F.col("target_task").alias("task"), "input", "input_channel")
    counts = channels.groupBy(*TASK, "input").agg(F.count(F.lit(1)).cast("int").alias("channels"))
    about = channels.join(counts, [*TASK, "input"]).drop("task")
    received = facts["received"].select(*TASK, "seq", "channel", "kind", "timestamp", F.lit(0).alias("emitted"))
    received = received.join(F.broadcast(about), ["run", "channel"], "left").drop("channel")
    received = received.fillna(-1, ["input", "input_channel", "channels"])
    emitted = facts["task_watermark"].select(
        *TASK, "seq", "kind", "timestamp", F.lit(1).alias("emitted"), "input", F.lit(-1).alias("input_channel"),
        F.lit(-1).alias("channels"),
    )  # fmt: skip
    rows = received.unionByName(emitted).withColumn("whole", whole(facts))
    return fold_machines(rows, TASK, "seq", ValveMachine, COLUMNS)


VALVE = Audit("valve", _steering, _broken)
