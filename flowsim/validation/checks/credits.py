"""A sender never sends data without credit, gets what its receiver grants, and spends one per data buffer (section 6.B)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.validation.checks.base import CHANNEL, Check, Graph, added, tally, union, whole
from flowsim.validation.recordings import Recordings

_BALANCES = {
    "initial": ("initial_granted", "initial_got"),
    "announced": ("announced", "got"),
    "spent": ("data_sent", "data_received"),
}
"""Per equation what was given and what was taken: equal in the end, and never more taken than given."""


def _missing(graph: Graph) -> str:
    return "" if graph.remote_channels else "every channel is local: local channels have no credits"


def _ledger(facts: Recordings) -> DataFrame:
    """Credits and buffers of remote channels in one form: ``change`` is what the row does to the sender's balance."""
    remote = F.broadcast(facts["channels"].where(F.col("local") == 0).select(*CHANNEL))
    kind, side = F.col("kind"), F.col("side")
    data = kind == int(BufferKind.DATA)
    got = kind.isin(int(CreditKind.INITIAL_GOT), int(CreditKind.GOT))
    columns = [*CHANNEL, "task", "seq"]
    of_credits = facts["credits"].select(
        *columns, F.lit("credits").alias("origin"), got.alias("of_sender"), F.col("credits").cast("long").alias("change"),
        F.col("balance").alias("recorded"),
        *(_amount(kind == int(k), F.col("credits")).alias(k.name.lower()) for k in CreditKind),
        F.lit(0).cast("long").alias("data_sent"), F.lit(0).cast("long").alias("data_received"),
    )  # fmt: skip
    of_buffers = facts["buffers"].where(side != int(BufferSide.QUEUED)).select(
        *columns, F.lit("buffers").alias("origin"), (side == int(BufferSide.SENT)).alias("of_sender"),
        _amount(data, F.lit(-1)).alias("change"), F.col("credits").alias("recorded"),
        *(F.lit(0).cast("long").alias(k.name.lower()) for k in CreditKind),
        _amount(data & (side == int(BufferSide.SENT)), F.lit(1)).alias("data_sent"),
        _amount(data & (side == int(BufferSide.RECEIVED)), F.lit(1)).alias("data_received"),
    )  # fmt: skip
    return union(of_credits, of_buffers).join(remote, list(CHANNEL), "semi")


def _amount(condition: Column, amount: Column) -> Column:
    return F.when(condition, amount).otherwise(0).cast("long")


def _balances(facts: Recordings) -> DataFrame:
    """One row per channel: how many rows, and per equation what was given and taken."""
    sums = [F.sum(c).alias(c) for pair in _BALANCES.values() for c in pair]
    return _ledger(facts).groupBy(*CHANNEL).agg(F.count(F.lit(1)).alias("rows"), *sums)


def _broken(facts: Recordings, equation: str) -> Column:
    given, taken = (F.col(c) for c in _BALANCES[equation])
    return F.when(whole(facts), given != taken).otherwise(taken > given)


def _judged_rows(facts: Recordings) -> DataFrame:
    """The sender's rows in order, with the balance that they add up to."""
    order = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    rows = _ledger(facts).where("of_sender").withColumn("balance", F.sum("change").over(order))
    return rows.withColumn("violation", (F.col("balance") < 0) | (F.col("balance") != F.col("recorded")))


def _counts(facts: Recordings) -> DataFrame:
    broken = sum((_broken(facts, equation).cast("int") for equation in _BALANCES), F.lit(0))
    channels = (
        _balances(facts)
        .groupBy("run")
        .agg(F.sum("rows").alias("rows_examined"), F.sum(broken).cast("long").alias("violations"))
    )
    return tally(channels, added(_judged_rows(facts), F.col("violation").cast("int")))


def _evidence(facts: Recordings) -> DataFrame:
    rows = _judged_rows(facts).where("violation").select(
        *CHANNEL, F.concat(F.lit("balance after a row of "), "origin").alias("what"), "task", "seq",
        F.col("balance").alias("expected"), F.col("recorded").cast("long").alias("recorded"),
    )  # fmt: skip
    balances = _balances(facts)
    for equation, (given, taken) in _BALANCES.items():
        broken = balances.where(_broken(facts, equation)).select(
            *CHANNEL, F.lit(f"{equation}: {taken} differs from {given}").alias("what"), F.lit(None).cast("int").alias("task"),
            F.lit(None).cast("long").alias("seq"), F.col(given).alias("expected"), F.col(taken).alias("recorded"),
        )  # fmt: skip
        rows = rows.unionByName(broken)
    return rows


CREDITS = Check("credits", _missing, _counts, _evidence)
