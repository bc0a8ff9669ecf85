"""The operators that the interpreter can build, each with what it needs to know: one entry per operator.

``Interpreter.java`` has one builder per ``kind``; those of other packages are classes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsim.conform.async_calls import CalledAsync, RetryPredicates
from flowsim.conform.flink_contexts import AggregatorCalls, FlinkSide, ReducerCalls
from flowsim.conform.functions import (
    CalledBroadcast,
    CalledCoFlatMap,
    CalledCoMap,
    CalledFilter,
    CalledFlatMap,
    CalledFunction,
    CalledJoin,
    CalledMap,
    CalledProcess,
    CalledReduce,
    CalledWindow,
    keeps_records,
)
from flowsim.conform.triggers import CalledTrigger
from flowsim.conform.unsupported import Unsupported
from flowsim.conform.watermarks import described_strategy
from flowsim.graph.stream_graph import StreamNode
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.retry_strategies import retry_params
from flowsim.operators.checkpointed_function import CheckpointedFunction
from flowsim.operators.functions.basic import FilterOperator, FlatMapOperator, MapOperator
from flowsim.operators.functions.co_broadcast import CoBroadcastWithKeyedOperator, CoBroadcastWithNonKeyedOperator
from flowsim.operators.functions.co_process import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.operators.functions.interval_join import IntervalJoinOperator
from flowsim.operators.functions.process import KeyedProcessOperator, ProcessOperator
from flowsim.operators.sink_operator import SinkOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.operators.windowing.described import name_and_numbers
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.window_contents import AggregatingContents, ReducingContents
from flowsim.operators.windowing.window_operator import WindowOperator

Described = dict[str, object]
Describe = Callable[[FlinkSide, StreamNode, Any], Described]


@dataclass(frozen=True, slots=True)
class Built:
    """How the interpreter builds an operator."""

    kind: str
    """A builder of ``Interpreter.java``, or the full name of a Java class that implements ``OperatorBuilder``."""
    called: type[CalledFunction] | type[CalledAsync] | None = None
    """The object that Java calls in each subtask; None: the operator has no function."""
    describe: Describe | None = None
    """What Java needs to know beside the function."""
    sources: Path | None = None
    """The folder with the Java files of the builder; None: the interpreter has it."""


def _nothing_more(side: FlinkSide, node: StreamNode, operator: Any) -> Described:
    return {}


def _watermarks(side: FlinkSide, node: StreamNode, operator: TimestampsAndWatermarksOperator) -> Described:
    strategy = dict(described_strategy(side, operator.strategy))
    return {"watermarks": strategy}


def _interval_join(side: FlinkSide, node: StreamNode, operator: Any) -> Described:
    late = operator.late_policy
    return {
        "lower_ms": operator._bounds.lower_ms,
        "upper_ms": operator._bounds.upper_ms,
        "late_left": None if late._left is None else late._left.tag_id,
        "late_right": None if late._right is None else late._right.tag_id,
    }


def _broadcast(side: FlinkSide, node: StreamNode, operator: Any) -> Described:
    return {"states": node.description.params["states"]}


def _async(side: FlinkSide, node: StreamNode, operator: AsyncWaitOperator) -> Described:
    described: Described = {
        "mode": operator.mode,
        "timeout_ms": operator.timeout_ms,
        "capacity": operator.capacity,
    }
    retry = retry_params(operator.retry_strategy)
    if retry is not None:
        if retry["kind"] == "custom":
            raise Unsupported("a retry strategy of your own")
        predicates = RetryPredicates(side, operator.retry_strategy.get_retry_predicate())
        number = side.objects.add(predicates)
        described["retry"] = {**retry, **dict.fromkeys(predicates.kinds, number)}
    return described


def _window(side: FlinkSide, node: StreamNode, operator: Any) -> Described:
    evictor = operator.evictor if operator.keeps_timestamps else None
    assigner, trigger = _part(side, operator.assigner), _part(side, operator.trigger)
    if _kinds(trigger) & (_OF_TIME_WINDOWS if assigner["kind"] == "global" else _OF_GLOBAL_WINDOWS):
        raise Unsupported("this trigger is Flink's for other windows: for global ones, or for those of a time")
    described: Described = {
        "assigner": assigner,
        "trigger": trigger,
        "evictor": None if evictor is None else _part(side, evictor),
        "lateness_ms": node.description.params["lateness_ms"],
        "late_tag": None if operator.late_tag is None else operator.late_tag.tag_id,
    }
    contents = operator.panes.contents
    if not keeps_records(operator):
        match contents:
            case ReducingContents():
                described["reduce"] = side.objects.add(ReducerCalls(side, contents._reduce))
            case AggregatingContents():
                described["aggregate"] = side.objects.add(AggregatorCalls(side, contents._function))
    return described


_OF_GLOBAL_WINDOWS = {"never", "end_of_stream"}
_OF_TIME_WINDOWS = {"event_time", "processing_time"}


def _kinds(trigger: Mapping[str, Any]) -> set[str]:
    """Returns the kinds of a trigger and of those in it."""
    return {trigger["kind"]} | (_kinds(trigger["of"]) if "of" in trigger else set())


def _part(side: FlinkSide, part: Any) -> Described:
    """Describes an assigner, a trigger or an evictor; functions inside become objects. Raises Unsupported."""
    known = name_and_numbers(part)
    if isinstance(part, Trigger) and (known is None or known[0] == "any_of"):
        return {"kind": "called", "object": side.objects.add(CalledTrigger(side, part)), "merges": part.can_merge()}
    if known is None:
        raise Unsupported(f"{type(part).__name__}: only Flink's own assigners and evictors can be built")
    kind, numbers = known
    described: Described = {"kind": kind, **numbers}
    if hasattr(part, "nested_trigger"):
        described["of"] = _part(side, part.nested_trigger)
    if hasattr(part, "delta_function"):
        described["delta"] = side.objects.add(_Delta(side, part.delta_function))
    if hasattr(part, "gap_of"):
        described["gap"] = side.objects.add(_Gap(side, part.gap_of))
    return described


class _Delta:
    def __init__(self, side: FlinkSide, delta: Callable[[object, object], float]) -> None:
        self._side = side
        self._delta = delta

    def delta(self, old: int, new: int, _: str) -> str:
        return repr(float(self._delta(self._side.values.value(old), self._side.values.value(new))))


class _Gap:
    def __init__(self, side: FlinkSide, gap_of: Callable[[object], int]) -> None:
        self._side = side
        self._gap_of = gap_of

    def gap(self, record: int, *_: object) -> str:
        return str(self._gap_of(self._side.values.value(record)))


OPERATORS: dict[type[StreamOperator], Built] = {
    MapOperator: Built("map", CalledMap),
    FilterOperator: Built("filter", CalledFilter),
    FlatMapOperator: Built("flat_map", CalledFlatMap),
    GroupedReduceOperator: Built("reduce", CalledReduce),
    ProcessOperator: Built("process", CalledProcess),
    KeyedProcessOperator: Built("keyed_process", CalledProcess),
    CoMapOperator: Built("co_map", CalledCoMap),
    CoFlatMapOperator: Built("co_flat_map", CalledCoFlatMap),
    CoProcessOperator: Built("co_process", CalledProcess),
    KeyedCoProcessOperator: Built("keyed_co_process", CalledProcess),
    CoBroadcastWithNonKeyedOperator: Built("broadcast", CalledBroadcast, _broadcast),
    CoBroadcastWithKeyedOperator: Built("keyed_broadcast", CalledBroadcast, _broadcast),
    IntervalJoinOperator: Built("interval_join", CalledJoin, _interval_join),
    WindowOperator: Built("window", CalledWindow, _window),
    AsyncWaitOperator: Built("async", CalledAsync, _async),
    TimestampsAndWatermarksOperator: Built("watermarks", None, _watermarks),
    SinkOperator: Built("sink"),
}
"""The operators by class, those of other packages among them; a subclass is built as its base."""


def register_builder(operator: type[StreamOperator], built: Built) -> None:
    """Lets the interpreter build an operator of another package. Raises ValueError if it builds this class already."""
    if OPERATORS.setdefault(operator, built) != built:
        raise ValueError(f"the interpreter builds {operator.__name__} already")


def java_sources() -> dict[str, Path]:
    """Returns the Java classes that build operators of other packages, each with the folder of its files."""
    return {each.kind: each.sources for each in OPERATORS.values() if each.sources is not None}


def built(node: StreamNode, operator: StreamOperator) -> Built:
    """Returns how an operator is built. Raises Unsupported for one that the interpreter does not know."""
    found = next((OPERATORS[kind] for kind in type(operator).__mro__ if kind in OPERATORS), None)
    if found is None:
        raise Unsupported(f"operator {node.name!r}: the interpreter cannot build a {type(operator).__name__}")
    if node.state_ttl is not None:
        raise Unsupported(f"operator {node.name!r}: state_ttl, which Flink measures with the time of the machine")
    if isinstance(operator.user_function, CheckpointedFunction):
        raise Unsupported(f"operator {node.name!r}: operator state of a Python function (CheckpointedFunction)")
    if operator.input_selectable is not None:
        raise Unsupported(f"operator {node.name!r}: Java's ready-made operators do not select their input")
    return found
