"""The receive buffers of one remote channel. Flink: BufferManager (section 6.A)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import Received

EXCLUSIVE: Final = MemorySegment(0)
"""Represents every exclusive buffer. Exclusive buffers are reserved in the network memory and only counted in the
manager."""


class BufferedChannel(Protocol):
    """The channel of a buffer manager.

    A Protocol, because RemoteInputChannel, which implements it, owns its buffer manager.
    """

    def notify_buffer_available(self, count: int) -> None: ...


class BufferManager:
    """Manages the exclusive and floating buffers of a channel, and its demand (rules 6.3 to 6.7).

    Flink: BufferManager.

    ``channel`` is notified of every buffer that becomes available without a request. ``network_pool`` gets exclusive
    buffers back that the channel no longer needs. ``required`` may be negative: a buffer taken beyond the demand lowers
    it.
    """

    __slots__ = (
        "_channel",
        "_pool",
        "_network_pool",
        "exclusive_available",
        "_floating",
        "required",
        "waiting",
        "_released",
        "_is_releasing",
    )

    def __init__(
        self, channel: BufferedChannel, pool: LocalBufferPool, network_pool: NetworkBufferPool, exclusive: int
    ) -> None:
        self._channel = channel
        self._pool = pool
        self._network_pool = network_pool
        self.exclusive_available = exclusive
        self._floating: list[MemorySegment] = []
        self.required = 0
        self.waiting = False
        self._released = self._is_releasing = False

    @property
    def available(self) -> int:
        return self.exclusive_available + len(self._floating)

    @property
    def floating_available(self) -> int:
        return len(self._floating)

    def request_buffer(self) -> MemorySegment | None:
        """Takes memory for an arriving buffer, floating buffers first; None if none is reserved (rule 6.3)."""
        # Floating buffers first: an exclusive one stays as the credit that no other channel can take (rules 6.2, 6.3).
        self.required -= 1
        if self._floating:
            return self._floating.pop()
        if self.exclusive_available:
            self.exclusive_available -= 1
            return EXCLUSIVE
        return None

    def request_floating_buffers(self, required: int) -> int:
        """Sets the demand to ``required``; returns the number of floating buffers that it got at once (rule 6.4)."""
        if self._released:
            return 0
        self.required = required
        return self._try_request_buffers()

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        """Called when a segment of the gate's pool is free and this channel is the next that waits (rule 6.6)."""
        if self._released:
            return False
        self.waiting = False
        # The backlog can have shrunk while the channel waited: then the buffer goes to the next that waits (rule 6.6).
        if self.available >= self.required:
            return False
        self._floating.append(segment)
        self._channel.notify_buffer_available(1 + self._try_request_buffers())
        return True

    def recycle(self, segment: MemorySegment) -> None:
        """Frees the memory of a received buffer that was consumed (rule 6.5)."""
        if segment is not EXCLUSIVE:
            self._pool.recycle(segment)
            return
        if self._released and not self._is_releasing:
            self._give_back_exclusive(1)
            return
        self.exclusive_available += 1
        if self._is_releasing:
            return
        # More than the sender's backlog needs: other channels of the gate can use a floating buffer (rule 6.5).
        if self._floating and self.exclusive_available + len(self._floating) > self.required:
            self._pool.recycle(self._floating.pop())
        else:
            self._channel.notify_buffer_available(1)

    def release_floating_buffers(self) -> None:
        """Returns all floating buffers, so that other channels can use them (rule 6.13)."""
        self.required = 0
        self._give_back_floating()

    def release_all(self, received: Iterable[Received]) -> None:
        """Returns all memory when the channel has ended or is released, unread ``received`` buffers first.

        Exclusive buffers are returned last and together, because their return changes the pool sizes; then no pool is
        short of segments.
        """
        self._released = self._is_releasing = True
        for buffer in received:
            buffer.recycle()
        self._give_back_floating()
        self._is_releasing = False
        exclusive, self.exclusive_available = self.exclusive_available, 0
        self._give_back_exclusive(exclusive)

    def _give_back_floating(self) -> None:
        floating, self._floating = self._floating, []
        for segment in floating:
            self._pool.recycle(segment)

    def _give_back_exclusive(self, count: int) -> None:
        if count:
            self._network_pool.return_reserved(count)

    def _try_request_buffers(self) -> int:
        got = 0
        while not self.waiting and self.available < self.required:
            segment = self._pool.request_segment()
            if segment is not None:
                self._floating.append(segment)
                got += 1
            elif self._pool.add_listener(self):
                self.waiting = True
        return got
