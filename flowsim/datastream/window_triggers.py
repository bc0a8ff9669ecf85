"""Triggers as PyFlink spells them; ``flowsim.datastream.window`` gives them out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeAlias, TypeVar

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.datastream.delta import AnyDeltaFunction, delta_of
from flowsim.operators.windowing import triggers
from flowsim.operators.windowing.window import Window
from flowsim.values import TypeInformation, Types

Length = Duration | Time


T = TypeVar("T")
W = TypeVar("W", bound=Window)


class Trigger(triggers.Trigger, Generic[T, W]):
    """Base of one's own triggers, for records T in windows W.

    For windows that merge define ``can_merge`` and ``on_merge`` too. What it must know of a key and window it keeps in
    ``ctx.get_partitioned_state(descriptor)``: one object serves them all. PyFlink: Trigger.
    """

    __slots__ = ()

    TriggerContext: TypeAlias = triggers.TriggerContext
    OnMergeContext: TypeAlias = triggers.OnMergeContext

    # Narrower than what the operator calls: it is the job that brings records and windows of these kinds.

    @abstractmethod
    def on_element(  # type: ignore[override]
        self, element: T, timestamp: int | None, window: W, ctx: triggers.TriggerContext, /
    ) -> triggers.TriggerResult:
        """A record was added to the window; timestamp in ms."""

    @abstractmethod
    def on_event_time(  # type: ignore[override]
        self, time: int, window: W, ctx: triggers.TriggerContext, /
    ) -> triggers.TriggerResult:
        """The watermark reached an event-time timer of the window, in ms."""

    @abstractmethod
    def on_processing_time(  # type: ignore[override]
        self, time: int, window: W, ctx: triggers.TriggerContext, /
    ) -> triggers.TriggerResult:
        """A processing-time timer of the window is due, in ms."""

    @abstractmethod
    def clear(self, window: W, ctx: triggers.TriggerContext, /) -> None:  # type: ignore[override]
        """Forgets what it keeps for the window."""


class EventTimeTrigger(triggers.EventTimeTrigger, Trigger[object, Window]):
    """Fires when the watermark passes the end of the window (rule 10.17). PyFlink: EventTimeTrigger."""

    __slots__ = ()

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()


class ProcessingTimeTrigger(triggers.ProcessingTimeTrigger, Trigger[object, Window]):
    """Fires when processing time passes the end of the window (rule 10.18). PyFlink: ProcessingTimeTrigger."""

    __slots__ = ()

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()


class ContinuousEventTimeTrigger(triggers.ContinuousEventTimeTrigger, Trigger[object, Window]):
    """Fires every interval of event time, and at the end (rule 10.21). PyFlink: ContinuousEventTimeTrigger."""

    __slots__ = ()

    def __init__(self, interval: int) -> None:
        """In ms; ``of`` takes a length of time."""
        super().__init__(interval)

    @staticmethod
    def of(interval: Length) -> ContinuousEventTimeTrigger:
        """Raises BadInput unless the interval is at least 1 ms."""
        return ContinuousEventTimeTrigger(millis_of(interval, "ContinuousEventTimeTrigger.of"))


class ContinuousProcessingTimeTrigger(triggers.ContinuousProcessingTimeTrigger, Trigger[object, Window]):
    """Fires every interval of processing time (rule 10.22). PyFlink: ContinuousProcessingTimeTrigger."""

    __slots__ = ()

    def __init__(self, interval: int) -> None:
        """In ms; ``of`` takes a length of time."""
        super().__init__(interval)

    @staticmethod
    def of(interval: Length) -> ContinuousProcessingTimeTrigger:
        """Raises BadInput unless the interval is at least 1 ms."""
        return ContinuousProcessingTimeTrigger(millis_of(interval, "ContinuousProcessingTimeTrigger.of"))


class CountTrigger(triggers.CountTrigger, Trigger[object, Window]):
    """Fires at every so many records of a key and window (rule 10.19). PyFlink: CountTrigger."""

    __slots__ = ()

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size)

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Raises TypeError unless it is a whole number."""
        if type(window_size) is not int:
            raise TypeError(f"CountTrigger.of: expected a number of records, got {window_size!r}")
        return CountTrigger(window_size)


class PurgingTrigger(triggers.PurgingTrigger, Trigger[object, Window]):
    """Purges the window whenever another trigger fires (rule 10.20). PyFlink: PurgingTrigger."""

    __slots__ = ()

    @staticmethod
    def of(nested_trigger: triggers.Trigger) -> PurgingTrigger:
        """Raises TypeError unless it is given a trigger."""
        if isinstance(nested_trigger, type) or not callable(getattr(nested_trigger, "on_element", None)):
            raise TypeError(f"PurgingTrigger.of: expected a trigger, got {nested_trigger!r}")
        return PurgingTrigger(nested_trigger)


class NeverTrigger(triggers.NeverTrigger, Trigger[object, Window]):
    """Never fires: what a global window has until it is given another (rule 10.6). PyFlink: NeverTrigger."""

    __slots__ = ()


class DeltaTrigger(triggers.DeltaTrigger, Trigger[object, Window]):
    """Fires when a record is far from the one that was noted (rule 10.23). Flink: DeltaTrigger; PyFlink has none."""

    __slots__ = ()

    @staticmethod
    def of(
        threshold: float, delta_function: AnyDeltaFunction, state_type: TypeInformation | None = None
    ) -> DeltaTrigger:
        """``delta_function(noted, new)`` answers the distance; ``state_type`` is the type of the records."""
        state_type = Types.PICKLED_BYTE_ARRAY() if state_type is None else state_type
        return DeltaTrigger(threshold, delta_of(delta_function, "DeltaTrigger.of"), state_type)


class ProcessingTimeoutTrigger(triggers.ProcessingTimeoutTrigger, Trigger[object, Window]):
    """Another trigger, and a firing when that kept records waiting (rule 10.23). Flink: ProcessingTimeoutTrigger.

    PyFlink has none.
    """

    __slots__ = ()

    @staticmethod
    def of(
        nested_trigger: triggers.Trigger,
        timeout: Length,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        timeout_ms = millis_of(timeout, "ProcessingTimeoutTrigger.of: timeout")
        return ProcessingTimeoutTrigger(nested_trigger, timeout_ms, reset_timer_on_new_record, should_clear_on_timeout)
