"""The recorded queue of a subpartition, and barriers that wait for their timeout (rules 5.18, 5.28, 5.32)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowsim.facts.kinds import BufferKind, BufferSide, Level
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import REFUSED
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier, EndOfData, StopMode
from flowsim.task_clock import TaskClock
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED
from tests.support.network import Listener


class Kept:
    """A channel state writer that keeps what it is given."""

    def __init__(self) -> None:
        self.overtaken: list[tuple[int, int, list[bytes]]] = []
        self.futures: list[Completion[Sequence[bytes]]] = []

    def add_output_data(self, checkpoint_id: int, info: ResultSubpartitionInfo, payloads: Sequence[bytes]) -> None:
        self.overtaken.append((checkpoint_id, info.subpartition, list(payloads)))

    def add_output_data_future(
        self, checkpoint_id: int, info: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]
    ) -> None:
        self.futures.append(future)


def add(subpartition: PipelinedSubpartition, data: bytes, finished: bool = True) -> BufferBuilder:
    builder = BufferBuilder(MemorySegment(16), FREEING)
    builder.append_and_commit(data)
    if finished:
        builder.finish()
    subpartition.add(builder.create_consumer_from_beginning())
    return builder


def barrier(checkpoint: int, alignment: CheckpointOptions) -> CheckpointBarrier:
    return CheckpointBarrier(checkpoint, 0, alignment)


def test_queued_buffers_and_events_are_recorded() -> None:
    recorder = MemoryRecorder(Level.FULL)
    subpartition = PipelinedSubpartition(0, trace=TaskTrace(3, TaskClock(1), recorder), channel_id=5)
    add(subpartition, b"one")
    add(subpartition, b"two")
    subpartition.add_event(EndOfData(StopMode.DRAIN))
    subpartition.poll()
    subpartition.finish()
    assert subpartition.add_event(EndOfData(StopMode.DRAIN)) == REFUSED
    queued = BufferSide.QUEUED
    assert [row[3:] for row in recorder.rows("buffers")] == [
        (5, queued, 0, BufferKind.DATA, -1, 1, -1, 1),
        (5, queued, 1, BufferKind.DATA, -1, 2, -1, 1),
        (5, queued, 2, BufferKind.EVENT, -1, 2, -1, 1),
        (5, queued, 3, BufferKind.EVENT, -1, 1, -1, 1),
    ]


def test_effective_flush_and_skipped_buffer_are_recorded() -> None:
    """Rules 5.22, 5.23."""
    recorder = MemoryRecorder(Level.FULL)
    subpartition = PipelinedSubpartition(0, trace=TaskTrace(3, TaskClock(1), recorder), channel_id=5)
    subpartition.flush()
    builder = add(subpartition, b"ab", finished=False)
    subpartition.flush()
    subpartition.flush()
    subpartition.poll()
    subpartition.flush()
    assert subpartition.poll() is None
    builder.finish()
    assert subpartition.poll() is None
    assert [row[4:] for row in recorder.rows("buffers")][1:] == [
        (BufferSide.FLUSHED, -1, BufferKind.DATA, -1, 1, -1, 1),
        (BufferSide.SKIPPED, -1, BufferKind.DATA, 0, 1, -1, 0),
        (BufferSide.SKIPPED, -1, BufferKind.DATA, 0, 0, -1, 1),
    ]


def test_poll_reports_whether_buffer_is_whole() -> None:
    subpartition = PipelinedSubpartition(0)
    builder = add(subpartition, b"ab", finished=False)
    first = subpartition.poll()
    builder.append_and_commit(b"cd")
    builder.finish()
    second = subpartition.poll()
    subpartition.finish()
    third = subpartition.poll()
    assert [polled and polled.whole for polled in (first, second, third)] == [False, True, True]


def test_timeoutable_barrier_read_in_order_overtakes_nothing() -> None:
    subpartition, kept = PipelinedSubpartition(0), Kept()
    subpartition.set_channel_state_writer(kept, 0)
    add(subpartition, b"before")
    subpartition.add_event(barrier(4, TIMEOUTABLE))
    subpartition.poll()
    assert not kept.futures[0].is_done
    subpartition.poll()
    assert (kept.futures[0].result, subpartition.blocked) == ((), True)
    subpartition.aligned_barrier_timeout(4)
    assert subpartition.queued_buffers == 0


def test_timed_out_barrier_overtakes_and_keeps_overtaken_buffers() -> None:
    reported: list[int] = []
    subpartition, kept = PipelinedSubpartition(0), Kept()
    subpartition.set_channel_state_writer(kept, 0)
    subpartition.create_read_view(Listener(on_priority_event=reported.append))
    add(subpartition, b"read")
    add(subpartition, b"over")
    add(subpartition, b"taken")
    subpartition.add_event(barrier(4, TIMEOUTABLE))
    add(subpartition, b"behind")
    subpartition.poll()
    subpartition.aligned_barrier_timeout(3)
    assert reported == []
    subpartition.aligned_barrier_timeout(4)
    assert (reported, kept.futures[0].result) == ([1], [b"over", b"taken"])
    polled = subpartition.poll()
    assert polled is not None
    assert (polled.buffer.event, polled.sequence_number) == (barrier(4, UNALIGNED), 1)
    rest = [subpartition.poll() for _ in range(3)]
    assert [each.buffer.payload for each in rest if each is not None] == [b"over", b"taken", b"behind"]


@pytest.mark.parametrize("ending", ["abort", "next barrier", "release"])
def test_channel_state_future_fails_when_barrier_is_aborted(ending: str) -> None:
    subpartition, kept = PipelinedSubpartition(0), Kept()
    subpartition.set_channel_state_writer(kept, 0)
    subpartition.add_event(barrier(4, TIMEOUTABLE))
    if ending == "abort":
        subpartition.abort_checkpoint(4)
    elif ending == "release":
        subpartition.release()
    else:
        subpartition.add_event(barrier(5, TIMEOUTABLE))
    assert kept.futures[0].error is not None
    assert kept.futures[0].result is None


def test_aligned_barrier_with_priority_is_refused() -> None:
    with pytest.raises(IllegalState):
        PipelinedSubpartition(0).add_event(barrier(1, ALIGNED), has_priority=True)


def test_unaligned_barrier_keeps_overtaken_buffers_including_unfinished() -> None:
    """Rule 5.28: only the first priority event is announced."""
    reported: list[int] = []
    subpartition, kept = PipelinedSubpartition(0), Kept()
    subpartition.set_channel_state_writer(kept, 0)
    subpartition.create_read_view(Listener(on_priority_event=reported.append))
    add(subpartition, b"full")
    add(subpartition, b"tail", finished=False)
    subpartition.add_event(barrier(1, UNALIGNED))
    subpartition.add_event(barrier(2, UNALIGNED))
    assert (reported, kept.overtaken) == ([0], [(1, 0, [b"full", b"tail"]), (2, 0, [b"full", b"tail"])])
