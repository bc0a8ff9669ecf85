"""Paths: out of the folder of the scenario, through links, with wildcards, and with names that no file can have."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tests.hostile.case import REFUSED, Call, Case, Make
from tests.hostile.inputs import Text, run, scenario

ROWS = "n\n1\n2\n"
LONG = "n" * 300
OUTSIDE = "is outside of"
ALLOW = "use --allow-path to allow that"
INVALID = "is not a valid path: File name too long"


def reading(path: str | list[str], kind: str = "csv") -> str:
    """A scenario that reads this path."""
    declared = "fields" if kind == "jsonl" else "columns"
    return scenario(source=f"{kind}: {{path: {json.dumps(path)}, {declared}: {{n: long}}}}")


def read(path: str | list[str], *options: str, kind: str = "csv", files: Mapping[str, Text] | None = None) -> Make:
    """``flowsim run`` of a scenario that reads this path."""
    return run(reading(path, kind), *options, files=files)


def linked(link: str, target: str, path: str, *options: str, inside: Mapping[str, Text] | None = None) -> Make:
    """``flowsim run`` of a scenario that reads this path, with a symbolic link in its folder; ``secret.csv`` is outside."""

    def make(folder: Path) -> Call:
        (folder.parent / "secret.csv").write_text(ROWS)
        (folder / link).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, folder / link)
        return read(path, *options, files=inside)(folder)

    return make


def sink(path: str, kind: str = "csv") -> Make:
    """``flowsim run`` of a scenario that writes there."""
    text = scenario().replace("collect: {}", f"{kind}: {{path: {json.dumps(path)}}}")
    return run(text)


def many_files(folder: Path) -> Call:
    (folder / "data").mkdir()
    for number in range(30):
        (folder / "data" / f"{number}.csv").write_text(ROWS)
    return read("data/*.csv", "--limit", "matched_files=20")(folder)


def searched(*options: str) -> Make:
    def make(folder: Path) -> Call:
        for number in range(30):
            (folder / "data" / str(number)).mkdir(parents=True)
        return read("data/*/*.csv", *options)(folder)

    return make


def fifo(folder: Path) -> Call:
    os.mkfifo(folder / "in.csv")
    return read("in.csv")(folder)


CASES = [
    Case("absolute path", read("/etc/passwd"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("absolute pattern", read("/*/*/*/*/*/*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("absolute pattern in a folder", read("/etc/pass*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("absolute pattern of a device", read("/dev/z*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("pattern of the root", read("/*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("pattern of the root in brackets", read("/[a-z]*/[a-z]*/*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("recursive pattern of the root", read("/**/*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("parent", read("../in.csv"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("many parents", read("../" * 200 + "etc/passwd"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("pattern of the parent", read("../*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("pattern of far parents", read("../../../../../../*/*/*"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("parent after a folder", read("data/../../x*", files={"data/a": ""}), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("parent after a wildcard", read("*/../../*", files={"data/a": ""}), REFUSED, "s.yaml:4:", "'..' cannot follow a wildcard"),
    Case("parent at the end of a pattern", read("*/..", files={"data/a": ""}), REFUSED, "s.yaml:4:", "write the folder before it"),
    Case("pattern without matches", read("*.csv"), REFUSED, "s.yaml:4:", "no file in", "matches '*.csv'"),
    Case("pattern of folders", read("*", files={"data/in.csv": ROWS}), REFUSED, "s.yaml:4:", "is not a regular file"),
    Case("pattern of brackets that are not closed", read("[a"), REFUSED, "s.yaml:4:", "no file in", "matches '[a'"),
    Case("pattern with many wildcards", read("*a" * 400, files={"a" * 200: ""}), REFUSED, "s.yaml:4:", "no file in"),
    Case("pattern with a long name", read(f"*/{LONG}", files={"data/a": ""}), REFUSED, "s.yaml:4:", "no file in"),
    Case("pattern with many folders", read("*/" * 400 + "x", files={"data/a": ""}), REFUSED, "s.yaml:4:", "no file in"),
    Case("pattern with more files than the limit", many_files, REFUSED, "s.yaml:4:", "30 match", "--limit matched_files="),
    Case("pattern with more names than the limit", searched("--limit", "searched_names=20"), REFUSED, "s.yaml:4:", "--limit searched_names="),
    Case("pattern of many empty folders", searched(), REFUSED, "s.yaml:4:", "no file in"),
    Case("pattern with NUL", read("a\0*"), REFUSED, "s.yaml:4:", "no file in"),
    Case("pattern below NUL", read("a\0/*"), REFUSED, "s.yaml:4:", "is not a valid path"),
    Case("path with NUL", read("a\0b"), REFUSED, "s.yaml:4:", "is not a valid path: embedded null byte"),
    Case("path with a lone surrogate", run(reading("x").replace('"x"', '"\\ud800"')), REFUSED, "s.yaml:4:", "path"),
    Case("link to a file outside", linked("in.csv", "../secret.csv", "in.csv"), REFUSED, "s.yaml:4:", "'in.csv' is outside of", ALLOW),
    Case("link to a file outside by a pattern", linked("in.csv", "../secret.csv", "*.csv"), REFUSED, "s.yaml:4:", "'in.csv' is outside of", ALLOW),
    Case("link to an absolute path", linked("in.csv", "/etc/passwd", "in.csv"), REFUSED, "s.yaml:4:", "'in.csv' is outside of", ALLOW),
    Case("link to a folder outside", linked("data", "..", "data/secret.csv"), REFUSED, "s.yaml:4:", "'data/secret.csv' is outside of", ALLOW),
    Case("pattern in a link to a folder outside", linked("data", "..", "data/*"), REFUSED, "s.yaml:4:", "'data/' is outside of", ALLOW),
    Case("pattern through a link to a folder outside", linked("data", "..", "*/*.csv"), REFUSED, "s.yaml:4:", "'data/' is outside of", ALLOW),
    Case("link to a link outside", linked("a/b", "../..", "a/b/secret.csv"), REFUSED, "s.yaml:4:", OUTSIDE, ALLOW),
    Case("link to itself", linked("in.csv", "in.csv", "in.csv"), REFUSED, "s.yaml:4:", "'in.csv' is not a valid path: it leads back to itself"),
    Case("pattern through a folder that links to itself", linked("a", "a", "a/*/*"), REFUSED, "s.yaml:4:", "'a/' is not a valid path: it leads back to itself"),
    Case("link to the own folder", linked("a", ".", "a/a/a/a/a/none.csv"), REFUSED, "s.yaml:4:", "there is no file"),
    Case("link to nothing", linked("in.csv", "none.csv", "in.csv"), REFUSED, "s.yaml:4:", "there is no file 'in.csv'"),
    Case("one file twice", read(["in.csv", "./in.csv"], files={"in.csv": ROWS}), REFUSED, "s.yaml:4:", "'./in.csv' is listed twice"),
    Case("one file twice through a link", linked("b.csv", "a.csv", "*.csv", inside={"a.csv": ROWS}), REFUSED, "s.yaml:4:", "'b.csv' is listed twice"),
    Case("folder as csv", read("data", files={"data/a": ""}), REFUSED, "s.yaml:4:", "'data' is not a regular file"),
    Case("own folder as csv", read("."), REFUSED, "s.yaml:4:", "'.' is not a regular file"),
    Case("folder as jsonl", read("data", kind="jsonl", files={"data/a": ""}), REFUSED, "s.yaml:4:", "'data' is not a regular file"),
    Case("folder as parquet", read("data", kind="parquet", files={"data/a": ""}), REFUSED, "s.yaml:4:", "'data' is not a regular file"),
    Case("fifo", fifo, REFUSED, "s.yaml:4:", "'in.csv' is not a regular file"),
    Case("device with permission", read("/dev/zero", "--allow-path"), REFUSED, "s.yaml:4:", "'/dev/zero' is not a regular file"),
    Case("file that does not exist", read("none.csv"), REFUSED, "s.yaml:4:", "there is no file 'none.csv' in"),
    Case("file below a file", read("in.csv/x", files={"in.csv": ROWS}), REFUSED, "s.yaml:4:", "there is no file 'in.csv/x'"),
    Case("home", read("~/in.csv"), REFUSED, "s.yaml:4:", "there is no file '~/in.csv'"),
    Case("variable", read("$HOME/in.csv"), REFUSED, "s.yaml:4:", "there is no file '$HOME/in.csv'"),
    Case("address", read("http://127.0.0.1/in.csv"), REFUSED, "s.yaml:4:", "there is no file 'http://127.0.0.1/in.csv'"),
    Case("sink outside", sink("../kept"), REFUSED, "s.yaml:5:", "output '../kept' is outside of", ALLOW),
    Case("sink at an absolute path", sink("/tmp/kept", "parquet"), REFUSED, "s.yaml:5:", "output '/tmp/kept' is outside of", ALLOW),
    Case("sink in the recording", sink("recording/sent"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at the lock", sink(".flowsim.lock"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at a lock below", sink("a/.flowsim.lock/b"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at the file of the run", sink("run.json"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at the unfinished file of the run", sink(".run.json.tmp"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at the file of the run in upper case", sink("RUN.JSON"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink at the report", sink("report.html"), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink in the output folder", sink("."), REFUSED, "s.yaml:5:", "expected a folder that only this sink uses"),
    Case("sink with a long name", sink(LONG), REFUSED, "s.yaml:5:", INVALID),
    Case("sink with NUL", sink("a\0b"), REFUSED, "s.yaml:5:", "is not a valid path: embedded null byte"),
    Case("recomputation outside", run(scenario() + "recompute: {pyspark: '../x.py:check', input: rows}\n"), REFUSED, "s.yaml:6:", "recompute"),
]  # fmt: skip
