"""No network buffer is made, lost or counted twice: per pool and per task manager (C.7, I5.c)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import SegmentAction
from flowsim.validation.checks.base import Check, Graph, added, examined, tally, whole
from flowsim.validation.recordings import Recordings

_POOL = ("run", "pool")


def needs_pools(graph: Graph) -> str:
    """Applies where buffer pools are described."""
    return "" if graph.pools else "the job has no buffer pools"


def _is(action: SegmentAction) -> Column:
    return F.col("action") == int(action)


def _change(plus: SegmentAction, minus: SegmentAction) -> Column:
    return F.when(_is(plus), 1).when(_is(minus), -1).otherwise(0)


def _moves(facts: Recordings) -> DataFrame:
    """Every row with what it does to the segments that the pool holds, and to those that it has handed out."""
    return (
        facts["segments"]
        .withColumn("taken", _change(SegmentAction.TAKEN, SegmentAction.RETURNED))
        .withColumn("given", _change(SegmentAction.HANDED_OUT, SegmentAction.RECYCLED))
    )


def _judged_rows(facts: Recordings) -> DataFrame:
    """Every row with what is wrong with it in its pool ('' when nothing is)."""
    about = facts["pools"].select(*_POOL, "required", "maximum", "overdraft", F.lit(True).alias("known"))
    order = Window.partitionBy(*_POOL).orderBy("seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    rows = _moves(facts).select(
        *_POOL, "task", "seq", "action", "requested", "free", "size", F.sum("taken").over(so_far).alias("held"),
        F.sum("given").over(so_far).alias("handed_out"), F.lag("size").over(order).alias("size_before"),
    )  # fmt: skip
    rows = rows.join(F.broadcast(about), list(_POOL), "left")
    held, handed_out, size = F.col("held"), F.col("handed_out"), F.col("size")
    limit = size + F.col("overdraft")
    beyond = (_is(SegmentAction.TAKEN) & (held > limit)) | (_is(SegmentAction.HANDED_OUT) & (handed_out > limit))
    resized = F.coalesce(F.col("size_before") != size, F.lit(False)) & ~_is(SegmentAction.RESIZED)
    what = (
        F.when(F.col("known").isNull(), "the pool is not in table pools")
        .when((F.col("requested") != held) | (F.col("free") != held - handed_out), "requested or free do not add up")
        .when((handed_out < 0) | (held < handed_out), "more handed out than held, or more recycled than handed out")
        .when(beyond, "beyond size and overdraft")
        .when((size < F.col("required")) | (size > F.col("maximum")), "size is not between required and maximum")
        .when(resized, "size changed without RESIZED")
        .otherwise("")
    )
    return rows.withColumn("what", what)


def _judged_steps(facts: Recordings) -> DataFrame:
    """Every taken and returned segment in the order of its task manager, with what the task manager has given away."""
    pools = facts["pools"].select(*_POOL, "task_manager")
    limits = facts["task_managers"].select("run", "task_manager", F.col("segments").alias("limit"))
    order = Window.partitionBy("run", "task_manager").orderBy("step", "pool", "seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    rows = _moves(facts).where("taken != 0").join(F.broadcast(pools), list(_POOL))
    rows = rows.join(F.broadcast(limits), ["run", "task_manager"])
    rows = rows.withColumn("held", F.sum("taken").over(so_far)).withColumn(
        "missing", F.col("step") != F.coalesce(F.lag("step").over(order), F.lit(-1)) + 1
    )
    return rows.withColumn("violation", F.col("missing") | (F.col("held") < 0) | (F.col("held") > F.col("limit")))


def _left(facts: Recordings) -> DataFrame:
    """Per described pool of a whole run what was never given back, and never recycled."""
    sums = _moves(facts).groupBy(*_POOL).agg(F.sum("taken").alias("held"), F.sum("given").alias("handed_out"))
    return sums.join(facts["pools"].select(*_POOL), list(_POOL), "semi").where(whole(facts))


def _counts(facts: Recordings) -> DataFrame:
    left = (F.col("held") != 0).cast("int") + (F.col("handed_out") != 0).cast("int")
    return tally(
        examined(_judged_rows(facts), F.col("what") != ""),
        added(_judged_steps(facts), F.col("violation").cast("int")),
        added(_left(facts), left),
    )


def _evidence(facts: Recordings) -> DataFrame:
    columns = [*_POOL, "what", "task", "seq", "action", "requested", "free", "size", "held", "handed_out"]
    rows = _judged_rows(facts).where("what != ''").select(*columns)
    steps = _judged_steps(facts).where("violation").select(
        *_POOL, F.when(F.col("missing"), "a step is missing").otherwise("more than the task manager has").alias("what"),
        "task", "seq", "action", "requested", "free", "size", "held", F.lit(None).cast("long").alias("handed_out"),
    )  # fmt: skip
    nothing = [
        F.lit(None).cast(t).alias(c) for c, t in zip(columns[3:8], ("int", "long", "byte", "int", "int"), strict=True)
    ]
    left = _left(facts).where("held != 0 or handed_out != 0")
    left = left.select(*_POOL, F.lit("left at the end").alias("what"), *nothing, F.lit(None).cast("int").alias("size"),
                       "held", "handed_out")  # fmt: skip
    return rows.unionByName(steps).unionByName(left)


SEGMENTS = Check("segments", needs_pools, _counts, _evidence)
