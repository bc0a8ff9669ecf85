"""Where the event time of each edge and operator comes from, read off the chains of all runs (rules 5.8, 8.7, 8.16)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.validation.recordings import Recordings

INPUTS: Final = -1
"""Origin: what the inputs of the task make together. An origin >= 0 is the operator that makes watermarks."""
FREE: Final = -2
"""Origin: a source that speaks for itself."""
ASYNC: Final = "async_wait"
_BOUNDED: Final = ("bounded", "monotonous")
_TIMED: Final = (*_BOUNDED, "none")
_STRAIGHT: Final = ("map", "filter", "flat_map")

EDGES: Final = (
    "run int, vertex int, edge int, origin int, statuses int, queued boolean, may_end boolean, assigned boolean, "
    "holds_back boolean, sees int, hears int"
)
"""``sees``: the generator whose every record goes over the edge; ``hears``: one whose records may; -1 for none.

``statuses``: the origin of statuses, which are not queued (rule 11.3); ``queued``: the origin keeps watermarks back.
"""
OPERATORS: Final = (
    "run int, vertex int, operator int, reached int, statuses int, queued boolean, keeps_back boolean, may_end boolean, "
    "head boolean, holds_back boolean, delay bigint, idle_ms bigint, waits_for_end boolean"
)
"""``reached``: the origin of what the operator hears; ``waits_for_end``: it makes the last watermark when its inputs have it.

