"""Where skips count as failures, a skipped test fails, whatever skipped it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest

@pytest.mark.skip(reason="by mark")
def test_marked():
    raise AssertionError

def test_inside():
    pytest.skip("inside")

@pytest.fixture
def missing():
    pytest.skip("in a fixture")

def test_fixture(missing):
    raise AssertionError

@pytest.mark.xfail(reason="known")
def test_known():
    raise AssertionError
"""
MODULE = """
import pytest
pytest.importorskip("no_such_module_anywhere")
"""


def summary(folder: Path, switch: str, source: str) -> str:
    """The last line of a pytest run over ``source`` under the conftest of this project, without the time it took."""
    shutil.copy(Path(__file__).parents[1] / "conftest.py", folder)
    (folder / "test_source.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    environment = os.environ | {"FLOWSIM_SKIPS_ARE_FAILURES": switch}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    return run.stdout.splitlines()[-1].rpartition(" in ")[0]


def test_every_kind_of_skip_fails_with_switch(tmp_path: Path) -> None:
    assert summary(tmp_path, "1", TESTS) == "1 failed, 1 xfailed, 2 errors"


def test_skipped_module_fails_with_switch(tmp_path: Path) -> None:
    assert summary(tmp_path, "1", MODULE) == "1 error"


def test_skips_are_skips_without_switch(tmp_path: Path) -> None:
    assert summary(tmp_path, "", TESTS) == "3 skipped, 1 xfailed"
