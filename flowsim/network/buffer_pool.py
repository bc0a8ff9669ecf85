"""Where segments come from: the cluster's pool and the bounded pool of one partition or gate.

Flink: NetworkBufferPool, LocalBufferPool (rules 5.33-5.39). Segments are made on demand, so an idle pool costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.network.buffer import MemorySegment
from flowsim.network.buffer_builder import BufferBuilder

UNLIMITED = 2**31 - 1


class InsufficientNetworkBuffers(FlowsimError):
    """The network memory cannot guarantee what a pool requires (rule 5.39)."""


class BufferPoolDestroyed(FlowsimError):
    """The task that the pool belonged to is going away. Flink: CancelTaskException."""


class BufferListener(Protocol):
    """Waits for a segment of a pool. Flink: BufferListener."""

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        """Takes the segment (True) or leaves it to the pool (False)."""


class NetworkBufferPool:
    """All segments of one cluster, shared out over the local pools. Flink: NetworkBufferPool."""

    __slots__ = (
        "total_segments",
        "segment_size_bytes",
        "_free",
        "_made",
        "_required",
        "_reserved",
        "_pools",
        "_waiting",
    )

    def __init__(self, total_segments: int, segment_size_bytes: int) -> None:
        self.total_segments = total_segments
        self.segment_size_bytes = segment_size_bytes
        self._free: list[MemorySegment] = []
        self._made = 0
        self._required = 0
        self._reserved = 0
        self._pools: list[LocalBufferPool] = []
        self._waiting: list[LocalBufferPool] = []

    @property
    def available_segments(self) -> int:
        return self.total_segments - self._reserved - self._made + len(self._free)

    def request_segment(self) -> MemorySegment | None:
        if self._free:
            return self._free.pop()
        if self._made < self.total_segments - self._reserved:
            self._made += 1
            return MemorySegment(self.segment_size_bytes)
        return None

    def recycle_segment(self, segment: MemorySegment) -> None:
        was_empty = self.available_segments == 0
        self._free.append(segment)
        if was_empty and self._waiting:
            # The callbacks of a future run last registered first; who finds nothing registers again.
            waiting, self._waiting = self._waiting, []
            for pool in reversed(waiting):
                pool.on_global_pool_available()

    def await_segment(self, pool: LocalBufferPool) -> None:
        """Rule 5.38: one callback once a segment is free again."""
        if pool not in self._waiting:
            self._waiting.append(pool)

    def reserve(self, segments: int) -> None:
        """Takes ``segments`` out of what can be shared: exclusive buffers of input channels."""
        self._check(segments)
        self._required += segments
        self._reserved += segments
        self._redistribute()

    def create_buffer_pool(
        self,
        required: int,
        maximum: int,
        subpartitions: int = 0,
        max_buffers_per_channel: int = UNLIMITED,
        overdraft: int = 0,
    ) -> LocalBufferPool:
        """A pool that is guaranteed ``required`` segments; raises InsufficientNetworkBuffers."""
        self._check(required)
        self._required += required
        pool = LocalBufferPool(self, required, maximum, subpartitions, max_buffers_per_channel, overdraft)
        pool.prefetch()
        self._pools.append(pool)
        self._redistribute()
        return pool

    def destroy_buffer_pool(self, pool: LocalBufferPool) -> None:
        if pool in self._pools:
            self._pools.remove(pool)
            self._required -= pool.required
            self._redistribute()

    def _check(self, required: int) -> None:
        if self._required + required > self.total_segments:
            raise InsufficientNetworkBuffers(
                f"Insufficient number of network buffers: required {required}, but only "
                f"{self.total_segments - self._required} of {self.total_segments} are available; raise network_buffers"
            )

    def _redistribute(self) -> None:
        """Rule 5.39: what is not required goes to the pools in proportion to what they may take, by cumulative rounding."""
        spare = self.total_segments - self._required
        wants = [min(spare, pool.maximum - pool.required) for pool in self._pools]
        total = sum(wants)
        if total == 0 or spare == 0:
            for pool in self._pools:
                pool.set_num_buffers(pool.required)
            return
        share, so_far, given = min(total, spare), 0, 0
        for pool, want in zip(self._pools, wants, strict=True):
            so_far += want
            extra = share * so_far // total - given
            given += extra
            pool.set_num_buffers(pool.required + extra)


class LocalBufferPool:
    """A bounded share of the network memory. Flink: LocalBufferPool.

    Invariant I5.c: segments in use <= pool size + overdraft. ``on_available`` callbacks run when ``available`` turns True,
    ``on_unavailable`` when it turns False.
    """

    __slots__ = (
        "_global", "required", "maximum", "_max_per_channel", "overdraft", "size", "_free", "requested", "_per_channel",
        "_channels_at_limit", "available", "on_available", "on_unavailable", "_listeners", "destroyed",
    )  # fmt: skip

    def __init__(
        self,
        pool: NetworkBufferPool,
        required: int,
        maximum: int,
        subpartitions: int,
        max_per_channel: int,
        overdraft: int,
    ) -> None:
        self._global = pool
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
        self.on_unavailable: Callable[[], None] | None = None
        self._listeners: deque[BufferListener] = deque()
        self.destroyed = False

    @property
    def free_segments(self) -> int:
        return len(self._free)

    @property
    def used_segments(self) -> int:
        return self.requested - len(self._free)

    def request_builder(self, channel: int = -1) -> BufferBuilder | None:
        """A builder on a segment, charged to subpartition ``channel``; None when the pool is exhausted (rule 5.36).

        Raises BufferPoolDestroyed.
        """
        segment = self.request_segment(channel)
        if segment is None:
            return None
        return BufferBuilder(segment, lambda back: self.recycle(back, channel))

    def request_segment(self, channel: int = -1) -> MemorySegment | None:
        """As ``request_builder``, the bare segment."""
        if self.destroyed:
            raise BufferPoolDestroyed("Buffer pool has already been destroyed.")
        if self._free:
            segment: MemorySegment | None = self._free.popleft()
        else:
            # Below its size a pool without a free segment waits for the global one, which has none either (rule 5.34).
            segment = self._request_overdraft() if self.requested >= self.size else None
        if segment is None:
            return None
        if channel >= 0:
            count = self._per_channel.get(channel, 0) + 1
            self._per_channel[channel] = count
            if count == self._max_per_channel:
                self._channels_at_limit += 1
        self._check_available()
        return segment

    def recycle(self, segment: MemorySegment, channel: int = -1) -> None:
        """Rule 5.37."""
        if channel >= 0:
            count = self._per_channel[channel]
            self._per_channel[channel] = count - 1
            if count == self._max_per_channel:
                self._channels_at_limit -= 1
        if self.destroyed or self.requested > self.size:
            self.requested -= 1
            self._global.recycle_segment(segment)
            return
        while self._listeners:
            if self._listeners.popleft().notify_buffer_available(segment):
                return
        self._free.append(segment)
        self._check_available()

    def add_listener(self, listener: BufferListener) -> bool:
        """Registers for the next segment; False when one is free (ask again) or the pool is gone."""
        if self._free or self.destroyed:
            return False
        self._listeners.append(listener)
        return True

    def set_num_buffers(self, size: int) -> None:
        """A new share; free segments above it go back at once, others when recycled (rule 5.39)."""
        if size < self.required:
            raise InvariantViolation(f"Buffer pool needs at least {self.required} buffers, but tried to set to {size}")
        self.size = min(size, self.maximum)
        while self._free and self.requested > self.size:
            self.requested -= 1
            self._global.recycle_segment(self._free.popleft())
        if not self.destroyed:
            self._check_available()

    def prefetch(self) -> None:
        """Rule 5.34: one segment is held ready."""
        self._check_available()

    def lazy_destroy(self) -> None:
        """Gives back what is free now, and the rest as it is recycled; whoever waits is woken to see it."""
        if self.destroyed:
            return
        while self._free:
            self.requested -= 1
            self._global.recycle_segment(self._free.popleft())
        self.destroyed = True
        self._listeners.clear()
        self._set_available(True)
        self._global.destroy_buffer_pool(self)

    def on_global_pool_available(self) -> None:
        """The global pool has segments again (rule 5.38)."""
        if not self.destroyed and not self._free and self.requested < self.size:
            self._check_available()

    def _request_from_global(self) -> MemorySegment | None:
        segment = self._global.request_segment()
        if segment is not None:
            self.requested += 1
        return segment

    def _request_overdraft(self) -> MemorySegment | None:
        """Rule 5.36: beyond the pool size, never making the pool available."""
        if self.requested - self.size >= self.overdraft:
            return None
        return self._request_from_global()

    def _check_available(self) -> None:
        """Rules 5.34, 5.35: prefetch one segment; available = one is free and no channel is at its limit."""
        if not self._free and self.requested < self.size and not self.destroyed:
            segment = self._request_from_global()
            if segment is None:
                self._global.await_segment(self)
            elif not self._offered_to_listener(segment):
                self._free.append(segment)
        self._set_available(bool(self._free) and self._channels_at_limit == 0)

    def _set_available(self, available: bool) -> None:
        if available == self.available:
            return
        self.available = available
        if available:
            waiting, self.on_available = self.on_available, []
            for callback in waiting:
                callback()
        elif self.on_unavailable is not None:
            self.on_unavailable()

    def _offered_to_listener(self, segment: MemorySegment) -> bool:
        while self._listeners:
            if self._listeners.popleft().notify_buffer_available(segment):
                return True
        return False
