"""Creates the states of an operator by their descriptors. Flink: TtlStateFactory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_cells import Cells
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.state.ttl_decorator import TtlDecorator
from flowsim.state.ttl_states import TtlAggregatingState, TtlListState, TtlMapState, TtlReducingState, TtlValueState


class StateFactory:
    """Creates states on their cells; ``ttl`` is None for a state without a time to live."""

    __slots__ = ()

    def create_ttl(
        self, config: StateTtlConfig, now_ms: Callable[[], int], accessed: Callable[[], None]
    ) -> TtlDecorator:
        """Creates the time-to-live rules of a state; see ``TtlDecorator``."""
        return TtlDecorator(config, now_ms, accessed)

    def create_value_state(
        self, cells: Cells, namespace: Hashable, descriptor: ValueStateDescriptor, ttl: TtlDecorator | None
    ) -> ValueState:
        if ttl is not None:
            return TtlValueState(cells, namespace, descriptor, ttl)
        return ValueState(cells, descriptor.name, namespace)

    def create_list_state(
        self, cells: Cells, namespace: Hashable, descriptor: ListStateDescriptor, ttl: TtlDecorator | None
    ) -> ListState:
        if ttl is not None:
            return TtlListState(cells, namespace, descriptor, ttl)
        return ListState(cells, descriptor.name, namespace)

    def create_map_state(
        self, cells: Cells, namespace: Hashable, descriptor: MapStateDescriptor, ttl: TtlDecorator | None
    ) -> MapState:
        if ttl is not None:
            return TtlMapState(cells, namespace, descriptor, ttl)
        return MapState(cells, namespace, descriptor)

    def create_reducing_state(
        self, cells: Cells, namespace: Hashable, descriptor: ReducingStateDescriptor, ttl: TtlDecorator | None
    ) -> ReducingState:
        if ttl is not None:
            return TtlReducingState(cells, namespace, descriptor, ttl)
        return ReducingState(cells, namespace, descriptor)

    def create_aggregating_state(
        self, cells: Cells, namespace: Hashable, descriptor: AggregatingStateDescriptor, ttl: TtlDecorator | None
    ) -> AggregatingState:
        if ttl is not None:
            return TtlAggregatingState(cells, namespace, descriptor, ttl)
        return AggregatingState(cells, namespace, descriptor)


STATE_FACTORY: Final = StateFactory()
"""The factory of correct states."""
