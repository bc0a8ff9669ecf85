"""The page ``docs/recording.md``, made of the schema of recordings; ``make docs`` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from flowsim.facts import kinds, schema
from flowsim.facts.schema import (
    FACT_TABLES,
    FORMAT_VERSION,
    STATIC_TABLES,
    Column,
    Table,
)

_TYPES: Final = {"q": "int64", "i": "int32", "h": "int16", "b": "int8", "s": "text"}
_KINDS_OF_ACTIONS: Final = (kinds.ActionKind, kinds.WaitKind)

_HEAD: Final = f"""\
# The format of a recording

Generated from `flowsim/facts/schema.py`; do not edit. Format version {FORMAT_VERSION}.

A run leaves a directory `recording/`:

| path | content |
|---|---|
| `manifest.json` | what was run and how it ended: status, level, scenario text, resolved settings, input hashes, seed, policy, \
versions, rows and digest per table, how many values of records were kept, the cause \
of a failure. Nothing of the wall clock, no absolute path, no host name |
| `wall.json` | start, end, elapsed time, platform; covered by no digest |
| `graph.json` | the execution graph: tables `tasks`, `operators`, `edges`, `channels`, `task_managers`, `pools` |
| `<table>/part-<epoch>.parquet` | the rows that a table got during one epoch; no file when there were none |
| `epochs/<epoch>.json` | the marker of an epoch, written last: then the epoch is complete in every table |

**Epochs.** All tables close their parts together whenever one of them has 65,536 rows, and at the end: a run that is
killed loses no more than that of any table. Every file is written aside and renamed, so a process that is killed
leaves its complete epochs; parts without a marker are not part of the recording. When the disk refuses a part, its
epoch is dropped as a whole and nothing more is written.

**Parts** are sorted by task; the rows of a task are in the order in which they were recorded, and those of a later epoch
come after those of an earlier one, so the `seq` of a task ascends from part to part. Row groups hold whole tasks, of
16,384 rows or more; only a task of more than 131,072 rows is cut.

**Markers** hold for each part the number of rows, the rows of each task, and the SHA-256 of the file; and the SHA-256 of
`graph.json` and of the marker before. The manifest holds that of the last marker. So a changed, missing or exchanged file is
found when it is read, and a prefix can be verified without a manifest.

**Status** is `running` from the start on, so a recording that still says so was killed, or could not be written any
further. At the end it becomes `complete`, `failed`, `canceled` or `stopped` (by `until:`). Only a `complete` recording is
judged as a whole, any other as a prefix (`docs/laws.md`).

**Digests.** Each task has one SHA-256 per fact table: of its rows in the order of `seq`, packed little-endian without
padding in the order of the columns (`keys`, `states` and the graph: rows as JSON arrays, one a line;
`record_values`: two packed integers and a line of JSON, in the order in which they were recorded). A table's digest covers those
of its tasks, `facts_digest` the digests of all tables and the level, `digest` also what the manifest says of the run.
Versions are not covered. So the digest does not depend on how the facts are stored.

**Values of records.** Facts name a record by its fingerprint; table `record_values` has the value of each, once a run, in
the epoch of the first fact that names it or an earlier one. Its size is bounded (setting `record_values`, 64 MiB): a value
counts with its encoded bytes and 16 more. After half of the size, only values are kept whose fingerprint ends in one 0
bit, then in two, and so on, so that all samples together fit. A value of more than 1/256 of the size is left out. The
manifest says in `record_values` how it ended: `stored` of `distinct` values (an estimate, when `one_in` is not 1).

**State.** Table `state_changes` is empty unless a run at level full has setting `record_state`. A read that renews a time to
live is no change. Values, lists and entries of maps that were written, and what windows took in, are in `record_values`,
too. Tables `keys` and `states` say what the numbers of keys and states mean. The windows in flight of an assigner that merges are
not state here: table `window_merge` has them. Nothing else is recorded differently, but `seq` counts these facts, too.

**Attempts.** A fact of a task ends with `task_attempt`. While a task runs only the first `seq` of each attempt is kept; the
column is added when an epoch is written, and digests cover it.

**Types.** No column holds nulls. Fact tables hold only integers; what a sentinel means is said where it occurs.
"""


def recording_page() -> str:
    """The whole page, as Markdown."""
    lines = [_HEAD]
    lines += ["## Fact tables", ""]
    for table in FACT_TABLES:
        lines += _section(table)
    lines += ["## Description tables", "", "Small, may hold text, and say what the ids mean.", ""]
    for table in STATIC_TABLES:
        lines += _section(table)
    return "\n".join(lines)


def _section(table: Table) -> list[str]:
    level = f"Level {table.level.name.lower()}. " if table in FACT_TABLES else ""
    rows = [f"| `{c.name}` | {_TYPES[c.code]} | {_meaning(table, c)} |" for c in table.stored_columns]
    meaning = table.meaning[0].upper() + table.meaning[1:]
    return [
        f"### {table.name}",
        "",
        f"{level}{meaning}.",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _meaning(table: Table, column: Column) -> str:
    enums: tuple[type[IntEnum], ...] = (column.values,) if column.values else ()
    if table is schema.ACTIONS and column.name == "kind":
        enums = _KINDS_OF_ACTIONS
    values = "; ".join(f"{enum.__name__}: {_values(enum)}" if len(enums) > 1 else _values(enum) for enum in enums)
    return f"{column.meaning} ({values})" if values else column.meaning


def _values(members: Iterable[IntEnum]) -> str:
    return ", ".join(f"{member.value} {member.name}" for member in members)


if __name__ == "__main__":
    print(recording_page(), end="")
