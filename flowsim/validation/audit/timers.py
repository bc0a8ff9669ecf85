"""Timers, slowly: row after row with all that wait sorted, and the owner of every single key in SQL (sections 1 and 9)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.units import NS_PER_MS
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.keys import derived_keys, murmur
from flowsim.validation.audit.timer_machine import ARRIVED, COLUMNS, FORWARDED, MADE, OPERATOR, TIMER, TimerMachine
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.checks.event_time_paths import FREE, INPUTS, channel_paths, operator_paths
from flowsim.validation.checks.event_time_rows import STEERING
from flowsim.validation.checks.timers import moments, told_to
from flowsim.validation.recordings import Recordings


def _rows(facts: Recordings) -> DataFrame:
    flags = F.when(F.col("head"), 1).otherwise(0) + F.when(F.col("holds_back"), 2).otherwise(0)
    reads = F.when(F.col("inputs") > 0, INPUTS).otherwise(FREE)
    forwards = channel_paths(facts).where((F.col("origin") == INPUTS) & (F.col("subpartition") == 0))
    watermarks = facts["sent"].where(kind_is(ElementKind.WATERMARK))
    frames = (
        (OPERATOR, facts["tasks"].withColumns({"operator": F.lit(-1), "origin": reads, "seq": F.lit(-2)})),
        (OPERATOR, operator_paths(facts).withColumns({"origin": told_to(), "flags": flags, "seq": F.lit(-1)})),
        (ARRIVED, facts["task_watermark"].where(F.col("kind").isin(*STEERING)).withColumnRenamed("input", "operator")),
        (MADE, facts["generated_watermark"].where(kind_is(ElementKind.WATERMARK) & (F.col("split") == -1))),
        (FORWARDED, watermarks.join(F.broadcast(forwards.select("run", "channel")), ["run", "channel"], "semi")),
        (TIMER, facts["timers"].withColumn("now_ms", F.expr(f"time_ns div {NS_PER_MS}"))),
    )
    rows = []
    for what, frame in frames:
        given = frame.withColumn("what", F.lit(what))
        columns = ((F.col(c) if c in given.columns else F.lit(0)).cast("long").alias(c) for c in ("seq", *COLUMNS))
        rows.append(given.select(*TASK, *columns))
    return union(*rows).withColumn("whole", whole(facts))


def _strangers(facts: Recordings) -> DataFrame:
    """Every timer with the hash of its key's text, and the subtask that it calls for."""
    places = facts["tasks"].select(*TASK, "subtask", "parallelism", "max_parallelism")
    rows = facts["timers"].join(F.broadcast(places), list(TASK), "left")
    rows = rows.join(derived_keys(facts), [*TASK, "key"], "left")
    group = murmur(F.col("derived_hash").cast("int")) % F.col("max_parallelism")
    owner = F.floor(group * F.col("parallelism") / F.col("max_parallelism"))
    known = F.coalesce(
        (F.col("key_hash") == F.col("derived_hash")) & (F.col("told") == F.col("derived_hash")), F.lit(False)
    )
    return findings(rows, {
        "a key without description, or whose hash is another": ~known,
        "a key of another subtask": known & ~F.coalesce(owner == F.col("subtask"), F.lit(False)),
    })  # fmt: skip


TIMERS = Audit(
    "timers",
    lambda facts: rows_of(facts["timers"], moments(facts)),
    lambda facts: _strangers(facts).unionByName(fold_machines(_rows(facts), TASK, "seq", TimerMachine, COLUMNS)),
)
