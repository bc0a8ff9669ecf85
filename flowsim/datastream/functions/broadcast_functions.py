"""The functions a user writes for a stream beside a broadcast one, with PyFlink's names and arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypeAlias

from flowsim.datastream.functions.function import Function
from flowsim.operators.functions.broadcast_contexts import (
    BroadcastContext,
    KeyedBroadcastContext,
    ReadOnlyBroadcastContext,
)
from flowsim.state.states import State


class BaseBroadcastProcessFunction(Function):
    """What both kinds share. PyFlink: BaseBroadcastProcessFunction."""

    Context: TypeAlias = BroadcastContext
    ReadOnlyContext: TypeAlias = ReadOnlyBroadcastContext


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Elements of a stream and of a broadcast one, with side outputs. PyFlink: BroadcastProcessFunction."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Of the stream that is not broadcast: broadcast state can be read."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BroadcastContext) -> Iterable[object] | None:
        """Of the broadcast stream: broadcast state can be changed, in the same way in every subtask."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """The same beside a keyed stream: its side has keyed state and timers. PyFlink: KeyedBroadcastProcessFunction."""

    Context: TypeAlias = KeyedBroadcastContext
    OnTimerContext: TypeAlias = ReadOnlyBroadcastContext

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Of the keyed stream: broadcast state can be read, keyed state changed, timers registered."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastContext) -> Iterable[object] | None:
        """Of the broadcast stream: broadcast state can be changed, keyed state only by ``apply_to_keyed_state``."""

    def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Called when a registered timer fires."""
        return None


class KeyedStateFunction(ABC):
    """What ``apply_to_keyed_state`` does to each key. Flink: KeyedStateFunction."""

    @abstractmethod
    def process(self, key: Any, state: State) -> None: ...
