"""Only the parts that need the extra report it as missing."""

from __future__ import annotations

import subprocess
import sys

from flowsim.distribution import install_command

PROGRAM = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import MissingExtra
from flowsim.testing import OneInputOperatorHarness, assert_laws, some_schedules
import flowsim.testing.harness
import flowsim.testing.pytest_plugin

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(lambda n: n + 1)
for schedule in some_schedules(2):
    print(assert_laws(env, schedule=schedule).values())
try:
    from flowsim.testing import schedules
except MissingExtra as error:
    print(error)
"""


def test_only_strategies_need_the_extra() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "[2]", "[2]", "[2]",
        f"flowsim.testing.strategies needs the extra 'testing': install it with  {install_command('testing')}",
    ]  # fmt: skip


def test_plugin_imports_only_its_own_modules() -> None:
    listed = "print(*sorted(m for m in sys.modules if m.startswith('flowsim')))"
    program = f"import sys; import flowsim.testing.pytest_plugin; {listed}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == [
        "flowsim", "flowsim.compiled_modules", "flowsim.lazy_names", "flowsim.testing", "flowsim.testing.pytest_plugin",
    ]  # fmt: skip
