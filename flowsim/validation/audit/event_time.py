"""Task-watermark and idle, slowly: every channel's whole sequence beside the one it was told, and strategies row by row."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of, wrong
from flowsim.validation.audit.event_time_queues import lanes, taken, told_to_channels
from flowsim.validation.audit.event_time_told import ORIGIN, heard, is_mark, is_status, told
from flowsim.validation.audit.folding import Machine, fold_machines
from flowsim.validation.audit.made_machine import COLUMNS, ENDED, MADE, RECORD, RUNNING, MadeMachine, QuietMachine
from flowsim.validation.checks.base import CHANNEL, TASK, union, whole
from flowsim.validation.checks.event_time_paths import FREE, channel_paths, operator_paths
from flowsim.validation.checks.event_time_rows import STEERING
from flowsim.validation.checks.task_watermarks import queued_marks
from flowsim.validation.recordings import Recordings

_IDLE, _ACTIVE = -1, 0
_STRATEGY = (*TASK, "operator")


def _is_last() -> Column:
    return is_mark() & (F.col("timestamp") == MAX_WATERMARK)


def _sent(facts: Recordings) -> DataFrame:
    return facts["sent"].where(F.col("kind").isin(*STEERING)).select(*CHANNEL, "seq", "kind", "timestamp")


def _got(facts: Recordings) -> DataFrame:
    """What lanes got: channels, and queues of async operators."""
    if not facts.has("async_elements"):
        return _sent(facts)
    hidden = channel_paths(facts).where(F.col("queued") & (F.col("statuses") == FREE)).select(*CHANNEL)
    own = _sent(facts).where(is_status()).join(F.broadcast(hidden), list(CHANNEL), "semi")
    sent = _sent(facts).join(own.select(*CHANNEL, "seq"), [*CHANNEL, "seq"], "anti")
    return sent.unionByName(taken(facts))


def _expected(facts: Recordings) -> DataFrame:
    """What every lane was told."""
    return facts.shared("audited event time of lanes", _told_to_lanes)


def _told_to_lanes(facts: Recordings) -> DataFrame:
    if not facts.has("async_elements"):
        channels = channel_paths(facts).select("run", "task", "origin", "channel", "may_end", "holds_back")
        return told(facts).join(F.broadcast(channels), list(ORIGIN))
    every = lanes(facts).select("run", "task", "origin", "channel", "may_end", "holds_back", "is_head")
    is_queue = F.col("channel") < 0
    by_output = told(facts).join(F.broadcast(every.where(~F.col("is_head"))), list(ORIGIN)).where(~is_queue | is_mark())
    at_once = heard(facts).join(F.broadcast(every.where("is_head")), list(ORIGIN)).where(is_mark())
    by_channel = told_to_channels(facts).join(F.broadcast(every), list(CHANNEL))
    return by_output.unionByName(at_once).unionByName(by_channel).drop("is_head")


def _numbered(rows: DataFrame, *order: str) -> DataFrame:
    return rows.withColumn("number", F.row_number().over(Window.partitionBy(*CHANNEL).orderBy(*order)))


def _sequences(facts: Recordings) -> DataFrame:
    """Beside each other what was told and what was sent; the last watermark of a source, and what is held back, apart."""
    about = lanes(facts).where(F.col("origin") != FREE).select(*CHANNEL, "may_end", "holds_back")
    apart = (F.col("may_end") & _is_last()) | (F.col("holds_back") & is_mark())
    expected = _numbered(_expected(facts).where(~apart), "seq", "sub").select(
        *CHANNEL, "number", F.col("seq").alias("cause"), "next", F.struct("kind", "timestamp").alias("told")
    )  # fmt: skip
    sent = _got(facts).join(F.broadcast(about), list(CHANNEL)).where(~apart)
    sent = _numbered(sent, "seq").select(*CHANNEL, "number", "seq", F.struct("kind", "timestamp").alias("sent"))
    both = expected.join(sent, [*CHANNEL, "number"], "full")
    late = F.coalesce(F.col("seq") >= F.col("next"), F.lit(False))
    return findings(both, {
        "told by nobody": F.col("told").isNull(),
        "told and not sent": F.col("sent").isNull() & (whole(facts) | F.col("next").isNotNull()),
        "told otherwise than it was sent": ~(F.col("told") == F.col("sent")),
        "sent before it was told, or after the next was": (F.col("seq") < F.col("cause")) | late,
    })  # fmt: skip


def _lasts(facts: Recordings) -> DataFrame:
    """Last watermarks that a source's strategy made itself: each needs one that was sent."""
    due = _expected(facts).where(F.col("may_end") & _is_last()).where(whole(facts) | F.col("next").isNotNull())
    sent = _got(facts).where(_is_last()).select(*CHANNEL, F.col("seq").alias("at"))
    there = (F.col("at") > F.col("seq")) & F.coalesce(F.col("at") < F.col("next"), F.lit(True))
    found = due.join(sent, list(CHANNEL), "left").groupBy(*CHANNEL, "seq").agg(F.max(there).alias("there"))
    return wrong(found.where(~F.coalesce("there", F.lit(False))), "the last of all is not sent")


