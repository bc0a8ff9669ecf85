"""Shared parts of the laws of async operators: an operator of a task, a step of an element, and violations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from flowsim.facts.kinds import AsyncAction, LifeEvent
from flowsim.laws.findings import Findings, named
from flowsim.laws.job_graph import JobGraph, Operator, Task

KIND: Final = "async_wait"
NEVER: Final = 2**63 - 1
"""A sequence number after all others."""

PUT: Final = int(AsyncAction.PUT)
INVOKE: Final = int(AsyncAction.INVOKE)
RETRY: Final = int(AsyncAction.RETRY)
COMPLETE: Final = int(AsyncAction.COMPLETE)
FAIL: Final = int(AsyncAction.FAIL)
TIMEOUT: Final = int(AsyncAction.TIMEOUT)
EMIT: Final = int(AsyncAction.EMIT)
OUTCOMES: Final = (COMPLETE, FAIL)


class Step(NamedTuple):
    """A row of ``async_elements`` without its task."""

    seq: int
    operator: int
    time_ns: int
    entry: int
    action: int
    kind: int
    timestamp: int
    fingerprint: int
    attempt: int
    rows: int
    queued: int


def operators_by_vertex(graph: JobGraph) -> Mapping[int, list[Operator]]:
    """The async operators of each job vertex; use with ``JobGraph.once``."""
    found: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        if operator.kind == KIND:
            found.setdefault(operator.vertex, []).append(operator)
    return found


def needs_an_async_operator(graph: JobGraph) -> str:
    """For laws about async operators."""
    return "" if graph.once(operators_by_vertex) else "the job has no async operator"


class Place:
    """One async operator of one subtask: its settings, and when it was opened, ended and closed."""

    __slots__ = (
        "capacity", "closing", "end", "is_head", "legacy", "limit", "number", "opening", "ordered", "retries",
        "task", "timeout_ms", "upstream_operator",
    )  # fmt: skip

    def __init__(self, task: Task, operator: Operator) -> None:
        params = operator.params
        retry = params.get("retry")
        self.task = task.task
        self.number = operator.operator
        self.is_head = operator.input_operator < 0 and task.inputs == 1 and operator.params.get("batch") is not True
        """Whether it is the head of a task with one input, which is not sorted, so that arriving elements are put."""
        self.upstream_operator = -1 if operator.input_tag else operator.input_operator
        """The upstream operator in the chain whose main output it reads, -1 for none."""
        self.ordered = params.get("mode") == "ordered"
        self.legacy = params.get("design") == "legacy"
        self.capacity = _number(params.get("capacity"), 0)
        self.timeout_ms = _number(params.get("timeout_ms"), 0)
        self.retries = isinstance(retry, Mapping) and (retry.get("result") is True or retry.get("exception") is True)
        """Whether an outcome may lead to a retry (rule 11.24)."""
        self.limit = _number(retry.get("max_attempts"), NEVER) if self.retries and isinstance(retry, Mapping) else 0
        """Maximum number of retries of an element."""
        self.opening = NEVER
        """Its first OPEN; elements put before it come from a snapshot (rule 11.22)."""
        self.end = NEVER
        """Its first END_INPUT."""
        self.closing = NEVER
        """Its first CLOSE."""

    def live(self, seq: int, event: int) -> None:
        """Stores a row of ``lifecycle``."""
        if event == LifeEvent.OPEN:
            self.opening = min(self.opening, seq)
        elif event == LifeEvent.END_INPUT:
            self.end = min(self.end, seq)
        elif event == LifeEvent.CLOSE:
            self.closing = min(self.closing, seq)


def _number(value: object, default: int) -> int:
    return value if type(value) is int and abs(value) < 2**63 else default


class Element:
    """The steps of one element of an async operator so far."""

    __slots__ = ("calls", "emitted", "outcome", "put", "rank", "retries", "timed_out")

    def __init__(self) -> None:
        self.put: Step | None = None
        self.outcome: Step | None = None
        """The first outcome."""
        self.rank = 0
        """Its position in the order of emissions: an element of a lower rank must be emitted earlier."""
        self.timed_out = False
        self.calls = 0
        self.retries: set[int] = set()
        """The attempts after which it waited for a retry."""
        self.emitted = False


class Check:
    """The checks of one law for one async operator."""

    __slots__ = ("found", "place")

    def __init__(self, place: Place, found: Findings) -> None:
        self.place = place
        self.found = found

    def broken(self, what: str, step: Step, **where: object) -> None:
        """A step violates the law."""
        self.broken_at(what, step.seq, entry=step.entry, action=named(AsyncAction, step.action), **where)

    def broken_at(self, what: str, seq: int, **where: object) -> None:
        """The fact with this sequence number violates the law."""
        task, number = self.place.task, self.place.number
        self.found.broken(what, (task, seq), task=task, operator=number, seq=seq, **where)
