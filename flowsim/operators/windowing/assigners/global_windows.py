"""One window for everything. Flink: GlobalWindows (rule 10.6)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner, WindowAssignerContext
from flowsim.operators.windowing.global_window import GLOBAL_WINDOW, GlobalWindow
from flowsim.operators.windowing.triggers.end_of_stream_trigger import EndOfStreamTrigger
from flowsim.operators.windowing.triggers.never_trigger import NeverTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger

_ASSIGNED = (GLOBAL_WINDOW,)


class GlobalWindows(WindowAssigner):
    """All records of a key in one window that never ends, and never fires unless a trigger says so. Flink: GlobalWindows.

    ``end_of_stream``: fires it when the stream has ended, at the last watermark.
    """

    __slots__ = ("end_of_stream",)

    def __init__(self, end_of_stream: bool = False) -> None:
        self.end_of_stream = end_of_stream

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[GlobalWindow]:
        return _ASSIGNED

    def default_trigger(self) -> Trigger:
        return EndOfStreamTrigger() if self.end_of_stream else NeverTrigger()

    def is_event_time(self) -> bool:
        return False
