"""The function of an interval join around a compiled expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowsim.datastream.streams.interval_join import ProcessJoinFunction
from flowsim.scenario.language.join_functions import Pair


class SelectPairInInterval(ProcessJoinFunction):
    """The selected fields of a pair."""

    def __init__(self, select: Pair) -> None:
        self._select = select

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[object]:
        return (self._select(left + right),)
