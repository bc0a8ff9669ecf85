"""Bugs of buffers, gates and in-flight data."""

from __future__ import annotations

import pytest

from flowsim.graph.job_graph import JobGraph
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.gates.input_gate import BufferOrEvent
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from tests.support.faults import Fault
from tests.support.jobs.historical_bugs.bug import Bug, replaced


def _process_end_without_alignment(self: SingleCheckpointBarrierHandler, channel: InputChannelInfo) -> None:
    self.open_channels -= 1


def _resume_without_notification(self: PartitionRequestQueue, channel_id: int) -> None:
    self._readers[channel_id].resume_consumption()


def _gate_that_is_read_makes_all_unavailable(patch: pytest.MonkeyPatch) -> None:
    after_poll = UnionInputGate._after_poll

    def reset_with_last_gate(self: UnionInputGate, gate: SingleInputGate, found: BufferOrEvent) -> bool:
        more = after_poll(self, gate, found)
        if not found.more_available:
            self.availability.reset_unavailable()
            return False
        return more

    patch.setattr(UnionInputGate, "_after_poll", reset_with_last_gate)


def _recycled_buffers_are_not_offered(patch: pytest.MonkeyPatch) -> None:
    recycle = LocalBufferPool.recycle

    def recycle_without_listeners(self: LocalBufferPool, segment: MemorySegment, channel: int = -1) -> None:
        listeners, self._listeners = self._listeners, type(self._listeners)()
        recycle(self, segment, channel)
        self._listeners = listeners

    patch.setattr(LocalBufferPool, "recycle", recycle_without_listeners)


def _check_available_with_overdraft(self: LocalBufferPool) -> None:
    if not self._free and self.requested < self.size + self.overdraft and not self._take_from_global():
        self._global.await_segment(self)
    self._set_available(bool(self._free) and self._channels_at_limit == 0)


BUGS_OF_NETWORK = (
    Bug(
        "FLINK-21086",
        "A checkpoint waits for the barrier of a channel that has ended.",
        replaced(SingleCheckpointBarrierHandler, "process_end_of_partition", _process_end_without_alignment),
    ),
    Bug(
        "FLINK-23223",
        "A channel that consumption resumes is not notified of the data that waits for it.",
        replaced(PartitionRequestQueue, "resume_consumption", _resume_without_notification),
        is_cheap=True,
    ),
    Bug(
        "FLINK-21992",
        "Reading the last data of one gate makes the union of gates unavailable.",
        _gate_that_is_read_makes_all_unavailable,
    ),
    Bug(
        "FLINK-24035",
        "A recycled buffer is not offered to the channels that wait for one.",
        _recycled_buffers_are_not_offered,
        is_cheap=True,
    ),
    Bug(
        "FLINK-31293",
        "A pool is available while it can take overdraft buffers.",
        replaced(LocalBufferPool, "_check_available", _check_available_with_overdraft),
        is_cheap=True,
    ),
    Bug("FLINK-18727", "A buffer without data is sent and uses a credit.", Fault("empty_buffer_sent"), is_cheap=True),
    Bug(
        "FLINK-21104",
        "The barrier of an older checkpoint ends the storing of a channel.",
        Fault("obsolete_barrier_accepted"),
    ),
    Bug(
        "FLINK-40016",
        "A checkpoint contains the in-flight data of a channel twice.",
        Fault("channel_stored_twice"),
        is_cheap=True,
    ),
    Bug(
        "FLINK-20079",
        "A restored channel delivers new data before restored data.",
        Fault("new_data_before_restored"),
    ),
    Bug(
        "FLINK-35351",
        "In-flight data is restored into another channel.",
        Fault("restored_into_another_channel"),
    ),
    Bug(
        "FLINK-22815",
        "Broadcast and pointwise exchanges have unaligned checkpoints, too.",
        replaced(JobGraph, "forced_alignment", lambda self, edge: None),
    ),
    Bug(
        "FLINK-12852",
        "Input gates do not reserve their buffers before they request partitions.",
        replaced(LocalBufferPool, "reserve_segments", lambda self, segments: None),
    ),
)
