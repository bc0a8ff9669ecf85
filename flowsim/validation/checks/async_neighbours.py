"""Async operators and their neighbours: what arrives is put, what is emitted is got, and ends come to an empty queue."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.validation.checks.async_places import PLACE, is_doing, places
from flowsim.validation.checks.base import TASK, union
from flowsim.validation.recordings import Recordings

_READER = (*PLACE, "reader", "is_channel")


def life_of_places(facts: Recordings) -> DataFrame:
    """END_INPUT and CLOSE rows of async operators."""
    steps = facts["lifecycle"].where(F.col("event").isin(int(LifeEvent.END_INPUT), int(LifeEvent.CLOSE)))
    return steps.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi")


def wrong_neighbours(facts: Recordings) -> DataFrame:
    """(run, law, what, task, operator, seq, entry) of what does not fit together."""
    return union(_unlike_arrivals(facts), _unlike_results(facts), _early_ends(facts))


def _told(law: str, what: str | Column, rows: DataFrame) -> DataFrame:
    return rows.select(
        "run", F.lit(law).alias("law"), (F.lit(what) if isinstance(what, str) else what).alias("what"), "task", "operator",
        "seq", "entry",
    )  # fmt: skip


def _unlike_arrivals(facts: Recordings) -> DataFrame:
    """Heads of tasks with one input: each arrival is put before the next one comes (rules 11.1, 11.2)."""
    heads = F.broadcast(places(facts).where("is_head and inputs = 1").select(*PLACE, "opening", "end"))
    is_record, none = F.col("kind") == int(ElementKind.RECORD), F.lit(None).cast("long")
    what = F.struct(
        F.col("kind"), F.col("timestamp"), F.when(is_record, F.col("fingerprint")).otherwise(0).alias("number")
    )
    records = facts["received"].where(is_record).select(*TASK, "seq", what.alias("what"))
    marks = facts["task_watermark"].where(F.col("kind") == int(ElementKind.WATERMARK))
    marks = marks.withColumn("fingerprint", F.lit(0).cast("long")).select(*TASK, "seq", what.alias("what"))
    arrived = records.unionByName(marks).join(heads, list(TASK)).where("end is null or seq < end")
    arrived = arrived.select(*PLACE, "seq", none.alias("entry"), F.lit(0).alias("is_put"), "what", "end")
    puts = facts["async_elements"].where(is_doing(AsyncAction.PUT)).join(heads, list(PLACE)).where("seq > opening")
    puts = puts.select(*PLACE, "seq", "entry", F.lit(1).alias("is_put"), what.alias("what"), "end")
    order = Window.partitionBy(*PLACE).orderBy("seq", "is_put").rowsBetween(Window.unboundedPreceding, 0)
    rows = arrived.unionByName(puts).withColumn("arrival", F.sum(1 - F.col("is_put")).over(order))
    of_arrival = rows.groupBy(*PLACE, "arrival").agg(
        F.min(F.when(F.col("is_put") == 0, F.col("seq"))).alias("seq"), F.count_if(F.col("is_put") == 1).alias("puts"),
        F.max(F.when(F.col("is_put") == 0, F.col("what"))).alias("came"),
        F.max(F.when(F.col("is_put") == 1, F.col("what"))).alias("went"), F.max("end").alias("end"),
    )  # fmt: skip
    of_arrival = of_arrival.withColumn("last", F.max("arrival").over(Window.partitionBy(*PLACE))).where("arrival > 0")
    under_way = (F.col("puts") == 0) & (F.col("arrival") == F.col("last")) & F.col("end").isNull()
    as_it_came = (F.col("puts") == 1) & (F.col("came") == F.col("went"))
    unlike = of_arrival.where(~(under_way | F.coalesce(as_it_came, F.lit(False)))).withColumn("entry", none)
    return union(
        _told("async-order", "not put as it arrived", unlike),
        _told("async-order", "put before anything arrived", rows.where("arrival = 0")),
    )


def _outgoing(facts: Recordings) -> DataFrame:
    """The channels that carry what async operators emit, and who reads them: an edge, or a channel of a broadcast alone."""
    edges = facts["edges"].where("side_output = ''").select(
        "run", "edge", F.col("source_operator").alias("operator"), "partitioner"
    )  # fmt: skip
    channels = facts["channels"].select("run", "channel", "edge", F.col("source_task").alias("task"))
    channels = channels.join(F.broadcast(edges), ["run", "edge"])
    alone = F.col("partitioner") == "BROADCAST"
    return channels.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi").select(
        "channel", *PLACE, F.when(alone, F.col("channel")).otherwise(F.col("edge")).alias("reader"),
        alone.cast("int").alias("is_channel"),
    )  # fmt: skip


def _fed(facts: Recordings) -> DataFrame:
    """Async operators that another one feeds in its chain, as readers of that one."""
    fed = places(facts).where("input_tag = ''").select(
        *TASK, F.col("input_operator").alias("operator"), F.col("operator").alias("reader"),
        F.lit(-1).alias("is_channel"), "opening",
    )  # fmt: skip
    return fed.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi")


def _got(facts: Recordings) -> DataFrame:
    """(run, task, operator, reader, is_channel, seq, number) of the records that readers got."""
    is_record, number = F.col("kind") == int(ElementKind.RECORD), F.col("fingerprint").alias("number")
    outgoing = F.broadcast(_outgoing(facts).drop("task"))
    sent = facts["sent"].where(is_record).select("run", "task", "channel", "seq", number)
    sent = sent.join(outgoing, ["run", "channel"]).select(*_READER, "seq", "number")
    puts = facts["async_elements"].where(is_doing(AsyncAction.PUT) & is_record)
    puts = puts.select(*TASK, F.col("operator").alias("reader"), "seq", number)
    puts = puts.join(F.broadcast(_fed(facts)), [*TASK, "reader"]).where("seq > opening")
    return sent.unionByName(puts.select(*_READER, "seq", "number"))


def _readers(facts: Recordings) -> DataFrame:
    """Who reads what each async operator emits, whether it got anything or not."""
    readers = _outgoing(facts).select(*_READER).distinct().unionByName(_fed(facts).select(*_READER))
    return readers.join(F.broadcast(places(facts).select(*PLACE, "end")), list(PLACE))


def _unlike_results(facts: Recordings) -> DataFrame:
    """Everybody who reads an async operator gets what it emits, before it is told (rules 11.13, 11.14)."""
    readers = F.broadcast(_readers(facts))
    emitted = facts["async_elements"].where(is_doing(AsyncAction.EMIT))
    emitted = emitted.select(*PLACE, "seq", "entry", "rows", F.col("fingerprint").alias("number"))
    emitted = emitted.join(readers, list(PLACE)).withColumn("is_got", F.lit(0))
    got = _got(facts).withColumns(
        {"entry": F.lit(None).cast("long"), "rows": F.lit(None).cast("int"), "is_got": F.lit(1)}
    )
    got = got.join(readers.select(*_READER, "end"), list(_READER))
    before = Window.partitionBy(*_READER).orderBy("seq", "is_got").rowsBetween(Window.unboundedPreceding, -1)
    rows = emitted.unionByName(got)
    rows = rows.withColumn("turn", F.coalesce(F.sum(1 - F.col("is_got")).over(before), F.lit(0)))
    is_got = F.col("is_got") == 1
    owned = rows.groupBy(*_READER, "turn").agg(
        F.min(F.when(~is_got, F.col("seq"))).alias("emission"), F.min("seq").alias("first"), F.max("entry").alias("entry"),
        F.max("rows").alias("rows"), F.max(F.when(~is_got, F.col("number"))).alias("number"), F.max("end").alias("end"),
        F.count_if(is_got).alias("got"), F.coalesce(F.bit_xor(F.when(is_got, F.col("number"))), F.lit(0)).alias("mixed"),
    )  # fmt: skip
    unlike = (F.col("got") != F.col("rows")) | (F.col("mixed") != F.col("number"))
    more = F.col("emission").isNull() & F.col("end").isNotNull()
    what = F.when(F.col("emission").isNull(), "a reader got more than was emitted").otherwise(
        "its results are not what a reader got"
    )
    owned = owned.where(F.when(F.col("emission").isNull(), more).otherwise(unlike))
    return _told("async-once", what, owned.withColumn("seq", F.coalesce("emission", "first")))


def _early_ends(facts: Recordings) -> DataFrame:
    """Rule 11.19: when the input has ended, the queue is empty."""
    ends = facts["lifecycle"].where(F.col("event") == int(LifeEvent.END_INPUT)).select(*PLACE, "seq")
    ends = ends.join(F.broadcast(places(facts).select(*PLACE)), list(PLACE), "semi")
    ends = ends.withColumn("nth", F.row_number().over(Window.partitionBy(*PLACE).orderBy("seq")))
    moves = facts["async_elements"].where(is_doing(AsyncAction.PUT, AsyncAction.EMIT))
    moves = moves.select(*PLACE, F.col("seq").alias("at"), "queued", F.col("entry").alias("moved"))
    last = F.max(F.struct("at", "queued", "moved"))
    found = (
        moves.join(F.broadcast(ends), list(PLACE))
        .where("at < seq")
        .groupBy(*PLACE, "nth", "seq")
        .agg(last.alias("last"))
    )
    found = found.where("last.queued != 0").withColumn("entry", F.col("last.moved"))
    return _told("async-end", "the input has ended, but not all has left", found)