def _reached(facts: Recordings) -> DataFrame:
    """Where the end of event time reached the operators that wait for it."""
    of_origin = told(facts).where(_is_last()).groupBy(*ORIGIN).agg(F.greatest(F.min("seq"), F.lit(0)).alias("cause"))
    waiting = operator_paths(facts).where("waits_for_end").select(*_STRATEGY, F.col("reached").alias("origin"))
    return waiting.join(of_origin, list(ORIGIN)).select(*_STRATEGY, "cause")


def _ends(facts: Recordings) -> DataFrame:
    """Operators that assign timestamps, and whose inputs reached the end of event time: each lets it pass."""
    waiting = operator_paths(facts).where("waits_for_end").select(*_STRATEGY).join(_reached(facts), list(_STRATEGY))
    made = facts["generated_watermark"].where(_is_last() & (F.col("split") == -1)).select(*_STRATEGY, "seq")
    passed = waiting.join(made, list(_STRATEGY)).where(F.col("seq") > F.col("cause")).select(*_STRATEGY)
    left = waiting.where(whole(facts)).join(passed, list(_STRATEGY), "anti")
    return wrong(left, "the end of event time stays behind")


def _held_back(facts: Recordings) -> DataFrame:
    """Where watermarks are held back: those sent grow, and each was told before (rule 9.18)."""
    channels = lanes(facts).where("holds_back").select(*CHANNEL)
    sent = _got(facts).where(is_mark()).join(F.broadcast(channels), list(CHANNEL))
    before = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    sent = sent.withColumn("before", F.max("timestamp").over(before))
    marks = _expected(facts).where(F.col("holds_back") & is_mark())
    first = marks.groupBy(*CHANNEL, "timestamp").agg(F.min("seq").alias("cause"))
    rows = sent.join(first, [*CHANNEL, "timestamp"], "left")
    return findings(rows, {
        "held back, and goes back": F.coalesce(F.col("timestamp") <= F.col("before"), F.lit(False))
        | (F.col("timestamp") == NO_TIMESTAMP),
        "held back, but never told": F.col("cause").isNull() | (F.col("cause") >= F.col("seq")),
    })  # fmt: skip


def _unlike(facts: Recordings) -> DataFrame:
    """Sources that speak for themselves: the text of every channel is that of the first, or in a prefix a beginning."""
    free = channel_paths(facts).where(F.col("origin") == FREE).select(*CHANNEL, "task")
    text = F.transform(
        F.array_sort(F.collect_list(F.struct("seq", "kind", "timestamp"))), lambda row: F.struct(row["kind"], row["timestamp"])
    )  # fmt: skip
    texts = free.join(_sent(facts).groupBy(*CHANNEL).agg(text.alias("text")), list(CHANNEL), "left")
    nothing = F.array().cast("array<struct<kind:tinyint,timestamp:bigint>>")
    texts = texts.withColumn("text", F.coalesce("text", nothing))
    shortest = F.min(F.size("text")).over(Window.partitionBy(*TASK))
    texts = texts.withColumn("shortest", F.when(whole(facts), F.size("text")).otherwise(shortest))
    texts = texts.withColumn("compared", F.slice("text", F.lit(1), F.col("shortest")))
    unlike = texts.groupBy(*TASK).agg(F.count_distinct("compared").alias("versions"))
    return wrong(unlike.where("versions > 1"), "channels are told different things")


