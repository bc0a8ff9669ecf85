"""Channels, slowly: places are counted from the order of the facts, and element is held against element (C.1)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of, wrong
from flowsim.validation.checks.base import CHANNEL, union, whole
from flowsim.validation.recordings import Recordings

_SIDES = ("sent", "received")
_PAYLOAD = ("kind", "timestamp", "fingerprint")
_IDLE = -1


def placed(facts: Recordings, side: str) -> DataFrame:
    """The elements of a side with their place on the channel, counted from the order in which their task recorded them."""
    order = Window.partitionBy(*CHANNEL).orderBy("seq")
    return facts[side].withColumn("place", (F.row_number().over(order) - 1).cast("long"))


def _both(facts: Recordings) -> DataFrame:
    return rows_of(*(facts[side] for side in _SIDES))


def _unlike(facts: Recordings) -> DataFrame:
    sides = {}
    for side in _SIDES:
        payload = F.struct(*_PAYLOAD).alias(side)
        sides[side] = placed(facts, side).select(*CHANNEL, "place", payload)
    pairs = sides["sent"].join(sides["received"], [*CHANNEL, "place"], "full")
    lost = F.col("received").isNull() & whole(facts)
    return pairs.where(F.col("sent").isNull() | lost | (F.col("sent") != F.col("received")))


def _fifo(facts: Recordings) -> DataFrame:
    displaced = (
        wrong(placed(facts, side).where("position != place"), f"{side}: position is not the place") for side in _SIDES
    )
    return union(wrong(_unlike(facts), "received is not what was sent there"), *displaced)


def _end(facts: Recordings) -> DataFrame:
    found = []
    for side in _SIDES:
        before = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
        channel = Window.partitionBy(*CHANNEL)
        closes, ends = kind_is(ElementKind.END_OF_PARTITION), kind_is(ElementKind.END_OF_DATA)
        rows = facts[side].withColumns({
            "closed": F.coalesce(F.max(closes).over(before), F.lit(False)),
            "ended": F.coalesce(F.max(ends).over(before), F.lit(False)),
            "close_position": F.min(F.when(closes, F.col("position"))).over(channel),
            "end_position": F.min(F.when(ends, F.col("position"))).over(channel),
            "drain": F.min(F.when(ends, F.struct("position", "timestamp"))).over(channel)["timestamp"],
        })  # fmt: skip
        asks = facts["operators"].where("kind = 'async_wait'").select("run").distinct().withColumn("asks", F.lit(True))
        rows = rows.join(asks, ["run"], "left")
        over = ~closes & ~F.coalesce(F.col("asks") & (F.col("drain") == 0), F.lit(False))
        late = F.col("closed") | (F.col("ended") & over)
        told = F.coalesce(F.col("position") > F.col("close_position"), F.lit(False)) | (
            F.coalesce(F.col("position") > F.col("end_position"), F.lit(False)) & over
        )
        found.append(wrong(rows.where(late | told), f"{side}: after the end"))
        closed = facts[side].where(closes).select(*CHANNEL).distinct()
        lacking = facts["channels"].where(whole(facts)).select(*CHANNEL).join(closed, list(CHANNEL), "anti")
        found.append(wrong(lacking, f"{side}: never closed"))
    return union(*found)


def _steering(facts: Recordings) -> DataFrame:
    return facts["sent"].where(kind_is(ElementKind.WATERMARK) | kind_is(ElementKind.STATUS))


def _monotone(facts: Recordings) -> DataFrame:
    order = Window.partitionBy(*CHANNEL).orderBy("seq")
    idle = kind_is(ElementKind.STATUS) & (F.col("timestamp") == _IDLE)
    watermark = kind_is(ElementKind.WATERMARK)
    rows = _steering(facts).withColumns({
        "spell": F.count_if(idle).over(order.rowsBetween(Window.unboundedPreceding, 0)),
        "status": F.last(F.when(kind_is(ElementKind.STATUS), F.col("timestamp")), ignorenulls=True).over(order),
        "told": F.row_number().over(Window.partitionBy(*CHANNEL).orderBy("position")),
        "place": F.row_number().over(order),
    })  # fmt: skip
    before = Window.partitionBy(*CHANNEL, "spell").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    rows = rows.withColumn("highest", F.max(F.when(watermark, F.col("timestamp"))).over(before))
    falls = watermark & F.coalesce(F.col("highest") >= F.col("timestamp"), F.lit(False))
    while_idle = watermark & F.coalesce(F.col("status") == _IDLE, F.lit(False))
    inputs = Window.partitionBy("run", "task", "input").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    emitted = facts["task_watermark"].where(watermark)
    emitted = emitted.withColumn("highest", F.max("timestamp").over(inputs))
    displaced = F.col("told") != F.col("place")
    return union(
        findings(rows, {"does not grow": falls, "while idle": while_idle, "positions in another order": displaced}),
        wrong(emitted.where("highest >= timestamp"), "of a task does not grow"),
    )


FIFO = Audit("channel-fifo", _both, _fifo)
END = Audit("channel-end", _both, _end)
MONOTONE = Audit(
    "watermark-monotone",
    lambda facts: rows_of(*(facts[t].where(kind_is(ElementKind.WATERMARK)) for t in ("sent", "task_watermark"))),
    _monotone,
)
