"""Shared by the mutations of a recording: their register, and the rows that they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.facts.kinds import (
    ElementKind,
)  # fmt: skip
from tests.support.facts.fact_builder import FactBuilder, Row

RECORD, WATERMARK, STATUS = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.STATUS
MARKER, END_OF_DATA, END = ElementKind.LATENCY_MARKER, ElementKind.END_OF_DATA, ElementKind.END_OF_PARTITION

Mutation = Callable[[FactBuilder], None]
MUTATIONS: Final[dict[str, tuple[Mutation, dict[str, int]]]] = {}


def breaks(**laws: int) -> Callable[[Mutation], Mutation]:
    """Registers a mutation that breaks the named laws (``_`` for ``-``), so many violations each."""

    def register(mutation: Mutation) -> Mutation:
        MUTATIONS[mutation.__name__] = (mutation, {law.replace("_", "-"): n for law, n in laws.items()})
        return mutation

    return register


def both_sides(f: FactBuilder, channel: int, where: Callable[[Row], bool]) -> list[Row]:
    return [f.rows(side, lambda r: r["channel"] == channel and where(r))[0] for side in ("sent", "received")]


def last_effect(f: FactBuilder, received: Row) -> Row:
    """The last fact of a task before it receives the next element."""
    of_task = sorted((r for _, r in f.facts if "seq" in r and r["task"] == received["task"]), key=lambda r: r["seq"])
    following = of_task[next(i for i, r in enumerate(of_task) if r is received) :]
    ends = [r for r in following[1:] if "epoch" in r]
    return following[-1] if not ends else following[next(i for i, r in enumerate(following) if r is ends[0]) - 1]


def insert_element(f: FactBuilder, channel: int, after: ElementKind, *elements: tuple[ElementKind, int]) -> None:
    """Puts elements on a channel, honestly sent and received, behind its first element of kind ``after``."""
    for side in ("sent", "received"):
        row = f.rows(side, lambda r: r["channel"] == channel and r["kind"] == after)[-1]
        position = row["position"]
        for other in f.rows(side, lambda r: r["channel"] == channel):
            if other["position"] > position:
                other["position"] += len(elements)
        row = last_effect(f, row) if side == "received" else row
        for kind, timestamp in elements:
            position += 1
            row = f.insert_after(row, side, channel=channel, position=position, kind=kind, timestamp=timestamp)


def inner(f: FactBuilder, table: str, where: Callable[[Row], bool] = lambda r: True) -> Row:
    """A row from the middle of those for which ``where`` holds."""
    rows = f.rows(table, where)
    return rows[len(rows) // 2]
