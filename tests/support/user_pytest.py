"""The pytest of a user of flowsim, in a process and a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_pytest(folder: Path, test: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a test file in an empty folder, with the options of a command line."""
    (folder / "test_user.py").write_text(test, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={folder}",
        *arguments,
        "test_user.py",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
