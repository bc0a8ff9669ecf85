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
[reading_recordings.md](reading_recordings.md) shows how to read the tables with Python, pandas, Arrow and Spark.

A run writes a directory `recording/`:

| path | content |
|---|---|
| `manifest.json` | description and status of the run: status, level, scenario text, resolved settings, input hashes, seed, \
policy, versions, rows and digest per table, number of stored record values, the causes of failures, the first rows \
of sinks that keep them in memory. It contains no wall-clock times, absolute paths or host names |
| `wall.json` | start, end, elapsed time, platform; not part of any digest |
| `graph.json` | the execution graph: tables `tasks`, `operators`, `edges`, `channels`, `task_managers`, `pools` |
| `<table>/part-<epoch>.parquet` | the rows of a table in one epoch; there is no file without rows |
| `epochs/<epoch>.json` | the marker of an epoch. It is written last: with its marker an epoch is complete in every table |

**Epochs.** All tables close their parts together when one of them has 65,536 rows, and at the end of the run. So a killed
run loses at most this number of rows per table. Every file is first written under a temporary name and then renamed, so
the complete epochs of a killed process remain. Parts without a marker do not belong to the recording. After a disk error
flowsim removes the parts of the current epoch and writes nothing more.

**Parts** are sorted by task. The rows of a task are in recorded order, and rows of a later epoch follow those of an
earlier one, so the `seq` of a task increases from part to part. Row groups contain whole tasks and have at least 16,384
rows. Only a task with more than 131,072 rows is split.

**Markers** contain the number of rows of each part, the rows of each task, the SHA-256 of each file, of `graph.json` and
of the previous marker. The manifest contains the SHA-256 of the last marker. So a reader detects a changed, missing or
exchanged file, and can verify a prefix without a manifest.

**Status** is `running` from the start. A finished run sets it to `complete`, `failed`, `canceled` or `stopped` (by
`until:`). If it is still `running` after the end, the process was killed or could not write. Only a `complete` recording
is checked as a whole, all others as a prefix (`docs/laws.md`).

**Digests.** Each task has one SHA-256 per fact table: over its rows in the order of `seq`, packed little-endian without
padding in the order of the columns. Rows of `keys`, `states` and the graph are JSON arrays, one per line. Rows of
`record_values` are two packed integers and a line of JSON, in recorded order. The digest of a table covers the digests of
its tasks. `facts_digest` covers the digests of all tables and the level. `digest` also covers the description of the run
in the manifest, without versions. So the digest does not depend on the storage of the facts.

**Changes after the run.** Every command refuses a finished recording whose digests do not fit together or whose files do
not fit their markers. `replay` also refuses files that are not part of the recording. No digest covers `versions` and
`wall.json`: `replay` only shows versions that differ, and takes from `wall.json` only the folders in which it looks for
input files (whose SHA-256 the manifest has) and for the savepoint of the run (of which it has the digest).

**Record values.** Facts identify a record by its fingerprint. Table `record_values` contains the value of each
fingerprint once per run, in the epoch of the first fact with this fingerprint or in an earlier one. Setting
`record_values` limits the size (64 MiB by default): a value counts with its encoded bytes plus 16. When half of the size
is used, only values whose fingerprint ends in one 0 bit are stored, then in two 0 bits, and so on, so that all samples
together fit. A value larger than 1/256 of the size is omitted. In the manifest, `record_values` contains the result:
`stored` values of `distinct` ones (an estimate if `one_in` is not 1).

**State.** Table `state_changes` is empty unless a run at level full has setting `record_state`. A read that extends a time
to live is not a change. Table `record_values` then also contains the values, lists and map entries that were written, and
the records that were added to windows. Tables `keys` and `states` describe the numbers of keys and states. The set of
active windows of a merging assigner is not in `state_changes`; table `window_merge` contains the merges. No other
fact changes, except that `seq` also counts these facts.

**Attempts.** The last column of a task's fact is `task_attempt`. During the run flowsim stores only the first `seq` of
each attempt. It adds the column when it writes an epoch; digests cover the column.

**Types.** No column contains nulls. Fact tables contain only integers; each column describes its sentinels.
"""


def recording_page() -> str:
    """The whole page, as Markdown."""
    lines = [_HEAD]
    lines += ["## Fact tables", ""]
    for table in FACT_TABLES:
        lines += _section(table)
    lines += ["## Description tables", "", "They are small, may contain text, and describe the ids.", ""]
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
