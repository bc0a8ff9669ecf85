"""Any keyed state and timers are read from a checkpoint directory as they were written, key group by key group."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.job_checkpoint_storage import storage_for
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorSubtaskState
from flowsim.state.snapshots.stored_streams import KeyedStateStream, StoredCell, StoredTimer, TimerStream
from flowsim.streamrecord.checkpoint_options import SnapshotType
from tests.properties.test_values_round_trip import INT64, KEYS, TEXT, VALUES, exact
from tests.support.examples import examples

NAMESPACES = st.none() | st.tuples(INT64, INT64)
GROUPS = st.integers(0, 127)
CELLS = st.builds(StoredCell, TEXT, NAMESPACES, KEYS, VALUES)
TIMERS = st.builds(StoredTimer, TEXT, st.booleans(), INT64, KEYS, NAMESPACES)


@settings(max_examples=examples(20))
@given(
    st.dictionaries(GROUPS, st.lists(CELLS, min_size=1, max_size=4).map(tuple), max_size=3),
    st.dictionaries(GROUPS, st.lists(TIMERS, min_size=1, max_size=4).map(tuple), max_size=3),
)
def test_keyed_state_and_timers_are_read_as_written(
    cells: dict[int, tuple[StoredCell, ...]], timers: dict[int, tuple[StoredTimer, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = storage_for(Path(folder))
        written = [storage.write(1, "a", 0, each) for each in (KeyedStateStream(cells), TimerStream(timers))]
        keyed, raw = (KeyGroupsStateHandle(stream, KeyGroupRange(0, 127)) for stream in written)
        state = SnapshotState()
        state.put_subtask_states("a", 1, 128, {0: OperatorSubtaskState(managed_keyed=(keyed,), raw_keyed=(raw,))})
        metadata = CheckpointMetadata(1, 0, SnapshotType.CHECKPOINT, state)
        pointer = storage.initialize_location_for_checkpoint(1).write_metadata(metadata).external_pointer
        again = storage_for(None)
        found = again.resolve_checkpoint(pointer)[0].state.operator_states["a"].state(0)
        stored_cells, stored_timers = (again.read(each.stream) for each in (*found.managed_keyed, *found.raw_keyed))
        assert isinstance(stored_cells, KeyedStateStream)
        assert isinstance(stored_timers, TimerStream)
        for stored, before in ((stored_cells.cells, cells), (stored_timers.timers, timers)):
            assert list(stored) == sorted(before)
            for group, rows in before.items():
                assert [exact(tuple(row)) for row in stored[group]] == [exact(tuple(row)) for row in rows]  # type: ignore[index]
