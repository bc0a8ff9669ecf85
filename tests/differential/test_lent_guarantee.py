"""Why scarce memory is reserved here: the real pools lend to an overdraft what is guaranteed to another pool (rule 5.36)."""

from __future__ import annotations

from flink import Flink
from machine import Differential

from flowsim.network.buffer_pool import NetworkBufferPool

SEGMENTS, SIZE = 5, 1024


def test_an_overdraft_takes_the_guaranteed_segment_of_a_pool_that_has_not_asked_for_it(
    flink: Flink, differential: Differential
) -> None:
    """Two pools of 2 and one of 1 share 5 segments; the first one's overdraft takes one more, and the second misses it."""
    pools = flink.java.org.apache.flink.runtime.io.network.buffer
    real = pools.NetworkBufferPool(SEGMENTS, SIZE)
    ours = NetworkBufferPool(SEGMENTS, SIZE)
    real_pools = [
        real.createBufferPool(2, 2, 1, 10, 20),
        real.createBufferPool(2, 2, 1, 10, 20),
        real.createBufferPool(1, 1),
    ]
    our_pools = [
        ours.create_buffer_pool(2, 2, 1, 10, 20),
        ours.create_buffer_pool(2, 2, 1, 10, 20),
        ours.create_buffer_pool(1, 1),
    ]
    got = []
    for turn in (0, 0, 0, 0, 1, 1):
        theirs = real_pools[turn].requestMemorySegment(0) is not None
        assert (our_pools[turn].request_segment(0) is not None) is theirs
        got.append(theirs)
    assert got == [True, True, True, False, True, False]
    differential.tallies.count("a guarantee that is lent", sequences=1, commands=6)


def test_reserved_segments_cannot_be_lent(flink: Flink, differential: Differential) -> None:
    """What our deployment does where memory is scarce, and what the real gates do."""
    pools = flink.java.org.apache.flink.runtime.io.network.buffer
    real = pools.NetworkBufferPool(SEGMENTS, SIZE)
    ours = NetworkBufferPool(SEGMENTS, SIZE)
    real_pools = [
        real.createBufferPool(2, 2, 1, 10, 20),
        real.createBufferPool(2, 2, 1, 10, 20),
        real.createBufferPool(1, 1),
    ]
    our_pools = [
        ours.create_buffer_pool(2, 2, 1, 10, 20),
        ours.create_buffer_pool(2, 2, 1, 10, 20),
        ours.create_buffer_pool(1, 1),
    ]
    for theirs, mine in zip(real_pools[:2], our_pools[:2], strict=True):
        theirs.reserveSegments(2)
        mine.reserve_segments(2)
    got = []
    for turn in (0, 0, 0, 1, 1):
        found = real_pools[turn].requestMemorySegment(0) is not None
        assert (our_pools[turn].request_segment(0) is not None) is found
        got.append(found)
    assert got == [True, True, False, True, True]
    differential.tallies.count("a guarantee that is lent", sequences=1, commands=5)