def _strategies(facts: Recordings, make: type[Machine]) -> DataFrame:
    """What strategies made, with the records that went out by them, and when the inputs of their task ended."""
    made = facts["generated_watermark"].withColumnRenamed("max_timestamp", "highest")
    splits = F.max("split").over(Window.partitionBy(*_STRATEGY)) >= 0
    rows = made.withColumns({"what": F.lit(MADE), "splits": splits.cast("int")})
    about = operator_paths(facts).select(
        *_STRATEGY, "delay", "idle_ms", F.lit(1).alias("described"), F.col("waits_for_end").cast("int").alias("waits")
    )
    doors = {door: channel_paths(facts).where(F.col(door) >= 0).select(*TASK, F.col(door).alias("operator")).distinct()
             for door in ("sees", "hears")}  # fmt: skip
    rows = rows.join(F.broadcast(about), list(_STRATEGY), "left")
    rows = rows.join(F.broadcast(doors["sees"].withColumn("sees", F.lit(1))), list(_STRATEGY), "left")
    strategies = made.select(*_STRATEGY).distinct()
    channels = channel_paths(facts).select(*CHANNEL, "sees", "hears")
    records = facts["sent"].where(kind_is(ElementKind.RECORD)).join(F.broadcast(channels), list(CHANNEL))
    seen = records.where("sees >= 0").withColumns({"operator": F.col("sees"), "sees": F.lit(1), "hears": F.lit(0)})
    heard = records.where("hears >= 0").withColumns({"operator": F.col("hears"), "hears": F.lit(1), "sees": F.lit(0)})
    ended = _reached(facts).withColumns({"what": F.lit(ENDED), "seq": F.col("cause")})
    running = facts["lifecycle"].where(F.col("event") == int(LifeEvent.RUNNING)).drop("operator")
    running = running.join(strategies, list(TASK)).withColumn("what", F.lit(RUNNING))
    frames = (rows, seen.withColumn("what", F.lit(RECORD)), heard.withColumn("what", F.lit(RECORD)), ended, running)
    both = union(*(_columns(frame) for frame in frames)).join(F.broadcast(strategies), list(_STRATEGY), "semi")
    return fold_machines(both.withColumn("whole", whole(facts)), _STRATEGY, "seq", make, COLUMNS)


def _columns(rows: DataFrame) -> DataFrame:
    def column(name: str) -> Column:
        given = F.col(name) if name in rows.columns else F.lit(None)
        return (given if name in ("delay", "idle_ms") else F.coalesce(given, F.lit(0))).cast("long").alias(name)

    return rows.select(*_STRATEGY, "seq", *(column(name) for name in COLUMNS))


def _statuses(facts: Recordings) -> DataFrame:
    """Every channel: what it says beside what it said before, and beside the last change that it was told of."""
    channels = channel_paths(facts).select(*CHANNEL, F.col("statuses").alias("origin"))
    sent = _sent(facts).join(F.broadcast(channels), list(CHANNEL)).withColumn("told", F.lit(None).cast("long"))
    changes = _expected(facts).where(is_status()).drop("origin").join(F.broadcast(channels), list(CHANNEL))
    changes = changes.select(*CHANNEL, "origin", "seq", "kind", "timestamp", F.col("timestamp").alias("told"))
    order = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    before = Window.partitionBy(*CHANNEL).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    said = F.when(is_status() & F.col("is_sent"), F.col("timestamp"))
    rows = sent.withColumn("is_sent", F.lit(True)).unionByName(changes.withColumn("is_sent", F.lit(False)))
    rows = rows.withColumns({
        "change": F.sum((~F.col("is_sent")).cast("long")).over(order),
        "due": F.coalesce(F.last("told", ignorenulls=True).over(order), F.lit(_ACTIVE)),
        "said": F.coalesce(F.last(said, ignorenulls=True).over(before), F.lit(_ACTIVE)),
    })  # fmt: skip
    status = is_status() & F.col("is_sent")
    of_change = rows.where("change > 0").groupBy(*CHANNEL, "change").agg(
        F.coalesce(F.max(status & (F.col("timestamp") == F.col("due"))), F.lit(False)).alias("told")
    )  # fmt: skip
    last = F.max("change").over(Window.partitionBy(*CHANNEL))
    untold = of_change.withColumn("is_last", last == F.col("change")).where(~F.col("told"))
    return union(
        findings(rows.where("is_sent"), {
            "talks in its sleep": is_mark() & (F.col("said") == _IDLE),
            "no news": status & (F.col("timestamp") == F.col("said")),
            "another status than its inputs have": status & (F.col("origin") != FREE) & (F.col("timestamp") != F.col("due")),
        }),
        wrong(untold.where(whole(facts) | ~F.col("is_last")), "a change that nobody was told of"),
    )  # fmt: skip


TASK_WATERMARK = Audit(
    "task-watermark",
    lambda facts: rows_of(_sent(facts), facts["task_watermark"], facts["generated_watermark"], queued_marks(facts)),
    lambda facts: union(
        _sequences(facts),
        _lasts(facts),
        _ends(facts),
        _held_back(facts),
        _unlike(facts),
        _strategies(facts, MadeMachine),
    ),
)
IDLE = Audit(
    "idle",
    lambda facts: rows_of(_sent(facts), facts["generated_watermark"].where("split = -1")),
    lambda facts: union(_statuses(facts), _strategies(facts, QuietMachine)),
)
