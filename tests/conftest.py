"""What all tests share: Hypothesis profiles, one Spark session, and skips that count as failures on demand."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from flowsim.validation.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARES_SPARK = ("tests/spark/", "tests/unit/cli/test_validate_and_replay.py")
"""Where tests that use the session are, as the beginnings of their ids."""
SKIPS_ARE_FAILURES = os.environ.get("FLOWSIM_SKIPS_ARE_FAILURES", "") not in ("", "0")

# Jobs that a shell starts in the background are deaf to Ctrl-C, and so would be what the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# `ci` tries the same examples on every run, so that a red test is red for everybody; `deep` looks for new ones.
settings.register_profile(
    "ci", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run; code under test that asks for a session without a master gets this one."""
    with spark_session("local[2]", app_name="flowsim tests") as session:
        # Spark's own handler of Ctrl-C would stay for the tests that need no Spark and come later.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield session


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever uses the session is marked so and stands where one worker runs it, before the others: it takes longest."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            if not item.nodeid.startswith(SHARES_SPARK):
                raise pytest.UsageError(
                    f"{item.nodeid} uses Spark: move it to tests/spark, or name its file in conftest.py"
                )
    items.sort(key=lambda item: not item.nodeid.startswith(SHARES_SPARK))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker for all that share the session, which costs more than most tests to start; else a worker per file."""
    from xdist.scheduler import LoadScopeScheduling

    class OneWorkerForSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if nodeid.startswith(SHARES_SPARK) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return OneWorkerForSpark(config, log)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if SKIPS_ARE_FAILURES and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"FLOWSIM_SKIPS_ARE_FAILURES is set, and this was skipped: {reason}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report
