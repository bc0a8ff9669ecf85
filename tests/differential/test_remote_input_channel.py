"""RemoteInputChannel and its BufferManager beside the real ones: memory, credits, numbers (rules 6.1 to 6.14)."""

from __future__ import annotations

from hypothesis.stateful import initialize, rule
from hypothesis.strategies import integers

from tests.support.flink.machine import Differential
from tests.support.flink.remote_gates import RemoteGatesMachine, backlogs, picks


class RemoteInputChannelMachine(RemoteGatesMachine):
    """One gate with little memory; more arrives than in the machines of gates."""

    subject = "RemoteInputChannel and BufferManager"

    @initialize(count=integers(1, 4), exclusive=integers(0, 2), floating=integers(1, 6), missing=integers(0, 3))
    def begin(self, count: int, exclusive: int, floating: int, missing: int) -> None:
        self.connect(1, count, exclusive, floating, missing)

    @rule(pick=picks, backlog=backlogs, times=integers(1, 3))
    def data_and_reading(self, pick: int, backlog: int, times: int) -> None:
        """As a task does that keeps up."""
        for _ in range(times):
            self.data(pick, 5, backlog)
            self.poll(1)
            if self.held:
                index = (pick * 7 + times) % len(self.held)
                self.do(("recycle", index), self.held.pop(index).recycle)


def test_reserved_announced_and_returned_buffers_equal_flinks(differential: Differential) -> None:
    differential.run(RemoteInputChannelMachine, examples=50, steps=40)
