"""RecordingWriter: epochs, digests, bytes, and what it refuses to overwrite."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim.errors import BadInput, InvariantViolation, RecordingFailed
from flowsim.facts import kinds, schema
from flowsim.facts.kinds import ElementKind, Level
from flowsim.facts.recorder import Recorder
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.manifest import FailureReport, RunDescription, RunStatus, scenario_text
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.task_clock import TaskClock

BIG = 2**63 - 1


def record(recorder: Recorder, rows: int) -> None:
    """Two tasks, several tables of very different sizes, extreme values, text and keys that appear during the run."""
    recorder.static(schema.TASKS, [(0, 0, 0, "source", 0, 1, 128, 0), (1, 1, 1, 'sink "ö" 字', 0, 1, 128, 1)])
    choose = recorder.appender(schema.CHOICES)
    clock = TaskClock(1)
    sender, receiver = TaskTrace(0, clock, recorder), TaskTrace(1, clock, recorder)
    for i in range(rows):
        clock.now_ns += 1000
        sender.fingerprint(i, (f"ö {i % 50}\n", i))
        sender.key(i % 7, i % 7 - 3, "LONG", str(i % 7))
        sender.sent(0, i, ElementKind.RECORD, -(2**63) if i % 3 else BIG, i * 0x9E3779B97F4A7C15 & BIG, -(2**31), i % 7)
        if i % 2:
            receiver.received(0, i // 2, ElementKind.RECORD, i, i, 0)
        if i % 5 == 0:
            choose(i, 0, 2, 0, 0, -1, -1)
        sender.timer(0, kinds.TimerAction.FIRE, kinds.TimeDomain.EVENT_TIME, i, 1, 1, (0, 0), i, 0)


def write(directory: Path, rows: int = 100, rows_per_epoch: int = 30, level: Level = Level.ELEMENTS) -> RecordingWriter:
    writer = RecordingWriter(directory, level, RunDescription(seed=7), rows_per_epoch=rows_per_epoch)
    record(writer, rows)
    return writer


def test_recording_reads_back_equal(tmp_path: Path) -> None:
    write(tmp_path / "r", level=Level.FULL).finish(RunStatus.COMPLETE)
    memory = MemoryRecorder(Level.FULL)
    record(memory, 100)
    recording = Recording.open(tmp_path / "r")
    for table in schema.FACT_TABLES:
        assert recording.rows(table.name) == list(memory.rows(table.name)), table.name
    for table in schema.STATIC_TABLES:
        assert recording.static_rows(table.name) == list(memory.static_rows(table.name)), table.name
    assert recording.columns("sent") == memory.columns("sent") == schema.SENT.names


@pytest.mark.parametrize("rows_per_epoch", [1, 2, 30, 100, 1000, 5000])
def test_digest_does_not_depend_on_rows_per_epoch(tmp_path: Path, rows_per_epoch: int) -> None:
    memory = MemoryRecorder(Level.FULL)
    record(memory, 100)
    manifest = write(tmp_path, rows_per_epoch=rows_per_epoch, level=Level.FULL).finish(RunStatus.COMPLETE)
    assert manifest.facts_digest == memory.facts_digest()
    assert Recording.open(tmp_path).computed_facts_digest == manifest.facts_digest


def test_epoch_may_be_larger_than_initial_block(tmp_path: Path) -> None:
    manifest = write(tmp_path, rows=5000, rows_per_epoch=3001).finish(RunStatus.COMPLETE)
    assert (manifest.epochs, manifest.rows["sent"]) == (2, 5000)
    assert [rows["sent"] for rows in Recording.open(tmp_path).epochs] == [3001, 1999]


@pytest.mark.parametrize("change", [{"rows": 99}, {"level": Level.FULL}])
def test_different_facts_have_different_digests(tmp_path: Path, change: dict[str, int]) -> None:
    one = write(tmp_path / "one").finish(RunStatus.COMPLETE)
    other = write(tmp_path / "other", **change).finish(RunStatus.COMPLETE)  # type: ignore[arg-type]
    assert one.facts_digest != other.facts_digest


def test_manifest_digest_covers_run_status_and_failure_but_not_versions(tmp_path: Path) -> None:
    one = write(tmp_path / "one").finish(RunStatus.COMPLETE)
    again = write(tmp_path / "again").finish(RunStatus.COMPLETE)
    assert again == one
    changes: list[dict[str, object]] = [
        {"status": RunStatus.FAILED},
        {"failure": FailureReport(task="t", operator=None, record=None, cause="c")},
        {"run": RunDescription(seed=8)},
        {"facts_digest": "00"},
        {"record_values": None},
    ]
    digests = {replace(one, **change).hashed() for change in changes}
    assert len(digests | {one.digest}) == 6
    assert replace(one, versions={}).hashed() == one.digest


def test_equal_facts_give_equal_files_except_wall_json(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, level=Level.FULL).finish(RunStatus.COMPLETE, wall={"note": name})
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file())
    assert len(files) > 10
    for file in files:
        if file.name != "wall.json":
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_full_table_closes_epoch_in_every_table(tmp_path: Path) -> None:
    write(tmp_path, rows=100, rows_per_epoch=30).wait()
    markers = sorted((tmp_path / "epochs").iterdir())
    assert [path.name for path in markers] == ["00000.json", "00001.json", "00002.json"]
    for epoch, marker in enumerate(markers):
        parts = json.loads(marker.read_text())["parts"]
        assert parts["sent"]["rows"] == 30
        for table in schema.TABLES:
            part = tmp_path / table / f"part-{epoch:05d}.parquet"
            assert part.exists() == (table in parts)
            if table in parts:
                assert pq.ParquetFile(part).metadata.num_rows == parts[table]["rows"]
                assert sum(rows for _, rows in parts[table]["tasks"]) in (0, parts[table]["rows"])


def test_integers_are_delta_packed_and_only_enums_have_dictionaries(tmp_path: Path) -> None:
    write(tmp_path).finish(RunStatus.COMPLETE)
    group = pq.ParquetFile(tmp_path / "sent" / "part-00000.parquet").metadata.row_group(0)
    encodings = {group.column(i).path_in_schema: set(group.column(i).encodings) for i in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in encodings["seq"]
    assert "RLE_DICTIONARY" in encodings["kind"]
    assert "RLE_DICTIONARY" not in encodings["timestamp"]
    assert group.column(0).compression == "ZSTD"


def test_facts_above_level_are_ignored_in_memory_and_on_disk(tmp_path: Path) -> None:
    memory = MemoryRecorder(Level.ELEMENTS)
    record(memory, 10)
    manifest = write(tmp_path, rows=10).finish(RunStatus.COMPLETE)
    assert memory.rows("timers") == []
    assert "timers" not in manifest.rows
    assert not (tmp_path / "timers").exists()


def test_run_without_facts_leaves_readable_recording(tmp_path: Path) -> None:
    RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription()).finish(RunStatus.COMPLETE)
    recording = Recording.open(tmp_path)
    assert (recording.is_complete, recording.epochs, recording.rows("sent")) == (True, (), [])


def test_old_recording_is_replaced_completely(tmp_path: Path) -> None:
    write(tmp_path, rows=200, level=Level.FULL).finish(RunStatus.COMPLETE)
    (tmp_path / "sent" / ".part-00099.parquet.tmp").write_bytes(b"left by a killed run")
    write(tmp_path, rows=10).finish(RunStatus.COMPLETE)
    assert Recording.open(tmp_path).row_count("sent") == 10
    assert not (tmp_path / "timers").exists()
    assert sorted(p.name for p in (tmp_path / "sent").iterdir()) == ["part-00000.parquet"]


@pytest.mark.parametrize(
    "name", ["notes.txt", "sent/notes.txt", "results/part-00000.parquet", "sent/deep/part-00000.parquet"]
)
def test_directory_with_foreign_file_is_refused_and_unchanged(tmp_path: Path, name: str) -> None:
    write(tmp_path).finish(RunStatus.COMPLETE)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadInput, match="not part of a recording; choose another directory"):
        write(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_parts_with_foreign_manifest_are_refused(tmp_path: Path) -> None:
    write(tmp_path).finish(RunStatus.COMPLETE)
    (tmp_path / "manifest.json").write_text('{"name": "another program"}')
    with pytest.raises(BadInput, match=r"has no manifest\.json of a recording"):
        write(tmp_path)


def test_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "sent").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match="holds sent"):
        write(tmp_path / "r")


def test_file_in_place_of_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    with pytest.raises(BadInput, match="is a file; give a directory"):
        write(tmp_path / "r")


@pytest.mark.skipif(os.name != "posix", reason="needs a directory that cannot be written")
def test_write_error_is_reported_and_leaves_no_part(tmp_path: Path) -> None:
    writer = write(tmp_path, rows=5)
    (tmp_path / "sent").write_text("a file where the table's folder should be")
    with pytest.raises(RecordingFailed, match="cannot be written"):
        writer.finish(RunStatus.COMPLETE)
    recording = Recording.open(tmp_path)
    assert (recording.status, recording.epochs) == (RunStatus.RUNNING, ())
    assert [path.name for path in tmp_path.rglob("*.parquet*")] == []


def test_epoch_with_write_error_is_dropped_and_none_follows(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription(), rows_per_epoch=10)
    choose = writer.appender(schema.CHOICES)
    for step in range(15):
        choose(step, 0, 2, 0, 0, -1, -1)
    writer.wait()
    (tmp_path / "epochs" / "00001.json").mkdir()
    for step in range(15, 29):
        choose(step, 0, 2, 0, 0, -1, -1)
    with pytest.raises(RecordingFailed):
        choose(29, 0, 2, 0, 0, -1, -1)
    (tmp_path / "epochs" / "00001.json").rmdir()
    for step in range(30, 39):
        choose(step, 0, 2, 0, 0, -1, -1)
    with pytest.raises(RecordingFailed):
        choose(39, 0, 2, 0, 0, -1, -1)
    with pytest.raises(RecordingFailed):
        writer.finish(RunStatus.FAILED)
    recording = Recording.open(tmp_path)
    assert (recording.status, recording.row_count("choices")) == (RunStatus.RUNNING, 10)
    assert [path.name for path in (tmp_path / "choices").iterdir()] == ["part-00000.parquet"]


def test_parts_are_sorted_by_task_and_grouped_by_whole_tasks(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription(), rows_per_epoch=1 << 20)
    append = writer.appender(schema.LATENCIES)
    tasks = {0: 20_000, 1: 5, 2: 9_000, 3: 9_000, 5: 140_000, 6: 1}
    for seq in range(max(tasks.values())):
        for task in (6, 5, 3, 2, 1, 0):
            if seq < tasks[task]:
                append(seq, task, 0, 1 + seq, 0, 0, 0, 0)
    writer.finish(RunStatus.COMPLETE)
    (marker,) = Recording.open(tmp_path).markers
    assert marker.parts["latencies"].tasks == tuple(tasks.items())
    file = pq.ParquetFile(tmp_path / "latencies" / "part-00000.parquet")
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert sizes == [20_000, 18_005, 1 << 17, 140_000 - (1 << 17), 1]
    rows = file.read(["task", "seq"]).to_pydict()
    assert list(zip(rows["task"], rows["seq"], strict=True)) == [(t, s) for t, n in tasks.items() for s in range(n)]


def test_recording_is_finished_once_and_refused_at_level_off(tmp_path: Path) -> None:
    writer = write(tmp_path)
    writer.finish(RunStatus.STOPPED)
    with pytest.raises(InvariantViolation):
        writer.finish(RunStatus.COMPLETE)
    with pytest.raises(InvariantViolation):
        RecordingWriter(tmp_path / "off", Level.OFF, RunDescription())
    with pytest.raises(ValueError, match="rows_per_epoch"):
        RecordingWriter(tmp_path / "none", Level.FULL, RunDescription(), rows_per_epoch=0)


def test_manifest_has_no_machine_or_wall_clock_data(tmp_path: Path) -> None:
    run = RunDescription(
        scenario=scenario_text("scenarios/x.yaml", "flowsim: 1\n"), inputs={"data/x.csv": "00"}, seed=1
    )
    writer = RecordingWriter(tmp_path / "r", Level.ELEMENTS, run)
    record(writer, 10)
    writer.finish(RunStatus.COMPLETE, wall={"cpus": 2})
    text = (tmp_path / "r" / "manifest.json").read_text()
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
    wall = json.loads((tmp_path / "r" / "wall.json").read_text())
    assert wall["cpus"] == 2
    assert wall["elapsed_s"] >= 0


@pytest.mark.parametrize("path", ["/etc/x.yaml", "C:\\x.yaml"])
def test_absolute_path_in_manifest_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="expected a relative path"):
        scenario_text(path, "")
    with pytest.raises(ValueError, match="expected a relative path"):
        RunDescription(inputs={path: "00"})


@pytest.mark.parametrize("table", schema.FACT_TABLES, ids=lambda table: table.name)
def test_rows_of_every_table_read_back_equal(tmp_path: Path, table: schema.Table) -> None:
    """A column may bear any name, also one that the code around it could have used."""
    writer = RecordingWriter(tmp_path, Level.FULL, RunDescription())
    append = writer.appender(table)
    rows = [tuple(range(start, start + len(table.columns))) for start in (1, 50, 3)]
    for row in rows:
        append(*row)
    writer.finish(RunStatus.COMPLETE)

    if "task" in table.names:
        rows.sort(key=lambda row: row[table.names.index("task")])
    assert list(Recording.open(tmp_path).rows(table.name)) == rows


def test_attempt_of_fact_follows_from_begins_of_attempts(tmp_path: Path) -> None:
    def facts(recorder: Recorder) -> None:
        clock = TaskClock(1)
        one, two = TaskTrace(1, clock, recorder), TaskTrace(2, clock, recorder)
        for number in range(40):
            if number in (10, 25):
                two.begin_attempt()
            one.lifecycle(0, kinds.LifeEvent.OPEN)
            two.task_watermark(0, ElementKind.WATERMARK, number)
            two.lifecycle(0, kinds.LifeEvent.OPEN)

    memory = MemoryRecorder(Level.ELEMENTS)
    facts(memory)
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription(), rows_per_epoch=7)
    facts(writer)
    manifest = writer.finish(RunStatus.COMPLETE)
    recording = Recording.open(tmp_path)
    for table in ("task_watermark", "lifecycle"):
        stored = recording.table(table).select(["task", "seq", "task_attempt"]).to_pylist()
        assert len(stored) in (40, 80)
        for row in stored:
            round_of = row["seq"] // 2
            assert row["task_attempt"] == (0 if row["task"] == 1 else (round_of >= 10) + (round_of >= 25))
            assert row["task_attempt"] == memory.attempt(row["task"], row["seq"])
    assert manifest.facts_digest == memory.facts_digest() == recording.computed_facts_digest
    first = MemoryRecorder(Level.ELEMENTS)
    facts(first)
    first._attempts._begins.clear()
    assert first.facts_digest() != memory.facts_digest()
