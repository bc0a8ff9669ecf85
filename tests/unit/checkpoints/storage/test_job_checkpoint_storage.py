"""Storages of checkpoints, in memory and in a directory (rules 12.39, 12.62, 12.63)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowsim.checkpoints.storage.job_checkpoint_storage import MemoryCheckpointStorage, storage_for
from flowsim.checkpoints.storage.storage_locations import SnapshotOwner
from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import KeyedStateStream, OperatorStateStream, StoredCell
from tests.support.checkpoints.stored_job import ELEMENTS, NAMES, SOURCE, WINDOW, contents, streams, written


def storage(directory: Path | None) -> MemoryCheckpointStorage:
    return storage_for(directory, SnapshotOwner("flights", NAMES))


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


def test_folder_of_the_user_in_place_of_a_checkpoint_fails_the_checkpoint_and_stays(tmp_path: Path) -> None:
    (tmp_path / "chk-3").mkdir()
    (tmp_path / "chk-3/manifest.json").write_text("{}")
    one = storage(tmp_path)
    with pytest.raises(OSError, match="exists and is not a checkpoint"):
        one.initialize_location_for_checkpoint(3).write_metadata(written(one))
    assert files(tmp_path) == {"chk-3/manifest.json": b"{}"}


def test_value_outside_the_closed_set_fails_the_checkpoint_and_leaves_nothing(tmp_path: Path) -> None:
    one = storage(tmp_path)
    metadata = written(one)
    handle = metadata.state.operator_states[SOURCE].state(1).managed_operator[0]
    one._streams._streams[handle.stream] = OperatorStateStream((1, 2, {3}))
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
