"""Bugs of buffers, gates and in-flight data."""

from __future__ import annotations

from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug, Patch, replaced
from flowsim.graph.job_graph import JobGraph
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.gates.input_gate import BufferOrEvent
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.operators.inputs.multiple_input_selection_handler import MultipleInputSelectionHandler
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo


def _process_end_without_alignment(self: SingleCheckpointBarrierHandler, channel: InputChannelInfo) -> None:
    self.open_channels -= 1


def _resume_without_notification(self: PartitionRequestQueue, channel_id: int) -> None:
    self._readers[channel_id].resume_consumption()


def _gate_that_is_read_makes_all_unavailable(patch: Patch) -> None:
    after_poll = UnionInputGate._after_poll

    def reset_with_last_gate(self: UnionInputGate, gate: SingleInputGate, found: BufferOrEvent) -> bool:
        more = after_poll(self, gate, found)
        if not found.more_available:
            self.availability.reset_unavailable()
            return False
        return more

    patch.setattr(UnionInputGate, "_after_poll", reset_with_last_gate)


def _recycled_buffers_are_not_offered(patch: Patch) -> None:
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


def _ends_keep_the_selection(patch: Patch) -> None:
    update, select = (
        MultipleInputSelectionHandler.update_status_and_selection,
        MultipleInputSelectionHandler.next_selection,
    )
    ended = False

    def update_without_selection(
        self: MultipleInputSelectionHandler, status: DataInputStatus, index: int
    ) -> DataInputStatus:
        nonlocal ended
        ended = status is DataInputStatus.END_OF_DATA or bool(self._data_finished >> index & 1)
        return update(self, status, index)

    def select_unless_ended(self: MultipleInputSelectionHandler) -> None:
        if not ended:
            select(self)

    patch.setattr(MultipleInputSelectionHandler, "update_status_and_selection", update_without_selection)
    patch.setattr(MultipleInputSelectionHandler, "next_selection", select_unless_ended)


