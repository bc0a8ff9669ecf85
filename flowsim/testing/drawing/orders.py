"""Adds orders to records, and numbers to the results of functions in Python, which read the one and emit the others."""

from __future__ import annotations

from dataclasses import replace

from flowsim.testing.drawing.draft import FIELDS, Block, Draft, Stream
from flowsim.testing.drawing.edges import inputs


def python(name: str, **more: object) -> Block:
    """Returns the mapping of a function by its name."""
    return {"python": f"flowsim.testing.functions:{name}", **more}


def add_ordering(draft: Draft, stream: Stream, *groups: tuple[str, ...]) -> Stream:
    """Adds a map that gives each record orders in a last field; draws some of each group."""
    choices = draft.choices
    parts = [part for group in groups for part in (choices.one_of(group) for _ in range(choices.one_of([1, 2])))]
    orders = f"f'{'; '.join(parts)}'"
    if choices.often(30):
        orders += f" if n % 3 else f'{choices.one_of(groups[0])}'"
    return add_orders_text(draft, stream, orders)


def add_orders_text(draft: Draft, stream: Stream, orders: str) -> Stream:
    """Adds a map that gives each record the orders of an expression in a last field."""
    width = stream.parallelism or 1
    block: Block = {"input": inputs(draft, stream), "parallelism": width}
    block["map"] = {"select": {"k": "k", "id": "id", "n": "n", "orders": orders}}
    fields = {"k": "string", "id": "long", "n": "long", "orders": "string"}
    ordered = replace(stream, name=draft.next_name(), parallelism=width, fields=fields)
    draft.add_operator(block, ordered)
    return taken(draft, ordered)


def taken(draft: Draft, stream: Stream) -> Stream:
    """Lets no other operator read a stream with fields of its own; returns it as it was added."""
    added = next(each for each in draft.streams if each.name == stream.name)
    draft.streams.remove(added)
    return added


def add_numbers(draft: Draft, stream: Stream, select: Block) -> None:
    """Adds a map that gives the results of a function the fields that all operators read."""
    block: Block = {"input": draft.read(stream), "parallelism": stream.parallelism, "map": {"select": select}}
    draft.add_operator(block, replace(taken(draft, stream), name=draft.next_name(), fields=FIELDS))
