"""Functions of broadcast state around compiled expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flowsim.datastream.functions.broadcast_functions import BroadcastProcessFunction
from flowsim.datastream.state import MapStateDescriptor
from flowsim.scenario.language.join_functions import Pair
from flowsim.values import Types

REMEMBERED: Final = MapStateDescriptor("remembered", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())


class LookUp(BroadcastProcessFunction):
    """Remembers the records of the broadcast side by key, and adds to each other record what is found under its key."""

    def __init__(self, put: Pair, get: Pair, add: Pair, missing: Pair | None) -> None:
        self._put, self._get, self._add, self._missing = put, get, add, missing

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[object]:
        found: Any = ctx.get_broadcast_state(REMEMBERED).get(self._get(value))
        if found is not None:
            return (value + self._add(value + found),)
        return () if self._missing is None else (value + self._missing(value),)

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterable[object]:
        ctx.get_broadcast_state(REMEMBERED).put(self._put(value), value)
        return ()
