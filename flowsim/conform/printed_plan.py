"""The plan of a job as a document: functions have names instead of numbers, and nothing is refused (``docs/plan.md``)."""

from __future__ import annotations

from types import MethodType
from typing import Any, Final, cast

from flowsim.conform.flink_contexts import FlinkSide
from flowsim.conform.plan import Plan
from flowsim.conform.unsupported import Unsupported
from flowsim.conform.values import Keys, Numbers, Values
from flowsim.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.stream_operator import StreamOperator

_PARTS: Final = ("_selector", "_partition", "_reduce", "_aggregator", "_delta", "_gap_of", "_extract")
"""Where the objects that Java calls have their function."""
_MAKERS: Final = ("_create_operator", "_create")
"""Where those have it that make one per subtask."""


class Names(Numbers):
    """Gives objects the names of their functions instead of numbers."""

    __slots__ = ()

    def add(self, thing: object) -> int:
        """Returns the name of the function, in place of a number."""
        return cast(int, _name(_function(thing)))


def names_side() -> FlinkSide:
    """Returns a side without Java, for plans that only are printed or checked."""
    return FlinkSide(None, Values(), Names(), Keys())


def printed_plan(graph: StreamGraph) -> dict[str, object]:
    """Returns the plan as JSON values; an operator that Flink cannot run has the reason instead of its parts."""
    return _PrintedPlan(graph, names_side()).data()


class _PrintedPlan(Plan):
    def _check_exchange(self, exchange: ResultPartitionType | None) -> None:
        """Every exchange can be printed."""

    def _edge(self, edge: StreamEdge) -> dict[str, object]:
        exchange = edge.exchange or self.graph.settings.exchange
        return {**super()._edge(edge), "exchange": exchange.value}

    def _source(self, node: StreamNode, operator: Any) -> dict[str, object]:
        try:
            return super()._source(node, operator)
        except Unsupported as refused:
            return _refused(refused)

    def _operator(self, node: StreamNode, operator: StreamOperator) -> dict[str, object]:
        try:
            return super()._operator(node, operator)
        except Unsupported as refused:
            return _refused(refused)


def _refused(reason: Unsupported) -> dict[str, object]:
    return {"kind": None, "not_on_flink": str(reason)}


def _function(thing: Any) -> object:
    """Returns the function of the user, or what makes it."""
    for maker in _MAKERS:
        if hasattr(thing, maker):
            made = getattr(thing, maker)()
            return _of_operator(made) if isinstance(made, StreamOperator) else made
    return next((getattr(thing, part) for part in _PARTS if hasattr(thing, part)), thing)


def _of_operator(operator: Any) -> object:
    """Returns the function of an operator; a plain function is an attribute of it."""
    if operator.user_function is not None:
        return operator.user_function
    plain = ("_map", "_accepts", "_flat_map", "_reduce", "_maps", "_flat_maps")
    found = next((getattr(operator, name) for name in plain if hasattr(operator, name)), operator)
    return found[0] if isinstance(found, tuple) else found


def _name(function: object) -> str:
    """Returns ``expression`` for a function that flowsim made of an expression, else module and name."""
    if isinstance(function, MethodType):
        function = function.__self__
    named: Any = function if hasattr(function, "__qualname__") else type(function)
    module = named.__module__ or "flowsim."  # Functions of expressions are of no module.
    if module.startswith("flowsim."):
        return named.__name__ if isinstance(named, type) else "expression"
    return f"{module}:{named.__qualname__}"
