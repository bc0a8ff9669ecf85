"""A job that does not come to rest on Flink is run once more, on a new cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.errors import InvariantViolation

RESTLESS = "java.util.concurrent.TimeoutException: the tasks do not run"


class Cluster:
    """Fails with these errors before it answers."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)
        self.closed = 0

    def run(self, plan: str) -> str:
        if self.errors:
            raise RuntimeError(self.errors.pop(0))
        return '{"status": "FINISHED"}'

    def close(self) -> None:
        self.closed += 1


def called(cluster: Cluster) -> Any:
    conform = SimpleNamespace(Bridge=None, Cluster=cluster)
    machine: Any = SimpleNamespace(java=SimpleNamespace(flowsim=SimpleNamespace(conform=conform)))
    return FlinkRunner(machine)._called("{}")


def test_job_that_does_not_come_to_rest_is_run_once_more() -> None:
    cluster = Cluster(RESTLESS)
    assert (called(cluster), cluster.closed) == ({"status": "FINISHED"}, 1)


@pytest.mark.parametrize(("errors", "closed"), [((RESTLESS, RESTLESS), 1), (("IllegalArgumentException: no kind",), 0)])
def test_second_failure_and_other_errors_are_raised(errors: tuple[str, ...], closed: int) -> None:
    cluster = Cluster(*errors)
    with pytest.raises(InvariantViolation, match=errors[-1]):
        called(cluster)
    assert (cluster.errors, cluster.closed) == ([], closed)
