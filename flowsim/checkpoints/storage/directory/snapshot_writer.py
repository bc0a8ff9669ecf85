"""Writes a snapshot to a checkpoint directory: to a temporary folder beside it, which is renamed when complete."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from errno import EEXIST
from pathlib import Path
from typing import Final

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.directory.manifest import (
    CHECKPOINT_FORMAT_VERSION,
    CONTENT,
    MANIFEST,
    CheckpointManifest,
    StoredChannelHandle,
    StoredKeyedHandle,
    StoredOperator,
    StoredOperatorHandle,
    StoredOperatorState,
    StoredSubtask,
    StreamRows,
    is_checkpoint,
)
from flowsim.checkpoints.storage.directory.table_writer import (
    TableWriter,
    batches,
    content_batches,
    coordinator_batch,
    table_of,
    write_synced,
)
from flowsim.checkpoints.storage.directory.tables import (
    COORDINATOR_STATE,
    STATE_TABLES,
    STORED_STATE,
    EncodedColumn,
    readable_state,
)
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.garbage_collection import without_garbage_collection
from flowsim.state.redistribution.channel_state_handles import InputChannelStateHandle, ResultSubpartitionStateHandle
from flowsim.state.redistribution.operator_id import IdentifiedOperator
from flowsim.state.redistribution.operator_state import (
    KeyGroupsStateHandle,
    OperatorSubtaskState,
    StateHandle,
    StoredContent,
)
from flowsim.state.redistribution.operator_state_handle import OperatorStateHandle
from flowsim.state.snapshots.stored_contents import content_of
from flowsim.state.snapshots.stored_streams import OperatorStateStream, StoredStream
from flowsim.values.encoding import fingerprint

_OURS: Final = re.compile(rf"{re.escape(MANIFEST)}|({'|'.join(STATE_TABLES)})(/part-\d{{5,}}\.parquet)?")


def write_snapshot(
    directory: Path,
    job: str,
    operators: Mapping[str, IdentifiedOperator],
    metadata: CheckpointMetadata,
    streams: Mapping[str, StoredStream],
) -> CheckpointManifest:
    """Writes a snapshot with the streams that its handles name; replaces an older checkpoint, or its rest, in ``directory``.

    The index of a stream in the manifest is its position in ``streams``. Raises OSError and ValueNotAllowed, and leaves
    nothing behind then.
    """
    aside = directory.with_name(f".{directory.name}.tmp")
    directory.parent.mkdir(parents=True, exist_ok=True)
    remove_snapshot(aside)
    aside.mkdir()
    try:
        # Searching for garbage among a million cells would take longer than writing them.
        with without_garbage_collection():
            manifest = _write_files(aside, job, operators, metadata, streams)
        _sync_folders([*(each for each in sorted(aside.iterdir()) if each.is_dir()), aside])
        _replace(aside, directory)
    except BaseException:
        remove_snapshot(aside)
        raise
    _sync_folders([directory.parent])
    return manifest


def remove_snapshot(directory: Path) -> None:
    """Deletes the files of a checkpoint, and the folder if nothing else is in it.

    What cannot be deleted stays; a link is not followed.
    """
    if directory.is_symlink() or not directory.is_dir():
        return
    with contextlib.suppress(OSError):
        # Without the manifest first: what an interrupted deletion leaves is no checkpoint.
        (directory / MANIFEST).unlink(missing_ok=True)
        for table in STATE_TABLES:
            folder = directory / table
            if folder.is_symlink() or not folder.is_dir():
                continue
            for path in sorted(folder.iterdir()):
                if _OURS.fullmatch(f"{table}/{path.name}") and not path.is_symlink():
                    path.unlink()
            folder.rmdir()
        directory.rmdir()


def _replace(aside: Path, directory: Path) -> None:
    if directory.is_symlink() or directory.exists():
        if directory.is_symlink() or not (is_checkpoint(directory) or _is_rest_of_deletion(directory)):
            raise OSError(EEXIST, f"{directory} exists and is not a checkpoint")
        remove_snapshot(directory)
    os.rename(aside, directory)


def _is_rest_of_deletion(directory: Path) -> bool:
    """Returns True for what a killed process leaves of a checkpoint that it was deleting: files of tables, no manifest."""
    inside = {path: path.relative_to(directory).as_posix() for path in directory.rglob("*")}
    return directory.is_dir() and all(
        name != MANIFEST and _OURS.fullmatch(name) and not path.is_symlink() for path, name in inside.items()
    )


def _sync_folders(folders: Iterable[Path]) -> None:
    if os.name == "nt":
        return
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_files(
    folder: Path,
    job: str,
    operators: Mapping[str, IdentifiedOperator],
    metadata: CheckpointMetadata,
    streams: Mapping[str, StoredStream],
) -> CheckpointManifest:
    writers = {name: TableWriter(folder, table) for name, table in STATE_TABLES.items()}
    stream_rows = _write_streams(writers, metadata.state, streams)
    of_coordinators = metadata.state.coordinator_states
    coordinators = [each for each in _operator_ids(metadata.state, operators) if each in of_coordinators]
    if coordinators:
        states = _coordinator_column([of_coordinators[each] for each in coordinators])
        writers[COORDINATOR_STATE.name].append(coordinator_batch(coordinators, states))
    _write_contents(writers[STORED_STATE.name], metadata.state, streams)
    for writer in writers.values():
        writer.close()
    manifest = CheckpointManifest(
        format_version=CHECKPOINT_FORMAT_VERSION,
        content=CONTENT,
        job=job,
        checkpoint_id=metadata.checkpoint_id,
        kind=metadata.snapshot_type.value,
        timestamp_ms=metadata.timestamp_ms,
        operators=_stored_operators(metadata.state, operators, list(streams)),
        streams=stream_rows,
        tables={name: writer.parts for name, writer in writers.items()},  # type: ignore[misc]
    )
    write_synced(folder / MANIFEST, manifest.to_bytes())
    return manifest


def _write_streams(
    writers: Mapping[str, TableWriter], state: SnapshotState, streams: Mapping[str, StoredStream]
) -> list[StreamRows]:
    owners = {
        handle.stream: (operator_id, subtask, handle)
        for operator_id, operator in sorted(state.operator_states.items())
        for subtask, of_subtask in sorted(operator.subtask_states.items())
        for handle in of_subtask.handles
    }
    found = []
    for stream_id, stream in streams.items():
        operator_id, subtask, handle = owners[stream_id]
        writer = writers[table_of(stream).name]
        first_row, size = writer.rows, 0
        for batch in batches(operator_id, subtask, stream, _element_states(stream, handle)):
            writer.append(batch)
            size += batch[1]
        found.append(
            StreamRows(
                table=table_of(stream).name,  # type: ignore[arg-type]
                operator_id=operator_id,
                subtask=subtask,
                first_row=first_row,
                rows=writer.rows - first_row,
                bytes=size,
                descriptions=dict(getattr(stream, "descriptions", {})),
            )
        )
    return found


def _write_contents(writer: TableWriter, state: SnapshotState, streams: Mapping[str, StoredStream]) -> None:
    """Writes what each subtask stored: as it recorded it, or without a recording as its streams are."""
    for operator_id, operator in sorted(state.operator_states.items()):
        for subtask, of_subtask in sorted(operator.subtask_states.items()):
            contents = of_subtask.contents or [
                StoredContent(part.kind, fingerprint(None, part.state), part.key_group, *content)
                for part, content in content_of(of_subtask, streams.__getitem__).items()
            ]
            for batch in content_batches(operator_id, subtask, contents):
                writer.append(batch)


def _element_states(stream: StoredStream, handle: StateHandle) -> list[str]:
    """Returns the name of the state of each element."""
    if not isinstance(stream, OperatorStateStream) or not isinstance(handle, OperatorStateHandle):
        return []
    names = [""] * len(stream.elements)
    for name, info in handle.states.items():
        for offset in info.offsets:
            names[offset] = name
    return names


def _operator_ids(state: SnapshotState, operators: Mapping[str, IdentifiedOperator]) -> list[str]:
    """Returns the operators in the order of ``operators``, then the others in ascending order."""
    found = {
        *state.operator_states,
        *state.coordinator_states,
        *state.fully_finished_operators,
        *state.finished_subtasks,
    }
    return [*(each for each in operators if each in found), *sorted(found - operators.keys())]


def _stored_operators(
    state: SnapshotState, operators: Mapping[str, IdentifiedOperator], stream_ids: list[str]
) -> list[StoredOperator]:
    """Returns the operators of a snapshot."""
    index = {stream_id: number for number, stream_id in enumerate(stream_ids)}
    found = []
    for operator_id in _operator_ids(state, operators):
        of_operator = state.operator_states.get(operator_id)
        known = operators.get(operator_id)
        found.append(
            StoredOperator(
                operator_id=operator_id,
                name=operator_id if known is None else known.name,
                uid=None if known is None else known.uid,
                chained_outputs=[] if known is None else list(known.chained_outputs),
                inputs=[] if known is None else list(known.inputs),
                parallelism=of_operator.parallelism if of_operator is not None else None,
                max_parallelism=of_operator.max_parallelism if of_operator is not None else None,
                is_finished=operator_id in state.fully_finished_operators,
                has_coordinator_state=operator_id in state.coordinator_states,
                finished_subtasks=sorted(state.finished_subtasks.get(operator_id, ())),
                subtasks=[]
                if of_operator is None
                else [
                    _stored_subtask(subtask, each, index)
                    for subtask, each in sorted(of_operator.subtask_states.items())
                ],
            )
        )
    return found


def _stored_subtask(subtask: int, state: OperatorSubtaskState, index: Mapping[str, int]) -> StoredSubtask:
    return StoredSubtask(
        subtask=subtask,
        managed_operator=[_operator_handle(handle, index) for handle in state.managed_operator],
        raw_operator=[_operator_handle(handle, index) for handle in state.raw_operator],
        managed_keyed=[_keyed_handle(handle, index) for handle in state.managed_keyed],
        raw_keyed=[_keyed_handle(handle, index) for handle in state.raw_keyed],
        input_channels=[_channel_handle(handle, index) for handle in state.input_channels],
        result_subpartitions=[_channel_handle(handle, index) for handle in state.result_subpartitions],
    )


def _operator_handle(handle: OperatorStateHandle, index: Mapping[str, int]) -> StoredOperatorHandle:
    return StoredOperatorHandle(
        stream=index[handle.stream],
        states={
            name: StoredOperatorState(mode=info.mode.value, elements=_ranges(info.offsets))
            for name, info in handle.states.items()
        },
    )


def _keyed_handle(handle: KeyGroupsStateHandle, index: Mapping[str, int]) -> StoredKeyedHandle:
    return StoredKeyedHandle(stream=index[handle.stream], key_groups=(handle.key_groups.start, handle.key_groups.end))


def _channel_handle(
    handle: InputChannelStateHandle | ResultSubpartitionStateHandle, index: Mapping[str, int]
) -> StoredChannelHandle:
    return StoredChannelHandle(
        stream=index[handle.stream],
        subtask=handle.subtask,
        gate_or_partition=handle.info[0],
        channel=handle.info[1],
        buffers=_ranges(handle.offsets),
        bytes=handle.size_bytes,
    )


def _ranges(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Returns ranges of consecutive offsets: the first one and their number."""
    found: list[tuple[int, int]] = []
    for offset in offsets:
        if found and sum(found[-1]) == offset:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((offset, 1))
    return found


def _coordinator_column(states: list[bytes]) -> EncodedColumn:
    """Returns the states as they are; their JSON is that of the value, if they are encoded values."""
    return EncodedColumn(states, EncodedColumn.of([readable_state(state) for state in states]).texts)
