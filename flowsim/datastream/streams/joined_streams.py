"""Two streams in common windows, built step by step. Flink: JoinedStreams, CoGroupedStreams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from flowsim.datastream.building import operator_factories as factories
from flowsim.datastream.building.joined_functions import AnyCoGroup, AnyJoin, CoGroupWindowFunction, JoinCoGroupFunction
from flowsim.datastream.building.operator_factories import AnyKeySelector
from flowsim.datastream.functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from flowsim.datastream.streams.stream import S, Stream
from flowsim.datastream.streams.windowed_streams import WindowedStream
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import KeySelector
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.evictors import Evictor
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_joins import FIRST
from flowsim.values.durations import Duration, Time
from flowsim.values.types import TypeInformation


class WithWindow(Generic[S]):
    """Both streams in windows, before the function is set. Flink: CoGroupedStreams.WithWindow, JoinedStreams.WithWindow."""

    def __init__(self, windows: WindowedStream[S]) -> None:
        self._windows = windows

    def trigger(self, trigger: AnyTrigger) -> Self:
        """Replaces the assigner's default trigger; raises BadInput if the windows merge and the trigger cannot (rule
        10.24).
        """
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Sets an evictor, which removes records from a window that fires.

        The evictor gets (1 or 2, record): the stream's number and the record.
        """
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """Sets how long after its end a window accepts records, in ms (rule 10.8).

        Later records are dropped and counted.
        """
        self._windows.allowed_lateness(time_ms)
        return self


P = TypeVar("P", bound=WithWindow[Any])


class TwoStreams(Generic[S, P]):
    """Two streams before their keys are set. Flink: CoGroupedStreams, JoinedStreams."""

    def __init__(self, stream1: Stream[S], stream2: Stream[S], finish: Callable[[WindowedStream[S]], P]) -> None:
        self._streams = (stream1, stream2)
        self._finish = finish

    def where(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> Where[S, P]:
        """Sets the key of the first stream's records."""
        return Where(self._streams, key_selector, key_type, self._finish)


class Where(Generic[S, P]):
    """Two streams, the first with its key. Flink: CoGroupedStreams.Where, JoinedStreams.Where."""

    def __init__(
        self,
        streams: tuple[Stream[S], Stream[S]],
        selector: AnyKeySelector,
        key_type: TypeInformation | None,
        finish: Callable[[WindowedStream[S]], P],
    ) -> None:
        self._streams = streams
        self._selector = factories.key_selector_of(selector)
        self._key_type = key_type
        self._finish = finish

    def equal_to(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> EqualTo[S, P]:
        """Sets the key of the second stream's records; raises BadInput if the declared types of the keys differ."""
        first = self._key_type
        if key_type is not None and first is not None and key_type.name != first.name:
            raise BadInput(f"equal_to: expected a key of type {first.name} as in where, got {key_type.name}")
        second = factories.key_selector_of(key_selector)
        key = _key_of_tagged(self._selector, second)
        return EqualTo(self._streams, key, first if key_type is None else key_type, self._finish)


class EqualTo(Generic[S, P]):
    """Two streams with keys. Flink: CoGroupedStreams.Where.EqualTo, JoinedStreams.Where.EqualTo."""

    def __init__(
        self,
        streams: tuple[Stream[S], Stream[S]],
        key: KeySelector,
        key_type: TypeInformation | None,
        finish: Callable[[WindowedStream[S]], P],
    ) -> None:
        self._streams = streams
        self._key = key
        self._key_type = key_type
        self._finish = finish

    def window(self, window_assigner: AnyWindowAssigner) -> P:
        """Groups the union of both streams into windows; each record has a tag for its stream."""
        first, second = (_tagged(stream, tag) for tag, stream in enumerate(self._streams, FIRST))
        union: Stream[S] = first.union(second)
        return self._finish(WindowedStream(union.key_by(self._key, self._key_type), window_assigner))


def _tagged(stream: Stream[S], tag: int) -> S:
    """Adds the operator that tags a stream's records; its parallelism is the stream's, so that both are chained."""
    make = factories.map_operator(lambda record: (tag, record))
    return stream.add_operator("Map", "map", make).set_parallelism(stream.get_parallelism())


def _key_of_tagged(first: KeySelector, second: KeySelector) -> KeySelector:
    def key(tagged: object) -> object:
        assert isinstance(tagged, tuple)
        tag, record = tagged
        return first(record) if tag == FIRST else second(record)

    return key


class CoGroupWindows(WithWindow[S]):
    """The windows of a co-group. Flink: CoGroupedStreams.WithWindow."""

    def apply(self, function: AnyCoGroup, output_type: TypeInformation | None = None) -> S:
        """Calls a CoGroupFunction or a callable for each key and window that fires.

        The arguments are two lists of records; one list may be empty.
        """
        if not isinstance(function, CoGroupFunction) and (not callable(function) or isinstance(function, type)):
            raise TypeError(f"co_group: apply: expected a CoGroupFunction or a callable, got {function!r}")
        return self._windows.apply_as("CoGroup", CoGroupWindowFunction(function), output_type, {"join": "co_group"})


CoGroupedStreams = TwoStreams[S, CoGroupWindows[S]]
"""``a.co_group(b).where(key).equal_to(key).window(assigner).apply(function)``. Flink: CoGroupedStreams."""


class JoinWindows(WithWindow[S]):
    """The windows of a join. Flink: JoinedStreams.WithWindow."""

    def apply(self, function: AnyJoin, output_type: TypeInformation | None = None) -> S:
        """Calls a JoinFunction, FlatJoinFunction or callable of two records, for each pair of a key and window that fires."""
        is_plain = callable(function) and not isinstance(function, type)
        if not isinstance(function, JoinFunction | FlatJoinFunction) and not is_plain:
            raise TypeError(f"join: apply: expected a JoinFunction, a FlatJoinFunction or a callable, got {function!r}")
        joining = CoGroupWindowFunction(JoinCoGroupFunction(function))
        return self._windows.apply_as("Join", joining, output_type, {"join": "join"})


JoinedStreams = TwoStreams[S, JoinWindows[S]]
"""``a.join(b).where(key).equal_to(key).window(assigner).apply(function)``. Flink: JoinedStreams."""
