"""The records of a simulated topic, in a file or in the part files of a folder.

JSON lines (``.jsonl``): an object with ``value``, and perhaps ``key``, ``partition``, ``timestamp`` and ``append_ms``; one
with ``group``, ``partition`` and ``offset``, which a consumer group has committed; or one with ``partitions`` and
``at_ms``, the number of partitions from that time on.
CSV (``.csv``): the names of a record as columns. Any other file, and ``text:FILE``: each line is a value.
"""

from __future__ import annotations

import base64
import binascii
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

from flowsim.connectors.files.columns import reason_of
from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput, did_you_mean
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.units import NS_PER_MS

MAX_PARTITIONS: Final = 10_000
_TEXT: Final = "text:"
_NUMBERS: Final = ("partition", "timestamp", "append_ms")
_NAMES: Final = ("value", "value_base64", "key", "key_base64", *_NUMBERS)
_NAMES_OF_OFFSET: Final = ("group", "partition", "offset")
_NAMES_OF_CHANGE: Final = ("partitions", "at_ms")


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic. Kafka: ConsumerRecord."""

    value: bytes | None
    key: bytes | None = None
    partition: int = 0
    timestamp_ms: int | None = None
    """None: the time of the append, on the clock of the job."""
    append_ns: int = 0
    """When it is appended, in ns after the start of the job; 0: it is there before the job starts."""

    @property
    def kafka_timestamp_ms(self) -> int:
        """The timestamp of the record, or that of its append."""
        return (START_NS + self.append_ns) // NS_PER_MS if self.timestamp_ms is None else self.timestamp_ms

    def as_json(self) -> str:
        """Returns the line of the record in a file of JSON lines."""
        fields: dict[str, object] = {}
        for name, content in (("key", self.key), ("value", self.value)):
            fields |= _json_of(name, content)
        if fields.get("key", "") is None:
            del fields["key"]
        if self.partition:
            fields["partition"] = self.partition
        if self.timestamp_ms is not None:
            fields["timestamp"] = self.timestamp_ms
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The offset of the record that a consumer group reads next in a partition. Kafka: OffsetAndMetadata."""

    group: str
    partition: int
    offset: int

    def as_json(self) -> str:
        """Returns the line of the offset in a file of JSON lines."""
        fields = {"group": self.group, "partition": self.partition, "offset": self.offset}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """How many partitions a topic has from a time on; 0: it is deleted."""

    partitions: int
    at_ns: int = 0
    """In ns after the start of the job; 0: before the job starts."""


TopicEntry = TopicRecord | CommittedOffset | PartitionCount
"""What a line of a file says."""


def _json_of(name: str, content: bytes | None) -> dict[str, object]:
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(content).decode()}


def read_topic(path: str | Path) -> list[TopicEntry]:
    """Returns the entries of a file, in order, or of the files of a folder, in the order of their names.

    ``FILE@RATE/s`` appends the records one by one after the start of the job, at this rate. Raises BadInput.
    """
    text, per_second = _rate_of(str(path))
    is_text = text.startswith(_TEXT)
    location = Path(text.removeprefix(_TEXT) if is_text else text)
    try:
        files = sorted(location.iterdir()) if location.is_dir() else [location]
        entries = [entry for file in files if not file.name.startswith(".") for entry in _read(file, is_text)]
    except OSError as error:
        raise BadInput(f"{location}: cannot be read: {reason_of(error)}") from None
    if per_second is None:
        return entries
    number = count(1)
    return [
        replace(one, append_ns=round(next(number) * 1e9 / per_second)) if isinstance(one, TopicRecord) else one
        for one in entries
    ]


def moved(topic: str, change: Callable[[Path], Path | str]) -> str:
    """Returns what names a topic's file, with another path: ``text:`` before it and the rate behind it stay.

    >>> moved("text:data/orders@10/s", lambda path: path.name)
    'text:orders@10/s'
    """
    location, _ = _rate_of(topic)
    start = _TEXT if location.startswith(_TEXT) else ""
    return f"{start}{change(Path(location.removeprefix(_TEXT)))}{topic[len(location) :]}"


def _rate_of(text: str) -> tuple[str, float | None]:
    """Splits ``FILE@10/s``; a file may have any other ``@`` in its name."""
    file, at, rate = text.rpartition("@")
    if not at or not rate.endswith("/s"):
        return text, None
    try:
        per_second = float(rate.removesuffix("/s"))
    except ValueError:
        return text, None
    if not 1e-6 <= per_second <= 1e9:
        raise BadInput(f"{text}: expected a rate from 10^-6 to 10^9 records per second, got {rate}")
    return file, per_second


