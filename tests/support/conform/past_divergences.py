"""Divergences from Flink that flowsim once had, which random jobs showed, and how each is brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.gates.input_channel import BufferAndAvailability
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.operators.functions.broadcast_contexts import BroadcastContext
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.user_functions import emit_results
from flowsim.sim.scheduler import Timer
from flowsim.state.redistribution.task_state_assignment import TaskStateAssignment
from flowsim.state.snapshots.restored_keyed_state import RestoredKeyGroups
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.streamrecord.elements import OutputTag
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.units import NS_PER_MS
from tests.support.jobs.historical_bugs.bug import Change, replaced

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
    shown_by: Mapping[str, int]
    """Generators of jobs, each with the number of a job that shows the divergence."""
    change: Change

    @property
    def scenario(self) -> Path | None:
        """A scenario that shows the divergence; None if Flink's side of the comparison cannot build one that does."""
        file = SCENARIOS / f"{self.name.replace(' ', '_').replace('-', '_')}.yaml"
        return file if file.exists() else None

    @contextmanager
    def brought_back(self) -> Iterator[None]:
        """Lets the runs inside behave as before the repair."""
        with pytest.MonkeyPatch.context() as patch:
            self.change(patch)
            yield


def _side_outputs_without_timestamp(patch: pytest.MonkeyPatch) -> None:
    def output(self: ProcessContext, tag: OutputTag, value: object) -> None:
        self._output.collect_side(tag, value, self._emit_timestamp)

    patch.setattr(emit_results, "__defaults__", (None,))
    patch.setattr(ProcessContext, "output", output)


def _without_timestamp(self: BroadcastContext, timestamp: int | None) -> None:
    self._timestamp = timestamp  # type: ignore[assignment]  # what it was


def _always(self: TaskStateAssignment, vertex: int) -> bool:
    return True


def _own_state_only(self: TaskStateAssignment, vertex: int) -> bool:
    return any(each.is_needed for each in self.assign(vertex))


def _final_checkpoints_without_interval(patch: pytest.MonkeyPatch) -> None:
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


def _nothing_while_sealed(patch: pytest.MonkeyPatch) -> None:
    next_buffer = LocalInputChannel.next_buffer

    def next_published_buffer(self: LocalInputChannel) -> BufferAndAvailability | None:
        if not self.released and self._producer.sealed:
            self._producer.hold_local_channel(self)
            return None
        return next_buffer(self)

    patch.setattr(LocalInputChannel, "next_buffer", next_published_buffer)


DIVERGENCES = (
    Divergence(
        "side outputs without a timestamp",
        "6626e903",
        "9.19",
        "What a function emits to a side output for a record without timestamp had no timestamp.",
        {"described": 820},
        _side_outputs_without_timestamp,
    ),
    Divergence(
        "broadcast elements without a timestamp",
        "6626e903",
        "9.19",
        "The context of a broadcast element without timestamp had no timestamp.",
        {"described": 1655},
        replaced(BroadcastContext, "set_current", _without_timestamp),
    ),
    Divergence(
        "vertices without state are restored",
        "6676f45d",
        "12.100",
        "Tasks that had stored nothing knew the id of the restored checkpoint.",
        {"checkpoints": 86},
        replaced(TaskStateAssignment, "has_channel_state", _always),
    ),
    Divergence(
        "stateless tasks beside in-flight data start as new",
        "91991534",
        "12.100",
        "A task did not know the restored checkpoint in which only a sender or a receiver of it had stored data.",
        {"unaligned": 987802},
        replaced(TaskStateAssignment, "has_channel_state", _own_state_only),
    ),
    Divergence(
        "final checkpoints without an interval",
        "8218ee00",
        "12.146",
        "Tasks of a job without an interval took a final checkpoint and waited for it.",
        {"checkpoints without an interval": 0},
        _final_checkpoints_without_interval,
    ),
    Divergence(
        "an alignment timer of an ending task ends the run",
        "d98dd066",
        "12.20",
        "The timer of an alignment that fired while its task ended ended the run.",
        {"unaligned": 39},
        replaced(TaskCheckpoints, "register_task", _timer_of_ending_task),
    ),
    Divergence(
        "restored keyed state is that of the checkpoint",
        "590b1b09",
        "12.106",
        "A second restore had what the first attempt had added.",
        {"unaligned": 79},
        replaced(RestoredKeyGroups, "cells", _shared_cells),
    ),
    Divergence(
        "a priority event waits for the batch of its sender",
        "fee6a69f",
        "5.28",
        "The gate took an element of another channel for the priority event that it could not read yet.",
        {"disturbed": 20},
        _nothing_while_sealed,
    ),
)
