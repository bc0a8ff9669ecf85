"""Storages of checkpoints, which have no effect: the checkpoint settings name the directory. PyFlink: CheckpointStorage."""

from __future__ import annotations

from typing import Final

from flowsim.datastream.without_effect import warn_without_effect
from flowsim.errors import BadInput

_WHY: Final = "no method of PyFlink 2.3.0 takes it; set execution.checkpointing.dir for checkpoints in files"
_SMALLEST_FILE_BYTES: Final = 20 * 1024
_WRITE_BUFFER_BYTES: Final = 4096


class CheckpointStorage:
    """Where checkpoints are kept. PyFlink: CheckpointStorage."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Accepted with a warning. PyFlink: JobManagerCheckpointStorage."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        warn_without_effect("JobManagerCheckpointStorage", _WHY)
        self._path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        return self._path

    def get_max_state_size(self) -> int:
        """Returns the largest state in bytes."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Returns None: no constructor takes one."""
        return None

    def __str__(self) -> str:
        return "JobManagerCheckpointStorage"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Accepted with a warning. PyFlink: FileSystemCheckpointStorage."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must not be None")
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise BadInput(
                f"FileSystemCheckpointStorage: file_state_size_threshold: expected -1 to {self.MAX_FILE_STATE_THRESHOLD}, "
                f"got {threshold}"
            )
        warn_without_effect("FileSystemCheckpointStorage", _WHY)
        self._path = checkpoint_path
        self._threshold = _SMALLEST_FILE_BYTES if threshold < 0 else threshold
        self._write_buffer_size = _WRITE_BUFFER_BYTES if write_buffer_size < 0 else write_buffer_size

    def get_checkpoint_path(self) -> str:
        return self._path

    def get_savepoint_path(self) -> str | None:
        """Returns None: no constructor takes one."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Returns the size in bytes below which state is stored with the metadata."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Returns the size of a buffer in bytes."""
        return self._write_buffer_size

    def __str__(self) -> str:
        return "FileSystemCheckpointStorage"
