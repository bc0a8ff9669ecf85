"""Writes the part files of the buckets of one subtask, and finishes them. Flink: FileWriter, FileCommitter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from flowsim.connectors.file_system.policies import BucketAssigner, OutputFileConfig, PartState, RollingPolicy
from flowsim.connectors.schemas import Encoder
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.sink import InitContext


class PartFiles:
    """The folder of a sink. A path below it is that of a finished file; a file that grows is hidden beside it.

    A run removes the files that the same sink wrote in an earlier run, and replaces no others.
    """

    def __init__(self, folder: Path, assigner: BucketAssigner, policy: RollingPolicy, config: OutputFileConfig) -> None:
        self.folder = folder
        self.assigner = assigner
        self.policy = policy
        self._prefix, self._suffix = config.get_part_prefix(), config.get_part_suffix()
        self._written: set[str] = set()

    def begin_run(self) -> None:
        """Removes the files of an earlier run."""
        for path in self._written:
            self.growing(path).unlink(missing_ok=True)
            (self.folder / path).unlink(missing_ok=True)
        self._written.clear()

    def name(self, bucket_id: str, numbers: Sequence[int]) -> str:
        """Returns the path of a part file, below the folder."""
        return str(Path(bucket_id) / f"{self._prefix}-{'-'.join(map(str, numbers))}{self._suffix}")

    def is_free(self, path: str) -> bool:
        """True if no file of another sink or program has this path."""
        return path in self._written or not ((self.folder / path).exists() or self.growing(path).exists())

    def growing(self, path: str) -> Path:
        """Returns where a file is until it is finished."""
        final = self.folder / path
        return final.with_name(f".{final.name}.inprogress")

    def open(self, path: str, size_bytes: int | None = None) -> BinaryIO:
        """Opens a new file, or one that grew at a checkpoint, cut to its size then. Raises BadInput if it is not there."""
        place = self.growing(path)
        self._written.add(path)
        if size_bytes is None:
            place.parent.mkdir(parents=True, exist_ok=True)
            return place.open("wb")
        try:
            file = place.open("r+b")
        except FileNotFoundError:
            raise BadInput(f"FileSink: {place} is part of the restored checkpoint, but it is not there") from None
        file.truncate(size_bytes)
        file.seek(size_bytes)
        return file

    def finish(self, path: str) -> bool:
        """Gives a file its final name; returns False if it has it, or if there is none."""
        place = self.growing(path)
        if not place.exists():
            return False
        os.replace(place, self.folder / path)
        return True


class _Part:
    """A part file that grows."""

    def __init__(self, path: str, file: BinaryIO, state: PartState) -> None:
        self.path = path
        self.file = file
        self.state = state


class BucketWriter:
    """Writes the records of one subtask. Flink: FileWriter, FileWriterBucket.

    A part file has the number of the subtask, that of the restored checkpoint if there is one, and a counter: after a
    restore no name is used twice.
    """

    def __init__(
        self,
        files: PartFiles,
        encoder: Encoder,
        context: InitContext,
        check_interval_ms: int,
        restored: Sequence[object],
    ) -> None:
        if context.processing_time is None:
            raise InvariantViolation("the writer of a FileSink needs the clock of its task")
        self._files = files
        self._encode = encoder.encode
        self._clock = context.processing_time
        checkpoint_id = context.restored_checkpoint_id
        self._numbers = (context.subtask_index, *(() if checkpoint_id is None else (checkpoint_id,)))
        self._next = 0
        self._parts: dict[str, _Part] = {}
        """The part file of each bucket that has one."""
        self._pending: list[str] = []
        """The complete files that no committable has announced."""
        for state in restored:
            self._restore(state)
        self._clock.schedule_with_fixed_delay(
            check_interval_ms, self._check_buckets, daemon_while_not=self._will_be_complete_by_time
        )

    def write(self, value: object, timestamp: int | None) -> None:
        now_ms = self._clock.current_processing_time_ms()
        bucket_id = self._files.assigner.bucket_id(now_ms)
        part = self._parts.get(bucket_id)
        if part is None or self._files.policy.should_roll_on_event(part.state):
            self._complete(bucket_id)
            part = self._parts[bucket_id] = self._begin(bucket_id, now_ms)
        part.state.size_bytes += part.file.write(self._encode(value))
        part.state.updated_ms = now_ms

    def flush(self, end_of_input: bool) -> None:
        """Completes all files at the end of the input, otherwise those that the policy completes at a checkpoint."""
        policy = self._files.policy
        for bucket_id, part in list(self._parts.items()):
            if end_of_input or policy.should_roll_on_checkpoint(part.state):
                self._complete(bucket_id)

    def prepare_commit(self) -> Sequence[str]:
        """Returns the complete files."""
        pending, self._pending = self._pending, []
        return pending

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        """Returns the files that grow, with their size."""
        for part in self._parts.values():
            part.file.flush()
        return [
            (bucket_id, part.path, part.state.size_bytes, part.state.created_ms)
            for bucket_id, part in self._parts.items()
        ]

    def close(self) -> None:
        """Leaves the files that grow as they are: a restored attempt goes on with those of its checkpoint."""
        for part in self._parts.values():
            part.file.close()
        self._parts.clear()

    def _begin(self, bucket_id: str, now_ms: int) -> _Part:
        while True:
            path = self._files.name(bucket_id, (*self._numbers, self._next))
            self._next += 1
            if self._files.is_free(path):
                return _Part(path, self._files.open(path), PartState(0, now_ms, now_ms))

    def _restore(self, state: object) -> None:
        match state:
            case (str(bucket_id), str(path), int(size_bytes), int(created_ms)):
                # Two files of a bucket, from two writers before: only one can grow.
                self._complete(bucket_id)
                now_ms = self._clock.current_processing_time_ms()
                part = _Part(path, self._files.open(path, size_bytes), PartState(size_bytes, created_ms, now_ms))
                self._parts[bucket_id] = part
            case other:
                raise unexpected_state(other, "a part file of a FileSink")

    def _complete(self, bucket_id: str) -> None:
        part = self._parts.pop(bucket_id, None)
        if part is not None:
            part.file.close()
            self._pending.append(part.path)

    def _will_be_complete_by_time(self) -> bool:
        return bool(self._parts) and self._files.policy.depends_on_time

    def _check_buckets(self, timestamp: int) -> None:
        now_ms = self._clock.current_processing_time_ms()
        for bucket_id, part in list(self._parts.items()):
            if self._files.policy.should_roll_on_processing_time(part.state, now_ms):
                self._complete(bucket_id)


class DirectBucketWriter(BucketWriter):
    """Writes the records of one subtask in a job without checkpoints: all files are finished at its end."""

    def flush(self, end_of_input: bool) -> None:
        super().flush(end_of_input)
        if end_of_input:
            for path in self.prepare_commit():
                self._files.finish(path)


class BucketCommitter:
    """Finishes complete files. Flink: FileCommitter."""

    def __init__(self, files: PartFiles) -> None:
        self._files = files

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        """Finishes each file, unless an earlier attempt did, or it belongs to the run that took the savepoint."""
        for request in requests:
            if not isinstance(request.committable, str):
                raise BadInput(
                    f"FileSink: expected a part file, got {request.committable!r:.100}: it belongs to another sink"
                )
            if not self._files.finish(request.committable):
                request.signal_already_committed()

    def close(self) -> None:
        """Does nothing: a committer holds no resources."""
