"""Divergences from Flink that flowsim once had, each with a scenario that shows it, and how each is brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowsim.faults.historical.bug import Change, Patch, replaced
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.operators.functions.broadcast_contexts import BroadcastContext
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.user_functions import emit_results
from flowsim.sim.scheduler import Timer
from flowsim.state.snapshots.restored_keyed_state import RestoredKeyGroups
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.streamrecord.elements import OutputTag
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.units import NS_PER_MS

SCENARIOS = Path(__file__).with_name("divergences")


@dataclass(frozen=True)
class Divergence:
    """A difference between flowsim and Flink, and the rule that states what Flink does."""

    name: str
    repaired_by: str
    """The commit."""
    rule: str
    was: str
    """What flowsim did."""
    change: Change

    @property
    def scenario(self) -> Path:
        """A scenario that shows the divergence."""
        return SCENARIOS / f"{self.name.replace(' ', '_').replace('-', '_')}.yaml"

    @contextmanager
    def brought_back(self) -> Iterator[None]:
        """Lets the runs inside behave as before the repair."""
        with pytest.MonkeyPatch.context() as patch:
            self.change(patch)
            yield


def _side_outputs_without_timestamp(patch: Patch) -> None:
    def output(self: ProcessContext, tag: OutputTag, value: object) -> None:
        self._output.collect_side(tag, value, self._emit_timestamp)

    patch.setattr(emit_results, "__defaults__", (None,))
    patch.setattr(ProcessContext, "output", output)


def _without_timestamp(self: BroadcastContext, timestamp: int | None) -> None:
    self._timestamp = timestamp  # type: ignore[assignment]  # what it was


def _final_checkpoints_without_interval(patch: Patch) -> None:
    patch.setattr(CheckpointSettings, "waits_for_final_checkpoint", property(lambda self: self.after_tasks_finish))
    patch.setattr(CheckpointSettings, "in_effect", lambda self: self)


def _timer_of_ending_task(self: TaskCheckpoints, callback: Callable[[], None], delay_ms: int) -> Timer:
    def fire() -> None:
        self._main_mails.execute(callback, "timer of a checkpoint")

    due_ns = self._task.clock.now_ns + delay_ms * NS_PER_MS
    return self._task.scheduler.call_at_ns(due_ns, fire, origin=self._task.timers.system_thread)


def _shared_cells(self: RestoredKeyGroups) -> Iterator[tuple[int, StoredCell]]:
    for group, stream in self._in_order(self._managed):
        for cell in stream.cells.get(group, ()):
            yield group, cell


DIVERGENCES = (
    Divergence(
        "side outputs without a timestamp",
        "6626e903",
        "9.19",
        "What a function emits to a side output for a record without timestamp had no timestamp.",
        _side_outputs_without_timestamp,
    ),
    Divergence(
        "broadcast elements without a timestamp",
        "6626e903",
        "9.19",
        "The context of a broadcast element without timestamp had no timestamp.",
        replaced(BroadcastContext, "set_current", _without_timestamp),
    ),
    Divergence(
        "final checkpoints without an interval",
        "8218ee00",
        "12.146",
        "Tasks of a job without an interval took a final checkpoint and waited for it.",
        _final_checkpoints_without_interval,
    ),
    Divergence(
        "an alignment timer of an ending task ends the run",
        "d98dd066",
        "12.20",
        "The timer of an alignment that fired while its task ended ended the run.",
        replaced(TaskCheckpoints, "register_task", _timer_of_ending_task),
    ),
    Divergence(
        "restored keyed state is that of the checkpoint",
        "590b1b09",
        "12.106",
        "A second restore had what the first attempt had added.",
        replaced(RestoredKeyGroups, "cells", _shared_cells),
    ),
)
