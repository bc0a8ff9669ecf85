"""Laws about single channels: FIFO without loss, and the end. Both read one fingerprint per channel and side first."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.checks.base import CHANNEL, Check, in_runs, needs_channels, union, whole
from flowsim.validation.recordings import Recordings

_PAYLOAD = ("kind", "timestamp", "fingerprint")
_SIDES = ("sent", "received")


def _kind(kind: ElementKind) -> Column:
    return F.col("kind") == int(kind)


def _fingerprint(rows: DataFrame) -> DataFrame:
    """What two equal lists of elements have in common, whatever the order of the rows.

    Hashes are shifted before they are summed: a sum of whole 64-bit hashes overflows.
    """
    digest = F.xxhash64("position", *_PAYLOAD)
    return rows.groupBy(*CHANNEL).agg(
        F.count(F.lit(1)).alias("n"),
        F.min("position").alias("first"),
        F.max("position").alias("last"),
        F.try_sum("position").alias("positions"),
        F.sum(F.shiftright(digest, 20)).alias("hash_sum"),
        F.bit_xor(digest).alias("hash_xor"),
        F.max("task").alias("task"),
        F.min("seq").alias("first_seq"),
        F.max(_kind(ElementKind.END_OF_DATA) & (F.col("timestamp") == 0)).alias("undrained"),
        F.count_if(_kind(ElementKind.RECORD)).alias("records"),
        F.min(F.when(_kind(ElementKind.END_OF_PARTITION), F.col("position"))).alias("end"),
        F.min(F.when(_kind(ElementKind.END_OF_DATA), F.col("position"))).alias("end_of_data"),
        F.min(F.when(_kind(ElementKind.END_OF_DATA), F.struct("position", "timestamp")))["timestamp"].alias("drain"),
        F.max(F.when(~_kind(ElementKind.END_OF_PARTITION), F.col("position"))).alias("last_element"),
    )


def _build_summary(facts: Recordings) -> DataFrame:
    return union(*(_fingerprint(facts[side]).withColumn("side", F.lit(side)) for side in _SIDES))


def summary(facts: Recordings) -> DataFrame:
    """One row per run, side and channel: its counts and fingerprint."""
    return facts.shared("channel summary", _build_summary)


def _side(facts: Recordings, side: str, prefix: str) -> DataFrame:
    rows = summary(facts).where(F.col("side") == side).drop("side")
    return rows.select(*CHANNEL, *(F.col(c).alias(prefix + c) for c in rows.columns if c not in CHANNEL))


def _dense(p: str) -> Column:
    """Positions 0, 1, 2, ... once each, as far as count, bounds and sum can tell."""
    n = F.col(p + "n")
    expected = F.expr(f"try_multiply({p}n, {p}n - 1)") / 2
    return (
        (F.col(p + "first") == 0)
        & (F.col(p + "last") == n - 1)
        & F.col(p + "positions").eqNullSafe(expected.cast("long"))
    )


def _received_prefix(facts: Recordings) -> DataFrame:
    """Fingerprint of what was sent, cut to as many elements as were received."""
    limit = _side(facts, "received", "").select(*CHANNEL, F.col("n").alias("limit"))
    sent = (
        facts["sent"]
        .where(in_runs(facts.incomplete))
        .join(limit, list(CHANNEL))
        .where(F.col("position") < F.col("limit"))
    )
    return _fingerprint(sent).select(*CHANNEL, F.col("hash_sum").alias("cut_sum"), F.col("hash_xor").alias("cut_xor"))


def _fifo_suspects(facts: Recordings) -> DataFrame:
    """One row per channel with its rows on both sides, and whether its two sides may differ."""
    sides = _side(facts, "sent", "s_").join(_side(facts, "received", "r_"), list(CHANNEL), "full")
    sent_sum, sent_xor = F.col("s_hash_sum"), F.col("s_hash_xor")
    if facts.incomplete:
        sides = sides.join(_received_prefix(facts), list(CHANNEL), "left")
        sent_sum, sent_xor = (
            F.when(whole(facts), F.col(f"s_hash_{x}")).otherwise(F.col(f"cut_{x}")) for x in ("sum", "xor")
        )
    equal = (
        _dense("r_")
        & sent_sum.eqNullSafe(F.col("r_hash_sum"))
        & sent_xor.eqNullSafe(F.col("r_hash_xor"))
        & (F.col("s_n").eqNullSafe(F.col("r_n")) | ~whole(facts))
    )
    unread = F.col("r_n").isNull() & ~whole(facts)
    clean = F.coalesce(_dense("s_") & (equal | unread), F.lit(False))
    rows = F.coalesce("s_n", F.lit(0)) + F.coalesce("r_n", F.lit(0))
    return sides.select(*CHANNEL, rows.alias("rows"), (~clean).alias("suspect"))


def _fifo_counts(facts: Recordings) -> DataFrame:
    return (
        _fifo_suspects(facts)
        .groupBy("run")
        .agg(F.sum("rows").alias("rows_examined"), F.count_if("suspect").alias("violations"))
    )


def _fifo_pairs(facts: Recordings) -> DataFrame:
    """The positions of suspicious channels at which the two sides differ."""
    suspects = _fifo_suspects(facts).where("suspect").select(*CHANNEL)
    rows = union(*(facts[s].select(*CHANNEL, "position", *_PAYLOAD).withColumn("side", F.lit(s)) for s in _SIDES))
    columns = []
    for side in _SIDES:
        mine = F.col("side") == side
        columns.append(F.count_if(mine).alias(f"rows_{side}"))
        columns.extend(F.max(F.when(mine, F.col(c))).alias(f"{side}_{c}") for c in _PAYLOAD)
    pairs = rows.join(F.broadcast(suspects), list(CHANNEL), "semi").groupBy(*CHANNEL, "position").agg(*columns)
    sent, received = F.col("rows_sent"), F.col("rows_received")
    differ = F.lit(False)
    for column in _PAYLOAD:
        differ = differ | (F.col(f"sent_{column}") != F.col(f"received_{column}"))
    return pairs.where(
        (sent > 1)
        | (received > 1)
        | ((sent == 1) & (received == 1) & differ)
        | (sent == 0)
        | ((received == 0) & whole(facts))
    )


def _count(rows: DataFrame) -> DataFrame:
    return rows.groupBy("run").agg(F.count(F.lit(1)).alias("violations"))


FIFO = Check("channel-fifo", needs_channels, _fifo_counts, _fifo_pairs, exact=lambda facts: _count(_fifo_pairs(facts)))


def _every_side(facts: Recordings) -> DataFrame:
    """One row per channel and side: of ``channels``, or of what was recorded."""
    sides = F.explode(F.array(*(F.lit(s) for s in _SIDES))).alias("side")
    known = facts["channels"].select(*CHANNEL, sides).distinct().withColumn("known", F.lit(True))
    rows = known.join(summary(facts), [*CHANNEL, "side"], "full")
    return rows.join(F.broadcast(_runs_with_async(facts)), ["run"], "left")


def _runs_with_async(facts: Recordings) -> DataFrame:
    """Runs in which elements may follow END_OF_DATA without drain: calls are answered that nobody waits for."""
    runs = facts["operators"].where(F.col("kind") == "async_wait").select("run").distinct()
    return runs.withColumn("goes_on", F.lit(True))


def _is_excused() -> Column:
    return F.coalesce(F.col("goes_on") & (F.col("drain") == 0), F.lit(False))


def _lacks_end(facts: Recordings) -> Column:
    return whole(facts) & F.col("known").isNotNull() & F.col("end").isNull()


def _follows_end() -> Column:
    return F.coalesce((F.col("last") > F.col("end")), F.lit(False)) | F.coalesce(
        (F.col("last_element") > F.col("end_of_data")) & ~_is_excused(), F.lit(False)
    )


def _end_counts(facts: Recordings) -> DataFrame:
    return (
        _every_side(facts)
        .groupBy("run")
        .agg(
            F.sum(F.coalesce("n", F.lit(0))).alias("rows_examined"),
            F.count_if(_lacks_end(facts) | _follows_end()).alias("violations"),
        )
    )


def _end_violations(facts: Recordings) -> DataFrame:
    sides = _every_side(facts)
    columns = [*CHANNEL, "side", "position", "kind", "timestamp"]
    lacking = sides.where(_lacks_end(facts)).select(
        *CHANNEL, "side", *(F.lit(None).cast(t).alias(c) for c, t in zip(columns[3:], ("long", "byte", "long"), strict=True)),
        F.lit("no END_OF_PARTITION").alias("what"),
    )  # fmt: skip
    suspects = F.broadcast(
        sides.where(_follows_end()).select(*CHANNEL, "side", "end", "end_of_data", _is_excused().alias("excused"))
    )
    rows = union(
        *(facts[s].select(*CHANNEL, "position", "kind", "timestamp").withColumn("side", F.lit(s)) for s in _SIDES)
    )
    rows = rows.join(suspects, [*CHANNEL, "side"])
    after_end = F.coalesce(F.col("position") > F.col("end"), F.lit(False))
    after_data = (F.col("position") > F.col("end_of_data")) & ~_kind(ElementKind.END_OF_PARTITION) & ~F.col("excused")
    found = F.when(after_end, "follows END_OF_PARTITION").when(after_data, "follows END_OF_DATA")
    return lacking.unionByName(rows.select(*columns, found.alias("what")).where("what is not null"))


END = Check(
    "channel-end", needs_channels, _end_counts, _end_violations, exact=lambda facts: _count(_end_violations(facts))
)
