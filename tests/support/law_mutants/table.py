"""The table of ``make law-mutants``: for each part of a law, a test that fails when it is switched off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

Key = tuple[str, str, str]
"""Module below ``flowsim.laws``, function, and the statement of the handler or the text of the violation."""

TABLE: Final = Path(__file__).with_name("table.tsv")


def read_table(path: Path = TABLE) -> dict[Key, str]:
    """The test that sees each part."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {(module, function, what): test for module, function, what, test in rows}


def write_table(path: Path, tests: Mapping[Key, str]) -> None:
    """Writes the table, sorted."""
    path.write_text("".join("\t".join((*key, test)) + "\n" for key, test in sorted(tests.items())))
