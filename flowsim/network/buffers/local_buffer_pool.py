"""The buffer pool of one partition or gate, with a bounded share of the network memory. Flink: LocalBufferPool (rules
5.33-5.38).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from flowsim.facts.kinds import SegmentAction
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, InsufficientNetworkBuffers

UNLIMITED = 2**31 - 1


class BufferListener(Protocol):
    """A component that waits for a segment of a pool.

    A Protocol, because buffers do not import the gates, whose BufferManager implements it. Flink: BufferListener.
    """

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        """Takes the segment and returns True, or returns False: the pool keeps the segment."""


class AvailabilityListener(Protocol):
    """The task that writes to the pool, which is notified of a missing segment.

    A Protocol, because the network does not import the tasks.
    """

    def on_pool_unavailable(self) -> None:
        """Called when the pool has no segment left for the next record."""


class SharedSegments(Protocol):
    """The methods of the global pool that local pools need.

    A Protocol, because NetworkBufferPool, which implements it, creates the local pools.
    """

    movements: int

    def request_segment(self) -> MemorySegment | None:
        """Returns a segment, or None if the pool is empty."""

    def recycle_segment(self, segment: MemorySegment) -> None: ...

    def await_segment(self, pool: LocalBufferPool) -> None:
        """Calls ``on_global_pool_available`` once when a segment is free again (rule 5.38)."""

    def destroy_buffer_pool(self, pool: LocalBufferPool) -> None: ...

    def on_pool_resized(self) -> None: ...


class LocalBufferPool:
    """A bounded share of the network memory. Flink: LocalBufferPool.

    Invariant I5.c: segments in use <= pool size + overdraft. ``on_available`` callbacks run, last registered first, when
    ``available`` turns True; ``availability_listener`` is called when it turns False.
    """

    __slots__ = (
        "_global",
        "required",
        "maximum",
        "_max_per_channel",
        "overdraft",
        "size",
        "_free",
        "requested",
        "_per_channel",
        "_channels_at_limit",
        "available",
        "on_available",
        "availability_listener",
        "_listeners",
        "destroyed",
        "_pool_id",
        "_trace",
    )

    def __init__(
        self,
        pool: SharedSegments,
        required: int,
        maximum: int,
        subpartitions: int,
        max_per_channel: int,
        overdraft: int,
        pool_id: int,
        trace: TaskTrace | None,
    ) -> None:
        if not 0 < required <= maximum:
            raise IllegalArgument(
                f"a pool needs at least one segment and no more than its maximum: {required}, {maximum}"
            )
        if subpartitions > 0 and (max_per_channel <= 0 or overdraft < 0):
            raise IllegalArgument(f"invalid limits: {max_per_channel} buffers per channel, {overdraft} of overdraft")
        self._global = pool
        self._pool_id = pool_id
        self._trace = trace
        self.required = required
        self.maximum = maximum
        self._max_per_channel = max_per_channel
        self.overdraft = overdraft
        self.size = required
        self._free: deque[MemorySegment] = deque()
        self.requested = 0
        self._per_channel: dict[int, int] = {}
        self._channels_at_limit = 0
        self.available = False
        self.on_available: list[Callable[[], None]] = []
        self.availability_listener: AvailabilityListener | None = None
        self._listeners: deque[BufferListener] = deque()
        self.destroyed = False

    @property
    def free_segments(self) -> int:
        return len(self._free)

    @property
    def used_segments(self) -> int:
        return self.requested - len(self._free)

    def buffers_of(self, channel: int) -> int:
        """Returns the number of segments that subpartition ``channel`` uses. Flink: getBuffersCountUnsafe."""
        return self._per_channel.get(channel, 0)

    def report_compared(self, channel: int, bytes_in_queue: int) -> None:
        """Records that a writer compared the load of subpartition ``channel`` (rule 2.4)."""
        self._report(SegmentAction.COMPARED, channel, bytes_in_queue)

    def request_builder(self, channel: int = -1) -> BufferBuilder | None:
        """Returns a builder on a segment of subpartition ``channel``; None if the pool is exhausted (rule 5.36).

        Raises BufferPoolDestroyed.
        """
        segment = self.request_segment(channel)
        if segment is None:
            return None
        return BufferBuilder(segment, SubpartitionBufferRecycler(self, channel))

    def request_segment(self, channel: int = -1) -> MemorySegment | None:
        """Returns a segment, counted for subpartition ``channel``; None and errors as in ``request_builder``."""
        if self.destroyed:
            raise BufferPoolDestroyed("Buffer pool has already been destroyed.")
        # A pool below its size and without a free segment waits for the global pool, which is also empty (rule 5.34).
        if not self._free and (self.requested < self.size or not self._take_overdraft()):
            return None
        segment = self._free.popleft()
        if self._trace is not None:
            self._report(SegmentAction.HANDED_OUT, channel)
        if channel >= 0:
            count = self._per_channel.get(channel, 0) + 1
            self._per_channel[channel] = count
            if count == self._max_per_channel:
                self._channels_at_limit += 1
        self._check_available()
        return segment

    def reserve_segments(self, segments: int) -> None:
        """Takes segments out of the network memory now, so that no other pool can use them as overdraft (rule 6.20).

        Raises IllegalArgument for more than the guaranteed number of segments, InsufficientNetworkBuffers if other
        pools hold the segments.
        """
        if segments > self.required:
            raise IllegalArgument(f"a pool that is guaranteed {self.required} segments cannot reserve {segments}")
        if self.destroyed:
            raise BufferPoolDestroyed("Buffer pool has already been destroyed.")
        took = False
        while self.requested < segments:
            if not self._take_from_global():
                raise InsufficientNetworkBuffers("other pools use the guaranteed segments of a pool as overdraft")
            took = True
        if took:
            self._set_available(True)

    def recycle(self, segment: MemorySegment, channel: int = -1) -> None:
        """Takes a segment back: a listener gets it, or the pool keeps it, or the global pool (rule 5.37)."""
        self._free.append(segment)
        if self._trace is not None:
            self._report(SegmentAction.RECYCLED, channel)
        while True:
            # Flink decrements the count once per notified listener; only pools without listeners have counts.
            if channel >= 0:
                count = self._per_channel[channel]
                self._per_channel[channel] = count - 1
                if count == self._max_per_channel:
                    self._channels_at_limit -= 1
            if self.destroyed or self.requested > self.size:
                self._return(self._free.pop())
                return
            if not self._listeners:
                break
            if self._hand_to(self._listeners.popleft()):
                return
        if self._channels_at_limit == 0:
            self._set_available(True)

    def _hand_to(self, listener: BufferListener) -> bool:
        """Offers a recycled segment to a listener; the segment is not in the pool while the listener decides."""
        segment = self._free.pop()
        if self._trace is not None:
            self._report(SegmentAction.HANDED_OUT, -1)
        if listener.notify_buffer_available(segment):
            return True
        self._free.append(segment)
        if self._trace is not None:
            self._report(SegmentAction.RECYCLED, -1)
        return False

    def add_listener(self, listener: BufferListener) -> bool:
        """Registers for the next segment; False if a segment is free (request again) or the pool is destroyed."""
        if self._free or self.destroyed:
            return False
        self._listeners.append(listener)
        return True

    def set_num_buffers(self, size: int) -> None:
        """Sets the share of the pool.

        Excess free segments return to the global pool at once, other excess segments when recycled (rule 5.39).
        """
        if size < self.required:
            raise IllegalArgument(f"a pool that is guaranteed {self.required} segments cannot shrink to {size}")
        size = min(size, self.maximum)
        if size != self.size:
            self.size = size
            self._global.on_pool_resized()
            if self._trace is not None:
                self._report(SegmentAction.RESIZED, -1)
        while self._free and self.requested > self.size:
            self._return(self._free.popleft())
        if not self.destroyed:
            self._check_available()

    def prefetch(self) -> None:
        """Takes one segment in advance, so that the next request succeeds (rule 5.34)."""
        self._check_available()

    def lazy_destroy(self) -> None:
        """Destroys the pool: returns segments when they are free, wakes waiting writers, drops the listeners."""
        if not self.destroyed:
            while self._free:
                self._return(self._free.popleft())
            self._listeners.clear()
            self.destroyed = True
            self._set_available(True)
        self._global.destroy_buffer_pool(self)

    def on_global_pool_available(self) -> None:
        """Called when the global pool has segments again (rule 5.38)."""
        if not self.destroyed and not self.available:
            self._check_available()

    def _take_from_global(self) -> bool:
        segment = self._global.request_segment()
        if segment is None:
            return False
        self.requested += 1
        self._free.append(segment)
        self._count_movement(SegmentAction.TAKEN)
        return True

    def _take_overdraft(self) -> bool:
        """Takes a segment beyond the pool size for immediate use: the pool stays unavailable (rule 5.36)."""
        return self.requested - self.size < self.overdraft and self._take_from_global()

    def _return(self, segment: MemorySegment) -> None:
        self.requested -= 1
        self._count_movement(SegmentAction.RETURNED)
        self._global.recycle_segment(segment)

    def _check_available(self) -> None:
        """Prefetches a segment; available if a segment is free and no channel is at its limit (rules 5.34, 5.35).

        Listeners do not get a prefetched segment: they wait for a recycled segment.
        """
        if not self._free and self.requested < self.size and not self._take_from_global():
            self._global.await_segment(self)
        self._set_available(bool(self._free) and self._channels_at_limit == 0)

    def _set_available(self, available: bool) -> None:
        if available == self.available:
            return
        self.available = available
        if available:
            waiting, self.on_available = self.on_available, []
            for callback in reversed(waiting):
                callback()
        elif self.availability_listener is not None:
            self.availability_listener.on_pool_unavailable()

    def _count_movement(self, action: SegmentAction) -> None:
        step = self._global.movements
        self._global.movements = step + 1
        if self._trace is not None:
            self._report(action, -1, step)

    def _report(self, action: SegmentAction, channel: int, step: int = -1) -> None:
        if self._trace is not None:
            self._trace.segment(self._pool_id, action, channel, step, self.requested, len(self._free), self.size)


class SubpartitionBufferRecycler:
    """Returns segments of one subpartition to their pool. Flink: LocalBufferPool.SubpartitionBufferRecycler."""

    __slots__ = ("_pool", "_channel")

    def __init__(self, pool: LocalBufferPool, channel: int) -> None:
        self._pool = pool
        self._channel = channel

    def recycle(self, segment: MemorySegment) -> None:
        self._pool.recycle(segment, self._channel)
