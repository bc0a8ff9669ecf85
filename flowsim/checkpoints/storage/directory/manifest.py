"""The manifest of a checkpoint directory: the snapshot without the content of its streams.

``manifest.json`` contains no wall-clock times, absolute paths or host names: the same run gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from flowsim.errors import BadInput
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.recorded_file import StoredFiles, part_name
from flowsim.recording.stored_json import decoded, encoded
from flowsim.state.key_group_range_assignment import UPPER_BOUND_MAX_PARALLELISM
from flowsim.state.redistribution.operator_id import IdentifiedOperator
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.streamrecord.checkpoint_options import SnapshotType

MANIFEST: Final = "manifest.json"
CHECKPOINT_FORMAT_VERSION: Final = 3
"""Before version 3 state belonged to an operator by its position in the graph, or by its uid itself."""
CONTENT: Final = "flowsim checkpoint"
CHECKPOINT: Final = StoredFiles("checkpoint", "written", "the manifest", "use another checkpoint")
damaged: Final = CHECKPOINT.damaged

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Subtask = Annotated[int, msgspec.Meta(ge=0, lt=UPPER_BOUND_MAX_PARALLELISM)]
_Parallelism = Annotated[int, msgspec.Meta(ge=1, le=UPPER_BOUND_MAX_PARALLELISM)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
TableName = Literal["keyed_state", "timers", "operator_state", "channel_state", "coordinator_state", "stored_state"]


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class StoredPart(_Struct, frozen=True):
    """One file of a table, ``TABLE/part-00000.parquet``."""

    rows: Count
    bytes: Count
    sha256: _Digest


class StreamRows(_Struct, frozen=True):
    """A stream: consecutive rows of a table, counted over all its parts."""

    table: TableName
    operator_id: str
    subtask: _Subtask
    first_row: Count
    rows: Count
    bytes: Count
    """The size of the encoded values."""
    descriptions: dict[str, str] = {}
    """The kind of each keyed state."""


class StoredOperatorState(_Struct, frozen=True):
    """The elements of one operator state: ranges of rows of the stream, each with its first row and its length."""

    mode: Literal["SPLIT_DISTRIBUTE", "UNION", "BROADCAST"]
    elements: list[tuple[Count, Count]]

    @property
    def distribution_mode(self) -> DistributionMode:
        return DistributionMode(self.mode)


class StoredOperatorHandle(_Struct, frozen=True):
    """A handle of operator state. ``stream``: an index of ``CheckpointManifest.streams``."""

    stream: Count
    states: dict[str, StoredOperatorState]


class StoredKeyedHandle(_Struct, frozen=True):
    """A handle of keyed state or timers. ``key_groups``: the first and the last one."""

    stream: Count
    key_groups: tuple[_Subtask, _Subtask]


class StoredChannelHandle(_Struct, frozen=True):
    """The stored buffers of an input channel or a subpartition: ranges of rows of the stream."""

    stream: Count
    subtask: _Subtask
    """The subtask that stored them."""
    gate_or_partition: Count
    channel: Count
    """The index of the channel in its gate, or of the subpartition in its partition."""
    buffers: list[tuple[Count, Count]]
    bytes: Count


class StoredSubtask(_Struct, frozen=True):
    """The handles of one subtask."""

    subtask: _Subtask
    managed_operator: list[StoredOperatorHandle] = []
    raw_operator: list[StoredOperatorHandle] = []
    managed_keyed: list[StoredKeyedHandle] = []
    raw_keyed: list[StoredKeyedHandle] = []
    input_channels: list[StoredChannelHandle] = []
    result_subpartitions: list[StoredChannelHandle] = []


class StoredOperator(_Struct, frozen=True):
    """An operator of the snapshot."""

    operator_id: str
    name: str
    uid: str | None
    chained_outputs: list[str]
    """The names of the operators that are chained to it."""
    inputs: list[str]
    """The ids of the operators that it reads; with the chained outputs, what a generated id is made of."""
    parallelism: _Parallelism | None
    """None: none of its subtasks acknowledged the snapshot."""
    max_parallelism: _Parallelism | None
    is_finished: bool
    """True if all its subtasks had finished."""
    has_coordinator_state: bool
    finished_subtasks: list[_Subtask]
    subtasks: list[StoredSubtask]


class CheckpointManifest(_Struct, frozen=True):
    """The content of ``manifest.json``."""

    format_version: int
    content: str
    job: str
    checkpoint_id: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
    kind: Literal["CHECKPOINT", "FULL_CHECKPOINT", "SAVEPOINT", "SUSPEND", "TERMINATE"]
    timestamp_ms: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    """The virtual time of the trigger."""
    operators: list[StoredOperator]
    streams: list[StreamRows]
    tables: dict[TableName, list[StoredPart]]
    """The files of each table; a table without rows has none."""
    digest: str = ""
    """SHA-256 of this manifest without the digest, as JSON with sorted keys and without spaces."""

    @property
    def snapshot_type(self) -> SnapshotType:
        return SnapshotType(self.kind)

    @property
    def identified_operators(self) -> list[IdentifiedOperator]:
        """The operators with what their ids are made of."""
        return [
            IdentifiedOperator(
                each.operator_id,
                each.name,
                each.parallelism or 0,
                each.uid,
                tuple(each.chained_outputs),
                tuple(each.inputs),
            )
            for each in self.operators
        ]

    def rows(self, table: str) -> int:
        """Returns the number of rows of a table."""
        return sum(part.rows for part in self.tables.get(table, ()))  # type: ignore[call-overload]

    def computed_digest(self) -> str:
        """Returns the SHA-256 of the content."""
        content = msgspec.to_builtins(self)
        del content["digest"]
        return sha256(canonical_json(content))

    def to_bytes(self) -> bytes:
        """Returns the content of the file, with the digest."""
        complete = msgspec.structs.replace(self, digest=self.computed_digest())
        return encoded(complete)


class _Kind(msgspec.Struct):
    format_version: int = 0
    content: str = ""


def part_path(directory: Path, table: str, part: int) -> Path:
    """Returns the path of a part."""
    return directory / table / part_name(part)


def is_checkpoint(directory: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Returns True if the directory has the manifest of a checkpoint, of any format version."""
    try:
        content = CHECKPOINT.content(directory / MANIFEST, limits.description_bytes, "description_bytes")
        return decoded(content, _Kind).content == CONTENT
    except (FileNotFoundError, BadInput, ValueError):
        return False


