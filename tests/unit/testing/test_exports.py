"""``flowsim.testing`` exports the same objects in any order of imports."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, sys
import flowsim.testing
before, after = sys.argv[1:]
importlib.import_module(before) if "." in before else getattr(flowsim.testing, before)
from flowsim.testing import AsyncStep, async_steps
for name in flowsim.testing.__all__:
    found = getattr(flowsim.testing, name)
    if type(found) is type(sys):
        print("a module:", name)
if after == "all":
    for module in pkgutil.iter_modules(flowsim.testing.__path__, "flowsim.testing."):
        importlib.import_module(module.name)
    print([name for name in flowsim.testing.__all__ if type(getattr(flowsim.testing, name)) is type(sys)])
print(callable(async_steps))
"""


def run(before: str, after: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, before, after]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


def test_async_steps_is_the_strategy_after_any_import() -> None:
    for before in ("AsyncStep", "async_jobs", "flowsim.testing.async_strategies"):
        assert run(before, "nothing") == ["True"]


def test_no_export_becomes_a_module_after_importing_all_submodules() -> None:
    assert run("FIFO", "all") == ["[]", "True"]
