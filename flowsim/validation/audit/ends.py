"""The end of channels, slowly: every end joined with all that came before it (C.5)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.units import MAX_WATERMARK
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of, wrong
from flowsim.validation.checks.base import CHANNEL, TASK, union, whole
from flowsim.validation.checks.event_time_paths import channel_paths
from flowsim.validation.recordings import Recordings

_END = ["run", "channel", "task", "seq", "kind", "drain"]


def _ends(facts: Recordings) -> DataFrame:
    ends = facts["sent"].where(kind_is(ElementKind.END_OF_DATA) | kind_is(ElementKind.END_OF_PARTITION))
    return ends.select("run", "channel", "task", "seq", "kind", (F.col("timestamp") == 1).alias("drain"))


def _with_watermarks(facts: Recordings, ends: DataFrame) -> DataFrame:
    status = kind_is(ElementKind.STATUS)
    told = facts["sent"].where(status | (kind_is(ElementKind.WATERMARK) & (F.col("timestamp") == MAX_WATERMARK)))
    told = told.select(*CHANNEL, F.col("seq").alias("at"), F.when(status, F.col("timestamp")).alias("status"))
    pairs = ends.join(told, list(CHANNEL), "left")
    before = F.col("at") < F.col("seq")
    return pairs.groupBy(*_END).agg(
        F.coalesce(F.max(before & F.col("status").isNull()), F.lit(False)).alias("maximum"),
        F.max_by("status", F.when(before & F.col("status").isNotNull(), F.col("at"))).alias("status"),
        F.max(F.when(before & F.col("status").isNotNull(), F.col("at"))).alias("status_at"),
    )


def _with_life(facts: Recordings, ends: DataFrame) -> DataFrame:
    chains = facts["operators"].groupBy("run", "vertex").agg(F.count(F.lit(1)).alias("operators"))
    tasks = facts["tasks"].select(*TASK, "vertex", "inputs").join(chains, ["run", "vertex"])
    steps = facts["lifecycle"].select(*TASK, F.col("seq").alias("at"), "event")
    pairs = ends.join(steps, list(TASK), "left").join(tasks.drop("vertex"), list(TASK), "left")
    event, before = F.col("event"), F.col("at") < F.col("seq")
    return pairs.groupBy(*_END, "maximum", "status", "status_at", "operators", "inputs").agg(
        F.count_if((event == int(LifeEvent.FINISH)) & before).alias("finished"),
        F.count_if((event == int(LifeEvent.FINISH)) & ~before).alias("unfinished"),
        F.count_if((event == int(LifeEvent.CLOSE)) & before).alias("closed"),
        F.count_if((event == int(LifeEvent.FINISHED)) & before).alias("over"),
    )


def _broken(facts: Recordings) -> DataFrame:
    rows = _with_life(facts, _with_watermarks(facts, _ends(facts)))
    assigned = channel_paths(facts).where("assigned").select(*CHANNEL, F.lit(True).alias("assigned"))
    rows = rows.join(F.broadcast(assigned), list(CHANNEL), "left")
    idle = (F.col("status_at").isNotNull() & (F.col("status") == -1)) | F.col("assigned").isNotNull()
    maximum = kind_is(ElementKind.WATERMARK) & (F.col("timestamp") == MAX_WATERMARK)
    reached = facts["task_watermark"].where(maximum).select(*TASK, "input").distinct()
    reached = reached.groupBy(*TASK).agg(F.count(F.lit(1)).alias("reached"))
    rows = rows.join(F.broadcast(reached), list(TASK), "left")
    due = (F.col("inputs") == 0) | F.coalesce(F.col("reached") >= F.col("inputs"), F.lit(False))
    data, drain = kind_is(ElementKind.END_OF_DATA), F.col("drain")
    partition = kind_is(ElementKind.END_OF_PARTITION)
    lacking = F.col("finished") + F.col("unfinished") < F.col("operators")
    done = (
        facts["lifecycle"].where((F.col("event") == int(LifeEvent.FINISHED)) & ~whole(facts)).select(*TASK).distinct()
    )
    closed = _ends(facts).where(partition).select(*CHANNEL).distinct()
    channels = facts["channels"].select(*CHANNEL, F.col("source_task").alias("task")).join(done, list(TASK), "semi")
    return union(
        findings(rows, {
            "of a task that is not in table tasks": F.col("operators").isNull(),
            "drained without MAX_WATERMARK": data & drain & ~F.col("maximum") & ~idle & due,
            "MAX_WATERMARK without drain": data & ~drain & F.col("maximum") & (F.col("inputs") == 0),
            "EndOfData before the operators finished": data & ((F.col("unfinished") > 0) | (drain & lacking)),
            "EndOfData after a close": data & (F.col("closed") > 0),
            "EndOfPartition before the close": partition & (F.col("closed") < F.col("operators")),
            "EndOfPartition after FINISHED": partition & (F.col("over") > 0),
        }),
        wrong(channels.join(closed, list(CHANNEL), "anti"), "finished without EndOfPartition"),
    )  # fmt: skip


ENDS = Audit("end", lambda facts: rows_of(_ends(facts)), _broken)
