"""Recording: reading of complete, killed and damaged recordings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts import schema
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.parquet_part import arrow_schema
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from tests.support.pages.recording_page import recording_page

# Records for ever, and says when each epoch is on disk.
ENDLESS = """
import sys
from flowsim.facts import schema
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunDescription
from flowsim.recording.writer import RecordingWriter
writer = RecordingWriter(sys.argv[1], Level.ELEMENTS, RunDescription(), rows_per_epoch=1000)
append = writer.appender(schema.SENT)
choose = writer.appender(schema.CHOICES)
i = 0
while True:
    append(i, 0, i, 0, i, 0, i, i, 0, 0)
    choose(i, 0, 1, 0, 0, -1, -1)
    i += 1
    if i % 1000 == 0:
        print(i, flush=True)
"""


def write(directory: Path, rows: int = 100, finish: bool = True) -> None:
    writer = RecordingWriter(directory, Level.ELEMENTS, RunDescription(), rows_per_epoch=30)
    append = writer.appender(schema.SENT)
    for i in range(rows):
        append(i, 0, i, 0, i, 0, i, i, 0, 0)
    writer.wait()
    if finish:
        writer.finish(RunStatus.COMPLETE)


def test_run_directory_and_recording_directory_open_the_same(tmp_path: Path) -> None:
    write(tmp_path / "recording")
    assert Recording.open(tmp_path).rows("sent") == Recording.open(tmp_path / "recording").rows("sent")


def test_table_is_arrow_table_with_schema_columns(tmp_path: Path) -> None:
    write(tmp_path)
    table = Recording.open(tmp_path).table("sent")
    assert table.schema == arrow_schema(schema.SENT)
    assert table["position"].to_pylist() == list(range(100))
    assert Recording.open(tmp_path).table("received").num_rows == 0


def test_running_recording_is_read_up_to_last_epoch(tmp_path: Path) -> None:
    write(tmp_path, finish=False)
    recording = Recording.open(tmp_path)
    assert (recording.status, recording.is_complete, recording.row_count("sent")) == (RunStatus.RUNNING, False, 90)


def test_parts_after_missing_marker_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, finish=False)
    (tmp_path / "epochs" / "00001.json").unlink()
    assert Recording.open(tmp_path).row_count("sent") == 30


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_process_leaves_complete_epochs(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 4000:  # the thread may still write the fourth epoch
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    recording = Recording.open(tmp_path)
    assert recording.status is RunStatus.RUNNING
    # Whichever table is full first closes the epoch, so each epoch has 1000 rows of one and 999 or 1000 of the other.
    assert len(recording.epochs) >= 3
    assert recording.row_count("sent") - recording.row_count("choices") in (0, 1)
    assert all(max(rows["sent"], rows["choices"]) == 1000 for rows in recording.epochs)
    assert [row[4] for row in recording.rows("sent")] == list(range(recording.row_count("sent")))


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "manifest.json").unlink(), "not a recording: it has no manifest.json"),
        (lambda d: _truncate(d / "manifest.json"), "damaged manifest"),
        (lambda d: (d / "manifest.json").write_text(" [{}]"), "damaged manifest: file: Expected `object`, got `array`"),
        (lambda d: _edit(d / "manifest.json", '"complete"', '"finished"'), "damaged manifest: status"),
        (lambda d: _edit(d / "manifest.json", '"elements"', '"verbose"'), "damaged manifest: level"),
        (
            lambda d: _edit(d / "manifest.json", '"format_version": 7', '"format_version": 99'),
            "this flowsim reads format 7",
        ),
        (lambda d: (d / "epochs" / "00002.json").unlink(), "has 4 epochs, but 2 are complete"),
        (lambda d: (d / "epochs" / "00000.json").write_text("[]"), "expected the parts of an epoch"),
        (lambda d: _edit(d / "epochs" / "00000.json", '"rows":30', '"rows":"many"'), "expected the parts of an epoch"),
        (lambda d: _edit(d / "epochs" / "00000.json", '"graph":', '"graph": '), "is not the marker of epoch 0"),
        (lambda d: _edit(d / "epochs" / "00000.json", '"sha256":"', '"sha256":"0'), "expected the parts of an epoch"),
        (lambda d: _edit(d / "epochs" / "00001.json", "[[0,30]]", "[[1,30]]"), "does not follow the marker before it"),
        (lambda d: _edit(d / "epochs" / "00003.json", "[[0,10]]", "[[1,10]]"), "or one of them was changed"),
        (lambda d: _edit(d / "manifest.json", '"sent": 100', '"sent": 99'), "states 99 rows for table sent, but"),
        (lambda d: (d / "graph.json").unlink(), "graph.json: missing"),
        (lambda d: _edit(d / "graph.json", '"rows":[]', '"rows":[[]]'), "was changed after it was recorded"),
        (lambda d: (d / "sent" / "part-00001.parquet").unlink(), "missing, but its epoch has 30 rows of it"),
        (lambda d: _truncate(d / "sent" / "part-00001.parquet"), "is not the file that was recorded"),
        (
            lambda d: os.replace(d / "sent" / "part-00002.parquet", d / "sent" / "part-00001.parquet"),
            "part-00001.parquet: is not the file that was recorded",
        ),
    ],
)
def test_each_damage_is_refused_with_its_message(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    write(tmp_path)
    other = RecordingWriter(tmp_path / "other", Level.ELEMENTS, RunDescription())
    other.appender(schema.CHOICES)(0, 0, 1, 0, 0, -1, -1)
    other.finish(RunStatus.COMPLETE)
    damage(tmp_path)
    with pytest.raises(BadInput, match=message):
        Recording.open(tmp_path).table("sent")


def test_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such recording"):
        Recording.open(tmp_path / "nothing")


def test_flipped_bit_in_part_is_detected_when_read(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "sent" / "part-00001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    recording = Recording.open(tmp_path)
    assert recording.part("sent", 0).num_rows == 30
    with pytest.raises(BadInput, match="the recording is damaged"):
        recording.part("sent", 1)


def test_recording_page_is_up_to_date() -> None:
    page = Path(__file__).parents[3] / "docs" / "recording.md"
    assert page.read_text(encoding="utf-8") == recording_page(), "write it again: make docs"


def test_manifest_is_readable_json(tmp_path: Path) -> None:
    write(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["rows"]["sent"] == 100
    assert set(manifest["table_digests"]) == set(manifest["rows"])
