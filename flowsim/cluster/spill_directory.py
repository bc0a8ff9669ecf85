"""Where blocking partitions of a run keep their data. Flink: FileChannelManager."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory


class SpillDirectory:
    """A temporary folder, made when first asked for and gone with ``close``. Flink: FileChannelManager."""

    __slots__ = ("_folder",)

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None

    @property
    def path(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="flowsim-")
        return Path(self._folder.name)

    def close(self) -> None:
        """Removes it and everything in it; harmless the second time."""
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()
