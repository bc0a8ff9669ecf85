"""The recorded facts of async operators, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.testing import JobRun


@dataclass(frozen=True)
class AsyncFact:
    """One row of ``async_elements``; ``element``: task, operator and number of the element."""

    element: tuple[int, int, int]
    action: AsyncAction
    is_record: bool
    attempt: int
    rows: int
    queued: int


def facts_of(run: JobRun) -> Iterator[AsyncFact]:
    columns = run.facts.columns("async_elements")
    for values in run.facts.rows("async_elements"):
        row = dict(zip(columns, values, strict=True))
        element = (row["task"], row["operator"], row["entry"])
        is_record = row["kind"] == ElementKind.RECORD
        yield AsyncFact(element, AsyncAction(row["action"]), is_record, row["attempt"], row["rows"], row["queued"])


def most_queued(run: JobRun) -> int:
    return max((fact.queued for fact in facts_of(run)), default=0)


def calls_of(run: JobRun) -> dict[tuple[int, int, int], list[int]]:
    """The attempts at each record, in the order of the input."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for fact in facts_of(run):
        if fact.action is AsyncAction.PUT and fact.is_record:
            found[fact.element] = []
        elif fact.action is AsyncAction.INVOKE:
            found[fact.element].append(fact.attempt)
    return found
