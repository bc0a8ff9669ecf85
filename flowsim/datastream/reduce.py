"""The reduction of a keyed stream, as a function of state. PyFlink: KeyedStream.reduce."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flowsim.datastream.functions import KeyedProcessFunction, ReduceFunction, RuntimeContext
from flowsim.operators.process import ProcessContext
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.values import Types

AnyReduce = ReduceFunction | Callable[[object, object], object]


def check_reduce(func: AnyReduce, operator: str) -> None:
    """Raises TypeError unless ``func`` is a ReduceFunction or a callable."""
    if not isinstance(func, ReduceFunction) and not callable(func):
        raise TypeError(f"{operator}: expected a ReduceFunction or a callable, got {func!r}")


def reduce_of(func: AnyReduce) -> Callable[[object, object], object]:
    """The function that reduces two values."""
    return func.reduce if isinstance(func, ReduceFunction) else func


class KeyedReduce(KeyedProcessFunction):
    """Keeps the reduction of each key and emits it with every record."""

    def __init__(self, func: AnyReduce) -> None:
        check_reduce(func, "reduce")
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._reduced = runtime_context.get_state(ValueStateDescriptor("_reduced_", Types.PICKLED_BYTE_ARRAY()))
        self._reduce = reduce_of(self._func)
        if isinstance(self._func, ReduceFunction):
            self._func.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._func, ReduceFunction):
            self._func.close()

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        before = self._reduced.value()
        now = value if before is None else self._reduce(before, value)
        self._reduced.update(now)
        return (now,)
