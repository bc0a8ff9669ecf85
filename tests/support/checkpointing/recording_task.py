"""A task, inputs and timers that record the calls of a barrier handler, as the golden files name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier
from flowsim.units import NS_PER_MS

Events = list[list[Any]]


class HandlerClock:
    def __init__(self, start_ms: int) -> None:
        self.now_ns = start_ms * NS_PER_MS

    def advance_ms(self, duration_ms: int) -> None:
        self.now_ns += duration_ms * NS_PER_MS


class RecordingTask:
    """Records triggers and aborts; ``triggered`` has the metrics of each trigger."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.triggered: list[tuple[int, CheckpointMetrics]] = []

    def trigger_checkpoint_on_barrier(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics
    ) -> None:
        self.events.append(["trigger", meta_data.checkpoint_id, options.alignment.name])
        self.triggered.append((meta_data.checkpoint_id, metrics))

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self.events.append(["abort", checkpoint_id, cause.reason.name])

    def init_inputs_checkpoint(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        self.events.append(["init_inputs", checkpoint_id, options.alignment.name])

    def triggered_metrics(self) -> list[list[Any]]:
        return [
            [
                checkpoint_id,
                {
                    "alignment_nanos": metrics.alignment.duration_ns,
                    "bytes": metrics.alignment.processed_bytes,
                    "start_delay_nanos": metrics.start_delay_ns,
                },
            ]
            for checkpoint_id, metrics in self.triggered
        ]


class Refusal:
    """Makes the next input that starts to store a checkpoint refuse it."""

    is_due = False


class RecordingInput:
    """Records what a handler does with one gate."""

    def __init__(self, gate: int, events: Events, refusal: Refusal) -> None:
        self.gate = gate
        self.events = events
        self.refusal = refusal

    def block_consumption(self, channel: InputChannelInfo) -> None:
        self.events.append(["block", channel.gate, channel.channel])

    def resume_consumption(self, channel: InputChannelInfo) -> None:
        self.events.append(["resume", channel.gate, channel.channel])

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        self.events.append(["started", self.gate, barrier.checkpoint_id])
        if self.refusal.is_due:
            self.refusal.is_due = False
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_SUBSUMED)

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        self.events.append(["stopped", self.gate, checkpoint_id])

    def convert_to_priority_event(self, channel: int, sequence_number: int) -> None:
        self.events.append(["to_priority", self.gate, channel, sequence_number])


class RecordedTimer:
    def __init__(self, timers: RecordingTimers, callback: Callable[[], None], due_ns: int) -> None:
        self.timers = timers
        self.callback = callback
        self.due_ns = due_ns
        self.is_live = True

    def cancel(self) -> None:
        self.is_live = False
        self.timers.events.append(["timer_cancel"])


class RecordingTimers:
    """Runs timers when the clock is advanced, in the order of their registration."""

    def __init__(self, clock: HandlerClock, events: Events) -> None:
        self.clock = clock
        self.events = events
        self.timers: list[RecordedTimer] = []

    def register_task(self, callback: Callable[[], None], delay_ms: int) -> RecordedTimer:
        self.events.append(["timer", delay_ms])
        timer = RecordedTimer(self, callback, self.clock.now_ns + delay_ms * NS_PER_MS)
        self.timers.append(timer)
        return timer

    def advance_ms(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        for timer in list(self.timers):
            if timer.is_live and timer.due_ns <= self.clock.now_ns:
                timer.is_live = False
                self.events.append(["timer_fires"])
                timer.callback()