def read_manifest(directory: Path, limits: Limits = DEFAULT_LIMITS) -> CheckpointManifest:
    """Reads and checks the manifest. Raises BadInput."""
    path = directory / MANIFEST
    try:
        content = CHECKPOINT.content(path, limits.description_bytes, "description_bytes")
    except FileNotFoundError:
        raise _no_checkpoint(directory) from None
    try:
        kind = decoded(content, _Kind)
        if kind.content != CONTENT:
            raise BadInput(f"{path}: not the manifest of a checkpoint: give a folder such as chk-1 or savepoint-1")
        if kind.format_version != CHECKPOINT_FORMAT_VERSION:
            raise BadInput(
                f"{path}: written in format {kind.format_version}, but this flowsim reads format "
                f"{CHECKPOINT_FORMAT_VERSION}: use the flowsim that wrote the checkpoint"
            )
        manifest = decoded(content, CheckpointManifest)
    except ValueError as error:
        raise damaged(path, str(error)) from None
    if manifest.digest != manifest.computed_digest():
        raise damaged(path, "was changed after it was written")
    _check(path, manifest)
    return manifest


def _no_checkpoint(directory: Path) -> BadInput:
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "does not exist"
        return BadInput(f"{directory}: {what}; give the folder of a checkpoint, such as chk-1 or savepoint-1")
    inside = sorted(each.parent.name for each in directory.glob(f"*/{MANIFEST}"))
    advice = f"give one of its folders: {', '.join(inside[:10])}" if inside else "give a folder such as chk-1"
    return BadInput(f"{directory}: not a checkpoint: it has no {MANIFEST}; {advice}")


def _check(path: Path, manifest: CheckpointManifest) -> None:
    """Raises BadInput if parts of the manifest do not fit together."""
    for stream in manifest.streams:
        if stream.first_row + stream.rows > manifest.rows(stream.table):
            raise damaged(path, f"a stream of {stream.table} has rows that the table does not have")
    operator_ids = [operator.operator_id for operator in manifest.operators]
    if len(operator_ids) != len(set(operator_ids)):
        raise damaged(path, "two operators have the same id")
    if manifest.rows("coordinator_state") != sum(each.has_coordinator_state for each in manifest.operators):
        raise damaged(path, "coordinator_state: expected one row per operator with has_coordinator_state")
    for operator in manifest.operators:
        for subtask in operator.subtasks:
            _check_handles(path, manifest, operator, subtask)
    _check_buffers(path, manifest)


def _check_handles(path: Path, manifest: CheckpointManifest, operator: StoredOperator, subtask: StoredSubtask) -> None:
    streams = manifest.streams
    for keyed in (*subtask.managed_keyed, *subtask.raw_keyed):
        if keyed.stream >= len(streams) or streams[keyed.stream].table not in ("keyed_state", "timers"):
            raise damaged(path, f"operator {operator.operator_id:.100}: stream {keyed.stream} has no key groups")
    for handle in (*subtask.managed_operator, *subtask.raw_operator):
        if handle.stream >= len(streams) or streams[handle.stream].table != "operator_state":
            raise damaged(path, f"operator {operator.operator_id:.100}: stream {handle.stream} has no operator state")
        rows = streams[handle.stream].rows
        ranges = [each for state in handle.states.values() for each in state.elements]
        if any(first + count > rows for first, count in ranges) or sum(count for _, count in ranges) > rows:
            raise damaged(path, f"operator {operator.operator_id:.100}: stream {handle.stream} has fewer elements")
    for channel in (*subtask.input_channels, *subtask.result_subpartitions):
        if channel.stream >= len(streams) or streams[channel.stream].table != "channel_state":
            raise damaged(path, f"operator {operator.operator_id:.100}: stream {channel.stream} has no buffers")
        rows = streams[channel.stream].rows
        if any(first + count > rows for first, count in channel.buffers) or sum(c for _, c in channel.buffers) > rows:
            raise damaged(path, f"operator {operator.operator_id:.100}: stream {channel.stream} has fewer buffers")
        if channel.subtask != subtask.subtask:
            raise damaged(path, f"operator {operator.operator_id:.100}: the buffers are of subtask {channel.subtask}")
    for channels in (subtask.input_channels, subtask.result_subpartitions):
        if len({(each.gate_or_partition, each.channel) for each in channels}) < len(channels):
            raise damaged(path, f"operator {operator.operator_id:.100}: the buffers of a channel are named twice")


def _check_buffers(path: Path, manifest: CheckpointManifest) -> None:
    """Raises BadInput if channels share stored buffers."""
    left = [stream.rows for stream in manifest.streams]
    for operator in manifest.operators:
        for subtask in operator.subtasks:
            for channel in (*subtask.input_channels, *subtask.result_subpartitions):
                left[channel.stream] -= sum(count for _, count in channel.buffers)
                if left[channel.stream] < 0:
                    what = f"stream {channel.stream} has fewer buffers than its channels"
                    raise damaged(path, f"operator {operator.operator_id:.100}: {what}")
