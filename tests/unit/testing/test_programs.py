"""A program for PyFlink in a test: its jobs, under schedules and under every order."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.pyflink.program import ProgramFailed
from flowsim.testing import Schedule, explore, run_program

PROGRAM = """
import sys
from pyflink.datastream import StreamExecutionEnvironment

for name in sys.argv[1:]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).union(env.from_collection([3])).map(lambda value: 6 // (value - int(name))).print()
    env.execute(name)
if len(sys.argv) == 1:
    raise ValueError("no job")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "division.py").write_text(PROGRAM)
    return tmp_path / "division.py"


def test_each_job_has_its_run(program: Path) -> None:
    first, second = run_program(program, "0", "4", schedule=Schedule("random", 3))
    assert (sorted(first.values()), sorted(second.values())) == ([2, 3, 6], [-6, -3, -2])
    assert (first.result.job_name, first.schedule.token, second.schedule.token) == ("0", "random/3/4096", "fifo/0/4096")
    assert "late" in str(first.why("late"))


def test_job_that_fails_ends_the_program(program: Path) -> None:
    (first, second) = run_program(program, "0", "1", "4")
    assert (first.result.error, "ZeroDivisionError" in str(second.result.error)) == (None, True)


def test_other_errors_are_those_of_the_program(program: Path) -> None:
    with pytest.raises(ProgramFailed, match="ValueError: no job"):
        run_program(program)
    with pytest.raises(BadInput, match=r"missing\.py: no such file"):
        run_program("missing.py")


def test_every_order_of_a_program_is_tried(program: Path) -> None:
    orders = set()

    @explore(runs=50, all_orders=True)
    def test(schedule: Schedule) -> None:
        (run,) = run_program(program, "0", schedule=schedule)
        orders.add(tuple(run.values()))

    test()
    assert orders == {(6, 3, 2), (6, 2, 3), (2, 6, 3)}
