"""Creates the barrier handler of a task with inputs. Flink: InputProcessorUtil."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.network.checkpointing.checkpointable import (
    CheckpointableTask,
    Clock,
    DelayableTimer,
    InputsCheckpointInitializer,
)
from flowsim.network.checkpointing.input_gates import CheckpointableGate
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.gates.single_input_gate import SingleInputGate

CreateBarrierHandler = Callable[
    [
        CheckpointSettings,
        Sequence[SingleInputGate],
        CheckpointableTask,
        InputsCheckpointInitializer,
        Clock,
        DelayableTimer,
    ],
    CheckpointBarrierHandler,
]


def create_barrier_handler(
    settings: CheckpointSettings,
    gates: Sequence[SingleInputGate],
    task: CheckpointableTask,
    coordinator: InputsCheckpointInitializer,
    clock: Clock,
    timers: DelayableTimer,
) -> CheckpointBarrierHandler:
    """Returns the handler of all gates of a task: a tracker in mode at-least-once (rules 12.16, 12.17)."""
    channels = sum(gate.count for gate in gates)
    if not settings.exactly_once:
        return CheckpointBarrierTracker(channels, task, clock, settings.after_tasks_finish)
    inputs = [CheckpointableGate(gate) for gate in gates]
    finish = settings.after_tasks_finish
    if not settings.unaligned:
        return SingleCheckpointBarrierHandler.aligned(
            task, clock, channels, timers, inputs, checkpoints_after_tasks_finish=finish
        )
    return SingleCheckpointBarrierHandler.alternating(
        task, coordinator, clock, channels, timers, inputs, checkpoints_after_tasks_finish=finish
    )
