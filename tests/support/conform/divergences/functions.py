"""Functions of the scenarios that show past divergences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowsim.datastream import BroadcastProcessFunction, KeyedProcessFunction, OutputTag, ProcessWindowFunction

SIDE = OutputTag("side")


class Sides(KeyedProcessFunction):
    """Emits each record, and to a side output, too."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[object]:
        yield SIDE, (value[0],)
        yield (value[0],)


class Timestamps(BroadcastProcessFunction):
    """Emits the number and the timestamp of each element of either side."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[object]:
        yield value[0], str(ctx.timestamp())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[object]:
        yield value[0], str(ctx.timestamp())


class Numbers(ProcessWindowFunction):
    """Emits how many records a window has, and the sum of their numbers."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[object]:
        numbers = [element[0] for element in elements]
        yield len(numbers), sum(numbers)
