"""The streams that the snapshots of a job name: in memory until their snapshot completes, then perhaps in a directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.errors import InvariantViolation
from flowsim.state.snapshots.stored_streams import (
    ChannelStateStream,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
    StreamKind,
    TimerStream,
)


@dataclass(frozen=True, slots=True)
class _InDirectory:
    """A stream of a completed snapshot."""

    snapshot: StoredSnapshot
    index: int


class StreamStore:
    """Implements CheckpointStreams."""

    __slots__ = ("_ended", "_pending", "_streams")

    def __init__(self) -> None:
        self._streams: dict[str, StoredStream | _InDirectory] = {}
        self._pending: dict[int, list[str]] = {}
        """The streams of each snapshot that is not complete."""
        self._ended: set[int] = set()
        """The snapshots that are complete or aborted; a late task may still write for them."""

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        """Stores a stream; returns its identifier. A stream of a snapshot that has ended is not stored."""
        stem = f"{checkpoint_id}/{operator_id}/{subtask}/{_kind(stream).value}"
        stream_id, number = stem, 1
        while stream_id in self._streams:
            number += 1
            stream_id = f"{stem}-{number}"
        if self.keeps(checkpoint_id):
            self._streams[stream_id] = stream
            self._pending.setdefault(checkpoint_id, []).append(stream_id)
        return stream_id

    def keeps(self, checkpoint_id: int) -> bool:
        """True until the snapshot is complete or aborted."""
        return checkpoint_id not in self._ended

    def read(self, stream_id: str) -> StoredStream:
        """Returns a stored stream. Raises BadInput if its file is missing or damaged."""
        found = self._streams.get(stream_id)
        if found is None:
            raise InvariantViolation(f"stream {stream_id} is in no snapshot that the job has")
        return found.snapshot.stream(found.index) if isinstance(found, _InDirectory) else found

    def complete(self, checkpoint_id: int, state: SnapshotState) -> dict[str, StoredStream]:
        """Returns the streams that a snapshot names, in the order of operators and subtasks; deletes its others."""
        named = state.stream_ids()
        self.forget(each for each in self._pending.pop(checkpoint_id, ()) if each not in named)
        self._ended.add(checkpoint_id)
        return {stream_id: self.read(stream_id) for stream_id in named}

    def abort(self, checkpoint_id: int) -> None:
        """Deletes the streams of a snapshot that does not complete."""
        self._ended.add(checkpoint_id)
        self.forget(self._pending.pop(checkpoint_id, ()))

    def keep_in_directory(self, snapshot: StoredSnapshot, stream_ids: Iterable[str]) -> None:
        """Replaces streams in memory by those of a directory, in the order of its manifest."""
        for index, stream_id in enumerate(stream_ids):
            self._streams[stream_id] = _InDirectory(snapshot, index)

    def forget(self, stream_ids: Iterable[str]) -> None:
        """Deletes streams from memory."""
        for stream_id in stream_ids:
            self._streams.pop(stream_id, None)


def _kind(stream: StoredStream) -> StreamKind:
    match stream:
        case KeyedStateStream():
            return StreamKind.KEYED_STATE
        case TimerStream():
            return StreamKind.TIMERS
        case OperatorStateStream():
            return StreamKind.OPERATOR_STATE
        case ChannelStateStream():
            return StreamKind.CHANNEL_STATE
        case _:
            assert_never(stream)
