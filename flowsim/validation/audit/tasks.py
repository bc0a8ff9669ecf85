"""Actions, mails and the life of a task, slowly: stacks by windows, mailboxes and lives row by row (sections 3 and 4)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, MailAction, WaitKind
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of, wrong
from flowsim.validation.audit.folding import fold_machines
from flowsim.validation.audit.task_machines import LIFE_COLUMNS, MAIL_COLUMNS, LifeMachine, MailMachine
from flowsim.validation.checks.base import TASK, union, whole
from flowsim.validation.recordings import Recordings

_ELEMENT, _DESCRIBED = -1, -2


def _nested(facts: Recordings) -> DataFrame:
    """Openings and closings, each with what was opened last one level further out (closings: what they should close)."""
    opens = F.col("phase").isin(int(ActionPhase.BEGIN), int(ActionPhase.WAIT))
    order = Window.partitionBy(*TASK).orderBy("seq")
    depth = F.sum(F.when(opens, 1).otherwise(-1)).over(order.rowsBetween(Window.unboundedPreceding, 0))
    rows = facts["actions"].withColumns({"opens": opens, "depth": depth})
    entry = F.when(F.col("phase").isin(int(ActionPhase.BEGIN), int(ActionPhase.END)), 0).otherwise(1)
    rows = rows.withColumn("entry", F.struct(entry.alias("wait"), "kind", "action"))
    # As an answer an opening stands at its own depth, as a question one further out; a closing asks at the depth it leaves.
    nothing = F.lit(None).cast(rows.schema["entry"].dataType)
    asked_at = F.when(F.col("opens"), F.col("depth") - 1).otherwise(F.col("depth") + 1)
    given = [*TASK, "seq", "opens", "phase"]
    answers = rows.where("opens").select(
        *given, F.col("depth").alias("level"), F.col("entry").alias("answer"), nothing.alias("asks")
    )
    questions = rows.select(*given, asked_at.alias("level"), nothing.alias("answer"), F.col("entry").alias("asks"))
    before = Window.partitionBy(*TASK, "level").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    both = answers.unionByName(questions).withColumn("around", F.last("answer", ignorenulls=True).over(before))
    return both.where(F.col("asks").isNotNull())


def _actions(facts: Recordings) -> DataFrame:
    rows = _nested(facts)
    inside = F.col("level") > 0
    yields = (F.col("around.wait") == 1) & F.col("around.kind").isin(int(WaitKind.YIELD), int(WaitKind.LOCK))
    begins = F.col("phase") == int(ActionPhase.BEGIN)
    waits = F.col("phase") == int(ActionPhase.WAIT)
    change = F.when(F.col("phase").isin(int(ActionPhase.BEGIN), int(ActionPhase.WAIT)), 1).otherwise(-1)
    left = facts["actions"].where(whole(facts)).groupBy(*TASK).agg(F.sum(change).alias("left"))
    unlike = (F.col("level") <= 0) | ~F.col("around").eqNullSafe(F.col("asks"))
    return union(
        findings(rows, {
            "begins inside something that does not yield": begins & inside & ~F.coalesce(yields, F.lit(False)),
            "waits inside a wait": waits & inside & (F.col("around.wait") == 1) & ~yields,
            "ends something else": ~F.col("opens") & unlike,
        }),
        wrong(left.where("left != 0"), "never ends"),
    )  # fmt: skip


def _mail_rows(facts: Recordings) -> DataFrame:
    """Mails (0 put, 1 run), begins of mail actions (2), and yields that are entered (3) or left (4)."""
    mails = facts["mails"].select(*TASK, "seq", F.col("action").cast("int").alias("what"), "mail", "priority", "urgent")
    waits, kind = F.col("phase") == int(ActionPhase.WAIT), F.col("kind")
    begins = (F.col("phase") == int(ActionPhase.BEGIN)) & (kind == int(ActionKind.MAIL))
    resumes = F.col("phase") == int(ActionPhase.RESUME)
    what = F.when(begins, 2).when(waits & (kind == int(WaitKind.YIELD)), 3).when(
        resumes & (kind == int(WaitKind.YIELD)), 4
    )  # fmt: skip
    actions = facts["actions"].select(
        *TASK, "seq", what.alias("what"), F.lit(-1).cast("long").alias("mail"), "priority",
        F.lit(0).cast("tinyint").alias("urgent"),
    )  # fmt: skip
    return mails.unionByName(actions.where("what is not null")).withColumn("whole", whole(facts))


def _mails_examined(facts: Recordings) -> DataFrame:
    assert (int(MailAction.PUT), int(MailAction.RUN)) == (0, 1)
    return rows_of(_mail_rows(facts).where("what <= 2"))


def _life_rows(facts: Recordings) -> DataFrame:
    """The steps of every task, with a row for its first element, and one before all that says that there is such a task."""
    chains = facts["operators"].groupBy("run", "vertex").agg(F.count(F.lit(1)).cast("int").alias("operators"))
    told = facts["received"].where(kind_is(ElementKind.END_OF_DATA)).select("run", "channel")
    closed = facts["received"].where(kind_is(ElementKind.END_OF_PARTITION))
    undrained = union(
        *(
            facts[side].where(kind_is(ElementKind.END_OF_DATA) & (F.col("timestamp") == 0)).select(*TASK)
            for side in ("sent", "received")
        ),
        closed.join(told, ["run", "channel"], "anti").select(*TASK),
        facts["lifecycle"].where(F.col("event") == int(LifeEvent.STOP_NO_DRAIN)).select(*TASK),
    ).distinct().withColumn("undrained", F.lit(1))  # fmt: skip
    tasks = facts["tasks"].select(*TASK, "vertex", "inputs").join(chains, ["run", "vertex"], "left")
    tasks = tasks.join(undrained, list(TASK), "left").fillna(0, ["operators", "undrained"]).drop("vertex")
    came = facts["received"].join(F.broadcast(tasks.where("inputs > 0").select(*TASK)), list(TASK), "semi")
    went = facts["sent"].join(F.broadcast(tasks.where("inputs = 0").select(*TASK)), list(TASK), "semi")
    first = (
        came.select(*TASK, "seq").unionByName(went.select(*TASK, "seq")).groupBy(*TASK).agg(F.min("seq").alias("seq"))
    )
    first = first.select(*TASK, "seq", F.lit(_ELEMENT).alias("event"), F.lit(-1).alias("operator"))
    described = facts["tasks"].select(
        *TASK, F.lit(-1).cast("long").alias("seq"), F.lit(_DESCRIBED).alias("event"), F.lit(-1).alias("operator")
    )
    steps = facts["lifecycle"].select(*TASK, "seq", F.col("event").cast("int").alias("event"), "operator")
    rows = union(steps, first, described).join(F.broadcast(tasks), list(TASK), "left")
    return rows.fillna(-1, ["operators", "inputs", "undrained"]).withColumn("whole", whole(facts))


ACTIONS = Audit("actions", lambda facts: rows_of(facts["actions"]), _actions)
MAILS = Audit(
    "mails", _mails_examined, lambda facts: fold_machines(_mail_rows(facts), TASK, "seq", MailMachine, MAIL_COLUMNS)
)
LIFE_CYCLE = Audit(
    "life-cycle",
    lambda facts: rows_of(facts["lifecycle"]),
    lambda facts: fold_machines(_life_rows(facts), TASK, "seq", LifeMachine, LIFE_COLUMNS),
)
