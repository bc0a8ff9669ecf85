"""User functions for a stream connected to a broadcast stream, with PyFlink's names and arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import GenericAlias
from typing import Any, TypeAlias

from flowsim.datastream.functions.function import Function
from flowsim.operators.functions.broadcast_contexts import (
    BroadcastContext,
    KeyedBroadcastContext,
    ReadOnlyBroadcastContext,
)
from flowsim.state.states import State


class BaseBroadcastProcessFunction(Function):
    """The common base of both broadcast functions. PyFlink: BaseBroadcastProcessFunction."""

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    Context: TypeAlias = BroadcastContext
    ReadOnlyContext: TypeAlias = ReadOnlyBroadcastContext


class BroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Processes the elements of a stream and of a broadcast stream, with side outputs. PyFlink: BroadcastProcessFunction."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Processes an element of the stream that is not broadcast; may read broadcast state."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: BroadcastContext) -> Iterable[object] | None:
        """Processes a broadcast element; may change broadcast state, in the same way in every subtask."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction):
    """Processes the elements of a keyed stream and of a broadcast stream; the keyed side has keyed state and timers.

    PyFlink: KeyedBroadcastProcessFunction.
    """

    Context: TypeAlias = KeyedBroadcastContext
    OnTimerContext: TypeAlias = ReadOnlyBroadcastContext

    @abstractmethod
    def process_element(self, value: Any, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Processes an element of the keyed stream; may read broadcast state, change keyed state, register timers."""

    @abstractmethod
    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastContext) -> Iterable[object] | None:
        """Processes a broadcast element; may change broadcast state; keyed state only by ``apply_to_keyed_state``."""

    def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Iterable[object] | None:
        """Called when a registered timer fires."""
        return None


class KeyedStateFunction(ABC):
    """The function that ``apply_to_keyed_state`` calls for each key. Flink: KeyedStateFunction."""

    @abstractmethod
    def process(self, key: Any, state: State) -> None: ...
