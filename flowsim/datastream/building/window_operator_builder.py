"""Creates window operators and describes them in recordings. Flink: WindowOperatorBuilder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from flowsim.datastream.building.joined_functions import CoGroupWindowFunction
from flowsim.datastream.building.operator_factories import MakeOperator, reduce_of
from flowsim.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from flowsim.datastream.functions.function import has_life_cycle, isolated
from flowsim.datastream.output_tag import OutputTag
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flowsim.operators.windowing.assigners.window_assigner import (
    AnyWindowAssigner,
    GlobalWindows,
    refuse_trigger_that_cannot_merge,
)
from flowsim.operators.windowing.evicting_window_operator import EvictingWindowOperator
from flowsim.operators.windowing.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from flowsim.operators.windowing.triggers.any_of_trigger import AnyOfTrigger
from flowsim.operators.windowing.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import (
    AggregatingContents,
    ListContents,
    ReducingContents,
    WindowContents,
)
from flowsim.operators.windowing.window_functions import (
    FoldingWindowFunction,
    InternalApplyAllWindowFunction,
    InternalApplyWindowFunction,
    InternalProcessAllWindowFunction,
    InternalProcessWindowFunction,
    InternalWindowFunction,
    PassThroughWindowFunction,
)
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.values.durations import Duration, Time, millis_of

# What the laws can check: the built-in classes, and the methods in which each family makes its decisions. A subclass
# that overrides one of these methods is user-defined, and is described only by its class name.
_ASSIGNERS: Final = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    GlobalWindows,
)

_ASSIGNER_METHODS: Final = ("assign_windows", "is_event_time", "window_of", "windows_of", "gap_of", "merge_windows")

_TRIGGERS: Final = (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    NeverTrigger,
    EndOfStreamTrigger,
    CountTrigger,
    DeltaTrigger,
    PurgingTrigger,
    ProcessingTimeoutTrigger,
    AnyOfTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)

_TRIGGER_METHODS: Final = (
    "on_element",
    "on_event_time",
    "on_processing_time",
    "can_merge",
    "on_merge",
    "clear",
    "first_base",
    "next_fire_time",
)

_EVICTORS: Final = (CountEvictor, TimeEvictor, DeltaEvictor)

_EVICTOR_METHODS: Final = ("evict_before", "evict_after", "evict")


def describe_window(
    assigner: AnyWindowAssigner,
    trigger: AnyTrigger,
    allowed_lateness_ms: int,
    has_late_output: bool,
    evictor: Evictor | None = None,
    *,
    window_all: bool = False,
) -> Mapping[str, object]:
    """Describes the parts of a window operator by stable names and their numbers.

    The parts are the assigner, the trigger, the evictor, the lateness in ms, and whether late records are kept.

    A subclass that overrides the decisions of its parent class appears under its own name: no law can check it.
    """
    return {
        **_assigner(assigner),
        "trigger": _trigger(trigger),
        "lateness_ms": allowed_lateness_ms,
        "late_output": has_late_output,
        **({} if evictor is None else {"evictor": _evictor(evictor)}),
        **({"all": True} if window_all else {}),
    }


def _assigner(assigner: AnyWindowAssigner) -> dict[str, object]:
    if not _is_ready_made(assigner, _ASSIGNERS, _ASSIGNER_METHODS):
        return {"assigner": type(assigner).__name__}
    time = "event_time" if assigner.is_event_time() else "processing_time"
    match assigner:
        case TumblingEventTimeWindows() | TumblingProcessingTimeWindows():
            return {
                "assigner": f"tumbling_{time}",
                "size_ms": assigner.size_ms,
                "offset_ms": assigner.offset_ms,
                "stagger": assigner.stagger.value,
            }
        case SlidingEventTimeWindows() | SlidingProcessingTimeWindows():
            return {
                "assigner": f"sliding_{time}",
                "size_ms": assigner.size_ms,
                "slide_ms": assigner.slide_ms,
                "offset_ms": assigner.offset_ms,
            }
        case EventTimeSessionWindows() | ProcessingTimeSessionWindows():
            return {"assigner": f"session_{time}", "gap_ms": assigner.gap_ms}
        case DynamicEventTimeSessionWindows() | DynamicProcessingTimeSessionWindows():
            return {"assigner": f"dynamic_session_{time}"}
        case GlobalWindows():
            return {"assigner": "global", "end_of_stream": assigner.end_of_stream}
    return {"assigner": type(assigner).__name__}


def _trigger(trigger: AnyTrigger) -> dict[str, object]:
    if not _is_ready_made(trigger, _TRIGGERS, _TRIGGER_METHODS):
        return {"kind": "custom", "class": type(trigger).__name__}
    match trigger:
        case EventTimeTrigger():
            return {"kind": "event_time"}
        case ProcessingTimeTrigger():
            return {"kind": "processing_time"}
        case NeverTrigger():
            return {"kind": "never"}
        case EndOfStreamTrigger():
            return {"kind": "end_of_stream"}
        case CountTrigger():
            return {"kind": "count", "count": trigger.max_count}
        case PurgingTrigger():
            return {"kind": "purging", "of": _trigger(trigger.nested_trigger)}
        case AnyOfTrigger():
            return {"kind": "any_of", "of": [_trigger(part) for part in trigger.parts]}
        case ContinuousEventTimeTrigger():
            return {"kind": "continuous_event_time", "interval_ms": trigger.interval_ms}
        case ContinuousProcessingTimeTrigger():
            return {"kind": "continuous_processing_time", "interval_ms": trigger.interval_ms}
        case DeltaTrigger():
            return {"kind": "delta", "threshold": trigger.threshold}
        case ProcessingTimeoutTrigger():
            return {
                "kind": "timeout",
                "of": _trigger(trigger.nested_trigger),
                "interval_ms": trigger.interval_ms,
                "reset_on_element": trigger.reset_on_element,
                "clear_on_timeout": trigger.clear_on_timeout,
            }
    return {"kind": "custom", "class": type(trigger).__name__}


def _evictor(evictor: Evictor) -> dict[str, object]:
    if _is_ready_made(evictor, _EVICTORS, _EVICTOR_METHODS):
        match evictor:
            case CountEvictor():
                return {"kind": "count", "count": evictor.max_count, "after": evictor.do_evict_after}
            case TimeEvictor():
                return {"kind": "time", "window_ms": evictor.window_ms, "after": evictor.do_evict_after}
            case DeltaEvictor():
                return {"kind": "delta", "threshold": evictor.threshold, "after": evictor.do_evict_after}
    return {"kind": "custom", "class": type(evictor).__name__}


def _is_ready_made(part: object, classes: tuple[type, ...], methods: tuple[str, ...]) -> bool:
    """Returns True if ``part`` has one of these classes, or a subclass that overrides none of the methods."""
    kind = type(part)
    return any(
        issubclass(kind, made) and all(getattr(kind, name, None) is getattr(made, name, None) for name in methods)
        for made in classes
    )


AnyProcessWindowFunction = ProcessWindowFunction[Any, Any, Any, Any]

AnyApplyFunction = WindowFunction[Any, Any, Any, Any]

AnyWindowFunction = AnyProcessWindowFunction | AnyApplyFunction

AnyProcessAllWindowFunction = ProcessAllWindowFunction[Any, Any, Any]

AnyApplyAllFunction = AllWindowFunction[Any, Any, Any]

AnyAllWindowFunction = AnyProcessAllWindowFunction | AnyApplyAllFunction

Fold = ReduceFunction | AggregateFunction | Callable[[object, object], object]


@dataclass(frozen=True, slots=True)
class WindowOperatorBuilder:
    """Collects the configuration of a window operator; every setter returns a new builder.

    Raises TypeError and BadInput. Flink: WindowOperatorBuilder.
    """

    assigner: AnyWindowAssigner
    own_trigger: AnyTrigger | None = None
    own_evictor: Evictor | None = None
    allowed_lateness_ms: int = 0
    late_tag: OutputTag | None = None

    def __post_init__(self) -> None:
        if isinstance(self.assigner, type) or not callable(getattr(self.assigner, "assign_windows", None)):
            raise TypeError(f"window: expected a window assigner, got {self.assigner!r}")

    def trigger(self, trigger: AnyTrigger) -> WindowOperatorBuilder:
        """Replaces the assigner's default trigger."""
        if isinstance(trigger, type) or not callable(getattr(trigger, "on_element", None)):
            raise TypeError(f"window: trigger: expected a trigger, got {trigger!r}")
        refuse_trigger_that_cannot_merge(self.assigner, trigger)
        return replace(self, own_trigger=trigger)

    def evictor(self, evictor: Evictor) -> WindowOperatorBuilder:
        """Sets the evictor, which removes records when the window fires."""
        if isinstance(evictor, type) or not callable(getattr(evictor, "evict_before", None)):
            raise TypeError(f"window: evictor: expected an evictor, got {evictor!r}")
        return replace(self, own_evictor=evictor)

    def allowed_lateness(self, time_ms: int | Duration | Time) -> WindowOperatorBuilder:
        """Sets how many ms after its end a window still accepts records (rule 10.8)."""
        lateness_ms = time_ms if isinstance(time_ms, int) else millis_of(time_ms, "window: allowed_lateness")
        if lateness_ms < 0:
            raise BadInput(f"window: allowed_lateness: expected 0 ms or more, got {lateness_ms}")
        return replace(self, allowed_lateness_ms=lateness_ms)

    def side_output_late_data(self, output_tag: OutputTag) -> WindowOperatorBuilder:
        """Sends late records to a side output instead of counting them as dropped (rule 10.10)."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"window: side_output_late_data: expected an OutputTag, got {output_tag!r}")
        return replace(self, late_tag=output_tag)

    def described(self, *, window_all: bool = False) -> Mapping[str, object]:
        """Returns what the laws need to know about the operator (table ``operators``)."""
        trigger = self.own_trigger if self.own_trigger is not None else self.assigner.get_default_trigger(None)
        described = describe_window(
            self.assigner,
            trigger,
            self.allowed_lateness_ms,
            self.late_tag is not None,
            self.own_evictor,
            window_all=window_all,
        )
        return described if self.late_tag is None else {**described, "late_tags": [self.late_tag.tag_id]}

    def build(
        self, what: str, fold: Fold | None, function: AnyWindowFunction | AnyAllWindowFunction | None
    ) -> MakeOperator:
        """Creates the factory of the operators; without ``fold`` the window function gets all records."""
        if isinstance(fold, Function) and has_life_cycle(fold):
            raise TypeError(
                f"window: {what.lower()}: {type(fold).__name__} has open() or close(), which Flink does not "
                "call inside a window; open resources in a window function"
            )
        isolated((fold, function), f"window: {what.lower()}")
        parts = (fold, function, self.assigner, self.own_trigger, self.own_evictor)

        def make(name: str) -> StreamOperator:
            own_fold, own_function, assigner, trigger, evictor = isolated(parts, name)
            internal = _internal_function(own_function, single_value=own_fold is not None)
            if evictor is not None:
                if own_fold is not None:
                    internal = FoldingWindowFunction(_fold(own_fold), internal)
                operator: WindowOperator = EvictingWindowOperator(
                    assigner, evictor, internal, trigger, self.allowed_lateness_ms, self.late_tag
                )
            else:
                contents = _contents(own_fold)
                operator = create_window_operator(
                    assigner, contents, internal, trigger, self.allowed_lateness_ms, self.late_tag
                )
            operator.joined = own_function if isinstance(own_function, CoGroupWindowFunction) else None
            return operator

        return make


def _contents(fold: Fold | None) -> WindowContents:
    if fold is None:
        return ListContents()
    if isinstance(fold, AggregateFunction):
        return AggregatingContents(fold)
    return ReducingContents(reduce_of(fold))


def _fold(fold: Fold) -> Callable[[list[object]], object]:
    """Folds the records that an evictor kept.

    Without records, a reduction gives None and an aggregation its empty result.
    """
    if isinstance(fold, AggregateFunction):
        aggregate = fold

        def aggregated(values: list[object]) -> object:
            accumulator = aggregate.create_accumulator()
            for value in values:
                accumulator = aggregate.add(value, accumulator)
            return aggregate.get_result(accumulator)

        return aggregated
    reduce = reduce_of(fold)

    def reduced(values: list[object]) -> object:
        result: object = None
        for value in values:
            result = value if result is None else reduce(result, value)
        return result

    return reduced


def _internal_function(
    function: AnyWindowFunction | AnyAllWindowFunction | None, single_value: bool
) -> InternalWindowFunction:
    match function:
        case None:
            return PassThroughWindowFunction()
        case ProcessWindowFunction():
            return InternalProcessWindowFunction(function, single_value)
        case WindowFunction():
            return InternalApplyWindowFunction(function, single_value)
        case ProcessAllWindowFunction():
            return InternalProcessAllWindowFunction(function, single_value)
        case AllWindowFunction():
            return InternalApplyAllWindowFunction(function, single_value)
