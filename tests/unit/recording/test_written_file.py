"""A file is complete or not there, also when the disk is full."""

from __future__ import annotations

import os
from errno import ENOSPC
from pathlib import Path

import pytest

from flowsim.recording.written_file import write_file


def test_no_temporary_file_remains_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.html"
    write_file(path, b"before")

    def full(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, b"after", durable=True)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("r.html", b"before")]
