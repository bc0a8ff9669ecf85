"""CompletedCheckpointStore and CheckpointsCleaner equal the real ones (rules 12.60, 12.63)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy, JobStatus
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CompletedCheckpointStore
from tests.support.flink.golden import cases


class DirectExecutor:
    def execute(self, action: Callable[[], None]) -> None:
        action()


class Location:
    def __init__(self, checkpoint_id: int, disposed: list[int]) -> None:
        self.checkpoint_id = checkpoint_id
        self.disposed = disposed

    @property
    def external_pointer(self) -> str:
        return f"chk-{self.checkpoint_id}"

    def dispose_storage_location(self) -> None:
        self.disposed.append(self.checkpoint_id)


class Play:
    def __init__(self, case: dict[str, Any]) -> None:
        self.store = CompletedCheckpointStore(case["retain"], CheckpointsCleaner(DirectExecutor()))
        self.discarded: list[int] = []
        self.properties = {
            "checkpoint": CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy[case["policy"]]),
            "savepoint": CheckpointProperties.for_savepoint(forced=True),
            "sync_savepoint": CheckpointProperties.for_sync_savepoint(forced=True, terminate=False),
        }

    def play(self, command: list[Any]) -> dict[str, Any]:
        self.discarded.clear()
        match command:
            case ["add", checkpoint_id, kind]:
                location = Location(checkpoint_id, self.discarded)
                checkpoint = CompletedCheckpoint(checkpoint_id, 0, 1, self.properties[kind], location)
                subsumed = self.store.add_checkpoint_and_subsume_oldest_one(checkpoint, lambda: None)
                return {
                    "subsumed": subsumed and subsumed.checkpoint_id,
                    "discarded": list(self.discarded),
                    "retained": [retained.checkpoint_id for retained in self.store.all_checkpoints],
                    "latest": self.store.latest_checkpoint_id,
                }
            case ["shutdown", status]:
                self.store.shutdown(JobStatus[status])
                assert self.store.latest_checkpoint is None
                return {"discarded": sorted(self.discarded)}
        raise AssertionError(f"unknown command {command}")


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/completed_checkpoint_store"):
        play = Play(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.play(command) == expected, (case["id"], number, command)
        seen += 1
    assert seen == 400
