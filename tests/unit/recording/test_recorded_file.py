"""Reads the files of a recording within their limits."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from flowsim.recording.recorded_file import RECORDING


def test_small_file_takes_little_memory_whatever_its_limit(tmp_path: Path) -> None:
    (tmp_path / "graph").write_bytes(b"small")
    tracemalloc.start()
    try:
        content = RECORDING.content(tmp_path / "graph", 64 << 20, "graph_bytes")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (content, peak_bytes < 1 << 20) == (b"small", True)
