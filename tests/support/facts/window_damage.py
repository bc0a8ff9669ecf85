"""Jobs with windows of all kinds, joins, broadcast and alignment, and damage to what they recorded of windows and timers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Final

from flowsim.testing import Schedule, run_job
from tests.support.facts.event_time_jobs import other_jobs, window_jobs
from tests.support.facts.fact_builder import FactBuilder, recorded

TABLES: Final = (
    "window_fire", "window_intake", "window_merge", "join_pairs", "window_joins", "late_drop", "task_watermark", "timers",
    "operator_counts",
)  # fmt: skip
LEFT_ALONE: Final = ("task", "operator", "key_hash", "kind", "input", "action", "domain", "service")


def recorded_window_jobs(*names: str) -> Iterator[tuple[str, FactBuilder]]:
    """Each job of ``event_time_jobs`` as it ran, or those with these names."""
    for number, (name, graph) in enumerate((*window_jobs(), *other_jobs())):
        if names and name not in names:
            continue
        yield name, recorded(run_job(graph, schedule=Schedule("random", number, 1 + number % 3)).facts)


@cache
def joins_by_law() -> dict[str, FactBuilder]:
    """Of each law about joins the recording of one."""
    found = dict(recorded_window_jobs("interval join", "window join"))
    return {"joins": found["interval join"], "window-joins": found["window join"]}


def damage_windows(facts: FactBuilder, random: Random) -> None:
    """Changes, takes out or repeats one row."""
    table = random.choice([name for name in TABLES if facts.rows(name)])
    row = random.choice(facts.rows(table))
    match random.randrange(4):
        case 0:
            facts.remove(table, row)
        case 1:
            facts.insert_after(
                row, table, **{name: value for name, value in row.items() if name not in ("task", "seq")}
            )
        case _:
            column = random.choice([name for name in row if name not in LEFT_ALONE])
            value = int(row[column])
            row[column] = value + (random.choice((-1, 1)) if abs(value) < 2**62 else -1 if value > 0 else 1)


def damage_anywhere(facts: FactBuilder, random: Random) -> None:
    """Takes out, repeats or changes one fact of any table."""
    table, row = random.choice([(table, row) for table, row in facts.facts if "seq" in row])
    match random.randrange(3):
        case 0:
            facts.remove(table, row)
        case 1:
            facts.insert_after(row, table, **{n: v for n, v in row.items() if n not in ("seq", "task", "time_ns")})
        case _:
            name = random.choice(
                [n for n in row if n not in ("seq", "task", "channel", "kind", "event", "action", "phase")]
            )
            row[name] = int(row[name]) + (1 if int(row[name]) < 2**62 else -1)
