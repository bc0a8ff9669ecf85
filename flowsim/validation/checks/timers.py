"""A timer fires once, not before its time, in order and under its key, and none that is due is left (section 9)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.validation.checks.base import TASK, Check, Graph, added, examined, kept, tally, union, whole
from flowsim.validation.checks.event_time_paths import FREE, INPUTS, channel_paths, operator_paths
from flowsim.validation.checks.event_time_rows import STEERING, sent_event_time
from flowsim.validation.checks.key_hashes import route
from flowsim.validation.checks.key_routing import described_keys
from flowsim.validation.checks.streaming import fold_sorted, ship
from flowsim.validation.checks.timers_fold import (
    ARRIVED,
    COLUMNS,
    FORWARDED,
    MADE,
    OPERATOR,
    SCHEMA,
    TIMER,
    fold_timers,
)
from flowsim.validation.recordings import Recordings

_LONG = {"seq", "time_ns", "timestamp", "key", "window_start", "window_end", "watermark"}


def _is_watermark() -> Column:
    return F.col("kind") == int(ElementKind.WATERMARK)


def told_to() -> Column:
    """The origin of what an operator hears: of what a queue keeps back nothing is known here."""
    return F.when(F.col("queued"), FREE).otherwise(F.col("reached")).alias("origin")


def needs_keys(graph: Graph) -> str:
    """Applies where a stream is keyed: without keys there are no timers (rule 9.17)."""
    return "" if graph.hash_edges else "the job has no keyed edge"


def keyed_tasks(facts: Recordings) -> DataFrame:
    """The subtasks behind HASH edges."""
    vertices = facts["edges"].where("partitioner = 'HASH'").select("run", F.col("target_vertex").alias("vertex"))
    return facts["tasks"].join(F.broadcast(vertices.distinct()), ["run", "vertex"], "semi").select(*TASK)


def moments(facts: Recordings) -> DataFrame:
    """What is examined beside timers: the watermarks and the end of every keyed task, at which none may be left."""
    tasks = F.broadcast(keyed_tasks(facts))
    finished = facts["lifecycle"].where(F.col("event") == int(LifeEvent.FINISHED))
    return union(
        facts["task_watermark"].where(_is_watermark()).select(*TASK).join(tasks, list(TASK), "semi"),
        finished.select(*TASK).join(tasks, list(TASK), "semi"),
    )


def _aligned(what: int, rows: DataFrame) -> DataFrame:
    rows = rows.withColumn("what", F.lit(what))
    return rows.select(
        *TASK,
        *(
            F.coalesce((F.col(n) if n in rows.columns else F.lit(None)).cast("long" if n in _LONG else "int"), F.lit(0))
            .cast("long" if n in _LONG else "int")
            .alias(n)
            for n in COLUMNS
        ),
    )


def _rows(facts: Recordings) -> DataFrame:
    head, spreads = F.when(F.col("head"), 1).otherwise(0), F.when(F.col("holds_back"), 2).otherwise(0)
    operators = operator_paths(facts).select(
        *TASK, "operator", told_to(), (head + spreads).alias("flags"), F.lit(-1).alias("seq")
    )
    reads = F.when(F.col("inputs") > 0, INPUTS).otherwise(FREE)
    tasks = facts["tasks"].select(
        *TASK, F.lit(-1).alias("operator"), reads.alias("origin"), "inputs", F.lit(-2).alias("seq")
    )
    arrived = facts["task_watermark"].where(F.col("kind").isin(*STEERING)).withColumnRenamed("input", "operator")
    made = facts["generated_watermark"].where((F.col("split") == -1) & _is_watermark())
    forwards = channel_paths(facts).where((F.col("origin") == INPUTS) & (F.col("subpartition") == 0))
    sent = sent_event_time(facts).where(_is_watermark())
    forwarded = sent.join(F.broadcast(forwards.select("run", "channel")), ["run", "channel"], "semi")
    kinds = ((OPERATOR, tasks), (OPERATOR, operators), (ARRIVED, arrived), (MADE, made), (FORWARDED, forwarded))
    rows = union(*(_aligned(what, frame) for what, frame in (*kinds, (TIMER, facts["timers"]))))
    with_timers = facts["timers"].select(*TASK).distinct()
    return rows.join(F.broadcast(with_timers), list(TASK), "semi").withColumn("whole", whole(facts))


def _follow(facts: Recordings) -> DataFrame:
    return fold_sorted(_rows(facts).select("run", "task", "whole", *COLUMNS), TASK, "seq", fold_timers, SCHEMA)


_followed = kept("timers", _follow)


def _strangers(facts: Recordings) -> DataFrame:
    """Timers by task and key, where the key is none of the subtask."""
    ship(route)
    groups = (
        facts["timers"]
        .groupBy(*TASK, "key", "key_hash")
        .agg(F.count(F.lit(1)).alias("rows"), F.min("seq").alias("seq"), F.min("timestamp").alias("timestamp"))
    )
    places = facts["tasks"].select(*TASK, "subtask", "parallelism", "max_parallelism")
    placed = groups.join(F.broadcast(places), list(TASK), "left").fillna(1, ["parallelism", "max_parallelism"])
    schema = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in placed.schema.fields) + ", owner bigint"
    routed = placed.mapInPandas(route, schema).join(described_keys(facts), [*TASK, "key"], "left")
    fits = (
        (F.col("described_hash") == F.col("key_hash"))
        & (F.col("derived_hash") == F.col("described_hash").cast("long"))
        & (F.col("owner") == F.col("subtask"))
    )
    return routed.where(~F.coalesce(fits, F.lit(False)))


def _counts(facts: Recordings) -> DataFrame:
    return tally(
        examined(facts["timers"]), examined(moments(facts)), added(_followed(facts), F.lit(1)),
        added(_strangers(facts), F.col("rows")),
    )  # fmt: skip


def _evidence(facts: Recordings) -> DataFrame:
    no_place = (F.lit(None).cast("int").alias(name) for name in ("operator", "service"))
    strangers = _strangers(facts).select(
        "run", F.lit("its key is not one of this subtask").alias("what"), "task", "seq", *no_place, "timestamp", "key"
    )
    return _followed(facts).unionByName(strangers)


TIMERS = Check("timers", needs_keys, _counts, _evidence)
