"""Buffer pools: counters, wake-ups and guaranteed segments (section 5.E)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.facts.kinds import Level, SegmentAction
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.local_buffer_pool import UNLIMITED, LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, InsufficientNetworkBuffers
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.recording.memory import MemoryRecorder
from flowsim.task_clock import TaskClock
from tests.support.network import Waits

_HELD = {SegmentAction.TAKEN: 1, SegmentAction.RETURNED: -1}
_HANDED_OUT = {SegmentAction.HANDED_OUT: 1, SegmentAction.RECYCLED: -1}


def traced() -> tuple[MemoryRecorder, TaskTrace]:
    recorder = MemoryRecorder(Level.FULL)
    return recorder, TaskTrace(0, TaskClock(1), recorder)


def movements(recorder: MemoryRecorder) -> list[tuple[SegmentAction, int, int, int, int, int]]:
    """Action, subpartition, step, requested, free and size of every fact."""
    return [(SegmentAction(row[4]), *row[5:]) for row in recorder.rows("segments")]


def test_segment_movements_are_recorded() -> None:
    recorder, trace = traced()
    pool = NetworkBufferPool(4, 8).create_buffer_pool(1, 1, 1, overdraft=1, pool_id=7, trace=trace)
    own, lent = pool.request_builder(0), pool.request_builder(0)
    assert own is not None
    assert lent is not None
    own.close()
    lent.close()
    pool.lazy_destroy()
    action = SegmentAction
    assert {row[3] for row in recorder.rows("segments")} == {7}
    assert movements(recorder) == [
        (action.TAKEN, -1, 0, 1, 1, 1),
        (action.HANDED_OUT, 0, -1, 1, 0, 1),
        (action.TAKEN, -1, 1, 2, 1, 1),
        (action.HANDED_OUT, 0, -1, 2, 0, 1),
        (action.RECYCLED, 0, -1, 2, 1, 1),
        (action.RETURNED, -1, 2, 1, 0, 1),
        (action.RECYCLED, 0, -1, 1, 1, 1),
        (action.RETURNED, -1, 3, 0, 0, 1),
    ]


def test_resize_is_recorded_before_segments_are_returned() -> None:
    recorder, trace = traced()
    network = NetworkBufferPool(6, 8)
    network.create_buffer_pool(2, UNLIMITED, pool_id=0, trace=trace)
    network.create_buffer_pool(4, UNLIMITED)
    sizes = [(action, size) for action, *_, size in movements(recorder)]
    assert sizes == [(SegmentAction.TAKEN, 2), (SegmentAction.RESIZED, 6), (SegmentAction.RESIZED, 2)]


@given(
    st.lists(
        st.tuples(st.sampled_from(["request", "request", "recycle", "resize", "destroy"]), st.integers(0, 2), st.integers(0, 9)),
        max_size=80,
    )
)  # fmt: skip
def test_recorded_movements_equal_state_of_pools(commands: list[tuple[str, int, int]]) -> None:
    recorder, trace = traced()
    network = NetworkBufferPool(12, 8)
    pools = [
        network.create_buffer_pool(2, maximum, 2, 3, overdraft, pool_id=number, trace=trace)
        for number, (maximum, overdraft) in enumerate([(2, 0), (6, 2), (UNLIMITED, 5)])
    ]
    held: list[BufferBuilder] = []
    for command, number, pick in commands:
        pool = pools[number]
        if command == "recycle":
            if held:
                held.pop(pick % len(held)).close()
        elif command == "destroy":
            if pick == 0:
                pool.lazy_destroy()
        elif command == "resize":
            pool.set_num_buffers(max(pick, 2))
        elif not pool.destroyed:
            builder = pool.request_builder(pick % 2)
            if builder is not None:
                held.append(builder)
    books = [[0, 0] for _ in pools]
    steps: list[int] = []
    for _, _, _, number, action, _, step, requested, free, _ in recorder.rows("segments"):
        books[number][0] += _HELD.get(SegmentAction(action), 0)
        books[number][1] += _HANDED_OUT.get(SegmentAction(action), 0)
        assert (requested, requested - free) == tuple(books[number])
        if action in _HELD:
            steps.append(step)
    assert books == [[pool.requested, pool.used_segments] for pool in pools]
    assert steps == list(range(network.movements))
    assert sum(pool.requested for pool in pools) == network.total_segments - network.available_segments


def test_blocked_writer_stays_blocked_while_other_channel_is_at_limit() -> None:
    """Rules 5.35, 5.42."""
    pool = NetworkBufferPool(8, 4).create_buffer_pool(3, 3, 2, max_buffers_per_channel=2)
    log: list[str] = []
    partition = ResultPartition(2, pool, Waits(_waiting(log, lambda: readers[0].close())))
    readers: list[BufferBuilder] = []
    for channel in (0, 0, 1):
        builder = pool.request_builder(channel)
        assert builder is not None
        readers.append(builder)
    pool.on_available.append(lambda: log.append("available"))
    readers.pop().close()
    log.append("channel 1 gave a segment back")
    assert not pool.available
    partition.emit(b"abcd", 1)
    partition.emit(b"efgh", 1)
    assert log == ["channel 1 gave a segment back", "the writer waits", "available"]


def _waiting(log: list[str], meanwhile: Callable[[], None]) -> Callable[[LocalBufferPool], None]:
    def wait(pool: LocalBufferPool) -> None:
        log.append("the writer waits")
        meanwhile()
        assert pool.available

    return wait


def test_reserved_segments_are_no_overdraft_of_other_pools() -> None:
    """Rule 6.20."""
    network = NetworkBufferPool(6, 8)
    safe = network.create_buffer_pool(3, 3)
    safe.reserve_segments(3)
    greedy = network.create_buffer_pool(3, 3, 1, overdraft=20)
    assert [greedy.request_builder(0) is None for _ in range(4)] == [False, False, False, True]
    assert [safe.request_segment() is None for _ in range(3)] == [False, False, False]


def test_only_guaranteed_segments_can_be_reserved_while_available() -> None:
    network = NetworkBufferPool(4, 8)
    late = network.create_buffer_pool(2, 2)
    greedy = network.create_buffer_pool(2, 2, 1, overdraft=20)
    with pytest.raises(IllegalArgument):
        late.reserve_segments(3)
    for _ in range(3):
        greedy.request_builder(0)
    with pytest.raises(InsufficientNetworkBuffers):
        late.reserve_segments(2)
    late.lazy_destroy()
    with pytest.raises(BufferPoolDestroyed):
        late.reserve_segments(1)


def test_returned_segment_reserved_by_network_is_not_handed_out() -> None:
    """Law C.7: the pools together never hold more than there is."""
    network = NetworkBufferPool(3, 8)
    pool = network.create_buffer_pool(1, 1, 1, overdraft=2)
    first, second = pool.request_builder(0), pool.request_builder(0)
    assert first is not None
    assert second is not None
    second.close()
    network.reserve(2)
    assert (pool.request_builder(0), network.available_segments) == (None, 0)


def test_returned_reserved_segments_are_redistributed() -> None:
    network = NetworkBufferPool(6, 8)
    pool = network.create_buffer_pool(1, UNLIMITED)
    network.reserve(5)
    assert (pool.size, network.available_segments) == (1, 0)
    network.return_reserved(5)
    assert (pool.size, network.available_segments) == (6, 5)


@pytest.mark.parametrize(
    ("required", "maximum", "per_channel", "overdraft"), [(0, 1, 1, 0), (2, 1, 1, 0), (1, 1, 0, 0), (1, 1, 1, -1)]
)
def test_invalid_limits_are_refused(required: int, maximum: int, per_channel: int, overdraft: int) -> None:
    with pytest.raises(IllegalArgument):
        NetworkBufferPool(4, 8).create_buffer_pool(required, maximum, 1, per_channel, overdraft)
