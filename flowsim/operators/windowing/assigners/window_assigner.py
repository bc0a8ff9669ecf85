"""Which windows a record belongs to. Flink: WindowAssigner, MergingWindowAssigner (rules 10.1-10.6)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from random import Random
from typing import Final, Protocol, TypeGuard

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import RuntimeContext
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.window import Window
from flowsim.units import NO_TIMESTAMP

NO_TIMESTAMP_MESSAGE: Final = (
    "the record has no timestamp, so no event-time window can take it: give the stream timestamps and watermarks "
    "(assign_timestamps_and_watermarks) before the window"
)


class WindowAssignerContext(Protocol):
    """What an assigner may ask its operator. Flink: WindowAssigner.WindowAssignerContext."""

    def get_current_processing_time(self) -> int:
        """Milliseconds."""

    def get_runtime_context(self) -> RuntimeContext:
        """Where the operator runs, and state of the record's key that all windows share."""

    def random(self) -> Random:
        """The operator's own stream of chance."""


class WindowAssigner(Protocol):
    """Assigns windows to records. Flink: WindowAssigner."""

    __slots__ = ()

    @abstractmethod
    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext, /
    ) -> Collection[Window]:
        """Windows of one record, in the order in which they are to be handled."""

    @abstractmethod
    def default_trigger(self) -> Trigger: ...

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether lateness and cleanup go by the watermark; else by processing time."""


class MergeCallback(Protocol):
    """Told of each merge. Flink: MergingWindowAssigner.MergeCallback."""

    def merge(self, to_be_merged: Collection[Window], merge_result: Window, /) -> None:
        """These windows become that one, which may be one of them."""


class MergingWindowAssigner(WindowAssigner, Protocol):
    """Assigns windows that may grow together later. Flink: MergingWindowAssigner (rule 10.25)."""

    __slots__ = ()

    @abstractmethod
    def merge_windows(self, windows: Collection[Window], callback: MergeCallback, /) -> None:
        """Tells the callback, for each merge, which windows of a key become which one."""


def is_merging(assigner: WindowAssigner) -> TypeGuard[MergingWindowAssigner]:
    """Whether its windows may merge: it has MergingWindowAssigner's door."""
    return callable(getattr(assigner, "merge_windows", None))


def refuse_trigger_that_cannot_merge(assigner: WindowAssigner, trigger: Trigger) -> None:
    """Raises BadInput when windows of this assigner may merge and the trigger cannot (rule 10.24)."""
    if is_merging(assigner) and not trigger.can_merge():
        raise BadInput(
            f"windows of {type(assigner).__name__} merge, and the trigger {type(trigger).__name__} cannot: use one whose "
            "can_merge() is True (rule 10.24)"
        )


def event_timestamp(timestamp: int | None) -> int:
    """The record's timestamp; raises BadInput when it has none (rule 10.2)."""
    if timestamp is None or timestamp == NO_TIMESTAMP:
        raise BadInput(NO_TIMESTAMP_MESSAGE)
    return timestamp
