"""The values of records in a report: of late records first, then by first use, as many as fit."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.facts.schema import LATE_DROP, RECORD_VALUES
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording
from flowsim.report.encoding import compressed
from flowsim.report.fact_columns import FactColumns, Ints, numbers_of_names
from flowsim.trace.record_values import shortened

RECORDS: Final = "records"
_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True)
class RecordTexts:
    """A gzip member of JSON: the numbers of records, and their texts."""

    count: int
    data: bytes


def record_texts(recording: Recording, facts: FactColumns, limit_bytes: int) -> RecordTexts:
    """The texts that fit into the limit; raises BadInput for a damaged recording."""
    stored = recording.table(RECORD_VALUES.name)
    known = as_numpy(stored["fingerprint"])
    order = np.argsort(known, kind="stable")
    numbers = _by_need(facts)
    at = np.searchsorted(known[order], facts.records[numbers - 1])
    has_text = np.append(known[order], -1)[at] == facts.records[numbers - 1]
    unnamed = np.intersect1d(numbers[~has_text], numbers_of_names(facts))
    numbers, rows = numbers[has_text], order[at[has_text]]
    texts = [f"#{fingerprint}" for fingerprint in facts.records[unnamed - 1].tolist()]
    size = 0
    for start in range(0, len(numbers), _CHUNK):
        chunk = [shortened(text) for text in stored["value"].take(rows[start : start + _CHUNK]).to_pylist()]
        size += len(zlib.compress(_json(chunk), 1))
        if size > limit_bytes:
            break
        texts += chunk
    document = {"numbers": np.concatenate((unnamed, numbers))[: len(texts)].tolist(), "texts": texts}
    return RecordTexts(len(texts), compressed(_json(document)))


def _by_need(facts: FactColumns) -> Ints:
    """The numbers of all records, late ones and names first."""
    late = facts.tables.get(LATE_DROP.name, {}).get("record", np.zeros(0, dtype=np.int64))
    everything = np.arange(1, len(facts.records) + 1)
    first = np.unique(np.concatenate((late[late > 0], numbers_of_names(facts))))
    return np.concatenate((first, everything[~np.isin(everything, first)]))


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
