"""Two historical bugs of Flink as races in plain asyncio: the protocol alone, without channels, buffers and laws.

Each coroutine raises AssertionError, or waits for ever, in some orders of its tasks, and passes in asyncio's own order.
"""

from __future__ import annotations

import asyncio
from typing import Final

IDLE: Final = -1


class Valve:
    """The watermark of two channels: the minimum of the active ones."""

    def __init__(self) -> None:
        self.watermarks = [0, 0]
        self.idle = [False, False]
        self.aligned = [True, True]
        self.output = 0

    def take(self, channel: int, watermark: int) -> None:
        if watermark == IDLE:
            self.idle[channel], self.aligned[channel] = True, False
        else:
            self.watermarks[channel], self.idle[channel] = watermark, False
            self.aligned[channel] = watermark >= self.output
        active = [self.watermarks[each] for each in (0, 1) if self.aligned[each]]
        if active:
            self.output = max(self.output, min(active))


async def _merged(valve: Valve, *senders: list[int]) -> None:
    """Lets a task for each channel send its watermarks; a third one takes them in the order of their arrival."""
    inbox: asyncio.Queue[tuple[int, int]] = asyncio.Queue()

    async def send(channel: int, watermarks: list[int]) -> None:
        for watermark in watermarks:
            await inbox.put((channel, watermark))
            await asyncio.sleep(0)

    async def receive(count: int) -> None:
        for _ in range(count):
            valve.take(*await inbox.get())

    receiving = receive(sum(map(len, senders)))
    await asyncio.gather(receiving, *(send(channel, each) for channel, each in enumerate(senders)))


async def last_watermark() -> None:
    """FLINK-7728: when the last active channel becomes idle, the maximum is not emitted."""
    valve = Valve()
    await _merged(valve, [10, IDLE], [20, IDLE])
    assert valve.output == 20


async def resumed_channel() -> None:
    """FLINK-23223: a receiver that resumes its sender is not notified of the data that came while it was blocked."""
    queue: list[int] = []
    has_data = asyncio.Event()
    is_blocked = False

    async def send() -> None:
        for number in range(2):
            queue.append(number)
            if not is_blocked:
                has_data.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def receive() -> None:
        nonlocal is_blocked
        received = 0
        while received < 2:
            await has_data.wait()
            has_data.clear()
            received += len(queue)
            queue.clear()
            is_blocked = True
            await asyncio.sleep(0)
            is_blocked = False

    await asyncio.gather(send(), receive())


RACES: Final = {"FLINK-7728": last_watermark, "FLINK-23223": resumed_channel}
