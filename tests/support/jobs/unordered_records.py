"""A job with so many records in disorder that the report of its recording is larger than a small budget."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.recording.reader import Recording

RECORDS: Final = 2000
_HEAD: Final = """flowsim: 1
name: unordered-records
sources:
  readings:
    script:
      fields: {key: long, n: long}
      subtasks:
        -
"""
_TAIL: Final = """
operators:
  counts:
    input: readings
    key_by: key
    window: {tumbling: 50 ms}
    aggregate: {n: count()}
sinks:
  out: {input: counts, collect: {}}
"""


def unordered_records(directory: Path) -> Recording:
    """Runs the job and returns its recording at level full; about every tenth record is late."""
    lines = []
    for number in range(RECORDS):
        disorder = number * number * 7919 % 997
        lines.append(
            f"          - {{record: [{disorder % 5}, {number * 104729 % 1000003}], timestamp: {number * 3 + disorder}}}"
        )
        if number % 10 == 9:
            lines.append(f"          - {{watermark: {number * 3 + 200}}}")
    scenario = directory / "unordered.yaml"
    scenario.write_text(_HEAD + "\n".join(lines) + _TAIL)
    done = CliRunner().invoke(app, ["run", str(scenario), "--record", "full", "--out", str(directory / "out")])
    assert done.exit_code == 0, done.output
    return Recording.open(directory / "out")
