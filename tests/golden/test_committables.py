"""CommittableCollector and its managers equal the real ones, snapshot and merge included (rules 12.31-12.33, 12.131-12.133)."""

from __future__ import annotations

from tests.support.checkpointing.committables import CollectorPlay, is_same_error
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    """All cases, all commands: retries, duplicates, missing committables, snapshots and merges."""
    commands = 0
    for case in cases("component/committables"):
        play = CollectorPlay(case["behaviour"].__getitem__)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            observed = play.observed(command)
            assert is_same_error(observed["err"], expected["err"]), (case["id"], command, observed, expected)
            assert {**observed, "err": None} == {**expected, "err": None}, (case["id"], command)
            commands += 1
    assert commands == 6_039
