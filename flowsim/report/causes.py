"""Why each late record was late, as ``flowsim why`` explains it: causes that late records share, as columns.

A *wording* has what alike causes have in common: words, rules, task and channel. A cause is a row of its wording: the
quantities between the words, and the fact that shows it. A *shape* is a sequence of wordings, the first that of the
statement; a late record has one row of each, and many late records can have the same row. ``web/src/model/causes.ts``
reads them.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from flowsim.facts.schema import LATE_DROP
from flowsim.garbage_collection import without_garbage_collection
from flowsim.recording.reader import Recording
from flowsim.report.encoding import DIFFERENCES, VALUES, bounded, varints
from flowsim.report.fact_columns import FactColumns, Ints
from flowsim.why.answer import Cause
from flowsim.why.late import late_causes
from flowsim.why.run_facts import RunFacts
from flowsim.why.sentence import KeyValue, Quantity, RecordValue, Sentence

CAUSES: Final = "causes"
CAUSE_COLUMNS: Final = "cause_columns"

_SAMPLE: Final = 1024
_BASES: Final = ("timestamp", "watermark", "record", "key")
"""Columns of a late record that columns of its causes are given less of, where that is smaller."""
_BEHIND: Final = "behind"
"""A base too: the watermark less the timestamp."""
_SEQ: Final = "seq"
"""A base too: the fact of the statement."""

_Words = tuple[str | type[Quantity], ...]
_Wording = tuple[_Words, tuple[str, ...], tuple[_Words, ...], int | None, int | None]
"""Words of the sentence, rules, words of each line of details, task of the fact, channel."""


@dataclass(frozen=True, slots=True)
class CauseSections:
    """``document``: wordings, shapes and a description of each column, as compressed JSON. ``rows``: late records."""

    document: bytes
    columns: bytes
    rows: int

    @property
    def size(self) -> int:
        return len(self.document) + len(self.columns)


@dataclass(slots=True)
class _Rows:
    """The causes with one wording: the quantities and the ``seq`` of each, and the first late record that has it."""

    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)
    first: list[int] = field(default_factory=list)

    def number(self, values: tuple[int, ...], late: int) -> int:
        found = self.numbers.get(values)
        if found is None:
            found = self.numbers[values] = len(self.first)
            self.first.append(late)
        return found


@dataclass(slots=True)
class _Chains:
    """The chains of late records in their order: per record its shape, and per shape the rows of each wording."""

    wordings: dict[_Wording, int] = field(default_factory=dict)
    rows: list[_Rows] = field(default_factory=list)
    shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    links: list[list[list[int]]] = field(default_factory=list)
    shape_of: list[int] = field(default_factory=list)
    known: dict[int, tuple[int, int, Cause]] = field(default_factory=dict)
    """By ``id``: wording and row of each cause."""

    def add(self, causes: Sequence[Cause]) -> None:
        late, shape, numbers = len(self.shape_of), [], []
        for cause in causes:
            found = self.known.get(id(cause))
            if found is None:
                found = self.known[id(cause)] = *self._added(cause, late), cause
            shape.append(found[0])
            numbers.append(found[1])
        of = self.shapes.setdefault(tuple(shape), len(self.links))
        if of == len(self.links):
            self.links.append([])
        self.links[of].append(numbers)
        self.shape_of.append(of)

    def _added(self, cause: Cause, late: int) -> tuple[int, int]:
        wording, values = _wording(cause)
        number = self.wordings.setdefault(wording, len(self.rows))
        if number == len(self.rows):
            self.rows.append(_Rows())
        return number, self.rows[number].number(values, late)


def cause_sections(recording: Recording, facts: FactColumns, limit_bytes: int) -> CauseSections:
    """The causes of the first late records, as many as fit. Raises BadInput for a damaged part."""
    late = facts.tables.get(LATE_DROP.name, {})
    # The causes of thousands of records are alive at the same time.
    with without_garbage_collection():
        answers = _in_order(RunFacts(recording), facts.tasks[LATE_DROP.name]) if late else []
        while True:
            chains = _Chains()
            for causes in answers:
                chains.add(causes)
            sections = _sections(chains, facts, late)
            if sections.size <= limit_bytes or not answers:
                return sections
            answers = answers[: len(answers) // 2]


def _in_order(facts: RunFacts, tasks: Ints) -> list[list[Cause]]:
    """The statement and the causes of each late record, in the order of the report, which keeps that of each task."""
    order = np.argsort(np.argsort(tasks, kind="stable"), kind="stable")
    found = [late_causes(facts, drop) for drop in facts.by_task(LATE_DROP.name)]
    return [[statement, *causes] for statement, causes in map(found.__getitem__, order.tolist())]


def _wording(cause: Cause) -> tuple[_Wording, tuple[int, ...]]:
    values: list[int] = []
    words = _words(cause.sentence, values)
    lines = tuple(_words(line, values) for line in cause.lines)
    place = cause.place
    task = None if place is None else place.task
    if place is not None and place.seq is not None:
        values.append(place.seq)
    return (words, cause.rules, lines, task, cause.channel), tuple(values)


def _words(sentence: str | Sentence, values: list[int]) -> _Words:
    if isinstance(sentence, str):
        return (sentence,)
    words: list[str | type[Quantity]] = []
    for part in sentence:
        words.append(part if isinstance(part, str) else type(part))
        if isinstance(part, tuple):
            values += part
        elif isinstance(part, RecordValue):
            values.append(part.fingerprint)
        elif isinstance(part, KeyValue):
            values.append(part.key)
    return tuple(words)


def _sections(chains: _Chains, facts: FactColumns, late: Mapping[str, Ints]) -> CauseSections:
    columns = _Columns()
    shape_of = np.array(chains.shape_of, dtype=np.int64)
    shapes = [
        {
            "wordings": list(wordings),
            "links": [columns.add(links, {}) for links in np.array(chains.links[number], dtype=np.int64).T],
        }
        for wordings, number in chains.shapes.items()
    ]
    statements = {wordings[0] for wordings in chains.shapes}
    seqs: Ints = np.zeros(len(shape_of), dtype=np.int64)
    described: list[dict[str, Any]] = [{} for _ in chains.wordings]
    # Statements come first: the facts of other causes are given less those of the statements.
    for wording, number in sorted(chains.wordings.items(), key=lambda one: (one[1] not in statements, one[1])):
        rows = chains.rows[number]
        first = np.array(rows.first, dtype=np.int64)
        values = np.array(list(rows.numbers), dtype=np.int64).reshape(len(first), -1).T
        bases = {name: late[name][first] for name in _BASES}
        bases[_BEHIND] = bases["watermark"] - bases["timestamp"]
        if number in statements:
            seqs[first] = values[-1]
        else:
            bases[_SEQ] = seqs[first]
        described[number] = _described(wording, values, bases, columns, facts)
    document = {
        "rows": len(shape_of), "shape_of": columns.add(shape_of, {}), "shapes": shapes, "wordings": described,
        "statements": sorted(statements),
    }  # fmt: skip
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return CauseSections(gzip.compress(text, mtime=0), columns.compressed(), len(shape_of))


def _described(
    wording: _Wording, values: Ints, bases: dict[str, Ints], columns: _Columns, facts: FactColumns
) -> dict[str, Any]:
    words, rules, lines, task, channel = wording
    kinds = [part for line in (words, *lines) for part in line if not isinstance(part, str)]
    of_column = [kind for kind in kinds for _ in range(len(kind._fields) if issubclass(kind, tuple) else 1)]
    described = []
    for number, column in enumerate(values):
        if number < len(of_column) and of_column[number] is RecordValue:
            column = _numbers(facts.records, column)
        elif number < len(of_column) and of_column[number] is KeyValue:
            column = _numbers(facts.keys, column)
        column = bounded(column)
        described.append(columns.add(column, bases))
        bases[str(number)] = column
    return {
        "rows": values.shape[1], "words": _named(words), "rules": list(rules), "lines": [_named(line) for line in lines],
        "task": task, "channel": channel, "columns": described,
    }  # fmt: skip


def _named(words: _Words) -> list[str | list[str]]:
    """Words as JSON: a quantity is the name of its kind, in a list."""
    return [part if isinstance(part, str) else [part.__name__] for part in words]


def _numbers(fingerprints: Ints, wanted: Ints) -> Ints:
    """The numbers from 1 of fingerprints in the report, 0 for those that it does not have."""
    order = np.argsort(fingerprints, kind="stable")
    at = np.minimum(np.searchsorted(fingerprints[order], wanted), max(0, len(order) - 1))
    return np.where(fingerprints[order][at] == wanted, order[at] + 1, 0) if len(order) else np.zeros_like(wanted)


class _Columns:
    """Columns one after another, each by itself or less another one, whichever compresses better."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._bytes = 0

    def add(self, values: Ints, bases: Mapping[str, Ints]) -> list[str | int | None]:
        """Appends a column; returns its encoding, the column that it is given less of, its first byte, and its bytes."""
        best: tuple[int, str, str | None] | None = None
        for name, base in [(None, None), *bases.items()]:
            rest = values[:_SAMPLE] if base is None else values[:_SAMPLE] - base[:_SAMPLE]
            for encoding, given in ((VALUES, rest), (DIFFERENCES, np.diff(rest, prepend=0))):
                size = len(zlib.compress(varints(given), 1))
                if best is None or size < best[0]:
                    best = size, encoding, name
        assert best is not None
        _, encoding, name = best
        rest = values if name is None else values - bases[name]
        part = varints(rest if encoding == VALUES else np.diff(rest, prepend=0))
        self._parts.append(part)
        self._bytes += len(part)
        return [encoding, name, self._bytes - len(part), len(part)]

    def compressed(self) -> bytes:
        return gzip.compress(b"".join(self._parts), mtime=0)