``statuses``, ``queued`` and ``may_end`` are about that origin; ``keeps_back``: so does the operator itself.
"""


@dataclass(frozen=True, slots=True)
class _Operator:
    kind: str
    feeder: int
    tag: str
    strategy: dict[str, object] | None
    interruptible: bool
    legacy: bool

    @property
    def keeps_back(self) -> bool:
        """Whether watermarks wait in its queue (rule 11.2)."""
        return self.kind == ASYNC and self.strategy is None

    def number(self, name: str) -> int | None:
        value = None if self.strategy is None else self.strategy.get(name)
        return value if isinstance(value, int) else None


class Chains:
    """The operators of every vertex of every run."""

    def __init__(self, facts: Recordings) -> None:
        self.operators: dict[tuple[int, int, int], _Operator] = {}
        for row in facts["operators"].collect():
            params = json.loads(row["params"] or "{}")
            params = params if isinstance(params, dict) else {}
            strategy = params.get("watermarks")
            # What feeds an operator has a smaller index: a damaged recording must not send a judge in circles.
            feeder = row["input_operator"] if row["input_operator"] < row["operator"] else -1
            self.operators[row["run"], row["vertex"], row["operator"]] = _Operator(
                row["kind"], feeder, row["input_tag"], strategy if isinstance(strategy, dict) else None,
                params.get("interruptible_timers") is True, params.get("design") == "legacy",
            )  # fmt: skip
        read = facts["tasks"].where("inputs > 0").select("run", "vertex").distinct()
        self.readers = {(row["run"], row["vertex"]) for row in read.collect()}
        self.edges = facts["edges"].select(
            "run", "edge", "source_vertex", "source_operator", "partitioner", "side_output"
        ).orderBy("run", "edge").collect()  # fmt: skip

    def origin(self, run: int, vertex: int, operator: int) -> int:
        """Of what leaves an operator; of what reaches the head when there is no such operator."""
        found = self.operators.get((run, vertex, operator))
        while found is not None:
            if found.strategy is not None or found.keeps_back:
                return operator
            if found.kind in ("source", "watermarks"):
                return FREE
            operator = found.feeder
            found = self.operators.get((run, vertex, operator))
        return INPUTS if (run, vertex) in self.readers else FREE

    def is_queue(self, run: int, vertex: int, origin: int) -> bool:
        """Whether an origin keeps watermarks back."""
        found = self.operators.get((run, vertex, origin))
        return found is not None and found.keeps_back

    def statuses(self, run: int, vertex: int, origin: int) -> int:
        """The origin of the statuses that come with what an origin tells."""
        while self.is_queue(run, vertex, origin):
            origin = self.origin(run, vertex, self.operators[run, vertex, origin].feeder)
        return origin

    def may_end(self, run: int, vertex: int, origin: int) -> bool:
        """Whether the origin is a source: the last watermark of all is its task's (rule 4.10)."""
        found = self.operators.get((run, vertex, origin))
        is_first = found is not None and found.feeder < 0 and not found.keeps_back
        return is_first and (run, vertex) not in self.readers

    def is_assigned(self, run: int, vertex: int, operator: int) -> bool:
        """Whether an operator that assigns timestamps lies before what leaves the operator."""
        found = self.operators.get((run, vertex, operator))
        while found is not None and found.kind != "watermarks":
            found = self.operators.get((run, vertex, found.feeder))
        return found is not None

    def spreads(self, run: int, vertex: int) -> bool:
        head = self.operators.get((run, vertex, 0))
        return head is not None and head.interruptible

    def behind(self, run: int, vertex: int, operator: int, kinds: tuple[str, ...]) -> int:
        """The generator behind operators of such kinds, -1 for none."""
        found = self.operators.get((run, vertex, operator))
        while found is not None and found.kind in kinds and not (found.tag and kinds == ("map",)):
            operator = found.feeder
            found = self.operators.get((run, vertex, operator))
        return operator if found is not None and found.strategy is not None else -1

    def edge_rows(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        seen: set[tuple[int, int, int]] = set()
        for run, edge, vertex, operator, partitioner, side in self.edges:
            origin = self.origin(run, vertex, operator)
            statuses, queued = self.statuses(run, vertex, origin), self.is_queue(run, vertex, origin)
            may_end = self.may_end(run, vertex, origin)
            sees = -1 if side or partitioner == "BROADCAST" else self.behind(run, vertex, operator, ("map",))
            if (run, vertex, sees) in seen:
                sees = -1
            seen.add((run, vertex, sees))
            hears = self.behind(run, vertex, operator, _STRAIGHT)
            holds_back = origin == INPUTS and self.spreads(run, vertex)
            assigned = self.is_assigned(run, vertex, operator)
            rows.append((run, vertex, edge, origin, statuses, queued, may_end, assigned, holds_back, sees, hears))
        return rows

    def operator_rows(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for (run, vertex, operator), found in self.operators.items():
            head = found.feeder < 0
            reached = self.origin(run, vertex, found.feeder)
            kind = None if found.strategy is None else found.strategy.get("kind")
            bound = 0 if found.strategy is not None and "bound_ms" not in found.strategy else found.number("bound_ms")
            delay = bound + 1 if kind in _BOUNDED and bound is not None else None
            idle_ms = found.number("idle_ms") if kind in _TIMED else None
            statuses, queued = self.statuses(run, vertex, reached), self.is_queue(run, vertex, reached)
            is_told = reached == INPUTS or (queued and statuses != FREE)
            waits = found.kind == "watermarks" and is_told
            may_end = self.may_end(run, vertex, reached)
            if found.keeps_back and queued and self.operators[run, vertex, reached].legacy:
                # An emitter may wait for a place in the next queue, and statuses overtake what it holds.
                reached = FREE
            rows.append((
                run, vertex, operator, reached, statuses, queued, found.keeps_back, may_end, head,
                self.spreads(run, vertex), delay, idle_ms, waits,
            ))  # fmt: skip
        return rows


def edge_paths(facts: Recordings) -> DataFrame:
    """One row per edge, with the columns of ``EDGES``."""
    return facts.shared("event time of edges", lambda f: f.spark.createDataFrame(Chains(f).edge_rows(), EDGES))


def operator_paths(facts: Recordings) -> DataFrame:
    """One row per operator and subtask: the columns of ``OPERATORS``, and ``task``."""

    def build(f: Recordings) -> DataFrame:
        rows = f.spark.createDataFrame(Chains(f).operator_rows(), OPERATORS)
        return f["tasks"].select("run", "vertex", "task").join(F.broadcast(rows), ["run", "vertex"]).drop("vertex")

    return facts.shared("event time of operators", build)


def channel_paths(facts: Recordings) -> DataFrame:
    """One row per channel: the columns of ``EDGES``, the sender as ``task``, and how many inputs it has."""

    def build(f: Recordings) -> DataFrame:
        channels = f["channels"].select(
            "run", "channel", "edge", F.col("source_task").alias("task"), "subpartition"
        ).join(F.broadcast(edge_paths(f)), ["run", "edge"])  # fmt: skip
        return channels.join(F.broadcast(f["tasks"].select("run", "task", "inputs")), ["run", "task"])

    return facts.shared("event time of channels", build)
