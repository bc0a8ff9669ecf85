"""Credits, credits in flight and segments, slowly: books kept row by row (sections 5.E, 6.A, 6.B)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind, SegmentAction
from flowsim.validation.audit.base import Audit, rows_of, wrong
from flowsim.validation.audit.flow_machines import (
    CREDIT_COLUMNS,
    POOL_COLUMNS,
    STEP_COLUMNS,
    CreditMachine,
    PoolMachine,
    ReceiverMachine,
    StepMachine,
)
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.checks.base import CHANNEL, union, whole
from flowsim.validation.recordings import Recordings

_POOL = ("run", "pool")


def _remote(facts: Recordings, table: str) -> DataFrame:
    channels = facts["channels"].where("local = 0").select(*CHANNEL)
    return facts[table].join(F.broadcast(channels), list(CHANNEL), "semi")


def _messages(facts: Recordings) -> DataFrame:
    """Credits as they are; buffers with kind 10 + side for data, 20 + side for events."""
    grants = _remote(facts, "credits").select(
        *CHANNEL, "seq", F.col("kind").cast("int").alias("what"), F.col("credits").alias("amount"),
        F.col("balance").alias("told"),
    )  # fmt: skip
    data = F.when(F.col("kind") == int(BufferKind.DATA), 10).otherwise(20)
    buffers = _remote(facts, "buffers").where(F.col("side") != int(BufferSide.QUEUED))
    moved = buffers.select(
        *CHANNEL, "seq", (data + F.col("side")).cast("int").alias("what"), F.lit(1).alias("amount"),
        F.col("credits").alias("told"),
    )  # fmt: skip
    return grants.unionByName(moved).withColumn("whole", whole(facts))


def _of_receiver(facts: Recordings) -> DataFrame:
    received = [10 + int(BufferSide.RECEIVED), 20 + int(BufferSide.RECEIVED)]
    kinds = [int(CreditKind.INITIAL_GRANTED), int(CreditKind.ANNOUNCED), *received]
    return _messages(facts).where(F.col("what").isin(*kinds))


def _pool_rows(facts: Recordings) -> DataFrame:
    about = facts["pools"].select(*_POOL, "task_manager", "required", "maximum", "overdraft")
    return facts["segments"].join(F.broadcast(about), list(_POOL), "left").withColumn("whole", whole(facts))


def _segments(facts: Recordings) -> DataFrame:
    rows = _pool_rows(facts)
    known = rows.where("required is not null")
    limits = facts["task_managers"].select("run", "task_manager", F.col("segments").alias("limit"))
    moves = F.col("action").isin(int(SegmentAction.TAKEN), int(SegmentAction.RETURNED))
    steps = known.where(moves).join(F.broadcast(limits), ["run", "task_manager"])
    return union(
        wrong(rows.where("required is null"), "a pool that is not in table pools"),
        fold_machines(known, _POOL, "seq", PoolMachine, POOL_COLUMNS),
        fold_machines(steps, ["run", "task_manager"], "step", StepMachine, STEP_COLUMNS),
    )


CREDITS = Audit(
    "credits",
    lambda facts: rows_of(_messages(facts)),
    lambda facts: fold_machines(_messages(facts), CHANNEL, "seq", CreditMachine, CREDIT_COLUMNS),
)
IN_FLIGHT = Audit(
    "in-flight",
    lambda facts: rows_of(_of_receiver(facts)),
    lambda facts: fold_machines(_of_receiver(facts), CHANNEL, "seq", ReceiverMachine, CREDIT_COLUMNS),
)
SEGMENTS = Audit("segments", lambda facts: rows_of(facts["segments"]), _segments)
