"""No operator gains or loses records: gathers what the equations name, one small row each, and has them evaluated per run."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.validation.checks.async_places import PLACE, is_doing, places
from flowsim.validation.checks.base import Check, added, always, examined, kept, tally, union, whole
from flowsim.validation.checks.channels import summary
from flowsim.validation.checks.conservation_equations import SCHEMA, evaluate
from flowsim.validation.checks.streaming import ship
from flowsim.validation.recordings import Recordings

_NUMBERS = {"task": "int", "operator": "int", "a": "long", "b": "long", "c": "long", "d": "long", "seq": "long"}


def _item(rows: DataFrame, item: str, **columns: str | Column) -> DataFrame:
    """The rows as items; columns that an item lacks are 0 or ''."""
    given = {name: F.col(c) if isinstance(c, str) else c for name, c in columns.items()}
    numbers = (given.get(name, F.lit(0)).cast(t).alias(name) for name, t in _NUMBERS.items())
    texts = (given.get(name, F.lit("")).alias(name) for name in ("text", "tag"))
    return rows.select("run", F.lit(item).alias("item"), *numbers, *texts)


def _items(facts: Recordings) -> DataFrame:
    place = {"task": "task", "operator": "operator"}
    count = F.count(F.lit(1)).alias("n")
    late = facts["late_drop"].where("side_output = 0").groupBy("run", "task", "operator").agg(count)
    intake = facts["window_intake"].groupBy("run", "task", "operator").agg(count)
    finished = (F.col("operator") == -1) & (F.col("event") == int(LifeEvent.FINISHED))
    counters = {"a": "records_in", "b": "records_out", "c": "records_side", "d": "records_dropped", "seq": "seq"}
    return union(
        _item(facts["tasks"], "task", task="task", a="vertex"),
        _item(
            facts["operators"],
            "operator",
            operator="operator",
            a="vertex",
            b="input_operator",
            c=F.coalesce(F.get_json_object("params", "$.design") == "legacy", F.lit(False)).cast("int"),
            text="kind",
            tag="input_tag",
        ),
        _item(
            facts["edges"],
            "edge",
            operator="source_operator",
            a="edge",
            b="source_vertex",
            text="partitioner",
            tag="side_output",
        ),
        _item(facts["channels"], "channel", task="source_task", a="channel", b="edge"),
        _item(facts["operator_counts"], "counters", **place, **counters),
        _item(facts["lifecycle"].where(finished), "finished", task="task"),
        _item(summary(facts).where("side = 'sent'"), "sent", a="channel", b="records"),
        _item(summary(facts).where("side = 'received'"), "received", task="task", b="records"),
        _item(intake, "intake", **place, a="n"),
        _item(late, "late", **place, a="n"),
        _item(_asked(facts), "asked", **place, a="put", b="emitted"),
    )


def _asked(facts: Recordings) -> DataFrame:
    """Per async operator of a subtask the records put since it was opened, and the results emitted."""
    rows = facts["async_elements"].where(F.col("kind") == int(ElementKind.RECORD))
    rows = rows.join(F.broadcast(places(facts).select(*PLACE, "opening")), list(PLACE))
    emitted = F.sum(F.when(is_doing(AsyncAction.EMIT), F.col("rows")).otherwise(0))
    put = F.count_if(is_doing(AsyncAction.PUT) & (F.col("seq") > F.col("opening")))
    return rows.groupBy(*PLACE).agg(put.alias("put"), emitted.alias("emitted"))


def _find(facts: Recordings) -> DataFrame:
    ship(evaluate)
    return _items(facts).withColumn("whole", whole(facts)).groupBy("run").applyInPandas(evaluate, SCHEMA)


_broken = kept("conservation", _find)


def _counts(facts: Recordings) -> DataFrame:
    return tally(examined(facts["operator_counts"]), added(_broken(facts), F.lit(1)))


CONSERVATION = Check("conservation", always, _counts, _broken)
