"""Windows, slowly: one row after the other, panes in a dictionary; what should follow is owed until it is seen (section 10)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.audit.base import Audit, kind_is, rows_of
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.window_machine import COLUMNS, DROP, FIRE, INTAKE, MARK, DropMachine, FireMachine
from flowsim.validation.checks.base import union, whole
from flowsim.validation.checks.window_facts import OPERATOR, judged_operators
from flowsim.validation.recordings import Recordings


def _of_operators(facts: Recordings, table: str) -> DataFrame:
    return facts[table].join(F.broadcast(judged_operators(facts)), list(OPERATOR))


def _rows(facts: Recordings) -> DataFrame:
    marks = facts["task_watermark"].where(kind_is(ElementKind.WATERMARK) & (F.col("input") == 0))
    marks = marks.join(F.broadcast(judged_operators(facts)), ["run", "task"])
    frames = []
    for what, frame in (
        (MARK, marks), (INTAKE, _of_operators(facts, "window_intake")), (FIRE, _of_operators(facts, "window_fire")),
        (DROP, _of_operators(facts, "late_drop")),
    ):  # fmt: skip
        given = frame.withColumn("what", F.lit(what))
        columns = (F.col(c) if c in given.columns else F.lit(0) for c in COLUMNS)
        frames.append(
            given.select(*OPERATOR, "seq", *(c.cast("long").alias(n) for c, n in zip(columns, COLUMNS, strict=True)))
        )
    return union(*frames).withColumn("whole", whole(facts))


def _audit(law: str, table: str, machine: type[FireMachine]) -> Audit:
    def examined(facts: Recordings) -> DataFrame:
        return rows_of(_of_operators(facts, "window_intake"), _of_operators(facts, table))

    def broken(facts: Recordings) -> DataFrame:
        return fold_machines(_rows(facts), OPERATOR, "seq", machine, COLUMNS)

    return Audit(law, examined, broken)


WINDOW_FIRE = _audit("window-fire", "window_fire", FireMachine)
LATE_ROWS = _audit("late-rows", "late_drop", DropMachine)
