"""Windows, slowly: one row after the other, what should follow is owed until it is seen (section 10).

Tumbling windows that fire by event time have a machine of their own, which is quick enough for many millions of facts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.audit import any_window_machine
from flowsim.validation.audit.any_window import AnyWindows
from flowsim.validation.audit.any_window_machine import AnyDropMachine, AnyFireMachine
from flowsim.validation.audit.base import Audit, kind_is, rows_of
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.window_machine import COLUMNS, DROP, FIRE, INTAKE, MARK, MERGE, DropMachine, FireMachine
from flowsim.validation.checks.base import union, whole
from flowsim.validation.checks.streaming import ship
from flowsim.validation.checks.window_facts import OPERATOR, judged_operators
from flowsim.validation.recordings import Recordings


def _of_operators(facts: Recordings, table: str, operators: DataFrame) -> DataFrame:
    return facts[table].join(F.broadcast(operators), list(OPERATOR))


def rows_of_windows(facts: Recordings, operators: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """All rows of these operators in one shape; what a table lacks is 0."""
    marks = facts["task_watermark"].where(kind_is(ElementKind.WATERMARK) & (F.col("input") == 0))
    marks = marks.join(F.broadcast(operators), ["run", "task"])
    tables = ((INTAKE, "window_intake"), (MERGE, "window_merge"), (FIRE, "window_fire"), (DROP, "late_drop"))
    frames = []
    for what, frame in ((MARK, marks), *((what, _of_operators(facts, t, operators)) for what, t in tables)):
        given = frame.withColumn("what", F.lit(what))
        each = [
            F.col(c) if c == "params" else (F.col(c) if c in given.columns else F.lit(0)).cast("long").alias(c)
            for c in columns
        ]
        frames.append(given.select(*OPERATOR, (F.col("seq") * 8 + what).alias("place"), *each))
    return union(*frames).withColumn("whole", whole(facts))


def _audit(law: str, tables: tuple[str, ...], quick: type[FireMachine], general: type[AnyFireMachine]) -> Audit:
    def examined(facts: Recordings) -> DataFrame:
        operators = judged_operators(facts)
        return rows_of(*(_of_operators(facts, table, operators) for table in ("window_intake", *tables)))

    def broken(facts: Recordings) -> DataFrame:
        ship(AnyWindows)
        operators = judged_operators(facts)
        plain, others = operators.where("not folded"), operators.where("folded")
        columns = any_window_machine.COLUMNS
        return union(
            fold_machines(rows_of_windows(facts, plain, COLUMNS), OPERATOR, "place", quick, COLUMNS),
            fold_machines(rows_of_windows(facts, others, columns), OPERATOR, "place", general, columns),
        )

    return Audit(law, examined, broken)


WINDOW_FIRE = _audit("window-fire", ("window_fire", "window_merge"), FireMachine, AnyFireMachine)
LATE_ROWS = _audit("late-rows", ("late_drop",), DropMachine, AnyDropMachine)
