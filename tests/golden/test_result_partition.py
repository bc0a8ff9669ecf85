"""ResultPartition equals the real one: filling, sharing and finishing of buffers (rules 5.11-5.14, 5.35)."""

from __future__ import annotations

from functools import partial
from typing import Any

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import Buffer
from flowsim.streamrecord.events import EndOfData, StopMode
from tests.support.flink.golden import cases
from tests.support.flink.polled import described
from tests.support.network import Listener, NeverWaits

SPARE_SEGMENTS = 20
"""The oracle gives the global pool so many more than the partition may take."""


class Play:
    """One partition of a case with a reader on each subpartition."""

    def __init__(self, case: dict[str, Any]) -> None:
        network = NetworkBufferPool(case["pool_max"] + SPARE_SEGMENTS, case["segment"])
        self.pool = network.create_buffer_pool(
            case["pool_min"], case["pool_max"], case["subpartitions"], case["max_per_channel"], case["overdraft"]
        )
        assert self.pool.size == case["pool_size"]
        self.partition = ResultPartition(case["subpartitions"], self.pool, NeverWaits())
        self.subpartitions = [self.partition.subpartition(index) for index in range(case["subpartitions"])]
        self.notifications: list[int] = []
        for subpartition in self.subpartitions:
            subpartition.create_read_view(Listener(partial(self.notifications.append, subpartition.index)))
        self.held: list[Buffer] = []

    def play(self, command: list[Any]) -> Any:
        match command:
            case ["emit", channel, size]:
                self.partition.emit(bytes(size), channel)
            case ["broadcast", size]:
                self.partition.broadcast(bytes(size))
            case ["broadcast_event", "EndOfData"]:
                self.partition.broadcast_event(EndOfData(StopMode.DRAIN))
            case ["flush", channel]:
                self.partition.flush(channel)
            case ["flush_all"]:
                self.partition.flush_all()
            case ["poll", channel]:
                polled = self.subpartitions[channel].poll()
                answer = described(polled)
                if answer is not None and polled is not None and polled.buffer.event is None:
                    answer["h"] = len(self.held)
                    self.held.append(polled.buffer)
                return answer
            case ["recycle", number]:
                self.held[number].recycle()
            case ["state"] | ["blocked"] | ["skip_would_block"]:
                return None
            case _:
                raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.notifications.clear()
        return {
            "res": self.play(command),
            "err": None,
            "notify": list(self.notifications),
            "available": self.pool.available,
            "used": self.pool.used_segments,
            "queued": [len(s.buffers) for s in self.subpartitions],
            "backlog": [s.reported_backlog for s in self.subpartitions],
        }


def test_buffers_and_notifications_equal_flinks() -> None:
    commands = 0
    for case in cases("component/result_partition_emit"):
        play = Play(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert play.observed(command) == expected, (case["id"], commands, command)
            commands += 1
    assert commands == 15_981
