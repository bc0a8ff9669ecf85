"""Causes of late records in a report: each once, alike ones with the same words."""

from __future__ import annotations

from pathlib import Path

from flowsim.recording.reader import Recording
from flowsim.report.payload import build_payload
from tests.support.jobs.unordered_records import unordered_records
from tests.support.report_payload import decode


def test_late_records_share_causes_and_words(tmp_path: Path) -> None:
    recording = unordered_records(tmp_path)
    late = recording.row_count("late_drop")

    document, columns = decode(build_payload(recording, "out/run")).causes

    assert document["rows"] == late > 300
    # Statement, closed window, the task's watermark, that of the channel, and how the source made it.
    assert [wording["rows"] for wording in document["wordings"]] == [late, late, *[watermarks(recording)] * 3]
    assert [shape["wordings"] for shape in document["shapes"]] == [[0, 1, 2, 3, 4]]
    described = [about for wording in document["wordings"] for about in wording["columns"]]
    assert len(columns) >= max(offset + size for _, _, offset, size in described)


def watermarks(recording: Recording) -> int:
    """The number of different watermarks that made records late."""
    return len(set(recording.table("late_drop")["watermark"].to_pylist()))
