"""A small lesson in a folder of its own, and variants of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """\
---
minutes: 10
questions:
  order:
    ask: Which rows arrive?
    results: {sink: out}
  names:
    ask: Which keys arrive, in any order?
    results: {sink: out, columns: [0], any_order: true}
  many:
    ask: How many?
    rows: out
  when:
    ask: When does the last record leave the source, in ms?
    number: {table: received, of: out, where: {kind: RECORD}, take: max, column: time_ns, unit: ms,
             since_start: true, tolerance: 0.5}
  which:
    ask: Who receives more records?
    which: {nodes: [numbers, out], table: task_times, take: sum, column: records_in}
  choice:
    ask: What happened?
    choice:
      - {text: all were lost, when: [{says: rows, table: received, of: out, where: {kind: RECORD}, exactly: 0}]}
      - {text: all arrived, when: [{says: rows, table: received, of: out, where: {kind: RECORD}, exactly: 3}]}
  steps:
    ask: In which order?
    order:
      - {text: the sink ends, at: {table: lifecycle, of: out, where: {event: FINISHED}, take: max, column: time_ns}}
      - {text: the first record leaves, at: {table: sent, of: numbers, take: min, column: time_ns}}
moments:
  - {look: the first record at the sink, at: {table: received, of: out}}
exercise:
  may_change: [sources.numbers.script]
  expect: {rows: {out: 2}, laws: {channel-fifo: holds}}
  solution: ["sources.numbers.script.subtasks[0]=[{record: [a, 1]}, {record: [b, 2]}]"]
---

# A small lesson

## Problem

Three records.

```yaml
flowsim: 1
name: small
settings: {record: full}
sources:
  numbers:
    script:
      fields: {key: string, n: long}
      subtasks:
        - [{record: [a, 1]}, {record: [b, 2]}, {sleep: 20 ms}, {record: [a, 3]}]
sinks:
  out: {input: numbers, chaining: never, collect: {}}
```

## Exercise

Send two records.
"""

RIGHT = {
    "order": [["a", 1], ["b", 2], ["a", 3]],
    "names": "b, a, a",
    "many": 3,
    "when": "20 ms",
    "which": "out",
    "choice": "b",
    "steps": "b a",
}
"""The right answers, in several of the forms that are accepted."""

WriteLesson = Callable[..., Path]


@pytest.fixture
def write_lesson(tmp_path: Path) -> WriteLesson:
    """Writes the small lesson with ``(old, new)`` texts replaced; returns its path."""

    def write(*changes: tuple[str, str]) -> Path:
        text = SMALL
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "lessons" / "01_small.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write
