"""What Hypothesis prints as the explanation of a failure, in a process of its own."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis
from hypothesis.internal import scrutineer

from flowsim.testing import explained_lines
from flowsim.testing.explained_lines import leave_flowsim_out
from tests.support.user_pytest import run_pytest

TEST = """
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.testing import run_job


def times_ten(number):
    if number == 3:
        number = number * 10  # only of failing examples
    return number


@settings(database=None, deadline=None, max_examples=20, derandomize=True)
@given(number=st.integers(0, 5))
def test_numbers_are_small(number):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([number]).map(times_ten)
    run = run_job(env)
    run.claim("it is small", max(run.values()) < 10, run.values())
"""


def test_lines_of_the_user_explain_and_those_of_flowsim_do_not(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, TEST).stdout
    lines = re.findall(
        r"^E +(/.*):(\d+)$", output.partition("These lines were always and only run by failing")[2], re.M
    )
    where = str(TEST.splitlines().index("        number = number * 10  # only of failing examples") + 1)
    assert lines == [(str(tmp_path / "test_user.py"), where)], output


def test_file_that_is_not_of_flowsim_is_compared_as_before() -> None:
    leave_flowsim_out()
    leave_flowsim_out()
    compares = scrutineer.should_trace_file
    assert compares(__file__)
    assert not compares(hypothesis.__file__)
    assert not compares(explained_lines.__file__)
