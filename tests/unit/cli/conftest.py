"""Runs the command line in this process, in a temporary folder with a small scenario."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app

TINY = """\
flowsim: 1
name: tiny
settings: {record: full, seed: 3}
sources:
  numbers:
    generator:
      count: 200
      fields:
        n: {sequence: {}}
        key: {choice: {values: [a, b, c]}}
operators:
  sums: {input: numbers, key_by: key, parallelism: 2, reduce: {n: sum}}
sinks:
  kept: {input: sums, parquet: {}}
expect:
  rows: {kept: 200}
"""


@dataclass(frozen=True)
class Called:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Flowsim = Callable[..., Called]


@pytest.fixture
def flowsim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flowsim:
    """Calls ``flowsim ...`` in a folder that holds ``tiny.yaml``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "tiny.yaml").write_text(TINY)

    def call(*arguments: object) -> Called:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Called(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a variant of the small scenario: ``(old, new)`` texts replaced, lines appended."""

    def variant(name: str, *changes: tuple[str, str], append: str = "") -> Path:
        text = TINY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text + append)
        return Path(name)

    return variant
