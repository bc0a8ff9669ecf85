"""Creates window operators and describes them in recordings. Flink: WindowOperatorBuilder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

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
from flowsim.operators.windowing.assigners.window_assigner import (
    AnyWindowAssigner,
    refuse_trigger_that_cannot_merge,
)
from flowsim.operators.windowing.described import kind_of, name_and_numbers
from flowsim.operators.windowing.evicting_window_operator import EvictingWindowOperator
from flowsim.operators.windowing.evictors import Evictor
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
    name, numbers = name_and_numbers(assigner) or (type(assigner).__name__, {})
    return {
        "assigner": name,
        **numbers,
        "trigger": kind_of(trigger),
        "lateness_ms": allowed_lateness_ms,
        "late_output": has_late_output,
        **({} if evictor is None else {"evictor": kind_of(evictor)}),
        **({"all": True} if window_all else {}),
    }


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
