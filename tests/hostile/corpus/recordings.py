"""Recordings: changed by someone who knows their format, so that all hashes fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import mkfifo

import pyarrow as pa

from tests.hostile.case import REFUSED, Case
from tests.hostile.recordings import (
    RESTARTED,
    TEXT,
    Change,
    json_file,
    leaf,
    link,
    nested,
    part,
    pipe,
    raw,
    reads,
    repeated,
    signed_leaf,
    sparse,
)

PART = "sent/part-00000.parquet"
EPOCH = "epochs/00000.json"
AGAIN = "record the run again"
COMMANDS = {
    "validate": ("validate", "--engine", "python"),
    "trace": ("trace", "--detail", "everything"),
    "metrics": ("metrics",),
    "checkpoints": ("checkpoints",),
    "subtasks": ("checkpoints", "--checkpoint", "1"),
    "replay": ("replay",),
    "report": ("report", "--html", "out/report.html"),
    "why": ("why", "late"),
    "why waiting": ("why", "waiting"),
    "why no-output": ("why", "no-output"),
    "export": ("export", "--perfetto", "out/run.pftrace"),
    **{f"trace of {table}": ("trace", "--kinds", table) for table in ("actions", "buffers", "sent")},
}


def _cases(
    name: str,
    change: Change,
    *words: str,
    of: tuple[str, ...] = ("validate", "trace", "replay", "report", "export"),
    text: str = TEXT,
) -> Iterator[Case]:
    """The change, read by some commands."""
    for command in of:
        yield Case(f"{name}, {command}", reads(change, commands=COMMANDS[command], text=text), REFUSED, *words)


def _numbers_of_tasks() -> Iterator[Case]:
    """Numbers of tasks and attempts that no run gives, in the first row of a table."""
    for column, value, message in (
        ("task", -1, "column task has the value -1"),
        ("task_attempt", -1, "column task_attempt has the value -1"),
        ("task_attempt", 9, "task_attempt does not ascend"),
    ):
        for table in ("lifecycle", "checkpoint_steps"):

            def changed(given: pa.Table, column: str = column, value: int = value) -> pa.Table:
                number = given.schema.get_field_index(column)
                first = pa.array([value, *given[column].to_pylist()[1:]], given.schema.field(number).type)
                return given.set_column(number, given.schema.field(number), first)

            of = ("trace",) if column == "task" else ("validate",)
            where = f"{table}/part-00000.parquet"
            yield from _cases(
                f"{column} {value} in {table}", part(table, changed), where, message, of=of, text=RESTARTED
            )


def _files() -> Iterator[Case]:
    """Files that are none of a recording."""
    for name in ("manifest.json", EPOCH, PART):
        yield from _cases(f"link {name}", link(name, "/etc/passwd"), name, "is a link")
        yield from _cases(f"pipe {name}", pipe(name), name, "is not a regular file")
    yield from _cases("link graph.json", link("graph.json", "itself"), "graph.json", "is a link")
    yield from _cases("endless file", link(PART, "/dev/zero"), PART, "is a link")
    linked = link("sent", "itself")
    yield from _cases("linked table", linked, "sent", "is a link", of=("validate", "trace", "report", "export"))
    yield from _cases("linked table", linked, "sent", "not part of the recording: remove it", of=("replay",))
    yield from _cases("linked epochs", link("epochs", "itself"), "epochs", "is a link")
    yield from _cases("sparse part", sparse(PART, 20 << 30), PART, "--limit recording_bytes=")
    yield from _cases(
        "sparse manifest",
        sparse("manifest.json", 20 << 30),
        "manifest.json",
        "--limit description_bytes=",
        of=("validate", "metrics", "why", "checkpoints"),
    )
    yield from _cases(
        "sparse epoch", sparse(EPOCH, 20 << 30), EPOCH, "--limit description_bytes=", of=("validate", "metrics")
    )
    yield from _cases(
        "sparse graph", sparse("graph.json", 20 << 30), "graph.json", "--limit graph_bytes=", of=("validate", "metrics")
    )


def _json() -> Iterator[Case]:
    """Documents of wrong types, sizes and depths."""
    for name, signs in (("manifest.json", False), (EPOCH, True), ("graph.json", True)):
        for what, content in (
            ("nested", nested(100_000)), ("long list", lambda: b"[" + b"[]," * 3_000_000 + b"[]]"), ("number", b"1"), ("null", b"null"),
            ("no text", b"\xff\xfe"), ("empty", b""),
        ):  # fmt: skip
            yield from _cases(
                f"{what} as {name}",
                raw(name, content, signs=signs),
                name,
                "manifest" if name == "manifest.json" else AGAIN,
                of=("validate",),
            )
    for path in (
        ("run", "settings"),
        ("run", "options"),
        ("run", "scenario"),
        ("rows",),
        ("versions",),
        ("failure",),
        ("epochs",),
        ("level",),
        ("status",),
    ):
        yield from _cases(
            f"manifest {path[-1]}",
            leaf("manifest.json", path, [1]),
            "manifest.json",
            path[-1],
            of=("validate", "replay"),
        )
    for path, value in (
        (("rows", "secret"), 1), (("rows", "sent"), -1), (("epochs",), 10**30), (("run", "seed"), 10**30), (("run", "scenario", "path"), "/etc/s.yaml"),
        (("run", "scenario", "path"), "../../s.yaml"), (("run", "inputs"), {"/etc/passwd": "0"}), (("format_version",), 10**9),
    ):  # fmt: skip
        yield from _cases(
            f"manifest {'.'.join(path)} {value!r:.20}",
            leaf("manifest.json", path, value),
            "manifest.json",
            "manifest" if path[0] != "format_version" else AGAIN,
            of=("validate", "trace"),
        )
    for name, value in (("record_values", 1 << 50), ("record_values", "much")):
        yield from _cases(
            f"setting {name} {value!r:.20}",
            signed_leaf(("run", "settings", name), value),
            "damaged manifest",
            name,
            of=("replay",),
        )
    for name, value in (("until_ns", -1), ("budget_records", 0), ("budget_records", 10**18), ("set", {})):
        yield from _cases(
            f"option {name} {value!r:.20}",
            signed_leaf(("run", "options", name), value),
            "damaged manifest",
            name,
            of=("replay",),
        )
    yield from _cases(
        "digest of no table",
        leaf("manifest.json", ("table_digests",), {"secret": ""}),
        "manifest.json",
        "secret",
        of=("replay",),
    )
    text = ("run", "scenario", "text")
    yield from _cases("scenario of another recording", signed_leaf(text, "a: b\n"), "s", "unknown key", of=("replay",))


def _epochs() -> Iterator[Case]:
    """Markers that describe other parts than there are."""
    tasks = ("parts", "sent", "tasks")
    for what, path, value in (
        ("unsorted tasks", tasks, [[1, 14], [0, 14]]), ("repeated tasks", tasks, [[0, 14], [0, 14]]), ("empty task", tasks, [[0, 28], [1, 0]]),
        ("negative rows", tasks, [[0, -28]]), ("no tasks", tasks, []), ("tasks of a table without", ("parts", "choices", "tasks"), [[0, 20]]),
        ("huge task", tasks, [[10**30, 28]]), ("rows of texts", tasks, [["0", "28"]]), ("rows", ("parts", "sent", "rows"), 10**18),
        ("unknown table", ("parts", "../../etc"), {"rows": 1, "sha256": "0" * 64, "tasks": []}), ("epoch", ("epoch",), 7),
    ):  # fmt: skip
        yield from _cases(f"marker with {what}", leaf(EPOCH, path, value), EPOCH, AGAIN, of=("validate", "metrics"))


def _graph() -> Iterator[Case]:
    """Descriptions that do not fit together."""
    for table, row, column, value in (
        ("tasks", 0, 0, 1), ("tasks", 0, 1, 99), ("tasks", 0, 2, 99), ("tasks", 1, 4, 99), ("tasks", 1, 5, 10**9), ("tasks", 1, 6, 10**9),
        ("tasks", 1, 6, 0), ("tasks", 1, 7, 10**9), ("operators", 0, 1, 5), ("operators", 0, 5, 0), ("operators", 1, 0, 99), ("operators", 1, 5, 7),
        ("edges", 0, 0, 1), ("edges", 0, 1, 99), ("edges", 0, 2, 99), ("edges", 0, 3, 99), ("edges", 0, 3, 0), ("edges", 0, 4, -1),
        ("channels", 0, 0, 1), ("channels", 0, 1, 99), ("channels", 0, 2, 99), ("channels", 0, 3, 99), ("channels", 0, 4, 99), ("channels", 0, 5, 99),
        ("channels", 0, 6, -1), ("channels", 0, 8, -1), ("task_managers", 0, 0, 1), ("pools", 0, 0, 1), ("pools", 0, 1, 99), ("pools", 0, 2, 99),
        ("pools", 0, 3, 99), ("pools", 0, 5, -1), ("pools", 0, 9, -1),
    ):  # fmt: skip
        change = leaf("graph.json", (table, "rows", row, column), value)
        yield from _cases(f"{table} {column} of row {row} {value}", change, "table", AGAIN, of=("validate", "why"))
    for table, column, value in (
        ("tasks", 0, None), ("tasks", 0, 2**31), ("tasks", 3, 7), ("operators", 4, {}), ("channels", 7, 300), ("channels", 8, 1.5), ("pools", 5, "6"),
    ):  # fmt: skip
        change = leaf("graph.json", (table, "rows", 0, column), value)
        yield from _cases(
            f"{table} of type {value!r}",
            change,
            "graph.json",
            AGAIN,
            of=("validate", "trace", "metrics", "report", "checkpoints"),
        )
    yield from _cases(
        "short row", leaf("graph.json", ("tasks", "rows", 0), [0]), "graph.json", AGAIN, of=("validate", "trace")
    )
    yield from _cases(
        "missing table",
        json_file("graph.json", lambda given: given.pop("pools") and given),
        "graph.json",
        AGAIN,
        of=("validate", "trace"),
    )
    yield from _cases("more tables", leaf("graph.json", ("secret",), {}), "graph.json", AGAIN, of=("validate", "trace"))
    yield from _cases(
        "operators that read each other",
        leaf("graph.json", ("operators", "rows", 1, 5), 1),
        "table operators",
        AGAIN,
        of=("validate",),
    )
    yield from _cases(
        "params", leaf("graph.json", ("operators", "rows", 0, 4), "{"), "params", "not JSON", of=("validate",)
    )
    yield from _cases(
        "nested params",
        leaf("graph.json", ("operators", "rows", 0, 4), "[" * 100_000),
        "params",
        "not JSON",
        of=("validate",),
    )


def _outputs() -> Iterator[Case]:
    """Files to write that have a long name, or are none."""
    for name, *options in (
        ("report", "--html"),
        ("export", "--perfetto"),
        ("export", "--speedscope"),
        ("validate", "--engine", "python", "--junit"),
    ):
        for what, path, words in (("a pipe", "pipe", "not a regular file"), ("a long name", "x" * 300, "too long")):
            made = reads(lambda directory: mkfifo(directory.parent.parent / "pipe"), commands=(name, *options, path))
            yield Case(f"{name} {options[-1]} to {what}", made, REFUSED, f"{options[-1]}: {path}", words)


def _parquet() -> Iterator[Case]:
    """Parts that are no parts, or need more memory than their rows."""
    words = (PART, AGAIN)
    integers = pa.table({"seq": pa.array([1], pa.int64())})
    nesting = pa.table({"seq": pa.array([[[1]]])})
    for name, table in (("other columns", integers), ("nested columns", nesting), ("no columns", pa.table({}))):
        yield from _cases(
            name, part("sent", lambda given, table=table: table, rows=28), *words, of=("validate", "trace")
        )
    for name, kind in (("texts", pa.string()), ("wide numbers", pa.decimal128(38)), ("floats", pa.float64())):
        change = part("sent", lambda given, kind=kind: given.set_column(0, "seq", given["seq"].cast(kind)))
        yield from _cases(f"{name} as seq", change, *words, of=("validate", "trace"))
    nullable = part("sent", lambda given: given.cast(pa.schema([field.with_nullable(True) for field in given.schema])))
    yield from _cases("nullable columns", nullable, *words)
    without = part("sent", lambda given: given, write_statistics=False)
    yield from _cases("no statistics", without, PART, "bounds of time_ns", of=("trace",))
    yield from _cases(
        "row group of 8 million rows",
        part("sent", repeated("sent", "seq", 1, 8_000_000)),
        PART,
        "--limit recording_rows=",
    )
    yield from _cases(
        "more rows than the marker",
        part("sent", repeated("sent", "seq", 1, 100_000), rows=28),
        *words,
        of=("validate", "trace"),
    )
    texts = part("record_values", repeated("record_values", "value", "x" * 1_000_000, 100_000), store_schema=False)
    yield from _cases(
        "texts of 100 GB", texts, "record_values/part-00000.parquet", "--limit recording_bytes=", of=("trace", "replay")
    )
    for content, what in (
        (b"", "empty"),
        (b"PAR1" * 10, "no footer"),
        (b"PAR1" + b"\xff" * 4 + b"PAR1", "huge footer"),
        (b"\x00" * 10_000, "zeros"),
    ):
        yield from _cases(f"{what} part", raw(PART, content), *words, of=("validate", "trace"))


def _facts() -> Iterator[Case]:
    """Facts with numbers that no run records."""
    for table, column, value, command in (
        ("buffers", "channel", 99, "export"),
        ("actions", "kind", 50, "trace of actions"),
        ("sent", "kind", 50, "trace of sent"),
        ("buffers", "side", 50, "trace of buffers"),
        ("sent", "kind", 50, "export"),
        ("sent", "channel", -5, "export"),
        ("task_watermark", "input", 50, "export"),
        ("metrics", "task", 99, "metrics"),
        ("actions", "kind", 50, "why waiting"),
        ("async_elements", "action", 50, "why no-output"),
        ("received", "channel", 99, "why no-output"),
    ):
        change = part(table, _with(column, value))
        yield from _cases(f"{table} with {column} {value}", change, table, AGAIN, of=(command,))


def _checkpoints() -> Iterator[Case]:
    """Facts of checkpoints with numbers that no run records."""
    for table, column, value, command in (
        ("checkpoints", "action", 50, "checkpoints"),
        ("checkpoints", "type", 50, "subtasks"),
        ("checkpoints", "task_id", 99, "checkpoints"),
        ("restarts", "action", 50, "checkpoints"),
        ("restarts", "task_id", 99, "checkpoints"),
        ("checkpoint_metrics", "task", 99, "subtasks"),
    ):
        make = reads(part(table, _with_all(column, value)), commands=COMMANDS[command], text=RESTARTED)
        yield Case(f"{table} with {column} {value}, {command}", make, REFUSED, table, AGAIN)
    many = part("checkpoints", repeated("checkpoints", "checkpoint", 1, 8_000_000))
    make = reads(many, commands=COMMANDS["checkpoints"], text=RESTARTED)
    yield Case("8 million events of checkpoints", make, REFUSED, "checkpoints", "--limit recording_rows=")


def _with_all(column: str, value: int) -> Callable[[pa.Table], pa.Table]:
    """The table with this value in all rows of one column."""

    def change(given: pa.Table) -> pa.Table:
        index = given.schema.get_field_index(column)
        field = given.schema.field(index)
        return given.set_column(index, field, pa.repeat(pa.scalar(value, field.type), len(given)))

    return change


def _with(column: str, value: int) -> Callable[[pa.Table], pa.Table]:
    """The table with this value in one column of its last row."""

    def change(given: pa.Table) -> pa.Table:
        index = given.schema.get_field_index(column)
        field = given.schema.field(index)
        values = [*given[column].to_pylist()[:-1], value]
        return given.set_column(index, field, pa.array(values, field.type))

    return change


CASES = [
    *_files(),
    *_numbers_of_tasks(),
    *_json(),
    *_epochs(),
    *_graph(),
    *_outputs(),
    *_parquet(),
    *_facts(),
    *_checkpoints(),
]
