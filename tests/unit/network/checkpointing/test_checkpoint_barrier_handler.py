"""What a handler does with events, and what its task asks of it (rules 12.10-12.14, 12.86)."""

from __future__ import annotations

import pytest

from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfPartitionEvent,
    EventAnnouncement,
    StopMode,
)
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED
from tests.support.checkpointing.recording_task import (
    Events,
    HandlerClock,
    RecordingInput,
    RecordingTask,
    RecordingTimers,
    Refusal,
)

FIRST, SECOND = InputChannelInfo(0, 0), InputChannelInfo(0, 1)


class Fixture:
    def __init__(self, mode: str = "aligned") -> None:
        self.events: Events = []
        self.clock = HandlerClock(100)
        self.task = RecordingTask(self.events)
        self.timers = RecordingTimers(self.clock, self.events)
        self.refusal = Refusal()
        self.input = RecordingInput(0, self.events, self.refusal)
        if mode == "aligned":
            self.handler = SingleCheckpointBarrierHandler.aligned(
                self.task, self.clock, 2, self.timers, [self.input], checkpoints_after_tasks_finish=True
            )
        else:
            self.handler = SingleCheckpointBarrierHandler.alternating(
                self.task, self.task, self.clock, 2, self.timers, [self.input], checkpoints_after_tasks_finish=True
            )


def test_handler_dispatches_every_event() -> None:
    fixture = Fixture("alternating")
    handler = fixture.handler
    handler.process_event(FIRST, EventAnnouncement(CheckpointBarrier(1, 100, TIMEOUTABLE), 5))
    handler.process_event(FIRST, EndOfData(StopMode.DRAIN))
    handler.process_event(FIRST, CheckpointBarrier(1, 100, TIMEOUTABLE))
    handler.process_event(SECOND, CancelCheckpointMarker(1))
    handler.process_event(SECOND, EndOfPartitionEvent())
    assert fixture.events == [
        ["timer", 10],
        ["block", 0, 0],
        ["timer_cancel"],
        ["resume", 0, 0],
        ["abort", 1, "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER"],
    ]
    assert handler.open_channels == 1


def test_tracker_ignores_announcements() -> None:
    events: Events = []
    tracker = CheckpointBarrierTracker(1, RecordingTask(events), HandlerClock(100), True)
    tracker.process_event(FIRST, EventAnnouncement(CheckpointBarrier(1, 100, TIMEOUTABLE), 5))
    tracker.close()
    assert (events, tracker.is_checkpoint_pending) == ([], False)
    assert tracker.all_barriers_received(1).is_done


def test_completion_of_the_last_barrier() -> None:
    handler = Fixture().handler
    handler.process_event(FIRST, CheckpointBarrier(2, 100, ALIGNED))
    pending = handler.all_barriers_received(2)
    assert not pending.is_done
    assert handler.all_barriers_received(1).is_done
    with pytest.raises(IllegalState, match="Checkpoint 3 has not been started"):
        handler.all_barriers_received(3)
    handler.process_event(SECOND, CheckpointBarrier(2, 100, ALIGNED))
    assert pending.is_done
    assert pending.error is None


def test_completion_fails_with_the_checkpoint_and_with_the_task() -> None:
    handler = Fixture().handler
    handler.process_event(FIRST, CheckpointBarrier(1, 100, ALIGNED))
    aborted = handler.all_barriers_received(1)
    handler.process_event(SECOND, CheckpointBarrier(2, 100, ALIGNED))
    assert isinstance(aborted.error, CheckpointException)
    assert aborted.error.reason is CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED
    closed = handler.all_barriers_received(2)
    handler.close()
    assert isinstance(closed.error, IllegalState)


def test_aligning_handler_refuses_unaligned_barriers_and_timeouts() -> None:
    fixture = Fixture()
    with pytest.raises(IllegalState, match="only aligns"):
        fixture.handler.process_event(FIRST, CheckpointBarrier(1, 100, UNALIGNED))
    with pytest.raises(IllegalState, match="no channel state"):
        fixture.handler.init_inputs_checkpoint(CheckpointBarrier(1, 100, ALIGNED))


def test_input_that_refuses_to_store_aborts_the_checkpoint() -> None:
    """A channel that already delivered a newer barrier: rule 12.86."""
    fixture = Fixture("alternating")
    fixture.refusal.is_due = True
    fixture.handler.process_event(FIRST, CheckpointBarrier(1, 100, UNALIGNED))
    assert fixture.events == [
        ["init_inputs", 1, "UNALIGNED"],
        ["started", 0, 1],
        ["abort", 1, "CHECKPOINT_SUBSUMED"],
    ]
    fixture.events.clear()
    fixture.refusal.is_due = True
    fixture.handler.process_event(FIRST, CheckpointBarrier(2, 100, TIMEOUTABLE))
    fixture.timers.advance_ms(10)
    assert fixture.events == [
        ["timer", 10],
        ["block", 0, 0],
        ["timer_fires"],
        ["init_inputs", 2, "UNALIGNED"],
        ["started", 0, 2],
        ["timer_cancel"],
        ["resume", 0, 0],
        ["abort", 2, "CHECKPOINT_SUBSUMED"],
    ]
    assert not fixture.handler.is_checkpoint_pending
