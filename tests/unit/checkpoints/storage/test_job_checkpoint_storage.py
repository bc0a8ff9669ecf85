"""Storages of checkpoints, in memory and in a directory (rules 12.39, 12.62, 12.63)."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.directory.contents import stored_states
from flowsim.checkpoints.storage.directory.manifest import MANIFEST, CheckpointManifest
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.job_checkpoint_storage import MemoryCheckpointStorage, storage_for
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.checkpoints.storage.storage_locations import SnapshotOwner
from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import ChannelStateStream, KeyedStateStream, OperatorStateStream, StoredCell
from flowsim.streamrecord.checkpoint_options import SnapshotType
from tests.support.checkpoints.stored_job import ELEMENTS, OPERATORS, SOURCE, WINDOW, contents, streams, written


def storage(directory: Path | None) -> MemoryCheckpointStorage:
    return storage_for(directory, SnapshotOwner("flights", OPERATORS))


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("on_disk", [False, True])
def test_completed_checkpoint_is_read_with_equal_state_and_streams(on_disk: bool, tmp_path: Path) -> None:
    first = storage(tmp_path if on_disk else None)
    location = first.initialize_location_for_checkpoint(3)
    metadata = written(first)
    completed = location.write_metadata(metadata)
    again = storage(None) if on_disk else first
    found, place = again.resolve_checkpoint(completed.external_pointer)
    assert place.external_pointer == completed.external_pointer
    assert (found.checkpoint_id, found.timestamp_ms, found.snapshot_type) == (3, 1_500, metadata.snapshot_type)
    assert found.state.coordinator_states == metadata.state.coordinator_states
    assert found.state.fully_finished_operators == metadata.state.fully_finished_operators
    assert found.state.finished_subtasks == metadata.state.finished_subtasks
    assert found.state.operator_states.keys() == metadata.state.operator_states.keys()
    of_window, of_source = (found.state.operator_states[each] for each in (WINDOW, SOURCE))
    assert (of_window.parallelism, of_window.max_parallelism, sorted(of_window.subtask_states)) == (2, 128, [0])
    keyed, timers = of_window.state(0).managed_keyed[0], of_window.state(0).raw_keyed[0]
    assert (keyed.key_groups.start, keyed.key_groups.end) == (0, 63)
    splits, nothing = of_source.state(1).managed_operator[0], of_source.state(0).managed_operator[0]
    assert splits.states == metadata.state.operator_states[SOURCE].state(1).managed_operator[0].states
    assert nothing.states == metadata.state.operator_states[SOURCE].state(0).managed_operator[0].states
    read = [again.read(each.stream) for each in (keyed, timers, splits, nothing)]
    assert list(map(contents, read)) == list(map(contents, streams().values()))
    assert repr(list(map(contents, read))) == repr(list(map(contents, streams().values()))), "exact types"


def in_flight(stored: MemoryCheckpointStorage) -> CheckpointMetadata:
    """Writes a checkpoint with stored buffers."""
    buffers = ChannelStateStream((b"first", b"second", b"third", b"fourth"))
    stream = stored.write(3, WINDOW, 1, buffers)
    inputs = tuple(
        InputChannelStateHandle(stream, 1, InputChannelInfo(2, channel), offsets, size)
        for channel, offsets, size in ((0, (0, 1), 11), (4, (2,), 5))
    )
    output = ResultSubpartitionStateHandle(stream, 1, ResultSubpartitionInfo(0, 3), (3,), 6)
    snapshot = SnapshotState()
    snapshot.put_subtask_states(WINDOW, 2, 128, {1: OperatorSubtaskState((), (), (), (), inputs, (output,))})
    return CheckpointMetadata(3, 1_500, SnapshotType.CHECKPOINT, snapshot)


def test_stored_buffers_are_read_with_their_channels(tmp_path: Path) -> None:
    metadata = in_flight(first := storage(tmp_path))
    first.initialize_location_for_checkpoint(3).write_metadata(metadata)
    again = storage(None)
    found, _ = again.resolve_checkpoint(str(tmp_path / "chk-3"))
    state, written_state = (each.state.operator_states[WINDOW].state(1) for each in (found, metadata))
    assert [(*each.info, each.subtask, each.offsets, each.size_bytes) for each in state.input_channels] == [
        (2, 0, 1, (0, 1), 11),
        (2, 4, 1, (2,), 5),
    ]
    assert state.result_subpartitions[0].info == written_state.result_subpartitions[0].info
    assert again.read(state.input_channels[0].stream) == ChannelStateStream((b"first", b"second", b"third", b"fourth"))
    described = [
        (each.state, each.kind, each.entries, each.bytes) for each in stored_states(StoredSnapshot(tmp_path / "chk-3"))
    ]
    assert described == [
        ("gate 2, channel 0", "in-flight input", 2, 11),
        ("gate 2, channel 4", "in-flight input", 1, 5),
        ("partition 0, subpartition 3", "in-flight output", 1, 6),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buffers": [[1, 9]]}, "has fewer buffers"),
        ({"buffers": [[0, 1]] * 9}, "has fewer buffers"),
        ({"buffers": [[0, 4]]}, "has fewer buffers than its channels"),
        ({"stream": 7}, "has no buffers"),
        ({"subtask": 0}, "the buffers are of subtask 0"),
        ({"channel": 4}, "the buffers of a channel are named twice"),
    ],
)
def test_handle_of_buffers_that_does_not_fit_the_checkpoint_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    metadata = in_flight(first := storage(tmp_path))
    first.initialize_location_for_checkpoint(3).write_metadata(metadata)
    path = tmp_path / "chk-3" / MANIFEST
    content = json.loads(path.read_bytes())
    content["operators"][0]["subtasks"][0]["input_channels"][0].update(change)
    path.write_bytes(msgspec.convert(content, CheckpointManifest).to_bytes())
    with pytest.raises(BadInput, match=message):
        storage(tmp_path).resolve_checkpoint(str(tmp_path / "chk-3"))


def test_streams_of_a_checkpoint_on_disk_are_read_from_its_files(tmp_path: Path) -> None:
    first = storage(tmp_path)
    metadata = written(first)
    handle = metadata.state.operator_states[SOURCE].state(1).managed_operator[0]
    assert first.read(handle.stream) is first.read(handle.stream)
    first.initialize_location_for_checkpoint(3).write_metadata(metadata)
    assert first.read(handle.stream) == OperatorStateStream(ELEMENTS)
    (tmp_path / "chk-3/operator_state/part-00000.parquet").unlink()
    with pytest.raises(BadInput, match="missing, but the manifest has 3 rows"):
        storage(tmp_path).resolve_checkpoint(str(tmp_path / "chk-3"))


def test_same_snapshot_gives_the_same_bytes_in_any_order_of_acknowledgements(tmp_path: Path) -> None:
    for name in ("a", "b"):
        one = storage(tmp_path / name)
        metadata = written(one)
        if name == "b":
            backwards = dict(reversed(metadata.state.operator_states.items()))
            metadata.state.operator_states.clear()
            metadata.state.operator_states.update(backwards)
        one.initialize_location_for_checkpoint(3).write_metadata(metadata)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert sorted(files(tmp_path / "a")) == [
        "chk-3/coordinator_state/part-00000.parquet",
        "chk-3/keyed_state/part-00000.parquet",
        "chk-3/manifest.json",
        "chk-3/operator_state/part-00000.parquet",
        "chk-3/stored_state/part-00000.parquet",
        "chk-3/timers/part-00000.parquet",
    ]


def test_manifest_names_job_operators_and_streams(tmp_path: Path) -> None:
    one = storage(tmp_path)
    one.initialize_location_for_savepoint(3, str(tmp_path / "sp")).write_metadata(written(one))
    manifest = json.loads((tmp_path / "sp/savepoint-3/manifest.json").read_bytes())
    assert (manifest["job"], manifest["checkpoint_id"], manifest["kind"]) == ("flights", 3, "CHECKPOINT")
    assert [each["name"] for each in manifest["operators"]] == ["Source: flights", "Window", "Sink"]
    assert [(each["table"], each["rows"]) for each in manifest["streams"]] == [
        ("operator_state", 0), ("operator_state", 3), ("keyed_state", 3), ("timers", 3),
    ]  # fmt: skip


def test_savepoint_goes_to_its_target_or_beside_the_checkpoints(tmp_path: Path) -> None:
    def pointer(one: MemoryCheckpointStorage, target: str | None) -> str:
        return one.initialize_location_for_savepoint(3, target).write_metadata(written(one)).external_pointer

    assert pointer(storage(tmp_path), None) == str(tmp_path / "savepoint-3")
    assert pointer(storage(tmp_path), str(tmp_path / "x")) == str(tmp_path / "x/savepoint-3")
    assert pointer(storage(None), str(tmp_path / "y")) == str(tmp_path / "y/savepoint-3")
    assert pointer(storage(None), None) == "memory:savepoint-3"


@pytest.mark.parametrize("on_disk", [False, True])
def test_aborted_checkpoint_leaves_no_files_and_no_streams(on_disk: bool, tmp_path: Path) -> None:
    one = storage(tmp_path if on_disk else None)
    location = one.initialize_location_for_checkpoint(3)
    metadata = written(one)
    location.dispose_on_failure()
    late = one.write(3, WINDOW, 0, OperatorStateStream((1,)))
    assert list(tmp_path.iterdir()) == []
    for stream_id in (*metadata.state.stream_ids(), late):
        with pytest.raises(InvariantViolation):
            one.read(stream_id)


@pytest.mark.parametrize("on_disk", [False, True])
def test_disposed_snapshot_is_deleted(on_disk: bool, tmp_path: Path) -> None:
    one = storage(tmp_path if on_disk else None)
    metadata = written(one)
    completed = one.initialize_location_for_checkpoint(3).write_metadata(metadata)
    completed.dispose_storage_location()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadInput, match="does not exist" if on_disk else "no such snapshot"):
        one.resolve_checkpoint(completed.external_pointer)
    with pytest.raises(InvariantViolation):
        one.read(metadata.state.stream_ids()[0])


def test_restored_snapshot_is_deleted_when_it_is_disposed(tmp_path: Path) -> None:
    """Claim mode CLAIM (rule 12.62)."""
    one = storage(tmp_path)
    pointer = one.initialize_location_for_checkpoint(3).write_metadata(written(one)).external_pointer
    _, location = storage(None).resolve_checkpoint(pointer)
    (tmp_path / "chk-3/notes.txt").write_text("mine")
    location.dispose_storage_location()
    assert files(tmp_path) == {"chk-3/notes.txt": b"mine"}, "files of the user stay"


def test_state_of_a_task_that_acknowledges_too_late_is_deleted() -> None:
    one = storage(None)
    metadata = written(one)
    window = metadata.state.operator_states[WINDOW].state(0)
    one.discard_subtask_state(3, TaskStateSnapshot({WINDOW: window}))
    for handle in window.handles:
        with pytest.raises(InvariantViolation):
            one.read(handle.stream)


def test_streams_that_no_handle_names_are_deleted_at_completion() -> None:
    one = storage(None)
    unnamed = one.write(3, SOURCE, 0, OperatorStateStream((1,)))
    one.initialize_location_for_checkpoint(3).write_metadata(written(one))
    with pytest.raises(InvariantViolation):
        one.read(unnamed)


def test_checkpoint_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    for value in (1, 2):
        one = storage(tmp_path)
        one.write(3, WINDOW, 0, KeyedStateStream({0: (StoredCell("x", None, 1, value),)}))
        one.initialize_location_for_checkpoint(3).write_metadata(written(one))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chk-3"]


@pytest.mark.parametrize("foreign", [None, "notes.txt", "keyed_state/mine.parquet"])
def test_rest_of_an_interrupted_deletion_is_replaced_unless_it_has_other_files(
    tmp_path: Path, foreign: str | None
) -> None:
    """A process that is killed while it deletes a checkpoint has deleted the manifest first."""
    one = storage(tmp_path)
    one.initialize_location_for_checkpoint(3).write_metadata(written(one))
    (tmp_path / "chk-3" / MANIFEST).unlink()
    if foreign is not None:
        (tmp_path / "chk-3" / foreign).write_text("mine")
    before = files(tmp_path)
    again = storage(tmp_path)
    location = again.initialize_location_for_checkpoint(3)
    if foreign is None:
        location.write_metadata(written(again))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["chk-3"]
        StoredSnapshot(tmp_path / "chk-3").verify()
        return
    with pytest.raises(OSError, match="exists and is not a checkpoint"):
        location.write_metadata(written(again))
    assert files(tmp_path) == before


def test_folder_of_the_user_in_place_of_a_checkpoint_fails_the_checkpoint_and_stays(tmp_path: Path) -> None:
    (tmp_path / "chk-3").mkdir()
    (tmp_path / "chk-3/manifest.json").write_text("{}")
    one = storage(tmp_path)
    with pytest.raises(OSError, match="exists and is not a checkpoint"):
        one.initialize_location_for_checkpoint(3).write_metadata(written(one))
    assert files(tmp_path) == {"chk-3/manifest.json": b"{}"}


def test_value_that_cannot_be_stored_fails_the_checkpoint_and_leaves_nothing(tmp_path: Path) -> None:
    one = storage(tmp_path)
    metadata = written(one)
    handle = metadata.state.operator_states[SOURCE].state(1).managed_operator[0]
    one._streams._streams[handle.stream] = OperatorStateStream((1, 2, lambda: 3))
    with pytest.raises(OSError, match="cannot be stored: value: "):
        one.initialize_location_for_checkpoint(3).write_metadata(metadata)
    assert list(tmp_path.iterdir()) == []


def test_subtask_without_state_differs_from_one_that_did_not_report(tmp_path: Path) -> None:
    one = storage(tmp_path)
    metadata = written(one)
    metadata.state.put_subtask_states(WINDOW, 2, 128, {1: OperatorSubtaskState()})
    pointer = one.initialize_location_for_checkpoint(3).write_metadata(metadata).external_pointer
    found, _ = storage(None).resolve_checkpoint(pointer)
    assert sorted(found.state.operator_states[WINDOW].subtask_states) == [0, 1]
