"""What all keyed operators share: the current key and timers. Flink: AbstractStreamOperator (keyed), KeyContext."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import KeySelector, OperatorContext, Output, StreamOperator
from flowsim.state.keyed_state import KeyedStateBackend, KeyedStateStore
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.timers.key_facts import KeyFacts


class KeyedOperator(StreamOperator):
    """An operator of a keyed stream: it knows the current key and has timers (rules 7.20, 9.17).

    A subclass computes the key of each record once, with ``key_selector``, and sets it before anything can ask for it.
    """

    __slots__ = ("current_key", "current_key_id", "key_selector", "state", "time_services", "key_facts", "_move_state")

    current_key: object
    current_key_id: object
    """``values.state_key`` of the current key: what tells keys apart."""
    key_selector: KeySelector
    state: KeyedStateBackend
    time_services: InternalTimeServiceManager
    _move_state: Callable[[object, object], None]
    key_facts: KeyFacts | None
    """None when nothing is recorded."""

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if ctx.key_selector is None:
            raise BadInput(f"operator {ctx.operator_name} needs a keyed stream: put key_by(...) before it (rule 9.17)")
        self.key_selector = ctx.key_selector
        self.current_key = None
        self.current_key_id = None
        self.state = KeyedStateBackend(ctx.key_group_range, ctx.max_parallelism, ctx.key_type)
        self._move_state = self.state.set_current_key_and_id
        trace = ctx.trace
        self.key_facts = KeyFacts(trace, ctx.key_type) if trace is not None else None
        full = trace.full if trace is not None else None
        self.time_services = InternalTimeServiceManager(
            self, ctx.processing_time, ctx.operator_index, full, self.key_facts, ctx.faults
        )

    def set_current_key(self, key: object, key_id: object) -> None:
        """Makes ``key`` the key of state and timers until the next call (rule 9.13)."""
        self.current_key = key
        self.current_key_id = key_id
        self._move_state(key, key_id)

    def state_of(self, namespace: Hashable) -> KeyedStateStore:
        """State of the current key in one namespace (a window); None is the namespace of all else."""
        return self.state.store(namespace)

    @property
    def runtime_context(self) -> RuntimeContext:
        """What the user function is opened with."""
        return RuntimeContext(self.ctx, self.state.store())

    def process_watermark(self, timestamp: int) -> None:
        """Due timers of all services fire first, then the watermark is forwarded (rules 8.15, 9.12)."""
        self.time_services.advance_watermark(timestamp)
        self.output.emit_watermark(timestamp)
