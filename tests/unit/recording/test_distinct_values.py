"""DistinctValues: which record values are kept, and the limit of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.api import run_scenario
from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind, Level
from flowsim.facts.schema import RECORD_VALUES
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.distinct_values import ROW_BYTES, DistinctValues
from flowsim.recording.manifest import RecordedValues, RunDescription, RunStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.task_clock import TaskClock
from flowsim.trace.record_values import RecordValues
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import encode_record, fingerprint

SCENARIO = """
flowsim: 1
name: values
sources: {numbers: {collection: {fields: {n: long}, rows: [[1], [2], [1], [3]]}}}
operators:
  sums: {input: numbers, key_by: n, sum: n}
sinks: {all: {input: sums, collect: {}}}
"""


def fill(values: DistinctValues, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        encoded = encode_record(number, ("some text", number))
        hashed = fingerprint(number, ("some text", number))
        if values.known.add(hashed):
            values.add(hashed, encoded)


def test_each_record_value_is_kept_once_in_order_of_first_occurrence() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS)
    one, two = TaskTrace(0, TaskClock(1), recorder), TaskTrace(1, TaskClock(1), recorder)
    numbers = [trace.fingerprint(at, value) for trace in (one, two) for at, value in ((None, "b"), (5, ("a", 1)))]
    assert numbers[:2] == numbers[2:]
    two.fingerprint_encoded(encode_record(5, ("a", 2)))
    assert recorder.static_rows(RECORD_VALUES.name) == [
        (numbers[0], NO_TIMESTAMP, '"b"'),
        (numbers[1], 5, '["a",1]'),
        (fingerprint(5, ("a", 2)), 5, '["a",2]'),
    ]


@pytest.mark.parametrize("limit_bytes", [100_000, 1 << 20])
def test_values_beyond_limit_are_sampled_within_the_limit(limit_bytes: int) -> None:
    values, count = DistinctValues(limit_bytes), 100_000
    fill(values, count)
    columns = values.take()
    numbers, timestamps = columns.numbers.tolist(), columns.timestamps.tolist()
    found = values.counts
    assert (found.stored, len(set(numbers)), found.too_large) == (len(numbers), len(numbers), 0)
    size = sum(len(encode_record(at, ("some text", at))) + ROW_BYTES for at in timestamps)
    assert limit_bytes // 4 < size == found.bytes <= limit_bytes
    assert found.distinct == pytest.approx(count, rel=0.3)
    assert found.one_in > 1
    last = {number for number in numbers if not number & (found.one_in - 1)}
    assert set(values.known.values()) == last
    assert columns.lines.splitlines()[-1] == f'["some text",{timestamps[-1]}]'.encode()


def test_kept_values_do_not_depend_on_when_rows_are_taken() -> None:
    at_once, by_and_by = DistinctValues(10_000), DistinctValues(10_000)
    fill(at_once, 3000)
    taken: list[int] = []
    for start in range(0, 3000, 100):
        fill(by_and_by, 100, start)
        taken += by_and_by.take().numbers.tolist()
    assert taken == at_once.take().numbers.tolist()
    assert by_and_by.counts == at_once.counts


def test_too_large_value_is_left_out_and_counted() -> None:
    values = DistinctValues(25_600)
    for value in ("x" * 100, "y" * 50, "x" * 100):
        number = fingerprint(None, value)
        if values.known.add(number):
            values.add(number, encode_record(None, value))
    assert values.take().lines == f'"{"y" * 50}"\n'.encode()
    assert (values.counts.stored, values.counts.distinct, values.counts.too_large) == (1, 2, 1)


def test_limit_zero_keeps_no_value() -> None:
    values = DistinctValues(0)
    fill(values, 10)
    assert (len(values.take().numbers), len(values.known), values.counts.stored) == (0, 0, 0)


def test_manifest_has_counts_of_kept_values(tmp_path: Path) -> None:
    run = run_scenario(SCENARIO, out=tmp_path / "all")
    assert run.manifest is not None
    found = run.manifest.record_values
    # 1, 2 and 3, and the sum 2 of key 1, which is the record 2 once more: a scenario's records are tuples.
    assert found == RecordedValues(stored=3, bytes=found.bytes if found else 0, distinct=3, one_in=1, too_large=0)
    recording = Recording.open(tmp_path / "all")
    assert [row[2] for row in recording.static_rows(RECORD_VALUES.name)] == ["[1]", "[2]", "[3]"]
    assert run.digest == run_scenario(SCENARIO).digest == recording.computed_facts_digest
    sent = {row[7] for row in recording.rows("sent") if row[5] == ElementKind.RECORD}
    assert sent == {row[0] for row in recording.static_rows(RECORD_VALUES.name)}
    none = run_scenario(SCENARIO, out=tmp_path / "none", overrides=["settings.record_values=0 B"])
    assert none.manifest is not None
    assert none.manifest.rows[RECORD_VALUES.name] == 0


def test_changed_value_is_refused_as_damage(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription(), rows_per_epoch=2)
    trace = TaskTrace(0, TaskClock(1), writer)
    for number in range(5):
        trace.sent(0, number, ElementKind.RECORD, 0, trace.fingerprint(0, number), 0, 0)
    writer.finish(RunStatus.COMPLETE)
    texts = RecordValues(Recording.open(tmp_path))
    assert [texts.text(fingerprint(0, number)) for number in range(6)] == ["0", "1", "2", "3", "4", None]
    part = tmp_path / "record_values" / "part-00001.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(BadInput, match=r"record_values.part-00001.parquet: is not the file that was recorded"):
        Recording.open(tmp_path).static_rows(RECORD_VALUES.name)


def test_value_of_a_fact_is_in_its_epoch_or_an_earlier_one(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, Level.ELEMENTS, RunDescription(), rows_per_epoch=3)
    trace = TaskTrace(0, TaskClock(1), writer)
    for number in range(10):
        trace.sent(0, number, ElementKind.RECORD, 0, trace.fingerprint(0, number % 4), 0, 0)
    writer.finish(RunStatus.COMPLETE)
    recording, known = Recording.open(tmp_path), set()
    for epoch in range(len(recording.epochs)):
        known |= set(recording.part(RECORD_VALUES.name, epoch)["fingerprint"].to_pylist())
        assert known >= set(recording.part("sent", epoch)["fingerprint"].to_pylist())
