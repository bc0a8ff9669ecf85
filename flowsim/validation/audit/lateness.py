"""Lateness, slowly: late rows found by windows replayed one row after the other, everything else one join per equation."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.validation.audit.any_window import AnyWindows
from flowsim.validation.audit.any_window_machine import COLUMNS, LateCountMachine
from flowsim.validation.audit.base import Audit, rows_of, wrong
from flowsim.validation.audit.conservation import first_counters, sent_by_edge
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.windows import rows_of_windows
from flowsim.validation.checks.base import union, whole
from flowsim.validation.checks.lateness import late_places
from flowsim.validation.checks.streaming import ship
from flowsim.validation.checks.window_facts import OPERATOR, judged_operators
from flowsim.validation.recordings import Recordings

_PLACE = list(OPERATOR)


def _dropped(facts: Recordings, side: int) -> DataFrame:
    """How many late rows each operator dropped, one way or the other; 0 where it has none."""
    drops = facts["late_drop"].where((F.col("side_output") != 0) == F.lit(bool(side)))
    counted = drops.groupBy(*OPERATOR).agg(F.count(F.lit(1)).alias("rows"))
    return late_places(facts).join(counted, _PLACE, "left").fillna(0, ["rows"])


def _miscounted(facts: Recordings) -> DataFrame:
    return _dropped(facts, 0).join(first_counters(facts), _PLACE).where("records_dropped != rows")


def _unread(facts: Recordings) -> DataFrame:
    """Operators whose late side outputs are all read, by fewer records than went there."""
    tags = late_places(facts).withColumn("tags", F.from_json("params", "late_tags array<string>")["late_tags"])
    tags = tags.select(*OPERATOR, "vertex", F.explode("tags").alias("tag"), F.size("tags").alias("tags"))
    counters = first_counters(facts)
    told = counters.select("run", "task", F.col("operator").alias("reader"), F.col("records_in").alias("n"))
    readers = facts["operators"].where("input_tag != ''").select(
        "run", "vertex", F.col("operator").alias("reader"), F.col("input_operator").alias("operator"),
        F.col("input_tag").alias("tag"),
    )  # fmt: skip
    inside = tags.join(readers, ["run", "vertex", "operator", "tag"]).join(told, ["run", "task", "reader"], "left")
    outside = tags.join(sent_by_edge(facts).withColumnRenamed("side_output", "tag"), [*OPERATOR, "tag"])
    both = union(*(frame.select(*OPERATOR, "tag", "tags", "n") for frame in (inside, outside)))
    known = F.count("n") == F.count(F.lit(1))
    by_tag = both.groupBy(*OPERATOR, "tag", "tags").agg(F.when(known, F.min("n")).alias("n"))
    read = (
        by_tag.groupBy(*OPERATOR, "tags").agg(F.count("n").alias("told"), F.sum("n").alias("read")).where("told = tags")
    )
    rows = (
        _dropped(facts, 1).join(read, _PLACE).join(counters.select(*OPERATOR, F.lit(0).alias("slack")), _PLACE, "left")
    )
    return rows.where(F.col("read") + F.coalesce("slack", F.lit(1)) < F.col("rows"))


def _unlike_joins(facts: Recordings) -> DataFrame:
    """Interval joins with more or fewer drops than records that came behind the watermark; one off in a prefix."""
    behind = facts["window_intake"].where("timestamp < watermark").select(*OPERATOR, F.lit(1).alias("n"))
    drops = facts["late_drop"].select(*OPERATOR, F.lit(-1).alias("n"))
    joins = late_places(facts).where("kind = 'interval_join'").select(*OPERATOR)
    off = union(behind, drops).join(joins, _PLACE).groupBy(*OPERATOR).agg(F.abs(F.sum("n")).alias("off"))
    return off.withColumn("whole", whole(facts)).where(F.col("off") > F.when(F.col("whole"), 0).otherwise(1))


def _broken(facts: Recordings) -> DataFrame:
    ship(AnyWindows)
    late = fold_machines(
        rows_of_windows(facts, judged_operators(facts), COLUMNS), OPERATOR, "place", LateCountMachine, COLUMNS
    )
    return union(
        late,
        wrong(_unlike_joins(facts), "late rows that were not dropped, or others"),
        wrong(_miscounted(facts), "dropped other than counted"),
        wrong(_unread(facts), "dropped, but not read there"),
    )


def _examined(facts: Recordings) -> DataFrame:
    places = F.broadcast(late_places(facts).select(*OPERATOR))
    return rows_of(*(facts[table].join(places, _PLACE) for table in ("window_intake", "late_drop")))


LATENESS = Audit("lateness", _examined, _broken)
