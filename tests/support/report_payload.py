"""Decodes the payload of a report as the viewer does."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsim.report.causes import ARRIVAL_COLUMNS, ARRIVALS, CAUSE_COLUMNS, CAUSES
from flowsim.report.encoding import Ints, decoded
from flowsim.report.fact_columns import STEPS, WITH_RECORDS, sent_of
from flowsim.report.payload import KEYS, RECORD_TIMES, TASK_AND_RECORD, Payload
from flowsim.report.record_texts import RECORDS
from flowsim.report.rules import RULES


@dataclass(frozen=True)
class DecodedPayload:
    head: dict[str, Any]
    tables: dict[str, dict[str, Ints]]
    """By name, with ``steps``."""
    counts: dict[str, dict[str, Ints]]
    """Those of a recording of which the report has only parts, and the facts of the job's side."""
    keys: list[str]
    records: dict[int, str]
    causes: tuple[dict[str, Any], bytes]
    """Of late records: what describes them, and their columns."""
    arrivals: tuple[dict[str, Any], bytes]
    """Of records behind the watermark that were not late."""
    rules: list[dict[str, Any]]
    """The page of rules, by section."""


def decode(payload: Payload) -> DecodedPayload:
    head = json.loads(payload.head)
    body = b64decode(payload.body)
    content = {
        name: gzip.decompress(body[about["offset"] : about["offset"] + about["bytes"]])
        for name, about in head["sections"].items()
    }
    rules = json.loads(content.pop(RULES))
    texts, keys = json.loads(content.pop(RECORDS)), json.loads(content.pop(KEYS))
    causes, arrivals = (
        (json.loads(content.pop(document)), content.pop(columns))
        for document, columns in ((CAUSES, CAUSE_COLUMNS), (ARRIVALS, ARRIVAL_COLUMNS))
    )
    tables = {STEPS: _columns(head["sections"][STEPS], content.pop(STEPS), {})}
    times = np.append(0, _columns(head["sections"][RECORD_TIMES], content.pop(RECORD_TIMES), {})["timestamp"])
    is_count = {name: head["sections"][name]["coverage"] in ("overview", "job") for name in content}
    counts = {name: _columns(head["sections"][name], content.pop(name), {}) for name in is_count if is_count[name]}
    for name in sorted(content, key=lambda one: one == "received"):
        of_table = tables[STEPS]["table"] == head["table_names"].index(name)
        columns = _columns(head["sections"][name], content[name], {"task": tables[STEPS]["task"][of_table]})
        if name in WITH_RECORDS:
            columns["timestamp"] = columns["timestamp"] + times[columns["record"]]
        if name == "received" and "sent" in tables:
            at = sent_of(tables["sent"], columns)
            for column in ("kind", "timestamp", "record"):
                columns[column] = columns[column] + (tables["sent"][column][at] * (at >= 0))
        tables[name] = columns
    records = dict(zip(texts["numbers"], texts["texts"], strict=True))
    return DecodedPayload(head, tables, counts, keys, records, causes, arrivals, rules)


def _columns(about: dict[str, Any], content: bytes, groups: dict[str, Ints]) -> dict[str, Ints]:
    parts, offset = {}, 0
    for column in about["columns"]:
        parts[column["name"]] = content[offset : offset + column["bytes"]]
        offset += column["bytes"]
    found: dict[str, Ints] = {}
    # Columns that others are grouped by come first.
    ranks = {"values": 0, "differences": 0, "task": 1}
    names = sorted(about["columns"], key=lambda column: ranks.get(column["encoding"], 2))
    for column in names:
        known = {**groups, **found}
        if column["encoding"] == TASK_AND_RECORD:
            known[TASK_AND_RECORD] = groups["task"] * 2 + (found["record"] > 0)
        values = decoded(column["encoding"], parts[column["name"]], about["rows"], known)
        assert column["limits"] == ([int(values.min()), int(values.max())] if len(values) else [0, 0])
        found[column["name"]] = values
    return found
