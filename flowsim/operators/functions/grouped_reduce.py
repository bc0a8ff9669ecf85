"""A running reduction per key. Flink: StreamGroupedReduceOperator."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import FunctionLife, UserFunction
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.state.states import ValueState
from flowsim.timers.internal_time_service_manager import no_window
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import MAX_WATERMARK
from flowsim.values.keys import state_key
from flowsim.values.types import Types


class GroupedReduceOperator(KeyedOperator):
    """Emits, for every record, the reduction of its key's records so far. Flink: StreamGroupedReduceOperator.

    In BATCH mode emits that of all records at the end of each key. Flink: BatchGroupedReduceOperator.
    """

    __slots__ = ("_life", "_reduce", "_reduced", "_timers")

    _reduced: ValueState
    _timers: InternalTimerService[None] | None
    """None: not in BATCH mode."""

    def __init__(self, reduce: Callable[[Value, Value], Value], user_function: UserFunction | None = None) -> None:
        self._reduce = reduce
        self._life = FunctionLife(user_function)

    def open(self) -> None:
        super().open()
        context = self.runtime_context
        self._life.open(context)
        self._reduced = context.get_state(ValueStateDescriptor("_op_state", Types.PICKLED_BYTE_ARRAY()))
        self._timers = None
        if self.ctx.is_batch:
            self._timers = self.time_services.internal_timer_service("end-key-timers", self, no_window)

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        self.set_current_key(key, state_key(key))
        before = self._reduced.value()
        now = value if before is None else self._reduce(before, value)
        self._reduced.update(now)
        if self._timers is None:
            self.collector.collect(now, timestamp)
        elif before is None:
            self._timers.register_event_time_timer(None, MAX_WATERMARK)

    def on_event_time(self, timer: InternalTimer) -> None:
        self.collector.collect(self._reduced.value(), timer.timestamp)

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Does nothing: there are no such timers."""

    def close(self) -> None:
        self._life.close()
