"""PipelinedSubpartition equals the real one: queue, notifications, blocking and polls (rules 5.18-5.31)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.events import CheckpointBarrier, EndOfData, StopMode
from tests.support.barriers import ALIGNED, UNALIGNED
from tests.support.flink.golden import cases
from tests.support.flink.polled import described
from tests.support.network import Listener

ERRORS = {"IllegalStateException": IllegalState}


class Unused:
    """A channel state writer, which the oracle sets before each unaligned barrier; the second time is refused."""

    def add_output_data(self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, payloads: object) -> None:
        """Not compared."""

    def add_output_data_future(
        self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]
    ) -> None:
        """Not compared."""


class Play:
    """One subpartition of a case, its open builder, and the notifications of its reader."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.buffer_size = case["buffer_size"]
        self.subpartition = PipelinedSubpartition(0, zero_exclusive_buffers=case["exclusive_buffers"] == 0)
        self.builder: BufferBuilder | None = None
        self.notifications: list[str | list[str | int]] = []
        self.has_reader = False

    def play(self, command: list[Any]) -> Any:
        subpartition, builder = self.subpartition, self.builder
        match command:
            case ["create_view"]:
                subpartition.create_read_view(
                    Listener(
                        lambda: self.notifications.append("data"),
                        lambda number: self.notifications.append(["prio", number]),
                    )
                )
                self.has_reader = True
            case ["add", size, _]:
                builder = self.builder = BufferBuilder(MemorySegment(self.buffer_size), FREEING)
                builder.append_and_commit(bytes(size))
                return subpartition.add(builder.create_consumer_from_beginning())
            case ["append", size] if builder is not None:
                return builder.append_and_commit(bytes(size))
            case ["finish_buffer"] if builder is not None:
                written = builder.finish()
                builder.close()
                self.builder = None
                return written
            case ["flush"]:
                subpartition.flush()
            case ["add_event", "EndOfData"]:
                return subpartition.add_event(EndOfData(StopMode.DRAIN))
            case ["add_barrier", "aligned"]:
                return subpartition.add_event(CheckpointBarrier(1, 1, ALIGNED))
            case ["add_barrier", "unaligned"]:
                subpartition.set_channel_state_writer(Unused(), 0)
                return subpartition.add_event(CheckpointBarrier(1, 1, UNALIGNED))
            case ["finish"]:
                return subpartition.finish()
            case ["poll"]:
                return described(subpartition.poll())
            case ["resume"]:
                subpartition.resume_consumption()
            case ["buffer_size", size]:
                subpartition.notify_new_buffer_size(size)
            case ["state"]:
                return None
            case _:
                raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any], error: list[str] | None) -> dict[str, Any]:
        self.notifications.clear()
        subpartition = self.subpartition
        result = None
        if error is None:
            result = self.play(command)
        else:
            with pytest.raises(ERRORS[error[0]]):
                self.play(command)
        answer = {
            "res": result,
            "err": error,
            "notify": list(self.notifications),
            "backlog": subpartition.reported_backlog,
            "queued": subpartition.queued_buffers,
        }
        if self.has_reader:
            for name, credit in (("avail_nocredit", False), ("avail_credit", True)):
                answer[name] = [subpartition.is_available(credit), subpartition.reported_backlog]
        return answer


def test_every_command_equals_flinks() -> None:
    """All cases, all commands: barriers that block, barriers that overtake, and what they are refused for."""
    commands = 0
    for number, case in enumerate(cases("component/pipelined_subpartition")):
        play = Play(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert play.observed(command, expected["err"]) == expected, (number, commands, command)
            commands += 1
    assert commands == 14_793
