"""Why each late record was late, and each other one behind the watermark was not, as ``flowsim why`` explains it.

A *wording* has what alike causes have in common: words, rules, task and channel. A cause is a row of its wording: the
quantities between the words, and the fact that shows it. A *shape* is a sequence of wordings, the first that of the
statement; a record has one row of each, and many records can have the same row. ``web/src/model/causes.ts`` reads them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from flowsim.facts.schema import LATE_DROP, WINDOW_INTAKE
from flowsim.history.lateness import accepted_behind
from flowsim.history.rows import Rows
from flowsim.report.encoding import DIFFERENCES, VALUES, bounded, compressed, varints
from flowsim.report.fact_columns import FactColumns, Ints
from flowsim.why.alike_causes import Chains, Wording
from flowsim.why.event_time.in_time import in_time_chains
from flowsim.why.event_time.late_chain import late_chains
from flowsim.why.run_facts import RunFacts
from flowsim.why.sentence import KeyValue, RecordValue, Words

CAUSES: Final = "causes"
CAUSE_COLUMNS: Final = "cause_columns"
"""Sections about late records."""
ARRIVALS: Final = "arrivals"
ARRIVAL_COLUMNS: Final = "arrival_columns"
"""Sections about records behind the watermark that were not late."""

_SAMPLE: Final = 1024
_BASES: Final = ("timestamp", "watermark", "record", "key")
"""Columns of a record that columns of its causes are given less of, where that is smaller."""
_BEHIND: Final = "behind"
"""A base too: the watermark less the timestamp."""
_SEQ: Final = "seq"
"""A base too: the fact of the statement."""
_SEQ_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class CauseSections:
    """``document``: wordings, shapes and a description of each column, as compressed JSON. ``rows``: records."""

    document: bytes
    columns: bytes
    rows: int

    @property
    def size(self) -> int:
        return len(self.document) + len(self.columns)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The different causes with one wording, in the order of the records that have them first."""

    values: Ints
    """The columns: quantities, and ``seq`` of the fact."""
    first: Ints
    """The number of the first record that has each cause."""


