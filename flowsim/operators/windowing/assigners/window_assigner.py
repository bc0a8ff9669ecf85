"""Assigns records to windows. Flink: WindowAssigner, MergingWindowAssigner, GlobalWindows (rules 10.1-10.6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from random import Random
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeGuard, TypeVar

from flowsim.errors import BadInput, NoTimestamp
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.windowing import windows as window_types
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.time_triggers import EndOfStreamTrigger, NeverTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.windows import GLOBAL_WINDOW, GlobalWindow, Window
from flowsim.units import NO_TIMESTAMP

NO_TIMESTAMP_MESSAGE: Final = "the record has no timestamp, so no event-time window can take it (rule 10.2)"

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class WindowAssignerContext(Protocol):
    """The context of an assigner. Flink: WindowAssigner.WindowAssignerContext."""

    def get_current_processing_time(self) -> int:
        """Returns the processing time in ms."""

    def get_runtime_context(self) -> RuntimeContext:
        """Returns information about the subtask, and the state of the record's key that all windows share."""

    def random(self) -> Random:
        """Returns the operator's own random number generator."""


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns windows W to records T; also the base of user-defined assigners. PyFlink: WindowAssigner.

    PyFlink's ``get_window_serializer`` is not needed.
    """

    __slots__ = ()

    WindowAssignerContext: TypeAlias = WindowAssignerContext

    @abstractmethod
    def assign_windows(self, element: T, timestamp: int | None, context: WindowAssignerContext, /) -> Collection[W]:
        """Returns the windows of one record in processing order; the timestamp is in ms."""

    def get_default_trigger(self, env: object) -> AnyTrigger:
        """Returns the trigger that is used if the job sets none; ``env`` is None."""
        raise BadInput(f"window assigner {type(self).__name__}: define get_default_trigger(env), or set a trigger")

    @abstractmethod
    def is_event_time(self) -> bool:
        """True if lateness and cleanup depend on the watermark; otherwise they depend on processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Assigns windows that may merge later; also the base of user-defined assigners.

    PyFlink: MergingWindowAssigner (rule 10.25).
    """

    __slots__ = ()

    MergeCallback: TypeAlias = window_types.MergeCallback[Any]

    def merge_windows(self, windows: Collection[W], callback: window_types.MergeCallback[W], /) -> None:
        """Calls the callback for each merge, with the windows of a key and the resulting window."""
        raise BadInput(f"window assigner {type(self).__name__}: define merge_windows(windows, callback)")


AnyWindowAssigner: TypeAlias = WindowAssigner[Any, Any]
"""An assigner for any record type and window type."""
AnyMergingWindowAssigner: TypeAlias = MergingWindowAssigner[Any, Any]


@described("global", end_of_stream="end_of_stream")
class GlobalWindows(WindowAssigner[object, GlobalWindow]):
    """Assigns all records of a key to one window that never ends; without a trigger the window never fires.

    PyFlink: GlobalWindows. With ``end_of_stream`` the window fires at the last watermark.
    """

    __slots__ = ("end_of_stream",)

    def __init__(self, end_of_stream: bool = False) -> None:
        self.end_of_stream: bool = end_of_stream

    @staticmethod
    def create() -> GlobalWindows:
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Returns an assigner whose window fires once, when the stream has ended."""
        return GlobalWindows(end_of_stream=True)

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[GlobalWindow]:
        return _GLOBAL_WINDOW_ALONE

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return EndOfStreamTrigger() if self.end_of_stream else NeverTrigger()

    def is_event_time(self) -> bool:
        return False


_GLOBAL_WINDOW_ALONE: Final = (GLOBAL_WINDOW,)


def is_merging(assigner: AnyWindowAssigner) -> TypeGuard[AnyMergingWindowAssigner]:
    """True if the assigner's windows may merge: it has ``merge_windows``."""
    return callable(getattr(assigner, "merge_windows", None))


def refuse_trigger_that_cannot_merge(assigner: AnyWindowAssigner, trigger: AnyTrigger) -> None:
    """Raises BadInput if windows of this assigner may merge and the trigger cannot (rule 10.24)."""
    if is_merging(assigner) and not trigger.can_merge():
        raise BadInput(
            f"windows of {type(assigner).__name__} merge, and the trigger {type(trigger).__name__} cannot: use one whose "
            "can_merge() is True (rule 10.24)"
        )


def event_timestamp(timestamp: int | None) -> int:
    """Returns the record's timestamp in ms; raises NoTimestamp if there is none (rule 10.2)."""
    if timestamp is None or timestamp == NO_TIMESTAMP:
        raise NoTimestamp(NO_TIMESTAMP_MESSAGE)
    return timestamp
