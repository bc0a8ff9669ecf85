"""The global buffer pool of one task manager. Flink: NetworkBufferPool (rules 5.33-5.42).

Segments are created on demand, so an idle pool uses no memory.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import UNLIMITED, LocalBufferPool
from flowsim.network.errors import InsufficientNetworkBuffers


@mypyc_attr(allow_interpreted_subclasses=True)
class NetworkBufferPool:
    """All segments of one task manager, distributed to the local pools. Flink: NetworkBufferPool.

    ``movements`` counts segments taken and returned by local pools, for the facts.
    """

    __slots__ = (
        "total_segments",
        "segment_size_bytes",
        "movements",
        "_free",
        "_made",
        "_required",
        "_reserved",
        "_pools",
        "_wanted",
        "_are_all_full",
        "_waiting",
    )

    def __init__(self, total_segments: int, segment_size_bytes: int) -> None:
        self.total_segments = total_segments
        self.segment_size_bytes = segment_size_bytes
        self.movements = 0
        self._free: list[MemorySegment] = []
        self._made = 0
        self._required = 0
        self._reserved = 0
        self._pools: dict[LocalBufferPool, None] = {}
        """In the order of their creation."""
        self._wanted = 0
        """Segments above the guarantees with which all pools would have their maximum."""
        self._are_all_full = True
        """True if all pools have their maximum; then a change that leaves enough segments resizes no other pool."""
        self._waiting: list[LocalBufferPool] = []

    @property
    def available_segments(self) -> int:
        return self.total_segments - self._reserved - self._made + len(self._free)

    def request_segment(self) -> MemorySegment | None:
        # Recycled segments may be reserved now, so there may be no free one.
        if self.available_segments <= 0:
            return None
        if self._free:
            return self._free.pop()
        self._made += 1
        return MemorySegment(self.segment_size_bytes)

    def recycle_segment(self, segment: MemorySegment) -> None:
        was_empty = self.available_segments == 0
        self._free.append(segment)
        if was_empty and self._waiting:
            self._notify_waiting()

    def _notify_waiting(self) -> None:
        """Notifies waiting pools, last registered first, as in Java; a pool without a segment registers again."""
        waiting, self._waiting = self._waiting, []
        for pool in reversed(waiting):
            pool.on_global_pool_available()

    def await_segment(self, pool: LocalBufferPool) -> None:
        """Registers a pool for one callback when a segment is free again (rule 5.38)."""
        if pool not in self._waiting:
            self._waiting.append(pool)

    def reserve(self, segments: int) -> None:
        """Removes ``segments`` from the shared memory: exclusive buffers of input channels (rule 6.1)."""
        self._check(segments)
        if segments:
            self._required += segments
            if not self._stays_full:
                self._redistribute()
            self._reserved += segments

    def return_reserved(self, segments: int) -> None:
        """Returns segments that ``reserve`` took."""
        was_empty = self.available_segments == 0
        self._reserved -= segments
        if was_empty and segments:
            self._notify_waiting()
        self._required -= segments
        if not self._stays_full:
            self._redistribute()

    def create_buffer_pool(
        self,
        required: int,
        maximum: int,
        subpartitions: int = 0,
        max_buffers_per_channel: int = UNLIMITED,
        overdraft: int = 0,
        *,
        pool_id: int = -1,
        trace: TaskTrace | None = None,
    ) -> LocalBufferPool:
        """Creates a pool with ``required`` guaranteed segments; raises InsufficientNetworkBuffers.

        With ``maximum`` UNLIMITED, only the network memory limits the pool. ``trace`` records all movements of segments
        as facts of pool ``pool_id``.
        """
        self._check(required)
        self._required += required
        pool = LocalBufferPool(
            self, required, maximum, subpartitions, max_buffers_per_channel, overdraft, pool_id, trace
        )
        pool.prefetch()
        self._pools[pool] = None
        self._wanted += pool.maximum - pool.required
        if not self._stays_full:
            self._redistribute()
        elif pool.required < pool.maximum:
            pool.set_num_buffers(pool.maximum)
            self._are_all_full = True
        return pool

    def destroy_buffer_pool(self, pool: LocalBufferPool) -> None:
        if pool in self._pools:
            del self._pools[pool]
            self._required -= pool.required
            self._wanted -= pool.maximum - pool.required
            if not self._stays_full:
                self._redistribute()

    def on_pool_resized(self) -> None:
        """A pool may have less than its maximum now."""
        self._are_all_full = False

    @property
    def _stays_full(self) -> bool:
        """True if all pools had their maximum, and there are still enough segments for that."""
        return self._are_all_full and not self._waiting and self._wanted <= self.total_segments - self._required

    def _check(self, required: int) -> None:
        if self._required + required > self.total_segments:
            raise InsufficientNetworkBuffers(
                f"Insufficient number of network buffers: required {required}, but only "
                f"{self.total_segments - self._required} of {self.total_segments} are available; raise network_buffers"
            )

    def _redistribute(self) -> None:
        """Distributes the segments above the guarantees in proportion to the pools' capacity.

        Uses cumulative rounding (rule 5.39).
        """
        resizable = [pool for pool in self._pools if pool.required < pool.maximum]
        spare = self.total_segments - self._required
        if spare == 0:
            for pool in resizable:
                pool.set_num_buffers(pool.required)
            self._are_all_full = self._wanted == 0
            return
        wants = [min(spare, pool.maximum - pool.required) for pool in resizable]
        total = sum(wants)
        share, so_far, given = min(total, spare), 0, 0
        for pool, want in zip(resizable, wants, strict=True):
            so_far += want
            extra = share * so_far // total - given
            given += extra
            pool.set_num_buffers(pool.required + extra)
        self._are_all_full = self._wanted <= spare
