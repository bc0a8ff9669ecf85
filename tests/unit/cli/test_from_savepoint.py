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
OTHER_MAX_PARALLELISM = (
    f"Failed to rollback to checkpoint/savepoint {SAVEPOINT}. Max parallelism mismatch between "
    "checkpoint/savepoint state and new program. Cannot map operator a0f90dae8f3f5f042400509da0ac0fbb ('sums', "
    "uid 'sums') with max parallelism 128 to new program "
    "with max parallelism 64. This indicates that the program has been changed in a non-compatible way after the "
    "checkpoint/savepoint."
)
TOO_HIGH_PARALLELISM = (
    f"{SAVEPOINT}: The state for task sums can not be restored. The maximum parallelism (128) of the restored "
    "state is lower than the configured parallelism (129). Please reduce the parallelism of the task to be lower "
    "or equal to the maximum parallelism."
)


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
    for setting in ("operators.sums.parallelism=1", "operators.sums.parallelism=4", "settings.parallelism=3"):
        document = continued(flowsim, "--set", setting, "--out", "second").document
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
    assert one_line(refused.err).endswith(
        f"Failed to rollback to checkpoint/savepoint {SAVEPOINT}. Cannot map checkpoint/savepoint state for operator "
        "a0f90dae8f3f5f042400509da0ac0fbb ('sums', uid 'sums') to the new program, "
        "because the operator is not available in the new program (known: numbers, kept, Sink "
        "Committer: kept). If you want to allow to skip this, you can set the --allow-non-restored-state option on the CLI."
    )
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
        (
            ("--from-savepoint", SAVEPOINT, "--set", "operators.sums.max_parallelism=64"),
            OTHER_MAX_PARALLELISM,
        ),
        (
            ("--from-savepoint", SAVEPOINT, "--set", "operators.sums.parallelism=129"),
            TOO_HIGH_PARALLELISM,
        ),
    ],
)
def test_wrong_savepoint_or_option_is_refused_before_anything_is_written(
    options: tuple[str, ...], message: str, stopped: int, flowsim: Flowsim
) -> None:
    refused = flowsim("run", "tiny.yaml", *options)
    assert refused.code == 2
    assert message in one_line(refused.err)
    assert not Path("out").exists()


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_renamed_operator_is_refused_with_the_similar_name(
    stopped: int, flowsim: Flowsim, write: Callable[..., Path]
) -> None:
    write("tiny.yaml", PACED, NO_EXPECTATIONS, ("  sums:", "  totals:"), ("input: sums,", "input: totals,"))
    refused = continued(flowsim)
    assert refused.code == 2
    assert (
        "('sums', uid 'sums') to the new program, because the operator is not available in the new program (known: "
        "numbers, totals, kept, Sink Committer: kept)"
    ) in one_line(refused.err)


def test_operator_that_stored_nothing_may_be_missing(flowsim: Flowsim, write: Callable[..., Path]) -> None:
    """Rule 12.26."""
    mapped = (
        "operators:\n",
        "operators:\n  same: {input: numbers, chaining: never, map: {select: {n: n, key: key}}}\n",
    )
    stop = ("sinks:\n", "actions: [stop: {at: 100 ms, savepoint: {directory: sp}}]\nsinks:\n")
    write("tiny.yaml", PACED, NO_EXPECTATIONS, mapped, ("sums: {input: numbers", "sums: {input: same"), stop)
    assert flowsim("run", "tiny.yaml", "--out", "first").code == 0
    write("tiny.yaml", PACED, NO_EXPECTATIONS)
    after = flowsim("run", "tiny.yaml", "--from-savepoint", "first/sp/savepoint-1")
    assert after.code == 0, after.err


def test_finished_operator_behind_a_running_source_is_refused(flowsim: Flowsim) -> None:
    """Rule 12.101."""
    job = """\
flowsim: 1
name: finished
settings: {checkpointing: {interval: 20 ms}}
sources:
  short: {generator: {count: 3, pace: 1 ms, fields: {n: {sequence: {}}}}}
  long: {generator: {count: 300, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  kept: {input: short, chaining: never, filter: "n >= 0"}
sinks:
  out: {input: kept, collect: {}}
  rest: {input: long, collect: {}}
"""
    Path("first.yaml").write_text(job + "actions: [stop: {at: 100 ms, savepoint: {directory: sp}}]\n")
    assert flowsim("run", "first.yaml", "--out", "first").code == 0
    (savepoint,) = Path("first/sp").iterdir()
    Path("second.yaml").write_text(job.replace("input: short", "input: long"))
    refused = flowsim("run", "second.yaml", "--from-savepoint", savepoint, "--allow-non-restored-state")
    assert refused.code == 2
    assert (
        f"{savepoint}: Illegal JobGraph modification. Cannot run a program with fully finished vertices "
        "predeceased with the ones not fully finished. Task vertex kept"
    ) in one_line(refused.err)
    assert "has a predecessor not fully finished" in one_line(refused.err)
