"""The fixtures of the differential tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.java_machine import FlinkMissing
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential, Tallies


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that drive the real Flink get the mark ``differential``."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("differential")


@pytest.fixture(scope="session")
def flink(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flink]:
    """The one virtual machine of a test run."""
    cache: pytest.Cache | None = getattr(request.config, "cache", None)  # -p no:cacheprovider
    classes = tmp_path_factory.mktemp("java") if cache is None else Path(cache.mkdir("flink-classes"))
    try:
        machine = Flink(classes / "probes")
    except FlinkMissing as missing:
        pytest.skip(str(missing))
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def flink_runner(flink: Flink) -> FlinkRunner:
    """Runs jobs for ``flowsim.conform`` in the one virtual machine."""
    return FlinkRunner(flink.machine)


@pytest.fixture
def differential(request: pytest.FixtureRequest, flink: Flink, flink_tallies: dict[str, list[int]]) -> Differential:
    """Runs state machines against the real Flink and counts what they compare."""
    option = request.config.getoption
    return Differential(flink, Tallies(flink_tallies), option("--flink-examples"), option("--flink-seed"))
