"""No record is lost to lateness silently: late rows, drops, counters and readers agree (rules 10.9, 10.10, 10.35)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.validation.checks.base import Check, Graph, added, examined, tally, union, whole
from flowsim.validation.checks.channels import summary
from flowsim.validation.checks.window_facts import OPERATOR, folded, judged_operators, window_facts
from flowsim.validation.checks.window_fold import INTAKE
from flowsim.validation.recordings import Recordings

LATE_KINDS: Final = ("window", "interval_join")
_ZERO: Final = 0


def _needs_late_kinds(graph: Graph) -> str:
    return "" if graph.late_kinds else "no operator of the job can find a record late"


def late_places(facts: Recordings) -> DataFrame:
    """One row per operator of every subtask that can find records late."""
    operators = facts["operators"].where(F.col("kind").isin(*LATE_KINDS))
    operators = operators.select("run", "vertex", "operator", "kind", "params")
    return facts["tasks"].select("run", "vertex", "task").join(F.broadcast(operators), ["run", "vertex"])


def _of_places(facts: Recordings, table: str) -> DataFrame:
    return facts[table].join(F.broadcast(late_places(facts).select(*OPERATOR)), list(OPERATOR))


def _late(facts: Recordings) -> DataFrame:
    """How many rows each judged window and each interval join found late."""
    plain = window_facts(facts).where((F.col("what") == INTAKE) & F.col("late"))
    known = judged_operators(facts).where("not folded").select(*OPERATOR, F.lit(0).cast("long").alias("n"))
    told = folded(facts).where("law = 'lateness'").select(*OPERATOR, "n")
    rows = union(plain.select(*OPERATOR, F.lit(1).cast("long").alias("n")), known, told, late_of_joins(facts))
    return rows.groupBy(*OPERATOR).agg(F.sum("n").alias("late"))


def late_of_joins(facts: Recordings) -> DataFrame:
    """How many records of each interval join came behind its watermark (rule 10.35); one row per join."""
    joins = late_places(facts).where("kind = 'interval_join'").select(*OPERATOR)
    late = facts["window_intake"].where("timestamp < watermark").groupBy(*OPERATOR).agg(F.count(F.lit(1)).alias("n"))
    return joins.join(late, list(OPERATOR), "left").select(*OPERATOR, F.coalesce("n", F.lit(0)).cast("long").alias("n"))


def _counters(facts: Recordings) -> DataFrame:
    order = Window.partitionBy(*OPERATOR).orderBy("seq")
    first = facts["operator_counts"].withColumn("nth", F.row_number().over(order)).where("nth = 1")
    return first.select(*OPERATOR, "records_in", "records_dropped")


def _read(facts: Recordings) -> DataFrame:
    """What readers got from the late side outputs of each operator; null where it cannot be told."""
    tag = F.explode(F.from_json("params", "late_tags array<string>")["late_tags"])
    tags = late_places(facts).select(*OPERATOR, "vertex", tag.alias("tag"))
    inside = facts["operators"].select(
        "run", "vertex", F.col("operator").alias("reader"), F.col("input_operator").alias("operator"),
        F.col("input_tag").alias("tag"),
    )  # fmt: skip
    told = _counters(facts).select("run", "task", F.col("operator").alias("reader"), F.col("records_in").alias("n"))
    chained = tags.join(F.broadcast(inside), ["run", "vertex", "operator", "tag"]).join(
        told, ["run", "task", "reader"], "left"
    )
    edges = facts["edges"].where("side_output != ''").select(
        "run", "edge", "partitioner", F.col("source_operator").alias("operator"), F.col("side_output").alias("tag")
    )  # fmt: skip
    channels = facts["channels"].select("run", "channel", "edge", F.col("source_task").alias("task"))
    sent = summary(facts).where("side = 'sent'").select("run", "channel", "records")
    alone = F.when(F.col("partitioner") == "BROADCAST", F.col("channel")).otherwise(-1)
    outside = (
        channels.join(F.broadcast(edges), ["run", "edge"]).join(sent, ["run", "channel"], "left")
        .groupBy(*OPERATOR, "tag", "edge", alone.alias("alone")).agg(F.sum(F.coalesce("records", F.lit(0))).alias("n"))
    )  # fmt: skip
    outside = outside.join(tags, [*OPERATOR, "tag"], "semi")
    readers = union(chained.select(*OPERATOR, "tag", "n"), outside.select(*OPERATOR, "tag", "n"))
    least = readers.groupBy(*OPERATOR, "tag").agg(F.min("n").alias("n"), F.max(F.col("n").isNull()).alias("untold"))
    all_tags = tags.join(least, [*OPERATOR, "tag"], "left")
    untold = F.max(F.coalesce("untold", F.lit(True)))
    return all_tags.groupBy(*OPERATOR).agg(F.when(~untold, F.sum("n")).alias("read"))


def _books(facts: Recordings) -> DataFrame:
    """One row per operator with all that is compared."""
    return facts.shared("books of lateness", _keep_books)


def _keep_books(facts: Recordings) -> DataFrame:
    drops = facts["late_drop"].groupBy(*OPERATOR).agg(
        F.count_if(F.col("side_output") == 0).alias("counted"), F.count_if(F.col("side_output") != 0).alias("aside")
    )  # fmt: skip
    rows = late_places(facts).select(*OPERATOR)
    for other in (drops, _late(facts), _counters(facts), _read(facts)):
        rows = rows.join(other, list(OPERATOR), "left")
    return rows.fillna(_ZERO, ["counted", "aside"]).withColumn("whole", whole(facts))


def _ways() -> dict[str, Column]:
    dropped = F.col("counted") + F.col("aside")
    slack = F.when(F.col("whole"), 0).otherwise(1)
    under_way = F.col("records_dropped").isNull().cast("int")
    ways = {
        "late rows that were not dropped, or others": F.abs(F.col("late") - dropped) > slack,
        "dropped other than counted": F.col("records_dropped") != F.col("counted"),
        "dropped to the side output, but not read there": F.col("read") < F.col("aside") - under_way,
    }
    return {what: F.coalesce(way, F.lit(False)) for what, way in ways.items()}


def _counts(facts: Recordings) -> DataFrame:
    wrong = sum((way.cast("int") for way in _ways().values()), start=F.lit(0))
    return tally(
        examined(_of_places(facts, "window_intake")),
        examined(_of_places(facts, "late_drop")),
        added(_books(facts), wrong),
    )


def _evidence(facts: Recordings) -> DataFrame:
    numbers = ("late", "counted", "aside", "records_dropped", "read")
    frames = [
        _books(facts).where(way).select(*OPERATOR, F.lit(what).alias("what"), *numbers) for what, way in _ways().items()
    ]
    return union(*frames)


LATENESS = Check("lateness", _needs_late_kinds, _counts, _evidence)
