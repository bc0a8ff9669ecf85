"""A stream that every subtask reads completely, connected to another stream.

PyFlink: BroadcastStream, BroadcastConnectedStream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from flowsim.datastream.building.operator_factories import MakeOperator, timer_params
from flowsim.datastream.building.transformation import Upstream
from flowsim.datastream.functions.broadcast_functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from flowsim.datastream.functions.function import isolated
from flowsim.datastream.streams.stream import S, Stream
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.operators.functions.co_broadcast import CoBroadcastWithKeyedOperator, CoBroadcastWithNonKeyedOperator
from flowsim.state.descriptors import MapStateDescriptor
from flowsim.state.operator_state_store import check_broadcast_descriptor
from flowsim.values.types import TypeInformation


class BroadcastStream(Generic[S]):
    """Sends all records to every subtask, which keeps broadcast state. PyFlink: BroadcastStream.

    Created by ``stream.broadcast(descriptor, ...)``; ``other.connect(broadcast_stream).process(...)`` reads both.
    """

    def __init__(self, input_stream: Stream[S], broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        """Raises BadInput unless all descriptors are map descriptors with distinct names and without a time to live."""
        names = []
        for descriptor in broadcast_state_descriptors:
            check_broadcast_descriptor(descriptor, "broadcast")
            names.append(descriptor.name)
        if len(set(names)) < len(names):
            raise BadInput(f"broadcast: expected states with different names, got {', '.join(map(repr, names))}")
        self.input_stream = input_stream
        self.broadcast_state_descriptors: tuple[MapStateDescriptor, ...] = tuple(broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[S]):
    """A stream, keyed or not, connected to a broadcast stream. PyFlink: BroadcastConnectedStream."""

    def __init__(
        self,
        non_broadcast_stream: Stream[S],
        broadcast_stream: BroadcastStream[S],
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors: tuple[MapStateDescriptor, ...] = tuple(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Applies a broadcast function to both streams.

        The function is a KeyedBroadcastProcessFunction if the other stream is keyed, otherwise a
        BroadcastProcessFunction. Raises TypeError for any other function.

        Raises TypeError for any other function.
        """
        descriptors = self.broadcast_state_descriptors
        if self.non_broadcast_stream.key[0] is not None:
            if not isinstance(func, KeyedBroadcastProcessFunction):
                raise TypeError(
                    f"connect(...).process: a keyed stream needs a KeyedBroadcastProcessFunction, got {func!r}"
                )
            isolated(func, "process")
            return self._transform(
                "Co-Process-Broadcast-Keyed",
                "keyed_broadcast",
                output_type,
                lambda name: CoBroadcastWithKeyedOperator(isolated(func, name), descriptors),
                timer_params(func),
            )
        if not isinstance(func, BroadcastProcessFunction):
            raise TypeError(
                f"connect(...).process: a stream without keys needs a BroadcastProcessFunction, got {func!r}"
            )
        isolated(func, "process")
        return self._transform(
            "Co-Process-Broadcast",
            "broadcast",
            output_type,
            lambda name: CoBroadcastWithNonKeyedOperator(isolated(func, name), descriptors),
            {},
        )

    def _transform(
        self, name: str, kind: str, output_type: TypeInformation | None, make: MakeOperator, params: dict[str, object]
    ) -> S:
        first, second = self.non_broadcast_stream, self.broadcast_stream.input_stream
        states = [descriptor.name for descriptor in self.broadcast_state_descriptors]
        description = OperatorDescription(kind, {"states": states, **params})
        env = first.get_execution_environment()
        if second.get_execution_environment() is not env:
            raise BadInput(f"{name}: the streams belong to different environments")
        added = env.add_operator(name, description, make, (*first.as_input(0), *second.as_input(1)))
        added.key_selector, added.key_type = first.key
        added.key_selectors = (added.key_selector, None)
        return first.behind((Upstream(added),), output_type)