def _read(path: Path, is_text: bool) -> Iterator[TopicEntry]:
    kind = "text" if is_text else path.name.removesuffix(".gz").rpartition(".")[2]
    with InputFile(path).open_text(errors="strict") as lines:
        try:
            if kind == "jsonl":
                yield from _json_records(path, lines)
            elif kind == "csv":
                yield from _csv_records(path, lines)
            else:
                yield from (TopicRecord(line.rstrip("\r\n").encode()) for line in lines if line.strip("\r\n"))
        except UnicodeDecodeError:
            raise BadInput(f"{path}: expected UTF-8 text: convert the file, or give values as value_base64") from None


def _json_records(path: Path, lines: Iterable[str]) -> Iterator[TopicEntry]:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        where = f"{path}:{number}"
        try:
            parsed = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{where} invalid JSON: {error}: expected one JSON object in each line") from None
        if isinstance(parsed, dict) and parsed.keys() & {"group", "partitions"}:
            yield _committed(parsed, where) if "group" in parsed else _partition_count(parsed, where)
            continue
        if not isinstance(parsed, dict) or not parsed.keys() & {"value", "value_base64"}:
            raise BadInput(
                f'{where} expected an object such as {{"value": ...}}, got {line.strip()[:60]}: if each line is a value '
                f"itself, write text:{path}"
            )
        yield _record(parsed, where)


def _csv_records(path: Path, lines: Iterable[str]) -> Iterator[TopicRecord]:
    rows = csv.reader(lines)
    header = next(rows, [])
    if not {"value", "value_base64"} & set(header):
        raise BadInput(
            f"{path}:1 expected a header with the column value, got {','.join(header)[:60]}: if each line is a value "
            f"itself, write text:{path}"
        )
    for number in count(2):
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise BadInput(f"{path}:{rows.line_num} is not CSV: {error}") from None
        if row is None:
            return
        where = f"{path}:{number}"
        if row and len(row) != len(header):
            raise BadInput(f"{where} expected {len(header)} fields as in the header, got {len(row)}")
        fields: dict[str, object] = dict(zip(header, row, strict=False))
        numbers = {name: _integer(fields.pop(name), name, where) for name in _NUMBERS if fields.get(name)}
        if row:
            # An empty field is an empty value, but no key.
            yield _record({name: text for name, text in fields.items() if text or name == "value"} | numbers, where)


def _integer(text: object, name: str, where: str) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise BadInput(f"{where} {name}: expected an integer, got {text!r:.40}") from None


def _record(fields: Mapping[str, object], where: str) -> TopicRecord:
    _check_names(fields, _NAMES, where)
    numbers = {name: _number(fields, name, where) for name in _NUMBERS if fields.get(name) is not None}
    return TopicRecord(
        _content(fields, "value", where),
        _content(fields, "key", where),
        _partition(fields, where),
        numbers.get("timestamp"),
        numbers.get("append_ms", 0) * NS_PER_MS,
    )


def _committed(fields: Mapping[str, object], where: str) -> CommittedOffset:
    _check_names(fields, _NAMES_OF_OFFSET, where)
    group = fields["group"]
    if not isinstance(group, str) or not group:
        raise BadInput(f"{where} group: expected the name of a consumer group, got {group!r:.40}")
    return CommittedOffset(group, _partition(fields, where), _number(fields, "offset", where))


def _partition_count(fields: Mapping[str, object], where: str) -> PartitionCount:
    _check_names(fields, _NAMES_OF_CHANGE, where)
    partitions = _number(fields, "partitions", where)
    if partitions > MAX_PARTITIONS:
        raise BadInput(f"{where} partitions: expected at most {MAX_PARTITIONS}, got {partitions}")
    at_ms = 0 if fields.get("at_ms") is None else _number(fields, "at_ms", where)
    return PartitionCount(partitions, at_ms * NS_PER_MS)


def _check_names(fields: Mapping[str, object], names: Sequence[str], where: str) -> None:
    for name in fields:
        if name not in names:
            raise BadInput(f"{where} unknown name {name!r:.40}{did_you_mean(name, names)}: expected {', '.join(names)}")


def _number(fields: Mapping[str, object], name: str, where: str) -> int:
    given = fields.get(name)
    if type(given) is not int or not 0 <= given < 2**63 // NS_PER_MS:
        raise BadInput(f"{where} {name}: expected an integer >= 0, got {given!r:.40}")
    return given


def _partition(fields: Mapping[str, object], where: str) -> int:
    partition = 0 if fields.get("partition") is None else _number(fields, "partition", where)
    if partition >= MAX_PARTITIONS:
        raise BadInput(f"{where} partition: expected less than {MAX_PARTITIONS}, got {partition}")
    return partition


def _content(fields: Mapping[str, object], name: str, where: str) -> bytes | None:
    """Returns the bytes of a key or a value: those of text, or of other JSON as text."""
    encoded = fields.get(f"{name}_base64")
    if encoded is not None:
        try:
            return base64.b64decode(str(encoded), validate=True)
        except binascii.Error as error:
            raise BadInput(f"{where} {name}_base64: {error}, got {encoded!r:.40}") from None
    given = fields.get(name)
    if given is None or isinstance(given, str):
        return None if given is None else given.encode()
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()
