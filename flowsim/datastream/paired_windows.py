"""Two streams on their way into common windows, step by step. Flink: CoGroupedStreams, JoinedStreams and what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from flowsim.datastream import operator_factories as factories
from flowsim.datastream.operator_factories import AnyKeySelector
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import KeySelector
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.evictors import Evictor
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.values import TypeInformation
from flowsim.values.durations import Duration, Time

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream
    from flowsim.datastream.windowed_stream import WindowedStream

FIRST, SECOND = 1, 2
"""Which stream a tagged record ``(tag, record)`` came from."""

Tagged = tuple[int, object]


class PairInWindows:
    """Both streams in windows, on their way to a function. Flink: CoGroupedStreams.WithWindow, JoinedStreams.WithWindow."""

    def __init__(self, windows: WindowedStream) -> None:
        self._windows = windows

    def trigger(self, trigger: AnyTrigger) -> Self:
        """Replaces the assigner's own trigger; raises BadInput if the windows merge and it cannot (rule 10.24)."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Takes records of either stream out of a window that fires; it sees them as (1 or 2, record)."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """How many ms after its end a window still takes records (rule 10.8); later ones are dropped and counted."""
        self._windows.allowed_lateness(time_ms)
        return self


P = TypeVar("P", bound=PairInWindows)


class PairedStreams(Generic[P]):
    """Two streams without keys yet. Flink: CoGroupedStreams, JoinedStreams."""

    def __init__(self, stream1: DataStream, stream2: DataStream, finish: Callable[[WindowedStream], P]) -> None:
        self._streams = (stream1, stream2)
        self._finish = finish

    def where(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> Where[P]:
        """The key of the first stream's records."""
        return Where(self._streams, key_selector, key_type, self._finish)


class Where(Generic[P]):
    """Two streams, the first with its key. Flink: CoGroupedStreams.Where, JoinedStreams.Where."""

    def __init__(
        self,
        streams: tuple[DataStream, DataStream],
        selector: AnyKeySelector,
        key_type: TypeInformation | None,
        finish: Callable[[WindowedStream], P],
    ) -> None:
        self._streams = streams
        self._selector = factories.key_selector_of(selector)
        self._key_type = key_type
        self._finish = finish

    def equal_to(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> EqualTo[P]:
        """The key of the second stream's records; raises BadInput if it is declared to be of another type."""
        first = self._key_type
        if key_type is not None and first is not None and key_type.name != first.name:
            raise BadInput(f"equal_to: expected a key of type {first.name} as in where, got {key_type.name}")
        second = factories.key_selector_of(key_selector)
        key = _key_of_tagged(self._selector, second)
        return EqualTo(self._streams, key, first if key_type is None else key_type, self._finish)


class EqualTo(Generic[P]):
    """Two streams with keys. Flink: CoGroupedStreams.Where.EqualTo, JoinedStreams.Where.EqualTo."""

    def __init__(
        self,
        streams: tuple[DataStream, DataStream],
        key: KeySelector,
        key_type: TypeInformation | None,
        finish: Callable[[WindowedStream], P],
    ) -> None:
        self._streams = streams
        self._key = key
        self._key_type = key_type
        self._finish = finish

    def window(self, window_assigner: AnyWindowAssigner) -> P:
        """Cuts the union of both, each record tagged with where it came from, into windows."""
        first, second = self._streams
        union = _tagged(first, FIRST).union(_tagged(second, SECOND))
        return self._finish(union.key_by(self._key, self._key_type).window(window_assigner))


def _tagged(stream: DataStream, tag: int) -> DataStream:
    """As parallel as the stream, so that it is chained to it."""
    return stream.map(lambda record: (tag, record)).set_parallelism(stream.get_parallelism())


def _key_of_tagged(first: KeySelector, second: KeySelector) -> KeySelector:
    def key(tagged: object) -> object:
        assert isinstance(tagged, tuple)
        tag, record = tagged
        return first(record) if tag == FIRST else second(record)

    return key
