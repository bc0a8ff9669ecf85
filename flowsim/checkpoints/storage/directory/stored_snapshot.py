"""Reads a checkpoint directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.directory.key_groups import cells_of, timers_of
from flowsim.checkpoints.storage.directory.manifest import (
    CheckpointManifest,
    StoredOperator,
    StoredOperatorHandle,
    StoredSubtask,
    read_manifest,
)
from flowsim.checkpoints.storage.directory.table_reader import StateRows, TableReader
from flowsim.checkpoints.storage.directory.tables import STATE_TABLES, STORED_STATE
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.facts.kinds import StoredKind
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import UPPER_BOUND_MAX_PARALLELISM
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorSubtaskState, StoredContent
from flowsim.state.redistribution.operator_state_handle import OperatorStateHandle, StateMetaInfo
from flowsim.state.snapshots.stored_streams import (
    ChannelStateStream,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
    TimerStream,
)

_VALUES: Mapping[str, tuple[str, ...]] = {
    "keyed_state": ("key_group", "state", "namespace", "key", "value"),
    "timers": ("key_group", "service", "is_event_time", "timestamp", "key", "namespace"),
    "operator_state": ("value",),
    "channel_state": ("buffer",),
}
_KINDS = {int(kind): kind for kind in StoredKind}
Contents = Mapping[tuple[str, int], tuple[StoredContent, ...]]
"""By operator id and subtask."""


class StoredSnapshot:
    """A snapshot in a directory. Its manifest is read at once, its streams on demand; each file is verified."""

    __slots__ = ("directory", "manifest", "_key_groups", "_readers")

    def __init__(
        self, directory: Path, limits: Limits = DEFAULT_LIMITS, manifest: CheckpointManifest | None = None
    ) -> None:
        """Raises BadInput if the directory is not a checkpoint, or its manifest is damaged or of another format."""
        self.directory = directory
        self.manifest = read_manifest(directory, limits) if manifest is None else manifest
        self._key_groups = {
            handle.stream: KeyGroupRange(*handle.key_groups)
            for operator in self.manifest.operators
            for subtask in operator.subtasks
            for handle in (*subtask.managed_keyed, *subtask.raw_keyed)
        }
        self._readers = {
            name: TableReader(directory, table, self.manifest.tables.get(name, ()), limits)  # type: ignore[call-overload]
            for name, table in STATE_TABLES.items()
        }

    def verify(self) -> None:
        """Compares all files with the manifest. Raises BadInput that names the file."""
        for reader in self._readers.values():
            reader.verify()

    def rows(self, stream: int) -> StateRows | None:
        """Returns the rows of a stream; None if it has none. Raises BadInput."""
        about = self.manifest.streams[stream]
        if not about.rows:
            return None
        return self._readers[about.table].read(about.first_row, about.rows, _VALUES[about.table])

    def stream(self, stream: int) -> StoredStream:
        """Returns a stream by its index in the manifest; it decodes a key group when it is used. Raises BadInput."""
        about, rows = self.manifest.streams[stream], self.rows(stream)
        key_groups = self._key_groups.get(stream)
        match about.table:
            case "keyed_state":
                cells = {} if rows is None or key_groups is None else cells_of(rows, key_groups)
                return KeyedStateStream(cells, about.descriptions)
            case "timers":
                return TimerStream({} if rows is None or key_groups is None else timers_of(rows, key_groups))
            case "channel_state":
                return ChannelStateStream(tuple(rows.encoded("buffer")) if rows is not None else ())
            case _:
                return OperatorStateStream(rows.values("value", 0, len(rows)) if rows is not None else ())

    def list_state(self, operator_id: str, name: str) -> list[object]:
        """Returns the elements of a list state of an operator, of all subtasks. Raises BadInput."""
        found: list[object] = []
        for operator in self.manifest.operators:
            for subtask in operator.subtasks if operator.operator_id == operator_id else ():
                for handle in subtask.managed_operator:
                    rows = self.rows(handle.stream) if name in handle.states else None
                    if rows is not None:
                        for first, count in handle.states[name].elements:
                            found += rows.values("value", first, first + count)
        return found

    def coordinator_states(self) -> dict[str, bytes]:
        """Returns the states of the operator coordinators by operator id. Raises BadInput."""
        operator_ids = [each.operator_id for each in self.manifest.operators if each.has_coordinator_state]
        if not operator_ids:
            return {}
        rows = self._readers["coordinator_state"].read(0, len(operator_ids), ("state",))
        return dict(zip(operator_ids, rows.encoded("state"), strict=True))

    def _contents(self) -> Contents:
        """Returns what each subtask stored. Raises BadInput."""
        count = self.manifest.rows(STORED_STATE.name)
        if not count:
            return {}
        rows = self._readers[STORED_STATE.name].read(0, count, STORED_STATE.column_names)
        names, indices = rows.names("operator_id")
        numbers = [rows.numbers(column.name).tolist() for column in STORED_STATE.columns[1:]]
        found: dict[tuple[str, int], list[StoredContent]] = {}
        for index, subtask, kind, state, key_group, entries, total in zip(indices, *numbers, strict=True):
            if kind not in _KINDS or entries < 0 or not -1 <= key_group < UPPER_BOUND_MAX_PARALLELISM:
                raise rows.damaged(f"it has a state of kind {kind} with {entries} entries in key group {key_group}")
            content = StoredContent(_KINDS[kind], state, key_group, entries, total)
            found.setdefault((names[index], subtask), []).append(content)
        return {place: tuple(contents) for place, contents in found.items()}

    def metadata(self, stream_id: Callable[[int], str]) -> CheckpointMetadata:
        """Returns the content without the streams; ``stream_id`` gives the identifier of a stream. Raises BadInput."""
        manifest, state = self.manifest, SnapshotState(coordinator_states=self.coordinator_states())
        contents = self._contents()
        for operator in manifest.operators:
            _add(state, operator, stream_id, contents)
        return CheckpointMetadata(manifest.checkpoint_id, manifest.timestamp_ms, manifest.snapshot_type, state)


def _add(state: SnapshotState, operator: StoredOperator, stream_id: Callable[[int], str], contents: Contents) -> None:
    if operator.is_finished:
        state.fully_finished_operators.add(operator.operator_id)
    if operator.finished_subtasks:
        state.finished_subtasks[operator.operator_id] = set(operator.finished_subtasks)
    if operator.parallelism is not None and operator.max_parallelism is not None:
        subtasks = {
            each.subtask: _subtask_state(each, stream_id, contents.get((operator.operator_id, each.subtask), ()))
            for each in operator.subtasks
        }
        state.put_subtask_states(operator.operator_id, operator.parallelism, operator.max_parallelism, subtasks)


def _subtask_state(
    subtask: StoredSubtask, stream_id: Callable[[int], str], contents: tuple[StoredContent, ...]
) -> OperatorSubtaskState:
    return OperatorSubtaskState(
        managed_operator=tuple(_operator_handle(handle, stream_id) for handle in subtask.managed_operator),
        raw_operator=tuple(_operator_handle(handle, stream_id) for handle in subtask.raw_operator),
        managed_keyed=tuple(
            KeyGroupsStateHandle(stream_id(handle.stream), KeyGroupRange(*handle.key_groups))
            for handle in subtask.managed_keyed
        ),
        raw_keyed=tuple(
            KeyGroupsStateHandle(stream_id(handle.stream), KeyGroupRange(*handle.key_groups))
            for handle in subtask.raw_keyed
        ),
        input_channels=tuple(
            InputChannelStateHandle(
                stream_id(handle.stream),
                handle.subtask,
                InputChannelInfo(handle.gate_or_partition, handle.channel),
                _offsets(handle.buffers),
                handle.bytes,
            )
            for handle in subtask.input_channels
        ),
        result_subpartitions=tuple(
            ResultSubpartitionStateHandle(
                stream_id(handle.stream),
                handle.subtask,
                ResultSubpartitionInfo(handle.gate_or_partition, handle.channel),
                _offsets(handle.buffers),
                handle.bytes,
            )
            for handle in subtask.result_subpartitions
        ),
        contents=contents,
    )


def _operator_handle(handle: StoredOperatorHandle, stream_id: Callable[[int], str]) -> OperatorStateHandle:
    return OperatorStateHandle(
        stream_id(handle.stream),
        {
            name: StateMetaInfo(_offsets(state.elements), state.distribution_mode)
            for name, state in handle.states.items()
        },
    )


def _offsets(ranges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(offset for first, count in ranges for offset in range(first, first + count))
