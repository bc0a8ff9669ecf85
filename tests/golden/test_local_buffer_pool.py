"""LocalBufferPool and NetworkBufferPool equal the real ones (rules 5.33-5.39).

The real pool shares what is left over the pools of a HashSet, in the order of their identity hash codes, which the recorded
cases do not tell: a case passes if some order of its pools, the same one throughout, explains every answer. The differential
test asks the running Java for the order and has no such freedom.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from flowsim.errors import FlowsimError
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, InsufficientNetworkBuffers
from tests.support.flink.golden import cases

SEGMENT_BYTES = 32
ERRORS = {
    BufferPoolDestroyed: "CancelTaskException",
    InsufficientNetworkBuffers: "IOException",
    IllegalArgument: "IllegalArgumentException",
}


class Ranked(dict[LocalBufferPool, None]):
    """The pools of a network pool, in the given order instead of that of their creation."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        super().__init__()
        self.ranks = list(ranks)
        self.rank_of: dict[LocalBufferPool, int] = {}

    def __setitem__(self, pool: LocalBufferPool, nothing: None) -> None:
        self.rank_of[pool] = self.ranks.pop(0)
        super().__setitem__(pool, nothing)

    def __iter__(self) -> Iterator[LocalBufferPool]:
        return iter(sorted(super().__iter__(), key=self.rank_of.__getitem__))


class Play:
    def __init__(self, total: int, order: tuple[int, ...]) -> None:
        self.network = NetworkBufferPool(total, SEGMENT_BYTES)
        self.network._pools = Ranked(order)
        self.pools: list[LocalBufferPool] = []
        self.held: list[BufferBuilder] = []

    def play(self, command: list[Any]) -> int | None:
        match command:
            case ["create_pool", required, maximum, subpartitions, max_per_channel, overdraft]:
                self.pools.append(
                    self.network.create_buffer_pool(required, maximum, subpartitions, max_per_channel, overdraft)
                )
            case ["request", pool, channel]:
                builder = self.pools[pool].request_builder(channel)
                if builder is not None:
                    self.held.append(builder)
                    return len(self.held) - 1
            case ["recycle", number]:
                self.held[number].close()
            case ["set_num_buffers", pool, size]:
                self.pools[pool].set_num_buffers(size)
            case ["set_overdraft", pool, overdraft]:
                self.pools[pool].overdraft = overdraft
            case ["lazy_destroy", pool]:
                self.pools[pool].lazy_destroy()
            case ["state"]:
                return None
            case _:
                raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any]) -> dict[str, Any]:
        try:
            result, error = self.play(command), None
        except FlowsimError as refusal:
            result, error = None, ERRORS[type(refusal)]
        return {
            "res": result,
            "err": error,
            "global_available": self.network.available_segments,
            "global_is_available": self.network.available_segments > 0,
            "pools": [
                {
                    "num": pool.size,
                    "requested": pool.requested,
                    "avail_segments": pool.free_segments,
                    "used": pool.used_segments,
                    "available": pool.available,
                    "destroyed": pool.destroyed,
                }
                for pool in self.pools
            ],
        }


def explained(case: dict[str, Any], order: tuple[int, ...]) -> tuple[int, Any, Any]:
    """How many answers agree under this order of the pools, and the first that does not."""
    play = Play(case["total"], order)
    for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
        answer, flink = play.observed(command), {**expected, "err": expected["err"] and expected["err"][0]}
        if answer != flink:
            return number, (command, answer), flink
    return len(case["cmds"]), None, None


def test_answers_equal_flinks_in_some_order_of_pools() -> None:
    """Order (0, 1, 2) alone explains 360 of the 400 cases."""
    commands = in_one_order = 0
    for case in cases("component/local_buffer_pool"):
        attempts = [explained(case, order) for order in permutations(range(3))]
        best = max(attempts, key=lambda attempt: attempt[0])
        assert best[1:] == (None, None), (case["id"], best[0])
        commands += best[0]
        in_one_order += attempts[0][0] == best[0]
    assert (commands, in_one_order) == (11_671, 360)
