"""Shared by all tests: Hypothesis profiles, one Spark session, one virtual machine with the real Flink, and skips that
count as failures on demand."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, core, settings

from flowsim.validation.spark_session import spark_session
from tests.support.spark_classes import WITH_ARCHIVE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARES_SPARK = (
    "tests/spark/", "tests/unit/cli/test_validate_and_replay.py",
    "tests/docs/test_documentation_runs.py::test_python_on_spark",
)  # fmt: skip
"""Where tests that use the session are, as the beginnings of their ids."""
OWN_SPARK = ("tests/spark/test_clusters.py",)
"""Where tests start Spark themselves."""
SPARK_GROUPS = (OWN_SPARK, SHARES_SPARK)
"""Tests that one worker runs, the first that fits. One session takes half the time of three, which each start cold."""
SHARES_FLINK = "tests/differential/"
"""Where tests that share the virtual machine with the real Flink are."""
TALLIES: pytest.StashKey[dict[str, list[int]]] = pytest.StashKey()
"""Subject of a differential test -> sequences, commands, divergences, of this process or of all its workers."""
TRUTH_COUNTS: pytest.StashKey[dict[str, Counter[str]]] = pytest.StashKey()
"""Test file -> sentences of `flowsim why` that were compared with recordings, by pattern."""
SKIPS_ARE_FAILURES = os.environ.get("FLOWSIM_SKIPS_ARE_FAILURES", "") not in ("", "0")

# Jobs that a shell starts in the background ignore SIGINT, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Java keeps room for a fifth of the code without its second compiler, and once that is full compiles nothing any more.
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{WITH_ARCHIVE} -XX:ReservedCodeCacheSize=256m")

# `ci` tries the same examples on every run, so that a red test is red for everybody; `deep` looks for new ones.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=70,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--flink-examples",
        type=int,
        metavar="N",
        help="random command sequences per differential test, new ones on every run (default: a few, always the same)",
    )
    parser.addoption(
        "--flink-seed",
        type=int,
        metavar="SEED",
        help="the seed that a run with --flink-examples printed, to try the same sequences and jobs again",
    )
    parser.addoption(
        "--all-reports",
        action="store_true",
        help="the reports of all scenarios, in light and dark colours (default: a few, always the same)",
    )
    parser.addoption(
        "--all-scenarios", action="store_true", help="all shipped scenarios on the real Flink (default: a sample)"
    )
    parser.addoption(
        "--truth-counts", action="store_true", help="how many sentences of each pattern of `flowsim why` were compared"
    )
    parser.addoption(
        "--half-of-properties", action="store_true", help="every second test of tests/properties, always the same"
    )
    parser.addoption(
        "--hostile", action="store_true", help="all cases of tests/hostile (default: about 100, always the same)"
    )
    parser.addoption(
        "--random-jobs", type=int, metavar="N", help="random jobs of each kind that all laws judge (default: 3)"
    )
    parser.addoption("--random-seed", type=int, metavar="SEED", help="the seed of the first of these jobs (default: 0)")
    parser.addoption(
        "--explored-seeds",
        type=int,
        metavar="N",
        help="schedules of every shipped scenario but the flights (default: 3, or 1 of those that take long)",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Spares the search for garbage among what was collected, a tenth of the time of all tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLIES] = {}
    config.stash[TRUTH_COUNTS] = {}
    if config.option.flink_examples is None:
        if config.option.flink_seed is not None:
            raise pytest.UsageError("--flink-seed needs --flink-examples: without it the examples are always the same")
        return
    if config.option.flink_seed is None:
        # A worker of xdist gets the option of its controller.
        config.option.flink_seed = SystemRandom().randrange(10**9)
    core.global_force_seed = config.option.flink_seed


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.option.flink_examples is None:
        return None
    return (
        f"differential tests: --flink-examples={config.option.flink_examples} --flink-seed={config.option.flink_seed}"
    )


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run; code under test that asks for a session without a master gets this one."""
    with spark_session("local[2]", app_name="flowsim tests") as session:
        # As many parts as there are cores: a shuffle of a few rows costs what its parts cost.
        session.conf.set("spark.sql.shuffle.partitions", "2")
        # Plans that are made anew after every shuffle of some hundred rows take a quarter of the time, and gain nothing.
        session.conf.set("spark.sql.adaptive.enabled", "false")
        # Spark's own handler of Ctrl-C would stay for the tests that need no Spark and come later.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield session