BUGS_OF_NETWORK = (
    Bug(
        "FLINK-21086",
        "#15055",
        "A checkpoint waits for the barrier of a channel that has ended.",
        replaced(SingleCheckpointBarrierHandler, "process_end_of_partition", _process_end_without_alignment),
        """\
settings:
  until: 2 s
  buffer_timeout: 0
  checkpointing: {interval: 100 ms, timeout: 300 ms, tolerable_failed_checkpoints: 100}
  links: [{from: short, to: both, latency: 90 ms}]
sources:
  short: {collection: {fields: {n: long}, rows: [[1]]}}
  long: {script: {fields: {n: long}, subtasks: [[{record: [2]}, {sleep: 1 s}]]}}
operators:
  both: {input: [short, long], map: {select: {n: n}}}
sinks:
  out: {input: both, collect: {}}
expect: {every_schedule: {job: finished}}
""",
        "stopped",
        "runtime",
    ),
    Bug(
        "FLINK-23223",
        "#16366",
        "A channel that consumption resumes is not notified of the data that waits for it.",
        replaced(PartitionRequestQueue, "resume_consumption", _resume_without_notification),
        """\
settings: {buffer_timeout: 0, checkpointing: {interval: 1 h, min_pause: 1 h}}
sources:
  left: {generator: {count: 3, pace: 10 ms, fields: {n: {sequence: {}}}}}
  right: {generator: {count: 3, pace: 10 ms, fields: {n: {sequence: {}}}}}
operators:
  both: {input: [left, right], cost: 4 ms, map: {select: {n: n}}}
sinks:
  out: {input: both, collect: {}}
actions: [{checkpoint: {at: 19 ms}}]
""",
        "law progress",
        is_cheap=True,
    ),
    Bug(
        "FLINK-21992",
        "#15586",
        "Reading the last data of one gate makes the union of gates unavailable.",
        _gate_that_is_read_makes_all_unavailable,
        """\
settings: {buffer_timeout: 0}
sources:
  left: {generator: {count: 3, pace: 1 ms, fields: {n: {sequence: {}}}}}
  right: {generator: {count: 3, pace: 1 ms, fields: {n: {sequence: {}}}}}
  rules: {generator: {count: 3, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  both: {input: [left, right], cost: 1 ms, connect: {to: rules, map: [{select: {n: n}}, {select: {n: n}}]}}
sinks:
  out: {input: both, collect: {}}
""",
        not_shown="a task polls its gates until they have nothing, and then nothing depends on the lost availability",
    ),
    Bug(
        "FLINK-24035",
        "#17037",
        "A recycled buffer is not offered to the channels that wait for one.",
        _recycled_buffers_are_not_offered,
        """\
settings:
  {buffer_timeout: 0, segment_size: 64 B, exclusive_buffers_per_channel: 0, floating_buffers_per_gate: 1, parallelism: 2}
sources:
  rows: {generator: {count: 12, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: rows, partition: rebalance, cost: 1 ms, map: {select: {n: n}}}
sinks:
  out: {input: slow, collect: {}}
""",
        "deadlocked",
        "runtime",
        is_cheap=True,
    ),
    Bug(
        "FLINK-31293",
        "#22084",
        "A pool is available while it can take overdraft buffers.",
        replaced(LocalBufferPool, "_check_available", _check_available_with_overdraft),
        """\
settings: {buffer_timeout: 0, segment_size: 64 B, exclusive_buffers_per_channel: 1, floating_buffers_per_gate: 1}
sources:
  rows: {generator: {count: 60, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: rows, partition: rebalance, cost: 1 ms, map: {select: {n: n}}}
sinks:
  out: {input: slow, collect: {}}
""",
        "deadlocked",
        "runtime",
        is_cheap=True,
    ),
    Bug(
        "FLINK-18727",
        "#12993",
        "A buffer without data is sent and uses a credit.",
        Fault("empty_buffer_sent"),
        """\
sources:
  rows: {collection: {fields: {n: long}, rows: [[1]]}}
operators:
  copied: {input: rows, partition: rebalance, map: {select: {n: n}}}
sinks:
  out: {input: copied, collect: {}}
""",
        "law backlog",
        is_cheap=True,
    ),
    Bug(
        "FLINK-21104",
        "#14807",
        "The barrier of an older checkpoint ends the storing of a channel.",
        Fault("obsolete_barrier_accepted"),
        """\
settings:
  buffer_timeout: 1 ms
  cost: 1 ms
  checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true, timeout: 40 ms, tolerable_failed_checkpoints: 5}
  links: [{from: bursts, to: last, latency: 10 ms}]
sources:
  left: {generator: {count: 60, fields: {n: {sequence: {}}}}}
  right: {generator: {count: 200, fields: {n: {sequence: {}}}}}
operators:
  words:
    input: left
    partition: rebalance
    flat_map:
      each: >-
        split('a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a' if n == 20 else 'a')
  bursts: {input: words, map: {select: {item: item}}}
  steady: {input: right, partition: rebalance, map: {select: {item: "'b'"}}}
  last: {input: [bursts, steady], partition: rebalance, map: {select: {item: item}}}
sinks:
  out: {input: last, collect: {}}
actions: [{checkpoint: {at: 47 ms}}, {checkpoint: {at: 90 ms}}]
""",
        "law in-flight-cut",
        "runtime",
    ),
    Bug(
        "FLINK-40016",
        "#28605",
        "A checkpoint contains the in-flight data of a channel twice.",
        Fault("channel_stored_twice"),
        """\
settings: {buffer_timeout: 0, checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}}
sources:
  rows: {generator: {count: 12, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: rows, partition: rebalance, cost: 1 ms, map: {select: {n: n}}}
sinks:
  out: {input: slow, collect: {}}
actions: [{checkpoint: {at: 8 ms}}]
""",
        "law in-flight-cut",
        "runtime",
        is_cheap=True,
    ),
    Bug(
        "FLINK-20079",
        "#14025",
        "A restored channel delivers new data before restored data.",
        Fault("new_data_before_restored"),
        """\
settings:
  {buffer_timeout: 0, checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}, restart_strategy: {fixed_delay: {}}}
sources:
  rows: {generator: {count: 8, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: rows, key_by: n % 2, cost: 2500 us, max_by: n}
sinks:
  out: {input: slow, collect: {}}
actions: [{checkpoint: {at: 8 ms}}]
failures: [{fail_task: {task: slow, at: 25 ms}}]
""",
        "law in-flight-restored",
        "runtime",
    ),
    Bug(
        "FLINK-35351",
        "by its title",
        "In-flight data is restored into another channel.",
        Fault("restored_into_another_channel"),
        """\
settings:
  {buffer_timeout: 0, checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}, restart_strategy: {fixed_delay: {}}}
sources:
  left: {generator: {count: 8, pace: 1 ms, fields: {n: {sequence: {}}}}}
  right: {generator: {count: 8, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: [left, right], key_by: n % 2, cost: 700 us, max_by: n}
sinks:
  out: {input: slow, collect: {}}
actions: [{checkpoint: {at: 8 ms}}]
failures: [{fail_task: {task: slow, at: 25 ms}}]
""",
        "law in-flight-restored",
        "runtime",
    ),
    Bug(
        "FLINK-22815",
        "#16089",
        "Broadcast and pointwise exchanges have unaligned checkpoints, too.",
        replaced(JobGraph, "forced_alignment", lambda self, edge: None),
        """\
settings: {buffer_timeout: 0, parallelism: 2, checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}}
sources:
  rows: {generator: {count: 8, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: rows, partition: broadcast, cost: {default: 1 us, subtasks: {1: 10 ms}}, map: {select: {n: n}}}
sinks:
  out: {input: slow, collect: {}}
actions: [{checkpoint: {at: 6 ms}}]
""",
        not_shown="only a restore with another parallelism differs, and a scenario with phases is not explored",
    ),
    Bug(
        "FLINK-12852",
        "#8925",
        "Input gates do not reserve their buffers before they request partitions.",
        replaced(LocalBufferPool, "reserve_segments", lambda self, segments: None),
        """\
settings:
  buffer_timeout: 0
  segment_size: 64 B
  network_buffers: 3
  exclusive_buffers_per_channel: 0
  floating_buffers_per_gate: 1
  task_managers: {one: [lines, out], two: [copied]}
sources:
  lines: {collection: {fields: {line: string}, rows: [["a b c d e f g h i j k l m n"], ["a b c d e f g h i j k l m n"]]}}
operators:
  words: {input: lines, flat_map: {each: split(line)}}
  copied: {input: words, partition: rebalance, map: {select: {item: item}}}
sinks:
  out: {input: copied, partition: rebalance, cost: 1 ms, collect: {}}
""",
        not_shown="exclusive buffers are no longer part of a pool, and a gate gets its one guaranteed buffer when it is created",
    ),
    Bug(
        "FLINK-12967",
        "#8864",
        "An operator that selects its inputs is not asked again when one of them ends.",
        _ends_keep_the_selection,
        """\
sources:
  left: {collection: {fields: {n: long}, rows: [[1]]}}
  right: {collection: {fields: {n: long}, rows: [[2]]}}
operators:
  both: {input: left, connect: {to: right, read: first, map: [{select: {n: n}}, {select: {n: n}}]}}
sinks:
  out: {input: both, collect: {}}
""",
        "failed",
    ),
)
