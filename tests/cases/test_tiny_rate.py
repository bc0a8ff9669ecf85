"""Rates whose records would be further apart than the clock can count are refused with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.connectors.partition_log import Partition
from flowsim.errors import BadInput
from tests.unit.cli.conftest import Flowsim

SCENARIO = Path(__file__).parent / "inputs" / "tiny_rate.yaml"


@pytest.mark.parametrize("rate", ["1.0e-300", "5.0e-324", "9.9e-10", "0", "-1", "1.0e300"])
@pytest.mark.parametrize("command", ["check", "run"])
def test_rate_out_of_range_is_refused(flowsim: Flowsim, rate: str, command: str) -> None:
    Path("rate.yaml").write_text(SCENARIO.read_text().replace("1.0e-300", rate))
    called = flowsim(command, "rate.yaml")
    assert called.code == 2
    assert "rate.yaml:4:" in called.err
    assert "partitions[0].rate: expected a value " in called.err
    assert not Path("out").exists()


def test_smallest_rate_runs(flowsim: Flowsim) -> None:
    Path("rate.yaml").write_text(SCENARIO.read_text().replace("1.0e-300", "1.0e-9"))
    assert flowsim("run", "rate.yaml").code == 0


def test_python_refuses_the_same_rates() -> None:
    with pytest.raises(BadInput, match=r"expected a rate from 10\^-9 to 10\^9 records per second, got 1e-300"):
        Partition(rate=1e-300)
