"""What is put into a mailbox runs once, in its turn, and inside a yield only what may run there (section 3)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ActionKind, ActionPhase, MailAction, WaitKind
from flowsim.validation.checks.base import TASK, Check, added, always, examined, tally, union, whole
from flowsim.validation.recordings import Recordings


def _mails(facts: Recordings) -> DataFrame:
    """One row per mail: how often it was put and run, when first, and as what."""
    put, run = F.col("action") == int(MailAction.PUT), F.col("action") == int(MailAction.RUN)
    first = F.struct("seq", "priority", "urgent")
    return facts["mails"].groupBy(*TASK, "mail").agg(
        F.count_if(put).alias("puts"), F.count_if(run).alias("runs"), F.min(F.when(put, first)).alias("put"),
        F.min(F.when(run, first)).alias("ran"),
    )  # fmt: skip


def _judged_mails(facts: Recordings) -> DataFrame:
    """Every mail, with how often it breaks the law."""
    as_put = (
        F.col("put").isNotNull()
        & (F.col("put.seq") < F.col("ran.seq"))
        & (F.col("put.priority") == F.col("ran.priority"))
        & (F.col("put.urgent") == F.col("ran.urgent"))
    )
    before = (
        Window.partitionBy(*TASK, "put.priority", "put.urgent")
        .orderBy("put.seq", "mail")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    never = F.lit(2**63 - 1)
    has_put = F.col("put").isNotNull()
    latest = F.max(F.when(has_put, F.coalesce("ran.seq", never))).over(before)
    again = F.greatest(F.col("puts") - 1, F.lit(0)) + F.greatest(F.col("runs") - 1, F.lit(0))
    ran = F.col("runs") > 0
    not_as_put = ran & ~F.coalesce(as_put, F.lit(False))
    overtakes = ran & ~not_as_put & (F.col("put.urgent") == 0) & F.coalesce(latest > F.col("ran.seq"), F.lit(False))
    lost = ~ran & whole(facts)
    marks = {"again": again, "not_as_put": not_as_put, "overtakes": overtakes, "lost": lost}
    return _mails(facts).withColumns({name: mark.cast("long") for name, mark in marks.items()})


def _yields(facts: Recordings) -> DataFrame:
    """Every mail that begins as an action, beside the mail taken for it and the priority of the yield around it."""
    actions = facts["actions"].where(
        (F.col("phase").isin(int(ActionPhase.WAIT), int(ActionPhase.RESUME)) & (F.col("kind") == int(WaitKind.YIELD)))
        | ((F.col("phase") == int(ActionPhase.BEGIN)) & (F.col("kind") == int(ActionKind.MAIL)))
    )
    enters, leaves = F.col("phase") == int(ActionPhase.WAIT), F.col("phase") == int(ActionPhase.RESUME)
    order = Window.partitionBy(*TASK).orderBy("seq")
    change = F.when(enters, 1).when(leaves, -1).otherwise(0)
    rows = actions.withColumn("level", F.sum(change).over(order.rowsBetween(Window.unboundedPreceding, 0)))
    # The last yield that went as deep as we are is the one we are in.
    at_level = Window.partitionBy(*TASK, "level").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    rows = rows.withColumn("least", F.last(F.when(enters, F.col("priority")), ignorenulls=True).over(at_level))
    begun = rows.where(F.col("phase") == int(ActionPhase.BEGIN)).select(
        *TASK, "seq", F.when(F.col("level") > 0, F.col("least")).alias("least"),
        F.row_number().over(order).alias("turn"),
    )  # fmt: skip
    taken = facts["mails"].where(F.col("action") == int(MailAction.RUN)).select(
        *TASK, F.row_number().over(order).alias("turn"), F.col("seq").alias("taken_seq"), "mail", "priority"
    )  # fmt: skip
    return begun.join(taken, [*TASK, "turn"], "left")


def _not_taken() -> Column:
    return F.col("taken_seq").isNull() | (F.col("taken_seq") > F.col("seq"))


def _too_low() -> Column:
    return F.coalesce(F.col("priority") < F.col("least"), F.lit(False))


def _counts(facts: Recordings) -> DataFrame:
    per_mail = F.col("again") + F.col("not_as_put") + F.col("overtakes") + F.col("lost")
    return tally(
        examined(facts["mails"]),
        added(_judged_mails(facts), per_mail),
        examined(_yields(facts), _not_taken() | _too_low()),
    )


def _evidence(facts: Recordings) -> DataFrame:
    names = ("again", "not_as_put", "overtakes", "lost")
    told = ("put or run again", "run otherwise than it was put", "overtakes a mail of its class", "never run")
    judged = _judged_mails(facts)
    per_mail = union(*(
        judged.where(F.col(name) > 0).select(
            *TASK, F.lit(what).alias("what"), F.coalesce("ran.seq", "put.seq").alias("seq"), "mail",
            F.coalesce("ran.priority", "put.priority").alias("priority"), F.lit(None).cast("int").alias("least"),
        )
        for name, what in zip(names, told, strict=True)
    ))  # fmt: skip
    what = F.when(_not_taken(), "begins, but was not taken").otherwise("runs in a yield of a higher priority")
    yields = _yields(facts).where(_not_taken() | _too_low())
    return per_mail.unionByName(yields.select(*TASK, what.alias("what"), "seq", "mail", "priority", "least"))


MAILS = Check("mails", always, _counts, _evidence)
