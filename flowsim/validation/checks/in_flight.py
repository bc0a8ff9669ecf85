"""Nothing arrives for which no memory is reserved: the receiver's own books (I6.a)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.validation.checks.base import CHANNEL, Check, Graph, examined, union
from flowsim.validation.recordings import Recordings


def needs_remote_channels(graph: Graph) -> str:
    """Applies where credits are."""
    return "" if graph.remote_channels else "every channel is local: local channels have no credits"


def receiver_rows(facts: Recordings) -> DataFrame:
    """Grants and arrivals of remote channels: ``change`` is what each does to the credits that are out."""
    remote = F.broadcast(facts["channels"].where(F.col("local") == 0).select(*CHANNEL))
    grants = (
        facts["credits"]
        .where(F.col("kind").isin(int(CreditKind.INITIAL_GRANTED), int(CreditKind.ANNOUNCED)))
        .select(
            *CHANNEL, "task", "seq", F.col("credits").cast("long").alias("change"),
            F.lit(None).cast("int").alias("reserved"),
        )
    )  # fmt: skip
    costs = F.when(F.col("kind") == int(BufferKind.DATA), -1).otherwise(0).cast("long")
    arrivals = (
        facts["buffers"]
        .where(F.col("side") == int(BufferSide.RECEIVED))
        .select(*CHANNEL, "task", "seq", costs.alias("change"), F.col("credits").alias("reserved"))
    )
    return union(grants, arrivals).join(remote, list(CHANNEL), "semi")


def _judged(facts: Recordings) -> DataFrame:
    so_far = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    rows = receiver_rows(facts).withColumn("out", F.sum("change").over(so_far))
    arrived = F.col("reserved").isNotNull()
    no_credit = arrived & (F.col("change") < 0) & (F.col("out") < 0)
    what = (
        F.when(no_credit, "data arrived without credit")
        .when(arrived & (F.col("out") > F.col("reserved")), "more credits out than buffers reserved")
        .otherwise("")
    )
    return rows.withColumn("what", what)


def _counts(facts: Recordings) -> DataFrame:
    return examined(_judged(facts), F.col("what") != "")


def _evidence(facts: Recordings) -> DataFrame:
    return _judged(facts).where("what != ''").select(*CHANNEL, "task", "seq", "what", "out", "reserved")


IN_FLIGHT = Check("in-flight", needs_remote_channels, _counts, _evidence)
