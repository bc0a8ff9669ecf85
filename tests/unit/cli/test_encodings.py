"""Commands print in any encoding: characters that it lacks are replaced or escaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """\
flowsim: 1
name: accents
settings: {record: full}
sources: {rows: {collection: {fields: {word: string}, rows: [[é], [語], ["…"]]}}}
sinks: {kept: {input: rows, collect: {}}}
"""
COMMANDS = [
    ["run", "job.yaml", "--out", "out", "--validate", "--engine", "python"],
    ["run", "--help"],
    ["graph", "job.yaml"],
    ["explore", "job.yaml", "--runs", "2"],
    ["trace", "out"],
    ["metrics", "out"],
    ["why", "out", "no-output", "kept"],
    ["checkpoints", "out"],
    ["laws"],
    ["learn"],
]


ALL_COMMANDS = """\
import json, sys

from flowsim.cli.main import main

for arguments in json.loads(sys.argv[1]):
    sys.stdout.write("\\0")
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)
"""
"""Runs the commands one after the other in one process; each one's output follows a NUL."""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_commands_print_in_encoding_without_box_characters(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(SCENARIO, encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS, json.dumps(COMMANDS)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    nothing, *outputs = done.stdout.decode(encoding).split("\0")
    assert nothing == ""
    assert [bool(output) for output in outputs] == [True] * len(COMMANDS)
    assert "-----" in outputs[0]
    assert ("\\xe9" in outputs[0]) == (encoding == "ascii")
    assert "\\u8a9e" in outputs[0]
