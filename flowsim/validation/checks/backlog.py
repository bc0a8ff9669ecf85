"""What a sender tells about its queue is what the queue holds (rules 5.18, 5.26, 6.14)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import BufferSide
from flowsim.validation.checks.backlog_fold import COLUMNS, SCHEMA, fold_queues
from flowsim.validation.checks.base import CHANNEL, Check, Graph, added, examined, kept, tally, whole
from flowsim.validation.checks.streaming import fold_sorted
from flowsim.validation.recordings import Recordings

_TOLD = (*CHANNEL, "number", "kind", "bytes", "backlog")


def needs_queues(graph: Graph) -> str:
    """Applies where a sender reports the backlog of a pipelined subpartition."""
    return "" if graph.queues else "the job has no remote channel of a pipelined edge"


def judged_channels(facts: Recordings) -> DataFrame:
    """The remote channels of edges that are not blocking."""
    pipelined = facts["edges"].where(F.col("exchange") != "BLOCKING").select("run", "edge")
    return (
        facts["channels"]
        .where(F.col("local") == 0)
        .join(F.broadcast(pipelined), ["run", "edge"], "semi")
        .select(*CHANNEL)
    )


def judged_buffers(facts: Recordings) -> DataFrame:
    """The rows of ``buffers`` that the law speaks of."""
    return facts["buffers"].join(F.broadcast(judged_channels(facts)), list(CHANNEL), "semi")


def _side(facts: Recordings, side: BufferSide) -> DataFrame:
    return judged_buffers(facts).where(F.col("side") == int(side))


def _queues(facts: Recordings) -> DataFrame:
    rows = judged_buffers(facts).where(F.col("side") != int(BufferSide.RECEIVED)).withColumn("whole_run", whole(facts))
    return fold_sorted(rows.select(*COLUMNS), CHANNEL, "seq", fold_queues, SCHEMA)


def _arrivals(facts: Recordings) -> DataFrame:
    """Received buffers that arrive out of order, or as something else than was sent."""
    place = F.row_number().over(Window.partitionBy(*CHANNEL).orderBy("seq")) - 1
    received = _side(facts, BufferSide.RECEIVED).withColumn("out_of_order", F.col("number") != place)
    sent = _side(facts, BufferSide.SENT).select(*_TOLD, F.lit(True).alias("left_so")).distinct()
    wrong = received.join(sent, list(_TOLD), "left").where(F.col("out_of_order") | F.col("left_so").isNull())
    what = F.when(F.col("out_of_order"), "arrived out of order").otherwise("arrived otherwise than it was sent")
    return wrong.select(*CHANNEL, "seq", "side", "number", "kind", "backlog", what.alias("what"))


def _find(facts: Recordings) -> DataFrame:
    return _queues(facts).unionByName(_arrivals(facts))


_violations = kept("backlog", _find)


def _counts(facts: Recordings) -> DataFrame:
    return tally(examined(judged_buffers(facts)), added(_violations(facts), F.lit(1)))


BACKLOG = Check("backlog", needs_queues, _counts, _violations)
