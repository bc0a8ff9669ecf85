"""An operator with several subtasks, whose state can be stored and restored with another parallelism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.operators.stream_operator import KeySelector, StreamOperator
from flowsim.state.key_group_range_assignment import assign_to_key_group, compute_operator_index_for_key_group
from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.state_assignment_operation import assign_state
from flowsim.state.snapshots.stored_streams import KeyedStateStream, OperatorStateStream, StoredStream, TimerStream
from flowsim.tasks.checkpointing.job_master_gateway import TaskRestore
from flowsim.tasks.checkpointing.stream_operator_state_handler import StreamOperatorStateHandler
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import NS_PER_MS
from flowsim.values.encoding import decode_value, encode_value


class EncodedStreams(StreamStore):
    """Keeps streams as they come back from files: nothing is shared with the operator that wrote them."""

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        return super().write(checkpoint_id, operator_id, subtask, _decoded(stream))


def _decoded(stream: StoredStream) -> StoredStream:
    if isinstance(stream, OperatorStateStream):
        return OperatorStateStream(tuple(map(_copy, stream.elements)))
    if isinstance(stream, KeyedStateStream):
        cells = {group: tuple(type(each)(*_copy(tuple(each))) for each in of) for group, of in stream.cells.items()}
        return KeyedStateStream(cells, dict(stream.descriptions))
    timers = {group: tuple(type(each)(*_copy(tuple(each))) for each in of) for group, of in stream.timers.items()}
    return TimerStream(timers)


def _copy(value: object) -> object:
    return decode_value(encode_value(value))


@dataclass(frozen=True)
class Keyed:
    """How the inputs of an operator find the subtask of a record."""

    operator: Callable[[], StreamOperator]
    keys: tuple[KeySelector, ...]
    """The key selector of each input; empty: every record goes to subtask 0."""
    key_type: str | None = None
    max_parallelism: int = 8
    broadcast: int | None = None
    """The input whose records go to all subtasks, from 1."""


class Subtasks:
    """All subtasks of one operator, fed by key. The clock and the watermark are the same in all of them."""

    def __init__(self, kind: Keyed, parallelism: int, now_ms: int = 1) -> None:
        self.kind, self.parallelism, self.now_ms = kind, parallelism, now_ms
        self.harnesses = [
            OneInputOperatorHarness(
                kind.operator(),
                key_selector=kind.keys[0] if kind.keys else None,
                key_selectors=kind.keys if len(kind.keys) > 1 else (),
                key_type=kind.key_type,
                subtask_index=subtask,
                parallelism=parallelism,
                max_parallelism=kind.max_parallelism,
            )
            for subtask in range(parallelism)
        ]
        for each in self.harnesses:
            each.clock.now_ns = now_ms * NS_PER_MS
        self.handlers: list[StreamOperatorStateHandler] = []

    def open(self, streams: StreamStore, restored: Sequence[OperatorSubtaskState] | None = None) -> None:
        for subtask, each in enumerate(self.harnesses):
            restore = None if restored is None else TaskRestore(1, {each.context.operator_id: restored[subtask]})
            handler = StreamOperatorStateHandler(each.operator, "operator", streams, restore)
            handler.initialize_state()
            each.operator.open()
            self.handlers.append(handler)

    def restored(self, parallelism: int, streams: StreamStore) -> Subtasks:
        """Stores the state of all subtasks and returns new ones that continue from it."""
        states = {subtask: each.snapshot_state(1, 0).finalize() for subtask, each in enumerate(self.handlers)}
        state = OperatorState("", self.parallelism, self.kind.max_parallelism, states)
        restored = Subtasks(self.kind, parallelism, self.now_ms)
        restored.open(streams, assign_state(state, parallelism))
        return restored

    def element(self, input_id: int, value: object, timestamp: int | None) -> None:
        for subtask in self._targets(input_id, value):
            operator = self.harnesses[subtask].operator
            if len(self.kind.keys) > 1 or self.kind.broadcast is not None:
                operator.inputs[input_id - 1].process_element(value, timestamp)
            else:
                operator.process_element(value, timestamp)

    def watermark(self, timestamp: int) -> None:
        for each in self.harnesses:
            if len(self.kind.keys) > 1 or self.kind.broadcast is not None:
                for one in each.operator.inputs:
                    one.process_watermark(timestamp)
            else:
                each.process_watermark(timestamp)

    def advance_to(self, now_ms: int) -> None:
        self.now_ms = now_ms
        for each in self.harnesses:
            each.set_processing_time(now_ms)

    def take_output(self) -> list[str]:
        """Returns the records that all subtasks emitted, sorted."""
        emitted = (each for harness in self.harnesses for each in harness.take_output())
        return sorted(repr(each) for each in emitted if each[0] != "wm")

    def _targets(self, input_id: int, value: object) -> Sequence[int]:
        if input_id == self.kind.broadcast:
            return range(self.parallelism)
        if not self.kind.keys:
            return (0,)
        key = self.kind.keys[input_id - 1](value)
        group = assign_to_key_group(key, self.kind.max_parallelism, self.kind.key_type)
        return (compute_operator_index_for_key_group(self.kind.max_parallelism, self.parallelism, group),)
