"""Storing and restoring the state of an operator."""

from __future__ import annotations

import gc

from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.state.snapshots.stored_streams import KeyedStateStream, TimerStream
from tests.support.operators.restored_subtasks import Keyed, Subtasks


class WatchingReduce(GroupedReduceOperator):
    """Notes whether Python searches for garbage while state is copied and restored."""

    def __init__(self) -> None:
        super().__init__(lambda first, second: first)
        self.searches: list[bool] = []

    def snapshot_keyed_state(self) -> tuple[KeyedStateStream | None, TimerStream | None]:
        self.searches.append(gc.isenabled())
        return super().snapshot_keyed_state()

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.searches.append(gc.isenabled())
        super().initialize_state(context)


def test_python_does_not_search_for_garbage_while_state_is_copied_or_restored() -> None:
    streams = StreamStore()
    stored = Subtasks(Keyed(WatchingReduce, (lambda value: value,)), 1)
    stored.open(streams)
    restored = stored.restored(1, streams)
    found = [subtasks.harnesses[0].operator.searches for subtasks in (stored, restored)]  # type: ignore[attr-defined]
    assert found == [[False, False], [False]]
    assert gc.isenabled()
