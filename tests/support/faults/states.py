"""Faults of keyed state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from flowsim.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from flowsim.state.key_cells import Cells
from flowsim.state.state_factory import StateFactory
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.state.states import MapState, ValueState
from flowsim.state.ttl_decorator import TtlDecorator, TtlValue


class KeepingMapState(MapState):
    """Ignores every removal of a key."""

    __slots__ = ()

    def remove(self, key: object) -> None:
        pass


class EmptyReadingValueState(ValueState):
    """Returns no value where there is one."""

    __slots__ = ()

    def value(self) -> object:
        return None


class NeverExpiring(TtlDecorator):
    """Finds no value expired."""

    __slots__ = ()

    def expired(self, value: TtlValue) -> bool:
        return False


class KeepingStateFactory(StateFactory):
    """Creates map states without a time to live that ignore removals."""

    __slots__ = ()

    def create_map_state(
        self, cells: Cells, namespace: Hashable, descriptor: MapStateDescriptor, ttl: TtlDecorator | None
    ) -> MapState:
        if ttl is not None:
            return super().create_map_state(cells, namespace, descriptor, ttl)
        return KeepingMapState(cells, namespace, descriptor)


class EmptyReadingStateFactory(StateFactory):
    """Creates value states without a time to live that seem empty."""

    __slots__ = ()

    def create_value_state(
        self, cells: Cells, namespace: Hashable, descriptor: ValueStateDescriptor, ttl: TtlDecorator | None
    ) -> ValueState:
        if ttl is not None:
            return super().create_value_state(cells, namespace, descriptor, ttl)
        return EmptyReadingValueState(cells, descriptor.name, namespace)


class NeverExpiringStateFactory(StateFactory):
    """Creates states that ignore their time to live."""

    __slots__ = ()

    def create_ttl(
        self, config: StateTtlConfig, now_ms: Callable[[], int], accessed: Callable[[], None]
    ) -> TtlDecorator:
        return NeverExpiring(config, now_ms, accessed)


FAULTY_STATE_FACTORIES: Final[dict[str, StateFactory]] = {
    "state_removal_ignored": KeepingStateFactory(),
    "state_value_not_read": EmptyReadingStateFactory(),
    "state_never_expires": NeverExpiringStateFactory(),
}
