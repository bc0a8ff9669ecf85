"""``@explore``: how often a test runs, what a failure says, and the orders that it keeps."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.testing import Schedule, explore, run_job
from flowsim.testing.explored_tests import FailingOrders


def merged(numbers: int = 2) -> StreamExecutionEnvironment:
    """Two sources, which one map reads."""
    env = StreamExecutionEnvironment.get_execution_environment()
    left = env.from_collection(list(range(numbers)))
    right = env.from_collection(list(range(10, 10 + numbers)))
    left.union(right).map(lambda number: number).name("both")
    return env


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of failing orders of the tests here."""
    file = tmp_path / ".flowsim" / "failing_orders.txt"
    monkeypatch.setattr(FailingOrders, "of", lambda test: FailingOrders(file, f"test_it.py::{test.__name__}"))
    return file


def test_runs_once_for_each_order_and_half_of_the_runs_at_random(kept: Path) -> None:
    seen = []

    @explore(runs=1_000, all_orders=True)
    def test(schedule: Schedule) -> None:
        seen.append(tuple(run_job(merged(), schedule=schedule).values("both")))

    test()
    assert len(set(seen)) == 6
    assert len(seen) == 1 + 20 + 10
    assert not kept.exists()


def wrong(seen: list[tuple[object, ...]]) -> Callable[..., None]:
    @explore(runs=1_000)
    def test(schedule: Schedule) -> None:
        values = run_job(merged(3), schedule=schedule).values("both")
        seen.append(tuple(values))
        assert not values.index(11) < values.index(1) < values.index(12), values

    return test


def test_failure_names_a_shrunk_token_that_repeats_it(kept: Path) -> None:
    seen: list[tuple[object, ...]] = []
    test = wrong(seen)
    with pytest.raises(AssertionError) as failed:
        test()
    note = failed.value.__notes__[-1]
    assert f"({kept} keeps it, and the test begins with it)" in note
    found = re.search(r"Schedule.of\('(fx1[^']*)'\)", note)
    assert found is not None
    token = found[1]
    assert kept.read_text() == f"test_it.py::test {token}\n"
    run = run_job(merged(3), schedule=Schedule.of(token))
    assert tuple(run.values("both")) == seen[-1]
    assert run.schedule.token == token
    assert repr(run.schedule) in run.reproduce
    assert re.search(r"fails; \d+ choices? other than the default", note)


def test_failing_order_comes_first_the_next_time(kept: Path) -> None:
    with pytest.raises(AssertionError):
        wrong([])()
    seen: list[tuple[object, ...]] = []
    with pytest.raises(AssertionError) as failed:
        wrong(seen)()
    assert "an order that failed before fails" in failed.value.__notes__[-1]
    token = kept.read_text().split()[-1]
    assert seen[0] == tuple(run_job(merged(3), schedule=Schedule.of(token)).values("both"))


def test_orders_of_a_job_that_has_changed_and_damaged_lines_are_left_out(kept: Path) -> None:
    kept.parent.mkdir()
    kept.write_text("test_it.py::test fx1.o.AAAAAAA.AAE\ntest_it.py::test fx1.o.\nnothing\n")
    seen = []

    @explore(runs=3)
    def test(schedule: Schedule) -> None:
        seen.append(run_job(merged(), schedule=schedule).values("both"))

    test()
    assert len(seen) == 3


def test_unfinished_search_fails_if_all_orders_are_asked_for(kept: Path) -> None:
    @explore(runs=5, all_orders=True)
    def test(schedule: Schedule) -> None:
        run_job(merged(), schedule=schedule)

    with pytest.raises(AssertionError, match=r"not all orders were tried in 5 runs: \d+\.\d\d% of the tree"):
        test()


def test_other_parameters_stay_those_of_the_test(kept: Path) -> None:
    seen: list[Any] = []

    @explore(runs=1)
    def test(name: str, schedule: Schedule, tmp_path: Path) -> None:
        run_job(merged(), schedule=schedule)
        seen.append((name, tmp_path))

    assert list(inspect.signature(test).parameters) == ["name", "tmp_path"]
    test("a", tmp_path=Path("b"))
    assert seen == [("a", Path("b"))]


def test_wrong_uses_are_refused(kept: Path) -> None:
    with pytest.raises(BadInput, match="needs a parameter 'schedule'"):
        explore()(lambda: None)
    with pytest.raises(BadInput, match="expected runs >= 1, got 0"):
        explore(runs=0)

    @explore()
    def runs_nothing(schedule: Schedule) -> None:
        pass

    @explore()
    def runs_twice(schedule: Schedule) -> None:
        run_job(merged(), schedule=schedule)
        run_job(merged(), schedule=schedule)

    with pytest.raises(BadInput, match="the test did not run a job with its schedule"):
        runs_nothing()
    with pytest.raises(BadInput, match="a schedule is for one run"):
        runs_twice()


def test_token_of_another_job_is_refused() -> None:
    with pytest.raises(BadInput, match="the token belongs to another job"):
        run_job(merged(), schedule=Schedule.of("fx1.o.AAAAAAA."))


def test_error_of_the_test_before_its_run_is_left_as_it_is(kept: Path) -> None:
    @explore()
    def test(schedule: Schedule) -> None:
        raise ValueError("no job")

    with pytest.raises(ValueError, match="no job") as failed:
        test()
    assert not hasattr(failed.value, "__notes__")
    assert not kept.exists()


CHANGES = st.lists(st.sampled_from("abc"), max_size=3)
"""Accounts that change; the changes of the second source are newer."""


def newest_change_of_each_account_wins(first: list[str], second: list[str], schedule: Schedule) -> None:
    """A claim that is false if an account has a change in both sources, and the older one arrives last."""
    env = StreamExecutionEnvironment.get_execution_environment()
    older = env.from_collection([(account, "old") for account in first])
    newer = env.from_collection([(account, "new") for account in second])
    older.union(newer).key_by(lambda change: change[0]).reduce(lambda before, change: change).name("last")
    run = run_job(env, schedule=schedule)
    expected = {account: "new" if account in second else "old" for account in (*first, *second)}
    run.claim("the newest change wins", expected=expected, found=dict(run.values("last")))


def test_bug_that_needs_its_data_and_its_order_is_found_with_both(kept: Path) -> None:
    without_shrinking = settings(deadline=None, database=None, derandomize=True, max_examples=12)
    data_alone = given(CHANGES, CHANGES, st.just(Schedule()))(newest_change_of_each_account_wins)
    without_shrinking(data_alone)()
    explore(runs=20)(newest_change_of_each_account_wins)(["a", "b"], ["c"])
    assert not kept.exists()

    both = given(CHANGES, CHANGES)(explore(runs=20)(newest_change_of_each_account_wins))
    with pytest.raises(AssertionError) as failed:
        settings(deadline=None, database=None, derandomize=True)(both)()
    text = "\n".join((str(failed.value), *failed.value.__notes__))
    assert re.search(r"reproduce: @example\(first=\['(.)'\], second=\['\1'\]\)\n", text)
    assert "1 choice other than the default. Repeat it with" in text
    [line] = kept.read_text().splitlines()
    assert line.split()[-1] in text, "only the order of the smallest data is kept"


def test_given_below_explore_is_refused(kept: Path) -> None:
    with pytest.raises(BadInput, match="write it below @given of newest_change_of_each_account_wins"):
        explore(runs=2)(given(CHANGES, CHANGES)(newest_change_of_each_account_wins))
