"""The files with the records of a topic: JSON lines, CSV and text, with errors at their line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from flowsim.connectors.kafka.topic_files import CommittedOffset, TopicRecord, read_topic
from flowsim.errors import BadInput

MS = 1_000_000


def test_json_lines_have_all_parts_of_a_record(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text(
        '{"value": "a", "key": "k", "partition": 2, "timestamp": 7, "append_ms": 3}\n'
        "\n"
        '{"value": {"id": 1, "name": "ä"}}\n'
        '{"value": null, "key_base64": "/w=="}\n'
    )
    assert read_topic(path) == [
        TopicRecord(b"a", b"k", 2, 7, 3 * MS),
        TopicRecord('{"id":1,"name":"ä"}'.encode()),
        TopicRecord(None, b"\xff"),
    ]


def test_records_are_written_as_they_are_read(tmp_path: Path) -> None:
    records = [TopicRecord("ä\n".encode(), b"", 1, 5), TopicRecord(b"\xff", b"\xfe"), TopicRecord(None)]
    path = tmp_path / "out.jsonl"
    path.write_text("".join(f"{record.as_json()}\n" for record in records))
    assert read_topic(path) == records


def test_csv_has_a_column_for_each_part(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text('key,value,timestamp,partition\nk,"a,1",7,\n,,,1\n\n')
    assert read_topic(path) == [TopicRecord(b"a,1", b"k", 0, 7), TopicRecord(b"", None, 1)]


def test_lines_of_any_other_file_are_values(tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_bytes(b'{"value": 1}\r\n\n b \n')
    (tmp_path / "orders.jsonl.gz").write_bytes(gzip.compress(b'{"value": 1}\n'))
    values = [TopicRecord(b'{"value": 1}'), TopicRecord(b" b ")]
    assert read_topic(tmp_path / "orders.txt") == values
    assert read_topic(f"text:{tmp_path / 'orders.jsonl.gz'}") == values[:1]
    assert read_topic(tmp_path / "orders.jsonl.gz") == [TopicRecord(b"1")]


def test_records_of_a_folder_follow_in_the_order_of_its_files(tmp_path: Path) -> None:
    for name in ("2.txt", "1.txt", ".hidden.txt"):
        (tmp_path / name).write_text(name)
    assert [record.value for record in read_topic(tmp_path)] == [b"1.txt", b"2.txt"]


def test_rate_appends_records_while_the_job_runs(tmp_path: Path) -> None:
    path = tmp_path / "a@b.txt"
    path.write_text("a\nb\n")
    assert [record.append_ns for record in read_topic(f"{path}@4/s")] == [250 * MS, 500 * MS]
    assert [record.append_ns for record in read_topic(path)] == [0, 0]


def test_offsets_of_groups_are_lines_of_json(tmp_path: Path) -> None:
    path, entries = tmp_path / "a.jsonl", [CommittedOffset("g", 1, 7), TopicRecord(b"x"), CommittedOffset("h", 0, 0)]
    path.write_text("".join(f"{one.as_json()}\n" for one in entries))
    assert read_topic(path) == entries
    assert read_topic(f"{path}@1/s") == [entries[0], TopicRecord(b"x", append_ns=1_000 * MS), entries[2]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"group": "", "offset": 1}', "a.jsonl:1 group: expected the name of a consumer group, got ''"),
        ("a.jsonl", '{"group": "g"}', "a.jsonl:1 offset: expected an integer >= 0, got None"),
        ("a.jsonl", '{"group": "g", "ofset": 1}', r"unknown name 'ofset' \(did you mean 'offset'\?\)"),
        (
            "a.jsonl",
            '{"value": 1}\n{"id": 1}\n',
            r'a.jsonl:2 expected an object such as \{"value": ...\}, got .*: if each',
        ),
        ("a.jsonl", '{"value": \n', "a.jsonl:1 invalid JSON"),
        ("a.jsonl", '{"value": 1, "kye": 2}', r"a.jsonl:1 unknown name 'kye' \(did you mean 'key'\?\)"),
        ("a.jsonl", '{"value": 1, "partition": -1}', "a.jsonl:1 partition: expected an integer >= 0, got -1"),
        ("a.jsonl", '{"value": 1, "partition": 10000}', "partition: expected less than 10000, got 10000"),
        ("a.jsonl", '{"value_base64": "?"}', "a.jsonl:1 value_base64: "),
        ("a.csv", "id,name\n1,a\n", "a.csv:1 expected a header with the column value, got id,name: if each line"),
        ("a.csv", "value,key\na\n", "a.csv:2 expected 2 fields as in the header, got 1"),
        ("a.csv", "value,timestamp\na,x\n", "a.csv:2 timestamp: expected an integer, got 'x'"),
    ],
)
def test_wrong_line_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=message):
        read_topic(tmp_path / name)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none.txt: cannot be read: No such file or directory"):
        read_topic(tmp_path / "none.txt")
    (tmp_path / "a.txt").write_bytes(b"\xff\n")
    with pytest.raises(BadInput, match=r"a.txt: expected UTF-8 text: convert the file"):
        read_topic(tmp_path / "a.txt")
    with pytest.raises(BadInput, match="expected a rate from"):
        read_topic(f"{tmp_path}/a.txt@0/s")
