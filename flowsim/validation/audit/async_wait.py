"""The five laws of async operators, slowly: one machine per operator and subtask takes every row in order (section 11)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.validation.audit.async_machine import (
    ARRIVAL,
    CLOSE,
    COLUMNS,
    END_INPUT,
    GOT,
    OPEN,
    READER,
    AsyncMachine,
)
from flowsim.validation.audit.base import Audit, kind_is
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.checks.async_laws import EXAMINED
from flowsim.validation.checks.async_places import PLACE, places
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.recordings import Recordings

_LIFE = {LifeEvent.OPEN: OPEN, LifeEvent.END_INPUT: END_INPUT, LifeEvent.CLOSE: CLOSE}
_NO_LIMIT = 2**40
_BEFORE, _LATER = 0, 2
"""Beside the facts of elements with the same number: what arrived is there before them, what follows them after."""


def _described(facts: Recordings) -> DataFrame:
    return places(facts).withColumns({
        "described": F.lit(1), "listens": F.col("is_head") & (F.col("inputs") == 1),
        "limit": F.coalesce("limit", F.lit(_NO_LIMIT)),
    })  # fmt: skip


def _elements(facts: Recordings) -> DataFrame:
    about = _described(facts).drop("inputs", "input_operator", "input_tag", "opening", "end", "closing")
    rows = facts["async_elements"].withColumnRenamed("action", "what").join(F.broadcast(about), list(PLACE), "left")
    return rows.withColumn("at", 3 * F.col("seq") + 1)


def _lives(facts: Recordings) -> DataFrame:
    what = F.lit(None).cast("int")
    for event, number in _LIFE.items():
        what = F.when(F.col("event") == int(event), number).otherwise(what)
    rows = facts["lifecycle"].withColumn("what", what).where("what is not null")
    return rows.join(F.broadcast(_described(facts).select(*PLACE)), list(PLACE), "semi").withColumn(
        "at", 3 * F.col("seq") + _LATER
    )


def _arrivals(facts: Recordings) -> DataFrame:
    """What comes to the only input of a task whose head is an async operator."""
    heads = _described(facts).where("listens").select(*PLACE)
    records = (
        facts["received"].where(kind_is(ElementKind.RECORD)).select(*TASK, "seq", "kind", "timestamp", "fingerprint")
    )
    marks = facts["task_watermark"].where(kind_is(ElementKind.WATERMARK)).select(
        *TASK, "seq", "kind", "timestamp", F.lit(0).cast("long").alias("fingerprint")
    )  # fmt: skip
    rows = records.unionByName(marks).join(F.broadcast(heads), list(TASK))
    return rows.withColumns({"what": F.lit(ARRIVAL), "at": 3 * F.col("seq") + _BEFORE})


def _readers(facts: Recordings) -> DataFrame:
    """Channels with the async operator that they are fed from; the number of a reader is odd for a channel of its own."""
    edges = (
        facts["edges"]
        .where("side_output = ''")
        .select("run", "edge", F.col("source_operator").alias("operator"), "partitioner")
    )
    rows = (
        facts["channels"]
        .select("run", "edge", "channel", F.col("source_task").alias("task"))
        .join(edges, ["run", "edge"])
    )
    number = F.when(F.col("partitioner") == "BROADCAST", 2 * F.col("channel") + 1).otherwise(2 * F.col("edge"))
    return rows.join(_described(facts).select(*PLACE), list(PLACE), "semi").select(
        *PLACE, "channel", number.alias("entry")
    )


def _results(facts: Recordings) -> DataFrame:
    """All readers, and every record that they got."""
    edges = _readers(facts)
    first, places_ = _described(facts).select(*TASK, F.col("operator").alias("input_operator")), places(facts)
    inner = places_.where("input_tag = ''").join(first, [*TASK, "input_operator"], "semi").select(
        *TASK, F.col("input_operator").alias("operator"), (-1 - F.col("operator")).alias("entry"),
        F.col("operator").alias("second"), "opening",
    )  # fmt: skip
    named = edges.select(*PLACE, "entry").distinct().unionByName(inner.select(*PLACE, "entry"))
    named = named.withColumns({"what": F.lit(READER), "seq": F.lit(-1), "at": F.lit(-10), "fingerprint": F.lit(0)})
    sent = facts["sent"].where(kind_is(ElementKind.RECORD)).join(edges.drop("task"), ["run", "channel"])
    taken = facts["async_elements"].where(kind_is(ElementKind.RECORD) & (F.col("action") == int(AsyncAction.PUT)))
    taken = taken.select(*TASK, F.col("operator").alias("second"), "seq", "fingerprint").join(inner, [*TASK, "second"])
    got = union(
        *(frame.select(*PLACE, "entry", "seq", "fingerprint") for frame in (sent, taken.where("seq > opening")))
    )
    got = got.withColumns({"what": F.lit(GOT), "at": 3 * F.col("seq") + _LATER})
    return named.unionByName(got)


def _rows(facts: Recordings) -> DataFrame:
    def column(rows: DataFrame, name: str) -> Column:
        given = F.col(name) if name in rows.columns else F.lit(None)
        return F.coalesce(given.cast("long"), F.lit(0)).alias(name)

    frames = (_elements(facts), _lives(facts), _arrivals(facts), _results(facts))
    rows = union(
        *(frame.select(*PLACE, column(frame, "at"), *(column(frame, name) for name in COLUMNS)) for frame in frames)
    )
    return rows.withColumn("whole", whole(facts))


def _found(facts: Recordings) -> DataFrame:
    """(run, law, what, n): every line that the machines wrote."""
    lines = fold_machines(_rows(facts), PLACE, "at", AsyncMachine, COLUMNS)
    lines = lines.select("run", F.explode(F.split("what", "\n")).alias("line"), "n")
    parts = F.split("line", r"\|", 2)
    return lines.select("run", parts[0].alias("law"), parts[1].alias("what"), "n")


def _audit(law: str) -> Audit:
    def broken(facts: Recordings) -> DataFrame:
        return facts.shared("audited async operators", _found).where(F.col("law") == law).drop("law")

    return Audit(law, EXAMINED[law], broken)


ASYNC_AUDITS = tuple(_audit(law) for law in EXAMINED)
