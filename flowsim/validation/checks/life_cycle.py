"""Every task opens, ends its input, finishes, closes and ends in Flink's order (section 4)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import LifeEvent
from flowsim.validation.checks.base import TASK, Check, added, always, examined, tally, whole
from flowsim.validation.checks.channels import summary
from flowsim.validation.recordings import Recordings

_ENDS = (int(LifeEvent.FINISHED), int(LifeEvent.FAILED), int(LifeEvent.CANCELED))


def _is(*events: LifeEvent) -> Column:
    return F.col("event").isin(*(int(event) for event in events))


def _tasks(facts: Recordings) -> DataFrame:
    """One row per task: how many operators and inputs, and what its channels tell about it."""
    chains = facts["operators"].groupBy("run", "vertex").agg(F.count(F.lit(1)).alias("operators"))
    channels = summary(facts)
    # Rule 4.22: behind a task with several stopped inputs the end comes without END_OF_DATA.
    untold = (F.col("side") == "received") & F.col("end").isNotNull() & F.col("end_of_data").isNull()
    undrained = channels.groupBy(*TASK).agg(F.max(F.col("undrained") | untold).alias("undrained"))
    firsts = channels.groupBy(*TASK, "side").agg(F.min("first_seq").alias("first"))
    came = firsts.where("side = 'received'").select(*TASK, F.col("first").alias("came"))
    went = firsts.where("side = 'sent'").select(*TASK, F.col("first").alias("went"))
    tasks = facts["tasks"].select(*TASK, "vertex", "inputs").join(chains, ["run", "vertex"], "left")
    stopped = facts["lifecycle"].where(_is(LifeEvent.STOP_NO_DRAIN)).select(*TASK).distinct()
    for known in (undrained, stopped.withColumn("told", F.lit(True)), came, went):
        tasks = tasks.join(known, list(TASK), "left")
    return tasks.select(
        *TASK, F.coalesce("operators", F.lit(0)).alias("operators"), "inputs",
        F.coalesce("told", "undrained", F.lit(False)).alias("undrained"),
        F.when(F.col("inputs") > 0, F.col("came")).otherwise(F.col("went")).alias("first_element"),
    )  # fmt: skip


def _steps(facts: Recordings) -> DataFrame:
    """Every row with what its task had done before."""
    order = Window.partitionBy(*TASK).orderBy("seq")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    rows = facts["lifecycle"].withColumn("after_end", F.coalesce(F.max(_is_end()).over(before), F.lit(False)))
    # What follows the end is wrong for that alone and changes nothing else.
    order = Window.partitionBy(*TASK, "after_end").orderBy("seq")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    ends_before = (
        Window.partitionBy(*TASK, "after_end", "operator").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    )
    of_operator = Window.partitionBy(*TASK, "after_end", "operator").orderBy("seq")
    of_operator = of_operator.rowsBetween(1, Window.unboundedFollowing)

    def so_far(event: LifeEvent) -> Column:
        return F.coalesce(F.count_if(_is(event)).over(before), F.lit(0))

    rows = rows.withColumns({
        "opened": so_far(LifeEvent.OPEN), "finished": so_far(LifeEvent.FINISH), "closed": so_far(LifeEvent.CLOSE),
        "running": so_far(LifeEvent.RUNNING), "canceling": so_far(LifeEvent.CANCELING),
        "last_close": F.last(F.when(_is(LifeEvent.CLOSE), F.col("operator")), ignorenulls=True).over(before),
        "inputs_ended": F.coalesce(F.count_if(_is(LifeEvent.END_INPUT)).over(ends_before), F.lit(0)),
        "stays_open": _is(LifeEvent.OPEN)
        & (F.coalesce(F.count_if(_is(LifeEvent.OPEN, LifeEvent.CLOSE)).over(of_operator), F.lit(0)) == 0),
    })  # fmt: skip
    return rows.withColumn("left_open", F.coalesce(F.count_if("stays_open").over(before), F.lit(0)))


def _is_end() -> Column:
    return F.col("event").isin(*_ENDS)


def _judged_rows(facts: Recordings) -> DataFrame:
    """Every row with what is wrong with it ('' when nothing is)."""
    rows = _steps(facts).join(F.broadcast(_tasks(facts)), list(TASK), "left")
    operator, operators, closed = F.col("operator"), F.col("operators"), F.col("closed") > 0
    undrained, canceling = F.col("undrained"), F.col("canceling") > 0
    late = (F.col("opened") < operators) | closed | canceling | (operator != F.col("finished"))
    inputs = F.when(operator == 0, F.greatest("inputs", F.lit(1))).otherwise(1)
    opens = F.when((operator != operators - 1 - F.col("opened")) | closed, "opened out of order").otherwise("")
    ends_input = (
        F.when(late, "end of input out of order")
        .when(F.col("inputs_ended") >= inputs, "end of input again")
        .when(undrained & ((operator > 0) | (F.col("inputs") <= 1)), "end of input without drain")
        .otherwise("")
    )
    needs_end = (operator > 0) | (F.col("inputs") > 0)
    finishes = (
        F.when(late, "finished out of order")
        .when(undrained, "finished without drain")
        .when(needs_end & (F.col("inputs_ended") == 0), "finished before the end of its input")
        .otherwise("")
    )
    closes = F.when(operator >= F.coalesce("last_close", "operators"), "closed out of order or again").otherwise("")
    due = F.when(undrained, 0).otherwise(operators)
    complete = (F.col("opened") == operators) & (F.col("closed") == operators) & (F.col("finished") == due)
    ends = (
        F.when(F.col("left_open") > 0, "ends with open operators")
        .when(_is(LifeEvent.FINISHED) & ~complete, "FINISHED, but not all operators opened, finished and closed")
        .otherwise("")
    )
    what = (
        F.when(operators.isNull(), "a task that is not in table tasks")
        .when(F.col("after_end"), "after the end of the task")
        .when(_is(LifeEvent.RUNNING) & (F.col("running") > 0), "running again")
        .when(_is(LifeEvent.OPEN), opens)
        .when(_is(LifeEvent.END_INPUT), ends_input)
        .when(_is(LifeEvent.FINISH), finishes)
        .when(_is(LifeEvent.CLOSE), closes)
        .when(_is_end(), ends)
        .otherwise("")
    )
    return rows.withColumn("what", what)


def _judged_tasks(facts: Recordings) -> DataFrame:
    """Every described task, with whether it took elements too early and whether it lacks its end."""
    counted = _steps(facts).where("not after_end").groupBy(*TASK).agg(
        F.count_if(_is(LifeEvent.OPEN)).alias("opened"),
        F.max(F.when(_is(LifeEvent.OPEN), F.col("seq"))).alias("last_open"),
        F.max(_is(LifeEvent.FINISHED)).alias("finished"),
    )  # fmt: skip
    tasks = _tasks(facts).join(counted, list(TASK), "left")
    opened = F.coalesce("opened", F.lit(0))
    early = F.col("first_element").isNotNull() & (
        (opened < F.col("operators")) | F.coalesce(F.col("first_element") < F.col("last_open"), F.lit(False))
    )
    endless = whole(facts) & ~F.coalesce("finished", F.lit(False))
    return tasks.withColumns({"early": early.cast("int"), "endless": endless.cast("int")})


def _counts(facts: Recordings) -> DataFrame:
    return tally(
        examined(_judged_rows(facts), F.col("what") != ""),
        added(_judged_tasks(facts), F.col("early") + F.col("endless")),
    )


def _evidence(facts: Recordings) -> DataFrame:
    rows = _judged_rows(facts).where("what != ''").select(*TASK, "what", "seq", "operator", "event")
    tasks = _judged_tasks(facts)
    nothing = (F.lit(None).cast("int").alias("operator"), F.lit(None).cast("byte").alias("event"))
    early = tasks.where("early = 1").select(
        *TASK, F.lit("an element before all operators were open").alias("what"), F.col("first_element").alias("seq"), *nothing
    )  # fmt: skip
    endless = tasks.where("endless = 1").select(
        *TASK, F.lit("never finished").alias("what"), F.lit(None).cast("long").alias("seq"), *nothing
    )  # fmt: skip
    return rows.unionByName(early).unionByName(endless)


LIFE_CYCLE = Check("life-cycle", always, _counts, _evidence)
