"""Tests that observe or replace methods of the core: in a compiled core, calls between methods cannot be seen."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable

from flowsim.compiled_modules import COMPILED, execution_mode


def in_pure_python(test: Callable[[], None]) -> Callable[[], None]:
    """Runs the test in a process of pure Python if the core is compiled here."""

    @functools.wraps(test)
    def run() -> None:
        if execution_mode() != COMPILED:
            test()
            return
        name = f"{sys.modules[test.__module__].__file__}::{test.__name__}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
        done = subprocess.run(
            command, env={**os.environ, "FLOWSIM_PURE": "1"}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout

    return run
