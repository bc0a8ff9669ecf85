"""The async operators of each subtask, what is described of them, and when they opened, ended and closed (section 11)."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import AsyncAction, LifeEvent
from flowsim.validation.checks.base import TASK, Graph
from flowsim.validation.recordings import Recordings

KIND: Final = "async_wait"
PLACE: Final = (*TASK, "operator")
OUTCOMES: Final = (AsyncAction.COMPLETE, AsyncAction.FAIL)
_DESCRIBED: Final = (
    "run int, vertex int, operator int, input_operator int, input_tag string, ordered boolean, legacy boolean, "
    "capacity bigint, timeout_ms bigint, retries boolean, limit bigint"
)


def needs_async_operator(graph: Graph) -> str:
    """Applies where a function is called asynchronously."""
    return "" if graph.async_operators else "the job has no async operator"


def is_doing(*actions: AsyncAction) -> Column:
    """Whether a row of ``async_elements`` tells one of these."""
    return F.col("action").isin([int(action) for action in actions])


def places(facts: Recordings) -> DataFrame:
    """One row per async operator and subtask.

    ``opening``, ``end`` and ``closing`` are the sequence numbers of its first OPEN, END_INPUT and CLOSE, null for none;
    ``limit`` null: as many retries as the strategy likes; ``is_head`` and ``inputs``: what arrives at it.
    """
    return facts.shared("async places", _places)


def _places(facts: Recordings) -> DataFrame:
    operators = facts.spark.createDataFrame(_described(facts), _DESCRIBED)
    tasks = facts["tasks"].select(*TASK, "vertex", "inputs")
    found = tasks.join(F.broadcast(operators), ["run", "vertex"]).drop("vertex")

    def first(event: LifeEvent) -> Column:
        return F.min(F.when(F.col("event") == int(event), F.col("seq")))

    lives = facts["lifecycle"].groupBy(*PLACE).agg(
        first(LifeEvent.OPEN).alias("opening"), first(LifeEvent.END_INPUT).alias("end"),
        first(LifeEvent.CLOSE).alias("closing"),
    )  # fmt: skip
    return found.join(lives, list(PLACE), "left").withColumn("is_head", F.col("input_operator") < 0)


def _described(facts: Recordings) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for row in facts["operators"].where(F.col("kind") == KIND).collect():
        params = json.loads(row["params"] or "{}")
        retry = params.get("retry")
        retries = isinstance(retry, dict) and (retry.get("result") is True or retry.get("exception") is True)
        limit = retry.get("max_attempts") if retries else 0
        rows.append((
            row["run"], row["vertex"], row["operator"], row["input_operator"], row["input_tag"],
            params.get("mode") == "ordered", params.get("design") == "legacy", _number(params.get("capacity")),
            _number(params.get("timeout_ms")), retries, limit if isinstance(limit, int) else None,
        ))  # fmt: skip
    return rows


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
