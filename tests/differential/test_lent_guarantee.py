"""The real pools lend guaranteed segments of one pool to the overdraft of another; flowsim reserves them (rule 5.36)."""

from __future__ import annotations

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential

SEGMENTS, SIZE = 5, 1024
SUBJECT = "a guarantee that is lent"


class Pools:
    """Two pools of 2 segments and one of 1 share 5, here and in Flink; the first two may overdraw by more than there is."""

    def __init__(self, flink: Flink) -> None:
        real = flink.java.org.apache.flink.runtime.io.network.buffer.NetworkBufferPool(SEGMENTS, SIZE)
        ours = NetworkBufferPool(SEGMENTS, SIZE)
        sizes = ((2, 2, 1, 10, 20), (2, 2, 1, 10, 20), (1, 1))
        self.real = [real.createBufferPool(*size) for size in sizes]
        self.ours = [ours.create_buffer_pool(*size) for size in sizes]

    def requests(self, *turns: int) -> list[bool]:
        """Which of the requests, by the pools in this order, got a segment: the same as in Flink."""
        got = []
        for turn in turns:
            theirs = self.real[turn].requestMemorySegment(0) is not None
            assert (self.ours[turn].request_segment(0) is not None) is theirs
            got.append(theirs)
        return got


def test_overdraft_takes_guaranteed_segment_not_yet_requested(flink: Flink, differential: Differential) -> None:
    """The first pool's overdraft takes one more, and the second misses it."""
    with differential.comparing(SUBJECT, commands=6):
        assert Pools(flink).requests(0, 0, 0, 0, 1, 1) == [True, True, True, False, True, False]


def test_reserved_segments_are_not_available_as_overdraft(flink: Flink, differential: Differential) -> None:
    """What our deployment does where memory is scarce, and what the real gates do."""
    pools = Pools(flink)
    for theirs, mine in zip(pools.real[:2], pools.ours[:2], strict=True):
        theirs.reserveSegments(2)
        mine.reserve_segments(2)
    with differential.comparing(SUBJECT, commands=5):
        assert pools.requests(0, 0, 0, 1, 1) == [True, True, False, True, True]
