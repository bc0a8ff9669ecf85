"""Each part of the laws that examine row after row is needed: a test fails when the part is switched off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.law_mutants.table import TABLE, read_table

TOP = Path(__file__).parents[3]


@pytest.mark.slow
def test_each_part_that_is_switched_off_is_missed_by_a_test() -> None:
    plugin = ["-p", "tests.support.law_mutants.plugin", "--law-mutants", str(TABLE), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-s", *plugin, *sorted(set(read_table().values()))]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
