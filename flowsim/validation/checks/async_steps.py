"""What a row of ``async_elements`` may say, given what its operator and its element did before (rules 11.1-11.28)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.units import NS_PER_MS
from flowsim.validation.checks.async_places import OUTCOMES, PLACE, is_doing, places
from flowsim.validation.recordings import Recordings

_ORDER: Final = ("seq", "time_ns", "entry", "action")
_JUDGED: Final = (AsyncAction.PUT, *OUTCOMES, AsyncAction.TIMEOUT, AsyncAction.EMIT)


def _walked(facts: Recordings) -> DataFrame:
    """Every row beside what came before it: in one shuffle, for all windows lie inside one operator of one subtask."""
    operator = Window.partitionBy(*PLACE).orderBy(*_ORDER)
    element = Window.partitionBy(*PLACE, "entry").orderBy(*_ORDER)
    up_to = operator.rowsBetween(Window.unboundedPreceding, 0)
    before = operator.rowsBetween(Window.unboundedPreceding, -1)
    earlier = element.rowsBetween(Window.unboundedPreceding, -1)
    put, emit = is_doing(AsyncAction.PUT), is_doing(AsyncAction.EMIT)
    asks = is_doing(AsyncAction.PUT, AsyncAction.RETRY)

    def first(rows: Column, *columns: str) -> Column:
        return F.first(F.when(rows, F.struct(*columns)), ignorenulls=True).over(earlier)

    def count(action: AsyncAction) -> Column:
        return F.coalesce(F.count_if(is_doing(action)).over(earlier), F.lit(0))

    rows = facts["async_elements"].withColumns({
        "inside": F.sum(F.when(put, 1).when(emit, -1).otherwise(0)).over(up_to),
        "put_before": F.last(F.when(put, F.col("entry")), ignorenulls=True).over(before),
        "last_asked": F.max(F.when(asks, F.col("seq"))).over(Window.partitionBy(*PLACE)),
    })  # fmt: skip
    return rows.withColumns({
        "put": first(put, "kind", "timestamp", "time_ns"),
        "outcome": first(is_doing(*OUTCOMES), "rows", "fingerprint"),
        "calls": count(AsyncAction.INVOKE),
        "timeouts": count(AsyncAction.TIMEOUT),
        "emissions": count(AsyncAction.EMIT),
        "retried": F.collect_list(F.when(is_doing(AsyncAction.RETRY), F.col("attempt"))).over(earlier),
    })  # fmt: skip


def _turn() -> Column:
    """Every element waits for its place before the next one comes (rule 11.1)."""
    expected = F.when(F.col("put_before").isNull(), 0).otherwise(F.try_add("put_before", F.lit(1)))
    return F.when(is_doing(AsyncAction.PUT) & ~F.col("entry").eqNullSafe(expected), "put out of turn")


def _queue() -> Column:
    """An outcome may come while one that has left the queue is being handed on."""
    right = (F.col("queued") == F.col("inside")) | (is_doing(*OUTCOMES) & (F.col("queued") == F.col("inside") - 1))
    return F.when(F.col("queued") > F.col("capacity"), "more in the queue than its capacity").when(
        ~right, "the queue is not what was put and not emitted"
    )


def _outcome() -> Column:
    return (
        F.when(F.col("outcome").isNotNull(), "a second outcome")
        .when(F.col("kind") != int(ElementKind.RECORD), "the outcome of what is no record")
        .when(F.col("put").isNull() & ~F.col("legacy"), "an outcome before it was put")
    )


def _timeout() -> Column:
    now_ms, put_ms = (F.expr(f"{column} div {NS_PER_MS}") for column in ("time_ns", "put.time_ns"))
    early = now_ms <= F.try_add(put_ms, F.col("timeout_ms"))
    return F.when(F.col("timeouts") > 0, "time runs out again").when(
        F.col("timeout_ms") <= 0, "time runs out although there is no timeout"
    ).when(~F.col("legacy"), F.when(
        F.col("outcome").isNotNull(), "time runs out although it has an outcome"
    ).when(F.col("put").isNull(), "time runs out before it was put").when(early, "time runs out too early"))  # fmt: skip


def _emission() -> Column:
    known = F.col("outcome.rows") >= 0
    same = (F.col("outcome.rows") == F.col("rows")) & (F.col("outcome.fingerprint") == F.col("fingerprint"))
    as_put = (F.col("put.kind") == F.col("kind")) & (F.col("put.timestamp") == F.col("timestamp"))
    return (
        F.when(F.col("emissions") > 0, "emitted again")
        .when(F.col("put").isNull(), "emitted before it was put")
        .when(~as_put, "emitted as something else than it was put")
        .when(F.col("kind") != int(ElementKind.RECORD), F.when(F.col("rows") != 0, "a watermark with results"))
        .when(F.col("outcome").isNull(), "emitted before it has an outcome")
        .when(known & ~same, "emitted with other results than its own")
    )


def _life() -> Column:
    return (
        F.when(is_doing(*_JUDGED) & F.col("ordered").isNull(), "of no async operator that is described")
        .when(is_doing(*OUTCOMES), _outcome())
        .when(is_doing(AsyncAction.TIMEOUT), _timeout())
        .when(is_doing(AsyncAction.EMIT), _emission())
    )


def _call() -> Column:
    at_the_end = F.col("seq") > F.coalesce("last_asked", F.lit(-1))
    before = F.col("attempt").cast("long") - 1
    due = F.array_contains("retried", (F.col("attempt") - 1).cast("int")) & F.col("outcome").isNull()
    limit = F.try_add(F.col("limit"), at_the_end.cast("int"))
    return (
        F.when(F.col("put").isNull(), "asked for before it was put")
        .when(F.col("attempt") != F.col("calls") + 1, "attempts are not counted 1, 2, 3")
        .when(F.col("attempt") > 1, F.when(~F.col("retries"), "asked for again without a strategy")
              .when(~at_the_end & ~due, "asked for again although no retry was due")
              .when(before > limit, "asked for too often"))
    )  # fmt: skip


def _retry() -> Column:
    over = (F.col("timeouts") > 0) | F.col("outcome").isNotNull()
    return (
        F.when(~F.col("retries"), "waits for a retry without a strategy")
        .when(F.col("attempt") != F.col("calls"), "not the attempt that was made")
        .when(F.col("attempt") > F.col("limit"), "waits for one retry too many")
        .when(F.array_contains("retried", F.col("attempt")), "waits for the same retry again")
        .when(over, "waits for a retry although it is over")
    )


def _after_the_end() -> Column:
    moves = ~is_doing(*OUTCOMES)
    return F.when(moves & (F.col("seq") > F.col("end")), "after the end of its input").when(
        moves & (F.col("seq") > F.col("closing")), "after it was closed"
    )


def wrong_steps(facts: Recordings) -> DataFrame:
    """(run, law, what, task, operator, seq, entry) of every row that one of the five laws forbids."""
    known = F.col("ordered").isNotNull()
    laws = {
        "async-order": F.when(known, _turn()),
        "async-once": _life(),
        "async-capacity": F.when(known, _queue()),
        "async-retries": F.when(known & is_doing(AsyncAction.INVOKE), _call()).when(
            known & is_doing(AsyncAction.RETRY), _retry()
        ),
        "async-end": F.when(known, _after_the_end()),
    }
    rows = _walked(facts).join(F.broadcast(places(facts)), list(PLACE), "left")
    found = F.array(*(F.struct(F.lit(law).alias("law"), what.alias("what")) for law, what in laws.items()))
    broken = rows.select(*PLACE, "seq", "entry", F.explode(F.filter(found, lambda one: one["what"].isNotNull())))
    return broken.select("run", "col.law", "col.what", "task", "operator", "seq", "entry")