@pytest.fixture(scope="session")
def flink_tallies(request: pytest.FixtureRequest) -> dict[str, list[int]]:
    """Subject -> sequences, commands and divergences from the real Flink, printed at the end of the session."""
    return request.config.stash[TALLIES]


@pytest.fixture
def truth_counts(request: pytest.FixtureRequest) -> Counter[str]:
    """Pattern -> sentences that the tests of this file compared, printed at the end of the session."""
    return request.config.stash[TRUTH_COUNTS].setdefault(request.path.name, Counter())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that use the Spark session get the mark ``spark``, and run first: they take longest."""
    if config.option.half_of_properties:
        properties = sorted(item.nodeid for item in items if item.nodeid.startswith("tests/properties/"))
        left_out = frozenset(properties[1::2])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            if not item.nodeid.startswith(SHARES_SPARK):
                raise pytest.UsageError(
                    f"{item.nodeid} uses Spark: move it to tests/spark, or name its file in conftest.py"
                )
    items.sort(key=_place)


def _spark_group(nodeid: str) -> int:
    """The index of the test's group; their number for tests without Spark."""
    return next((i for i, group in enumerate(SPARK_GROUPS) if nodeid.startswith(group)), len(SPARK_GROUPS))


def _place(item: pytest.Item) -> tuple[int, bool]:
    """Groups that take longest come first."""
    return _spark_group(item.nodeid), not item.nodeid.startswith(SHARES_FLINK)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker for each group that shares a session, which takes longer to start than most tests; else one per file."""
    from xdist.scheduler import LoadScopeScheduling

    class WorkerPerSession(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = _spark_group(nodeid)
            if group < len(SPARK_GROUPS):
                return f"spark {group}"
            return "flink" if nodeid.startswith(SHARES_FLINK) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return WorkerPerSession(config, log)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a worker of xdist tells its controller
        session.config.workeroutput["flink_tallies"] = session.config.stash[TALLIES]
        counts = {name: dict(counted) for name, counted in session.config.stash[TRUTH_COUNTS].items()}
        session.config.workeroutput["truth_counts"] = counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    tallies, output = node.config.stash[TALLIES], getattr(node, "workeroutput", {})
    for name, counted in output.get("truth_counts", {}).items():
        node.config.stash[TRUTH_COUNTS].setdefault(name, Counter()).update(counted)
    for subject, counts in output.get("flink_tallies", {}).items():
        tallies[subject] = [sum(pair) for pair in zip(counts, tallies.get(subject, [0, 0, 0]), strict=True)]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How much was compared with the real Flink, and how many sentences with recordings."""
    _write_truth_counts(terminalreporter, config)
    tallies = config.stash[TALLIES]
    if tallies:
        terminalreporter.section("compared with Flink 2.3.0")
        if config.option.flink_examples is not None:
            terminalreporter.write_line(f"the same again: {pytest_report_header(config)}")
    for subject, (sequences, commands, divergences) in sorted(tallies.items()):
        verdict = "DIVERGED" if divergences else "no divergence"
        terminalreporter.write_line(f"{subject}: {sequences:,} sequences, {commands:,} commands, {verdict}")


def _write_truth_counts(terminalreporter: Any, config: pytest.Config) -> None:
    """A line for each file; for each pattern as well if asked for, or if the jobs were new."""
    files = sorted(config.stash[TRUTH_COUNTS].items())
    if files:
        terminalreporter.section("sentences of `flowsim why` compared with recordings")
    each_pattern = config.option.truth_counts or os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
    for name, counts in files:
        terminalreporter.write_line(f"{name}: {counts.total():,} sentences of {len(+counts)} of {len(counts)} patterns")
        for pattern, count in sorted(counts.items()) if each_pattern else ():
            terminalreporter.write_line(f"{count:9,} {pattern}")


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
