"""Checkpoint directories: changed by someone who knows their format, so that all digests fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgpack
import pyarrow as pa

from tests.hostile.case import REFUSED, Case
from tests.hostile.checkpoint_directories import Change, column, leaf, manifest, many_rows, part, shows
from tests.hostile.recordings import link, nested, pipe, raw, sparse

PART = "keyed_state/part-00000.parquet"
AGAIN = "use another checkpoint"
MIB = 1 << 20


def _case(name: str, change: Change, *words: str) -> Case:
    return Case(name, shows(change), REFUSED, *words)


def _files() -> Iterator[Case]:
    """Files that are none of a checkpoint."""
    for name in ("manifest.json", PART):
        yield _case(f"link {name}", link(name, "/etc/passwd"), name.split("/")[-1], "is a link")
        yield _case(f"pipe {name}", pipe(name), name, "is not a regular file")
    yield _case("linked table", link("keyed_state", "itself"), "keyed_state", "is a link")
    yield _case("endless file", link(PART, "/dev/zero"), PART, "is a link")
    yield _case("sparse part", sparse(PART, 20 << 30), PART, "--limit recording_bytes=")
    yield _case("sparse manifest", sparse("manifest.json", 20 << 30), "manifest.json", "--limit description_bytes=")
    yield _case("missing part", lambda folder: (folder / PART).unlink(), PART, "missing", AGAIN)
    yield _case(
        "missing manifest", lambda folder: (folder / "manifest.json").unlink(), "manifest.json", "give a folder"
    )
    yield _case("other part", raw(PART, b"PAR1" * 100, signs=False), PART, "is not the file that was written")
    yield _case("part of another table", _copied, PART, "is not the file that was written")


def _copied(folder: Path) -> None:
    (folder / PART).write_bytes((folder / "timers/part-00000.parquet").read_bytes())


def _documents() -> Iterator[Case]:
    """Manifests that are no manifest."""
    for name, content in (
        ("empty", b""), ("text", b"chk"), ("list", b"[]"), ("latin", b'{"content": "\xe9"}'), ("truncated", b'{"conte'),
    ):  # fmt: skip
        yield _case(f"{name} manifest", raw("manifest.json", content, signs=False), "manifest.json", "checkpoint")
    yield _case("nested manifest", raw("manifest.json", lambda: nested(200_000), signs=False), "manifest.json", AGAIN)
    yield _case("null job", leaf(["job"], None), "manifest.json", "$.job", AGAIN)
    yield _case("too new", leaf(["format_version"], 4), "manifest.json", "format 4", "reads format 3")
    yield _case("too old", leaf(["format_version"], 2), "manifest.json", "format 2", "reads format 3")
    yield _case("recording", leaf(["content"], "recording"), "manifest.json", "not the manifest of a checkpoint")
    yield _case(
        "not signed",
        lambda folder: (folder / "manifest.json").write_bytes(
            (folder / "manifest.json").read_bytes().replace(b'"timestamp_ms": 1500', b'"timestamp_ms": 1501')
        ),
        "manifest.json",
        "was changed after it was written",
    )


def _values() -> Iterator[Case]:
    """Manifests with impossible values."""
    first = ["operators", 1, "subtasks", 0]
    for path, value, place in (
        (["checkpoint_id"], 0, "$.checkpoint_id"),
        (["checkpoint_id"], 2**63, "$.checkpoint_id"),
        (["checkpoint_id"], 1.5, "$.checkpoint_id"),
        (["timestamp_ms"], "now", "$.timestamp_ms"),
        (["kind"], "SNAPSHOT", "$.kind"),
        (["operators", 0, "parallelism"], 10**9, "$.operators[0].parallelism"),
        (["operators", 0, "max_parallelism"], 0, "$.operators[0].max_parallelism"),
        ([*first, "subtask"], -1, "$.operators[1].subtasks[0].subtask"),
        ([*first, "managed_keyed", 0, "key_groups"], [0, 10**9], "key_groups"),
        ([*first, "managed_keyed", 0, "key_groups"], [63], "key_groups"),
        ([*first, "more"], [], "more"),
        (["streams", 0, "rows"], -1, "$.streams[0].rows"),
        (["streams", 0, "table"], "../../etc", "$.streams[0].table"),
        (["tables", "keyed_state", 0, "sha256"], "../x", "sha256"),
        (["tables", "secrets"], [], "$.tables"),
    ):  # fmt: skip
        yield _case(f"{'.'.join(map(str, path))} {value}", leaf(path, value), "manifest.json", place, AGAIN)
    yield _case(
        "rows behind the end", leaf(["streams", 2, "rows"], 2**50), "manifest.json", "rows that the table", AGAIN
    )
    for stream in (99, 0):
        path = [*first, "managed_keyed", 0, "stream"]
        yield _case(f"stream {stream}", leaf(path, stream), "manifest.json", "has no key groups", AGAIN)
    elements = ["operators", 0, "subtasks", 1, "managed_operator", 0, "states", "splits", "elements"]
    yield _case("elements behind the end", leaf(elements, [[2, 2]]), "manifest.json", "has fewer elements", AGAIN)
    yield _case("elements twice", leaf(elements, [[0, 3]] * 100_000), "manifest.json", "has fewer elements", AGAIN)
    twice = manifest(lambda given: given["operators"].append(given["operators"][0]))
    yield _case("operator twice", twice, "manifest.json", "two operators have the same id", AGAIN)
    coordinator = leaf(["operators", 1, "has_coordinator_state"], True)
    yield _case("coordinator without state", coordinator, "manifest.json", "coordinator_state", AGAIN)


def _parts() -> Iterator[Case]:
    """Files of tables that are not as flowsim writes them."""
    long_text = "x" * (8 * MIB)
    yield _case(
        "dictionary bomb",
        part(
            "keyed_state",
            many_rows(1 << 20, value=long_text.encode()),
            use_dictionary=["operator_id", "state", "value"],
            write_statistics=False,
        ),
        PART,
        "not encoded as in a checkpoint",
        AGAIN,
    )
    yield _case(
        "page bomb",
        part("keyed_state", many_rows(48, value=long_text.encode()), compression="zstd", write_statistics=False),
        PART,
        "--limit recording_bytes=",
    )
    yield _case(
        "name bomb",
        part("keyed_state", many_rows(1 << 16, state=long_text), compression="zstd", write_statistics=False),
        "chk-3",
        "--limit",
    )
    yield _case(
        "too many rows", part("keyed_state", many_rows(5 << 20), compression="zstd"), PART, "--limit recording_rows="
    )
    yield _case("other rows", part("keyed_state", lambda given: given, rows=2), PART, "expected 2 rows", AGAIN)
    text = column("key_group", ["0", "0", "5"], pa.string())
    yield _case("key groups as text", part("keyed_state", text), PART, "columns of keyed_state", AGAIN)
    wide = column("key_group", [0, 0, 5], pa.int64())
    yield _case("key groups of 64 bits", part("keyed_state", wide), PART, "columns of keyed_state", AGAIN)
    yield _case("missing column", part("timers", lambda given: given.drop_columns(["key"])), "timers", "columns", AGAIN)
    for name, value in (
        ("truncated", b"\x92\x01"),
        ("other extension", msgpack.packb(msgpack.ExtType(7, b"x"))),
        ("timestamp", msgpack.packb(msgpack.Timestamp(1, 0))),
        ("deep", b"\x91" * 500 + b"\x01"),
        ("deep extensions", _deep_list(900)),
        ("unsigned", b"\xcf" + b"\xff" * 8),
        ("list as key of a dict", b"\x81" + msgpack.packb(msgpack.ExtType(1, b"\x90")) + b"\x01"),
        ("reserved", b"\xc1"),
    ):
        yield _case(
            f"value {name}",
            part("keyed_state", column("value", [value] * 3, pa.binary())),
            "keyed_state",
            "a value that cannot be decoded",
            AGAIN,
        )
    order = column("key_group", [5, 0, 5], pa.int32())
    yield _case("key groups out of order", part("keyed_state", order), "keyed_state", "order of key groups", AGAIN)
    outside = column("key_group", [0, 0, 99], pa.int32())
    yield _case("key group of another subtask", part("keyed_state", outside), "keyed_state", "key group 99", AGAIN)
    negative = column("key_group", [-5, 0, 5], pa.int32())
    yield _case("negative key group", part("keyed_state", negative), "keyed_state", "key group -5", AGAIN)


def _deep_list(depth: int) -> bytes:
    value = b"\x90"
    for _ in range(depth):
        value = msgpack.packb(msgpack.ExtType(1, b"\x91" + value))
    return value


CASES = [*_files(), *_documents(), *_values(), *_parts()]
