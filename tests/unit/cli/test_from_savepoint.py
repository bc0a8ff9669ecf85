"""``flowsim run --from-savepoint``: jobs that continue from a savepoint, and savepoints that do not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import StopWithSavepoint
from flowsim.limits import DEFAULT_LIMITS
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.units import NS_PER_MS
from tests.unit.cli.conftest import Called, Flowsim

PACED = ("count: 200", "count: 200\n      pace: 1ms")
NO_EXPECTATIONS = ("expect:\n  rows: {kept: 200}\n", "")
SAVEPOINT = "sp/savepoint-1"


@pytest.fixture
def stopped(write: Callable[..., Path], flowsim: Flowsim, tmp_path: Path) -> int:
    """Stops ``tiny.yaml`` with a savepoint after half of its records; returns the number of records."""
    write("tiny.yaml", PACED, NO_EXPECTATIONS)
    scenario = load_scenario(Path("tiny.yaml"), (), DEFAULT_LIMITS)
    compiled = compile_scenario(scenario, out_dir=tmp_path / "first")
    options = RunOptions(actions=(StopWithSavepoint(100 * NS_PER_MS, directory="sp"),), seed=3)
    return MiniCluster(compiled.stream_graph(), options).run().records_read


def continued(flowsim: Flowsim, *options: object) -> Called:
    return flowsim("run", "tiny.yaml", "--from-savepoint", SAVEPOINT, "--json", *options)


def test_run_continues_after_the_records_of_its_savepoint_also_with_other_parallelism(
    stopped: int, flowsim: Flowsim
) -> None:
    assert 90 <= stopped <= 110
    for parallelism in (1, 4):
        document = continued(flowsim, "--set", f"operators.sums.parallelism={parallelism}", "--out", "second").document
        assert document["exit_code"] == 0
        assert document["sinks"][0]["rows"] == 200 - stopped


def test_no_claim_is_default_and_keeps_the_savepoint(stopped: int, flowsim: Flowsim) -> None:
    assert continued(flowsim).code == 0
    described = json.loads(Path("out/tiny/recording/manifest.json").read_bytes())["run"]["options"]["savepoint"]
    assert (described["path"], described["claim_mode"], described["allow_non_restored_state"]) == (
        SAVEPOINT, "NO_CLAIM", False,
    )  # fmt: skip
    assert flowsim("checkpoints", SAVEPOINT).code == 0


def test_replay_starts_from_the_same_savepoint(stopped: int, flowsim: Flowsim) -> None:
    assert continued(flowsim).code == 0
    assert flowsim("replay", "out/tiny").out.startswith("the same: ")
    shutil.rmtree("sp")
    moved = flowsim("replay", "out/tiny")
    assert moved.code == 2
    assert f"cannot be replayed: the snapshot {SAVEPOINT} from which it started was moved or deleted" in moved.err


def test_replay_of_a_run_that_claimed_its_savepoint_is_refused(stopped: int, flowsim: Flowsim) -> None:
    assert continued(flowsim, "--claim-mode", "claim").code == 0
    refused = flowsim("replay", "out/tiny")
    assert refused.code == 2
    assert f"it claimed the snapshot {SAVEPOINT}, which a second run would delete" in refused.err


def test_state_without_operator_is_refused_before_anything_is_written_unless_it_is_allowed(
    stopped: int, flowsim: Flowsim, write: Callable[..., Path]
) -> None:
    operators = "operators:\n  sums: {input: numbers, key_by: key, parallelism: 2, reduce: {n: sum}}\n"
    write("tiny.yaml", PACED, NO_EXPECTATIONS, (operators, ""), ("input: sums,", "input: numbers,"))
    refused = continued(flowsim)
    assert refused.code == 2
    assert f"{SAVEPOINT}: There is no operator for the state" in refused.err
    assert not Path("out").exists()
    assert continued(flowsim, "--allow-non-restored-state").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from-savepoint", "absent"), "absent: does not exist; give the folder of a checkpoint"),
        (
            ("--from-savepoint", "sp"),
            "sp: not a checkpoint: it has no manifest.json; give one of its folders: savepoint-1",
        ),
        (("--claim-mode", "claim"), "--claim-mode: applies to a restored job only: add --from-savepoint DIR"),
        (("--allow-non-restored-state",), "--allow-non-restored-state: applies to a restored job only"),
        (("--from-savepoint", SAVEPOINT, "--set", "operators.sums.max_parallelism=64"), "maximum parallelism (128)"),
    ],
)
def test_wrong_savepoint_or_option_is_refused_before_anything_is_written(
    options: tuple[str, ...], message: str, stopped: int, flowsim: Flowsim
) -> None:
    refused = flowsim("run", "tiny.yaml", *options)
    assert refused.code == 2
    assert message in refused.err
    assert not Path("out").exists()
