"""A snapshot with all kinds of state, as the tasks and coordinators of a job would acknowledge it."""

from __future__ import annotations

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.job_checkpoint_storage import MemoryCheckpointStorage
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_id import IdentifiedOperator
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.snapshots.stored_streams import (
    KeyedStateStream,
    OperatorStateStream,
    StoredCell,
    StoredStream,
    StoredTimer,
    TimerStream,
)
from flowsim.streamrecord.checkpoint_options import SnapshotType
from flowsim.values.encoding import encode_value
from flowsim.values.row import Row

WINDOW = "b1" * 16
SOURCE = "a0" * 16
SINK = "c2" * 16
OPERATORS = {
    each.operator_id: each
    for each in (
        IdentifiedOperator(SOURCE, "Source: flights", 2, "flights"),
        IdentifiedOperator(WINDOW, "Window", 2, None, ("Sink",), (SOURCE,)),
        IdentifiedOperator(SINK, "Sink", 2, None, (), (WINDOW,)),
    )
}

CELLS = {
    0: (
        StoredCell("count", (0, 1000), "AMS", 3),
        StoredCell("count", (0, 1000), ("AMS", 1.0, True), [1, None, float("inf")]),
    ),
    5: (StoredCell("routes", None, b"\x00\xff", ((Row(1, "x"), {"a": 1.5}), ("\u00e9", None))),),
}
TIMERS = {
    0: (StoredTimer("window-timers", True, 999, "AMS", (0, 1000)),),
    63: (StoredTimer("user-timers", False, -(2**63), None, None), StoredTimer("user-timers", True, 7, 1, (5, 6))),
}
ELEMENTS = (("split-0", 17), ("split-1", 0), (("rule", 1), ("rule2", 2)))


def streams() -> dict[str, StoredStream]:
    """The streams by their names in the handles of ``state``."""
    return {
        "cells": KeyedStateStream(CELLS, {"count": "value", "routes": "map"}),
        "timers": TimerStream(TIMERS),
        "elements": OperatorStateStream(ELEMENTS),
        "empty": OperatorStateStream(()),
    }


def state(ids: dict[str, str]) -> SnapshotState:
    """The state of a window with two subtasks, a source with coordinator, and a finished sink."""
    snapshot = SnapshotState(coordinator_states={SOURCE: encode_value((("split-2",), 3))})
    window = OperatorSubtaskState(
        managed_keyed=(KeyGroupsStateHandle(ids["cells"], KeyGroupRange(0, 63)),),
        raw_keyed=(KeyGroupsStateHandle(ids["timers"], KeyGroupRange(0, 63)),),
    )
    splits = OperatorStateHandle(
        ids["elements"],
        {
            "splits": StateMetaInfo((1, 0), DistributionMode.SPLIT_DISTRIBUTE),
            "rules": StateMetaInfo((2,), DistributionMode.BROADCAST),
        },
    )
    nothing = OperatorStateHandle(ids["empty"], {"splits": StateMetaInfo((), DistributionMode.UNION)})
    snapshot.put_subtask_states(WINDOW, 2, 128, {0: window})
    snapshot.put_subtask_states(
        SOURCE,
        2,
        128,
        {1: OperatorSubtaskState(managed_operator=(splits,)), 0: OperatorSubtaskState(managed_operator=(nothing,))},
    )
    snapshot.finished_subtasks[WINDOW] = {1}
    snapshot.fully_finished_operators.add(SINK)
    return snapshot


def written(storage: MemoryCheckpointStorage, checkpoint_id: int = 3) -> CheckpointMetadata:
    """Writes the streams as tasks do; returns what the coordinator would store."""
    ids = {
        name: storage.write(
            checkpoint_id, WINDOW if name in ("cells", "timers") else SOURCE, int(name == "elements"), stream
        )
        for name, stream in streams().items()
    }
    return CheckpointMetadata(checkpoint_id, 1_500, SnapshotType.CHECKPOINT, state(ids))


def contents(stored: StoredStream) -> object:
    """The content of a stream as it compares."""
    match stored:
        case KeyedStateStream():
            return dict(stored.cells), dict(stored.descriptions)
        case TimerStream():
            return dict(stored.timers)
        case OperatorStateStream():
            return stored.elements
