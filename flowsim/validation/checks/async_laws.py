"""The five laws of async operators: which rows each of them examines, and what of the findings it counts (section 11)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.validation.checks.async_entries import wrong_entries
from flowsim.validation.checks.async_neighbours import life_of_places, wrong_neighbours
from flowsim.validation.checks.async_places import OUTCOMES, is_doing, needs_async_operator
from flowsim.validation.checks.async_steps import wrong_steps
from flowsim.validation.checks.base import Check, added, examined, tally, union
from flowsim.validation.recordings import Recordings

Rows = Callable[[Recordings], DataFrame]


def _elements(which: Callable[[], Column]) -> Rows:
    return lambda facts: facts["async_elements"].where(which()).select("run")


def _asked() -> Column:
    put = is_doing(AsyncAction.PUT) & (F.col("kind") == int(ElementKind.RECORD))
    return put | is_doing(AsyncAction.INVOKE, AsyncAction.RETRY)


EXAMINED: dict[str, Rows] = {
    "async-order": _elements(lambda: is_doing(AsyncAction.PUT, AsyncAction.EMIT)),
    "async-once": _elements(lambda: is_doing(AsyncAction.PUT, *OUTCOMES, AsyncAction.TIMEOUT, AsyncAction.EMIT)),
    "async-capacity": _elements(lambda: F.lit(True)),
    "async-retries": _elements(_asked),
    "async-end": life_of_places,
}


def _found(facts: Recordings) -> DataFrame:
    """What breaks any of the five laws: they share their passes, and what is found is little."""
    return facts.shared("async findings", lambda f: union(wrong_steps(f), wrong_entries(f), wrong_neighbours(f)))


def _check(law: str, rows: Rows) -> Check:
    def broken(facts: Recordings) -> DataFrame:
        return _found(facts).where(F.col("law") == law).drop("law")

    def counts(facts: Recordings) -> DataFrame:
        return tally(examined(rows(facts)), added(broken(facts), F.lit(1)))

    return Check(law, needs_async_operator, counts, broken)


ASYNC_CHECKS = tuple(_check(law, rows) for law, rows in EXAMINED.items())
