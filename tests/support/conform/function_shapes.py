"""The shapes of the Python functions of a scenario: ``flowsim.testing.functions``, which do what records order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from tests.support.conform.scenario_words import Block, streams_of

NAME: Final = re.compile(r"flowsim\.testing\.functions:(\w+)")
ORDERED: Final = ("Orders", "OrdersOfTwo", "OrdersWithRules")
"""Functions with timers and keyed states."""
OPERATOR_STATES: Final = ("operator list", "operator union list", "operator broadcast")
STATES: Final = {
    r"value \{": "value", r"list \{\w+\}(;|$)": "list", r"list \{\w+\} ": "list, several added", r"list= ": "list, updated",
    r"(?<!-)map \{": "map", r"-map \{": "map, removed", r"reduce \{": "reducing", r"aggregate \{": "aggregating",
    r"-value": "value, cleared", r"-reduce; -aggregate": "folding, cleared", r"-list; -map": "list and map, cleared",
}  # fmt: skip
TIMERS: Final = {
    r"(?<!-)event ": "event time", r"-event ": "event time, deleted", r"(?<!-)processing ": "processing time",
    r"-processing ": "processing time, deleted",
}  # fmt: skip


def functions_of(block: Block) -> list[str]:
    """Returns the names of the functions of an operator."""
    return NAME.findall(str(dict(block)))


def orders_of(operators: Block, block: Block) -> list[str]:
    """Returns the orders that the inputs of an operator give, without what is computed."""
    inner: Iterable[Any] = block.values()
    second = [stream for each in inner if isinstance(each, dict) for stream in streams_of(each.get("to", []))]
    orders: list[str] = []
    for stream in (*streams_of(block["input"]), *second):
        select = operators.get(stream, {}).get("map", {}).get("select", {})
        orders += re.findall(r"f'([^']*)'", str(select.get("orders", "")))
    return orders


def words_of(table: dict[str, str], orders: Iterable[str]) -> set[str]:
    """Returns the words of a table whose pattern an order has."""
    return {word for each in orders for pattern, word in table.items() if re.search(pattern, each)}
