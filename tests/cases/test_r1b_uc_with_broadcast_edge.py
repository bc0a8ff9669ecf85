"""A broadcast exchange in a job with unaligned checkpoints: it is named with its reason, also without an interval."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim as api
from tests.unit.cli.conftest import Flowsim

SCENARIO = Path(__file__).parent / "inputs" / "r1b_uc_with_broadcast_edge.yaml"
INTERVAL = "settings.checkpointing.interval=100 ms"
FORCED = (
    "Source: orders -> slow is aligned by force in unaligned checkpoints: "
    "its partitioner BROADCAST does not support them"
)
DISABLED = (
    "no channel waits for a barrier: checkpointing is disabled without an interval, "
    "so a snapshot on request is AT_LEAST_ONCE"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    monkeypatch.chdir(tmp_path)
    api.run_scenario(SCENARIO, out=tmp_path / "out", overrides=request.param)
    return tmp_path / "out"


def flat(text: str) -> str:
    return " ".join(text.split())


def test_graph_marks_the_broadcast_exchange_only(flowsim: Flowsim) -> None:
    text = flowsim("graph", SCENARIO).out
    assert "--BROADCAST, no unaligned barriers--> [1] slow" in text
    assert "--REBALANCE--> [2] Sink: out" in text
    assert text.splitlines()[-2:] == [f"checkpoints: {DISABLED} [12.146, 12.16]", f"{FORCED} [12.19]"]
    document = flowsim("graph", SCENARIO, "--json").document
    assert document["checkpoints_aligned"]["reason"] == "DISABLED"
    assert flowsim("graph", SCENARIO, "--set", INTERVAL, "--json").document["checkpoints_aligned"] is None


@pytest.mark.parametrize("run", [()], indirect=True)
def test_checkpoint_without_an_interval_aligns_nothing_and_says_why(flowsim: Flowsim, run: Path) -> None:
    text = flat(flowsim("checkpoints", run).out)
    assert f"checkpoint 1: {DISABLED} [12.146, 12.16]" in text
    assert f"{FORCED} [12.19]" in text
    (one,) = flowsim("checkpoints", run, "--json").document["checkpoints"]
    assert (one["alignment"], one["barriers"], one["why_aligned"]["reason"]) == (
        "AT_LEAST_ONCE", "AT_LEAST_ONCE", "DISABLED",
    )  # fmt: skip
    assert "by force" not in flowsim("trace", run, "--checkpoint", 1).out


@pytest.mark.parametrize("run", [(INTERVAL,)], indirect=True)
def test_checkpoint_with_an_interval_is_aligned_on_the_broadcast_exchange(flowsim: Flowsim, run: Path) -> None:
    document = flowsim("checkpoints", run, "--json").document
    assert {one["barriers"] for one in document["checkpoints"]} == {"PARTLY_ALIGNED"}
    assert [one["exchange"] for one in document["aligned_exchanges"]] == ["Source: orders -> slow"]
    trace = flowsim("trace", run, "--checkpoint", 1).out
    assert "aligned by force: BROADCAST" in trace
