"""PipelinedSubpartition queues, notifies and is polled as the real one (rules 5.18-5.31), as far as there are no barriers."""

from __future__ import annotations

from typing import Any

import pytest
from golden import cases
from polled import described

from flowsim.errors import InvariantViolation
from flowsim.network.buffer import MemorySegment
from flowsim.network.buffer_builder import BufferBuilder
from flowsim.network.subpartition import PipelinedSubpartition
from flowsim.streamrecord.events import EndOfData, StopMode

REFUSED = -1


class Play:
    """One subpartition of a case, its open builder, and what its reader was told."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.buffer_size = case["buffer_size"]
        self.subpartition = PipelinedSubpartition(0, zero_exclusive_buffers=case["exclusive_buffers"] == 0)
        self.builder: BufferBuilder | None = None
        self.notifications: list[str] = []
        self.has_reader = False

    def play(self, command: list[Any], expected: Any) -> Any:
        subpartition, builder = self.subpartition, self.builder
        match command:
            case ["create_view"]:
                subpartition.create_read_view(lambda: self.notifications.append("data"))
                self.has_reader = True
            case ["add", size, _]:
                builder = self.builder = BufferBuilder(MemorySegment(self.buffer_size), lambda segment: None)
                builder.append_and_commit(bytes(size))
                taken = subpartition.add(builder.create_consumer_from_beginning())
                assert taken == (expected != REFUSED)
                return expected
            case ["append", size] if builder is not None:
                return builder.append_and_commit(bytes(size))
            case ["finish_buffer"] if builder is not None:
                written = builder.finish()
                builder.close()
                self.builder = None
                return written
            case ["flush"]:
                subpartition.flush()
            case ["add_event", "EndOfData"] | ["add_barrier", _]:
                taken = subpartition.add_event(EndOfData(StopMode.DRAIN))
                assert taken == (expected != REFUSED)
                return expected
            case ["finish"]:
                subpartition.finish()
                return expected
            case ["poll"]:
                return described(subpartition.poll(), subpartition)
            case ["state"] | ["buffer_size", _]:
                return None
            case _:
                raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any], expected: dict[str, Any]) -> dict[str, Any]:
        self.notifications.clear()
        subpartition = self.subpartition
        if expected["err"] is not None:
            with pytest.raises(InvariantViolation):
                self.play(command, None)
        answer = {
            "res": None if expected["err"] is not None else self.play(command, expected["res"]),
            "err": expected["err"], "notify": list(self.notifications), "backlog": subpartition.reported_backlog,
            "queued": len(subpartition.buffers),
        }  # fmt: skip
        if self.has_reader:
            for name, credit in (("avail_nocredit", False), ("avail_credit", True)):
                answer[name] = [subpartition.is_available(credit), subpartition.reported_backlog]
        return answer


def test_every_command_without_barriers_is_answered_as_flink_answers_it() -> None:
    """A case is followed up to the first barrier that is taken; what size is wished for the next buffer is not compared."""
    commands = whole = 0
    for case in cases("component/pipelined_subpartition"):
        play = Play(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            if command[0] == "add_barrier" and expected["res"] != REFUSED:
                break
            assert play.observed(command, expected) == expected, (case["id"], commands, command)
            commands += 1
        else:
            whole += 1
    assert (commands, whole) == (10_756, 308)
