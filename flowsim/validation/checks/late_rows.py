"""A row is dropped as late exactly when every window it belongs to has been cleaned up at its arrival (rules 10.8 to 10.10)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.validation.checks.base import Check, added, examined, tally, union
from flowsim.validation.checks.window_facts import (
    OPERATOR,
    compare,
    folded,
    folded_rows,
    needs_windows,
    window_facts,
)
from flowsim.validation.checks.window_fold import DROP, INTAKE
from flowsim.validation.recordings import Recordings

_DROP: Final = [*OPERATOR, "intakes_before", "key", "timestamp", "fingerprint", "side"]


def _differences(facts: Recordings) -> DataFrame:
    rows = window_facts(facts)
    expected = rows.where((F.col("what") == INTAKE) & F.col("late")).select(
        *OPERATOR, (F.col("intakes_before") + 1).alias("intakes_before"), "key", "timestamp", "fingerprint",
        F.col("late_output").alias("side"), F.col("seq").alias("cause_seq"),
    )  # fmt: skip
    actual = rows.where(F.col("what") == DROP).withColumn("side", F.col("side_output").cast("int"))
    return compare(facts, expected, actual, _DROP)


def _misread() -> Column:
    return (F.col("what") == DROP) & (F.col("watermark") != F.col("derived"))


def _counts(facts: Recordings) -> DataFrame:
    rows = window_facts(facts).where(F.col("what").isin(INTAKE, DROP))
    return tally(
        examined(rows, _misread()), added(_differences(facts), F.col("missing") + F.col("unexpected")),
        examined(folded_rows(facts, "window_intake", "late_drop")),
        added(folded(facts).where("law = 'late-rows'"), F.col("n")),
    )  # fmt: skip


def _evidence(facts: Recordings) -> DataFrame:
    columns = [*(F.col(c) for c in _DROP[:-1]), F.col("side").alias("side_output")]
    drops = _differences(facts).select(
        *columns, F.when(F.col("missing") > 0, "missing drop").otherwise("unexpected drop").alias("what"),
        F.lit(None).cast("long").alias("seq"),
    )  # fmt: skip
    misread = window_facts(facts).where(_misread()).withColumn("side", F.col("side_output").cast("int")).select(
        *columns, F.concat(F.lit("recorded watermark "), "watermark", F.lit(", derived "), "derived").alias("what"), "seq"
    )  # fmt: skip
    found = folded(facts).where("law = 'late-rows'").select(*OPERATOR, *_DROP[3:-1], "side_output", "what", "seq")
    return union(drops, misread, found)


LATE_ROWS = Check("late-rows", needs_windows, _counts, _evidence)
