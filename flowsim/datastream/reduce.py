"""The running reductions of a keyed stream. PyFlink: KeyedStream.reduce, KeyedStream.sum and its like."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.datastream.functions import ReduceFunction
from flowsim.datastream.isolation import isolated
from flowsim.datastream.operator_factories import MakeOperator
from flowsim.operators.functions.aggregators import AggregationType, aggregator
from flowsim.operators.functions.field_accessor import Field
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values import TypeInformation

AnyReduce = ReduceFunction | Callable[[object, object], object]


def check_reduce(func: AnyReduce, operator: str) -> None:
    """Raises TypeError unless ``func`` is a ReduceFunction or a callable."""
    if not isinstance(func, ReduceFunction) and not callable(func):
        raise TypeError(f"{operator}: expected a ReduceFunction or a callable, got {func!r}")


def reduce_of(func: AnyReduce) -> Callable[[object, object], object]:
    """The function that reduces two values."""
    return func.reduce if isinstance(func, ReduceFunction) else func


def reduce_operator(func: AnyReduce) -> MakeOperator:
    """Raises TypeError unless ``func`` is a ReduceFunction or a callable."""
    check_reduce(func, "reduce")
    isolated(func, "reduce")

    def make(name: str) -> StreamOperator:
        mine = isolated(func, name)
        return GroupedReduceOperator(reduce_of(mine), mine if isinstance(mine, ReduceFunction) else None)

    return make


def aggregate_operator(
    kind: AggregationType, field: Field, declared: TypeInformation | None, first: bool
) -> MakeOperator:
    """Raises BadInput where the declared type has no such field, or one that cannot be added or compared."""
    aggregator(kind, field, declared, first=first)
    return lambda name: GroupedReduceOperator(aggregator(kind, field, declared, first=first))
