"""Conservation, slowly: every equation a join, every count taken from the elements themselves (rules 7.20, 13.4)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.validation.audit.base import Audit, kind_is, rows_of, wrong
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.recordings import Recordings

_EMITTED = "results emitted"
_PLACE = ("run", "task", "operator")
_COUNTERS = ("records_in", "records_out", "records_side", "records_dropped")


def _places(facts: Recordings) -> DataFrame:
    """One row per operator of every subtask."""
    operators = facts["operators"].select("run", "vertex", "operator", "kind", "input_operator", "input_tag")
    return facts["tasks"].select(*TASK, "vertex").join(operators, ["run", "vertex"])


def first_counters(facts: Recordings) -> DataFrame:
    """The first counters of every operator."""
    order = Window.partitionBy(*_PLACE).orderBy("seq")
    first = facts["operator_counts"].withColumn("nth", F.row_number().over(order)).where("nth = 1")
    return first.select(*_PLACE, *_COUNTERS)


def _number(rows: DataFrame, *keys: str) -> DataFrame:
    return rows.groupBy(*keys).agg(F.count(F.lit(1)).alias("n"))


def _equation(rows: DataFrame, what: str, left: Column, right: Column) -> DataFrame:
    return rows.select(*_PLACE, F.lit(what).alias("what"), left.alias("left"), right.alias("right"))


def sent_by_edge(facts: Recordings) -> DataFrame:
    """The records sent per channel, with the edge and the operator that feeds it."""
    edges = facts["edges"].select(
        "run", "edge", F.col("source_operator").alias("operator"), "partitioner", "side_output"
    )
    channels = facts["channels"].select("run", "channel", "edge", F.col("source_task").alias("task"))
    sent = _number(facts["sent"].where(kind_is(ElementKind.RECORD)), "run", "channel")
    counted = channels.join(edges, ["run", "edge"]).join(sent, ["run", "channel"], "left")
    alone = F.when(F.col("partitioner") == "BROADCAST", F.col("channel")).otherwise(-1)
    return counted.groupBy(*_PLACE, "edge", "side_output", alone.alias("alone")).agg(
        F.sum(F.coalesce("n", F.lit(0))).alias("n")
    )


def _by_kind(facts: Recordings, counted: DataFrame) -> DataFrame:
    given = {name: F.col(name) for name in _COUNTERS}
    intake = _number(facts["window_intake"], *_PLACE).withColumnRenamed("n", "intakes")
    late = _number(facts["late_drop"].where("side_output = 0"), *_PLACE).withColumnRenamed("n", "dropped")
    rows = counted.join(intake, list(_PLACE), "left").join(late, list(_PLACE), "left")

    def of(*kinds: str) -> DataFrame:
        return rows.where(F.col("kind").isin(*kinds))

    zero = F.lit(0).cast("long")
    return union(
        _equation(of("source", "map"), "kind", given["records_out"], given["records_in"]),
        _equation(of("filter"), "kind", given["records_in"], given["records_out"] + given["records_dropped"]),
        _equation(of("sink"), "kind", given["records_out"], zero),
        _equation(of("window"), "kind", given["records_in"], F.coalesce("intakes", zero)),
        _equation(of("window"), "late rows", given["records_dropped"], F.coalesce("dropped", zero)),
        *_by_queue(facts, of("async_wait")),
    )


def _by_queue(facts: Recordings, counted: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Async operators: what was put since they were opened, and what they emitted; or less, before the task finished."""
    opened = (
        facts["lifecycle"]
        .where(F.col("event") == int(LifeEvent.OPEN))
        .groupBy(*_PLACE)
        .agg(F.min("seq").alias("opened"))
    )
    records = facts["async_elements"].where(kind_is(ElementKind.RECORD))
    puts = records.where(F.col("action") == int(AsyncAction.PUT)).join(opened, list(_PLACE)).where("seq > opened")
    emitted = (
        records.where(F.col("action") == int(AsyncAction.EMIT)).groupBy(*_PLACE).agg(F.sum("rows").alias("emitted"))
    )
    rows = counted.join(_number(puts, *_PLACE), list(_PLACE), "left").join(emitted, list(_PLACE), "left")
    rows = rows.join(_finished(facts), list(TASK), "left").fillna(0, ["n", "emitted"])
    done = rows.where(F.col("slack").isNotNull() | (F.col("records_out") < F.col("emitted")))
    return (
        _equation(rows, "elements put", F.col("records_in"), F.col("n")),
        _equation(done, _EMITTED, F.col("records_out"), F.col("emitted")),
    )


