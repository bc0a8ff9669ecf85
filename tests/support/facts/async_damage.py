"""Random damage to the recorded facts of async operators: rows and numbers in them."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.support.facts.fact_builder import FactBuilder, Row

COLUMNS: Final = ("entry", "action", "kind", "timestamp", "fingerprint", "attempt", "rows", "queued", "operator")
NEIGHBOURS: Final = ("sent", "received", "task_watermark", "lifecycle", "operator_counts")


def damage_async(facts: FactBuilder, random: Random) -> None:
    """Takes out, repeats or changes a row, or exchanges two; mostly of ``async_elements``, now and then of what is beside it."""
    table = "async_elements" if random.random() < 0.8 else random.choice(NEIGHBOURS)
    row = random.choice(facts.rows(table))
    match random.randrange(5):
        case 0:
            facts.remove(table, row)
        case 1:
            facts.facts.append((table, dict(row)))
        case 2:
            facts.insert_after(row, table, **{n: v for n, v in row.items() if n not in ("seq", "task", "time_ns")})
        case 3:
            _exchange(facts, random, row)
        case _:
            _change(random, table, row)


def _exchange(facts: FactBuilder, random: Random, row: Row) -> None:
    """With the next fact of its task, or with one a little later."""
    of_task = [r for _, r in facts.facts if r.get("task") == row["task"] and int(r.get("seq", -1)) > int(row["seq"])]
    later = sorted(of_task, key=lambda r: int(r["seq"]))[: random.choice((1, 1, 4, 12))]
    if later:
        row["seq"], later[-1]["seq"] = later[-1]["seq"], row["seq"]


def _change(random: Random, table: str, row: Row) -> None:
    chosen = (
        [name for name in COLUMNS if name in row]
        if table == "async_elements"
        else ["timestamp", "records_out", "event"]
    )
    column = random.choice([name for name in chosen if name in row] or ["time_ns"])
    value = int(row[column])
    if column in ("action", "event"):
        row[column] = (value + random.randrange(1, 7)) % 7
    elif column in ("kind", "operator"):
        row[column] = 1 - value if value in (0, 1) else value
    elif abs(value) < 2**62:
        row[column] = value + random.choice((-1, 1, 2))