class _Chains:
    """The chains of the first records: per record its shape, and per shape the rows of each wording."""

    def __init__(self, chains: Chains, order: Ints, count: int) -> None:
        """``order``: the number of the record of each chain. ``count``: of records."""
        self.wordings: dict[Wording, int] = {}
        parts: list[tuple[int, Ints, list[Ints]]] = []
        """Wordings, with records that have it, and the columns of their causes."""
        for numbers, causes in chains.links:
            records = order[numbers]
            which = np.flatnonzero(records < count)
            if len(which):
                wording = self.wordings.setdefault(causes.wording, len(self.wordings))
                parts.append((wording, records[which], [column[which] for column in causes.columns]))
        self.rows: list[_Rows] = []
        links: list[Ints] = [late for _, late, _ in parts]
        for wording in range(len(self.wordings)):
            of = [number for number, part in enumerate(parts) if part[0] == wording]
            rows, places = _different(
                np.concatenate([parts[number][1] for number in of]),
                np.concatenate([np.array(parts[number][2]) for number in of], axis=1),
            )
            self.rows.append(rows)
            ends = np.cumsum([len(parts[number][1]) for number in of])
            for number, own in zip(of, np.split(places, ends[:-1]), strict=True):
                links[number] = own
        self._read_shapes(count, [(wording, late, own) for (wording, late, _), own in zip(parts, links, strict=True)])

    def _read_shapes(self, count: int, parts: list[tuple[int, Ints, Ints]]) -> None:
        """``parts``: wordings, with the records that have it next, and the row of each."""
        known: list[tuple[int, ...]] = [()]
        numbers = {(): 0}
        shape_of, length = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        links: list[Ints] = []
        for wording, late, rows in parts:
            for place in np.unique(length[late]).tolist():
                if place == len(links):
                    links.append(np.zeros(count, dtype=np.int64))
                here = length[late] == place
                links[place][late[here]] = rows[here]
            length[late] += 1
            before, which = np.unique(shape_of[late], return_inverse=True)
            after = [(*known[shape], wording) for shape in before.tolist()]
            for shape in after:
                if shape not in numbers:
                    numbers[shape] = len(known)
                    known.append(shape)
            shape_of[late] = np.array([numbers[shape] for shape in after])[which]
        found, first, self.shape_of = np.unique(shape_of, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        self.shape_of = rank[self.shape_of]
        self.shapes = [known[shape] for shape in found[np.argsort(first)].tolist()]
        self.links = [
            [links[place][self.shape_of == number] for place in range(len(wordings))]
            for number, wordings in enumerate(self.shapes)
        ]


def _different(late: Ints, columns: Ints) -> tuple[_Rows, Ints]:
    """The different causes among those of some records, and for each one its number among them."""
    in_order = np.argsort(late, kind="stable")
    values = columns[:, in_order]
    sorted_ = np.lexsort(values)
    is_new = np.append(True, (np.diff(values[:, sorted_]) != 0).any(axis=0))
    starts = sorted_[is_new]  # Stable: the first one of each.
    rank = np.argsort(np.argsort(starts))
    numbers: Ints = np.empty(len(late), dtype=np.int64)
    numbers[in_order[sorted_]] = rank[np.cumsum(is_new) - 1]
    first = np.sort(starts)
    return _Rows(values[:, first], late[in_order][first]), numbers


def late_sections(of_run: RunFacts, facts: FactColumns, limit_bytes: int) -> CauseSections:
    """The causes of the first late records, as many as fit. Raises BadInput for a damaged part."""
    drops = of_run.by_task(LATE_DROP.name)
    return _fitting(facts, LATE_DROP.name, drops, late_chains(of_run, drops), limit_bytes)


def arrival_sections(of_run: RunFacts, facts: FactColumns, limit_bytes: int) -> CauseSections:
    """Why the first records behind the watermark were not late, as many as fit. Raises BadInput for a damaged part."""
    behind = accepted_behind(of_run)
    known = _rows_of(facts, WINDOW_INTAKE.name, behind)
    behind = behind.where(known >= 0)
    return _fitting(facts, WINDOW_INTAKE.name, behind, in_time_chains(of_run, behind), limit_bytes)


def _rows_of(facts: FactColumns, table: str, rows: Rows) -> Ints:
    """The number in the report of each row of a table; -1: it is not in the report."""
    if table not in facts.tables:
        return np.full(len(rows), -1)
    place, wanted = facts.tasks[table] << _SEQ_BITS | facts.seqs_of[table], rows["task"] << _SEQ_BITS | rows["seq"]
    order = np.argsort(place, kind="stable")
    at = np.minimum(place[order].searchsorted(wanted), len(order) - 1)
    return np.where(place[order][at] == wanted, order[at], -1) if len(order) else np.full(len(rows), -1)


def _fitting(facts: FactColumns, table: str, rows: Rows, chains: Chains, limit_bytes: int) -> CauseSections:
    """The chains of the first of these rows in the order of the report."""
    numbers = _rows_of(facts, table, rows)
    order, count = np.argsort(np.argsort(numbers, kind="stable")), len(rows)
    numbers = np.sort(numbers)
    while True:
        sections = _sections(_Chains(chains, order, count), facts, facts.tables.get(table, {}), numbers[:count])
        if sections.size <= limit_bytes or not count:
            return sections
        count //= 2


def _sections(chains: _Chains, facts: FactColumns, table: Mapping[str, Ints], numbers: Ints) -> CauseSections:
    """``numbers``: the row of ``table`` that each chain is about."""
    columns, shape_of = _Columns(), chains.shape_of
    shapes = [
        {"wordings": list(wordings), "links": [columns.add(rows, {}) for rows in links]}
        for wordings, links in zip(chains.shapes, chains.links, strict=True)
    ]
    statements = {wordings[0] for wordings in chains.shapes}
    seqs: Ints = np.zeros(len(shape_of), dtype=np.int64)
    described: list[dict[str, Any]] = [{} for _ in chains.wordings]
    # Statements come first: the facts of other causes are given less those of the statements.
    for wording, number in sorted(chains.wordings.items(), key=lambda one: (one[1] not in statements, one[1])):
        values, first = chains.rows[number].values, chains.rows[number].first
        bases = {name: table[name][numbers[first]] for name in _BASES}
        bases[_BEHIND] = bases["watermark"] - bases["timestamp"]
        if number in statements:
            seqs[first] = values[-1]
        else:
            bases[_SEQ] = seqs[first]
        described[number] = _described(wording, values, bases, columns, facts)
    document = {
        "rows": len(shape_of), "of": columns.add(numbers, {}), "shape_of": columns.add(shape_of, {}), "shapes": shapes,
        "wordings": described,
        "statements": sorted(statements),
    }  # fmt: skip
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return CauseSections(compressed(text), columns.compressed(), len(shape_of))


def _described(
    wording: Wording, values: Ints, bases: dict[str, Ints], columns: _Columns, facts: FactColumns
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


def _named(words: Words) -> list[str | list[str]]:
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
        return compressed(b"".join(self._parts))
