"""A running reduction per key. Flink: StreamGroupedReduceOperator."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import FunctionLife, UserFunction
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.state.states import ValueState
from flowsim.values.keys import state_key
from flowsim.values.types import Types


class GroupedReduceOperator(KeyedOperator):
    """Emits, for every record, the reduction of its key's records so far. Flink: StreamGroupedReduceOperator."""

    __slots__ = ("_life", "_reduce", "_reduced")

    _reduced: ValueState

    def __init__(self, reduce: Callable[[Value, Value], Value], user_function: UserFunction | None = None) -> None:
        self._reduce = reduce
        self._life = FunctionLife(user_function)

    def open(self) -> None:
        super().open()
        context = self.runtime_context
        self._life.open(context)
        self._reduced = context.get_state(ValueStateDescriptor("_op_state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        self.set_current_key(key, state_key(key))
        before = self._reduced.value()
        now = value if before is None else self._reduce(before, value)
        self._reduced.update(now)
        self.collector.collect(now, timestamp)

    def close(self) -> None:
        self._life.close()
