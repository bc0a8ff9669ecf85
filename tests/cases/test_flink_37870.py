"""One broadcast exchange: it, and the other input of its receiver, are aligned by force; all other exchanges are not."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim as api
from flowsim.facts.kinds import CheckpointStep
from flowsim.recording.reader import Recording
from tests.unit.cli.conftest import Flowsim

SCENARIO = Path(__file__).parent / "inputs" / "flink_37870.yaml"
BROADCAST = "Source: rules -> ruled (BROADCAST)"
FORCED = "is aligned by force in unaligned checkpoints"
BY_PARTITIONER = f"Source: rules -> ruled {FORCED}: its partitioner BROADCAST does not support them"
BY_OTHER_INPUT = f"slow -> ruled {FORCED}: another input of its task supports none: {BROADCAST}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ruled")
    api.run_scenario(SCENARIO, out=out)
    return out


def flat(text: str) -> str:
    return " ".join(text.split())


def test_graph_marks_both_exchanges_with_their_reasons(flowsim: Flowsim) -> None:
    text = flowsim("graph", SCENARIO).out
    assert "--BROADCAST, no unaligned barriers--> [3] ruled" in text
    assert f"--REBALANCE, no unaligned barriers because of {BROADCAST}--> [3] ruled" in text
    assert "--HASH--> [2] slow" in text
    assert text.splitlines()[-2:] == [f"{BY_PARTITIONER} [12.19]", f"{BY_OTHER_INPUT} [12.19]"]
    for form in ("mermaid", "dot"):
        drawn = flowsim("graph", SCENARIO, "--format", form).out
        assert drawn.count("no unaligned barriers") == 2
        assert f"because of {BROADCAST}" in drawn
    document = flowsim("graph", SCENARIO, "--json").document
    assert [edge["supports_unaligned_checkpoints"] for edge in document["edges"]] == [True, False, False, True]
    assert [(edge["aligned"] or {}).get("reason") for edge in document["edges"]] == [
        None, "PARTITIONER", "OTHER_INPUT", None,
    ]  # fmt: skip
    assert document["edges"][2]["aligned"]["forced_by"] == {
        "edge": 1, "exchange": "Source: rules -> ruled", "partitioner": "BROADCAST",
    }  # fmt: skip
    assert document["checkpoints_aligned"] is None


def test_checkpoints_name_the_aligned_exchanges_and_the_input_that_forces_them(flowsim: Flowsim, run: Path) -> None:
    text = flat(flowsim("checkpoints", run).out)
    assert f"{BY_PARTITIONER} [12.19]" in text
    assert f"{BY_OTHER_INPUT} [12.19]" in text
    document = flowsim("checkpoints", run, "--json").document
    assert {one["alignment"] for one in document["checkpoints"]} == {"UNALIGNED"}
    assert {one["barriers"] for one in document["checkpoints"]} == {"PARTLY_ALIGNED"}
    assert [(one["exchange"], one["reason"]) for one in document["aligned_exchanges"]] == [
        ("Source: rules -> ruled", "PARTITIONER"), ("slow -> ruled", "OTHER_INPUT"),
    ]  # fmt: skip
    assert [one["forced_by"] for one in document["checkpoints"][0]["aligned_exchanges"]] == [BROADCAST, BROADCAST]
    one = flowsim("checkpoints", run, "--checkpoint", 1)
    assert "barriers: partly aligned" in one.out
    assert BY_OTHER_INPUT in flat(one.out)


def test_trace_says_why_a_barrier_does_not_overtake(flowsim: Flowsim, run: Path) -> None:
    lines = [flat(line) for line in flowsim("trace", run, "--checkpoint", 1).out.splitlines()]
    other = f"from slow (2/2) #6, aligned by force because of {BROADCAST} [12.11, 12.19]"
    assert any(line.endswith(f"ruled (1/2) reads the barrier of checkpoint 1 {other}") for line in lines)
    assert sum("aligned by force: BROADCAST" in line for line in lines) == 2 + 2 * 2
    assert not [line for line in lines if "unaligned barrier" in line and "by force" in line]


def test_marked_exchanges_were_aligned_and_others_not(run: Path) -> None:
    """The receiver of marked exchanges took its snapshot behind all their barriers, that of others before its barrier."""
    recording: Recording = api.open_recording(run)
    steps = recording.table("checkpoint_steps").to_pylist()
    begins = {(one["task"], one["checkpoint"]): one["seq"] for one in steps if one["step"] == CheckpointStep.SYNC_START}
    ends = {
        (one["task"], one["checkpoint"]): one["seq"] for one in steps if one["step"] == CheckpointStep.ALIGNMENT_END
    }
    vertices = {int(row[0]): int(row[1]) for row in recording.static_rows("tasks")}
    for (task, checkpoint), end in ends.items():
        assert (end < begins[task, checkpoint]) == (vertices[task] == 3), (task, checkpoint)