def _finished(facts: Recordings) -> DataFrame:
    """Tasks of which every equation is exact."""
    done = (F.col("event") == int(LifeEvent.FINISHED)) & (F.col("operator") == -1)
    return facts["lifecycle"].where(done).select(*TASK, F.lit(0).alias("slack")).distinct()


def _by_input(facts: Recordings, counted: DataFrame) -> DataFrame:
    received = _number(facts["received"].where(kind_is(ElementKind.RECORD)), *TASK)
    heads = counted.where("input_operator < 0 and kind != 'source'").join(received, list(TASK), "left")
    before = first_counters(facts).select(
        *TASK, F.col("operator").alias("input_operator"), F.col("records_out").alias("given")
    )
    chained = counted.where("input_operator >= 0 and input_tag = ''").join(before, [*TASK, "input_operator"])
    return union(
        _equation(heads, "head", F.col("records_in"), F.coalesce("n", F.lit(0).cast("long"))),
        _equation(chained, "chained", F.col("records_in"), F.col("given")),
    )


def _by_output(facts: Recordings, counted: DataFrame) -> DataFrame:
    sent = sent_by_edge(facts)
    main = sent.where("side_output = ''").join(counted, list(_PLACE))
    inside = _places(facts).where("input_tag != '' and input_operator >= 0")
    inside = inside.join(first_counters(facts), list(_PLACE), "left")
    readers = inside.select(
        *TASK,
        F.col("input_operator").alias("operator"),
        F.col("input_tag").alias("tag"),
        F.col("records_in").alias("n"),
    ).unionByName(sent.where("side_output != ''").select(*_PLACE, F.col("side_output").alias("tag"), "n"))
    tags = readers.groupBy(*_PLACE, "tag").agg(
        F.min("n").alias("least"), F.max("n").alias("most"), F.max(F.col("n").isNull()).alias("unknown")
    )
    sums = tags.groupBy(*_PLACE).agg(F.sum("most").alias("total"), F.max("unknown").alias("unknown"))
    return union(
        _equation(main, "edge", F.col("n"), F.col("records_out")),
        _equation(tags.where("not unknown"), "readers of a side output", F.col("least"), F.col("most")),
        _equation(sums.where("not unknown").join(counted, list(_PLACE)), "side outputs", F.col("total"),
                  F.col("records_side")),
    )  # fmt: skip


def _threads(facts: Recordings) -> DataFrame:
    """How many work for a task: one, or in the legacy design its loop, its timers and an emitter per operator (11.30)."""
    legacy = F.count_if(F.get_json_object("params", "$.design") == "legacy")
    emitters = facts["operators"].groupBy("run", "vertex").agg(legacy.alias("emitters"))
    threads = F.when(F.col("emitters") > 0, F.col("emitters") + 2).otherwise(1).alias("threads")
    return facts["tasks"].join(emitters, ["run", "vertex"]).select(*TASK, threads)


def _broken(facts: Recordings) -> DataFrame:
    counted = facts.shared(
        "audited counters", lambda all_facts: _places(all_facts).join(first_counters(all_facts), list(_PLACE))
    )
    equations = union(_by_kind(facts, counted), _by_input(facts, counted), _by_output(facts, counted))
    done = (F.col("event") == int(LifeEvent.FINISHED)) & (F.col("operator") == -1)
    finished = facts["lifecycle"].where(done).select(*TASK, F.lit(0).alias("slack")).distinct()
    judged = equations.join(F.broadcast(finished), list(TASK), "left").join(F.broadcast(_threads(facts)), list(TASK))
    rows = _places(facts).join(_number(facts["operator_counts"], *_PLACE), list(_PLACE), "left")
    written = F.coalesce("n", F.lit(0))
    off = F.abs(F.col("left") - F.col("right")) > F.coalesce("slack", "threads")
    off |= (F.col("what") == _EMITTED) & (F.col("left") < F.col("right"))
    equal = judged.where(off).select("run", "what", F.lit(1).cast("long").alias("n"))
    return union(equal, wrong(rows.where((written > 1) | ((written == 0) & whole(facts))), "counters not once"))


CONSERVATION = Audit("conservation", lambda facts: rows_of(facts["operator_counts"]), _broken)
