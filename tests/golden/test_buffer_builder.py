"""BufferBuilder and BufferConsumer equal the real ones (rules 5.15-5.17)."""

from __future__ import annotations

from typing import Any

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder, BufferConsumer
from flowsim.network.errors import IllegalArgument, IllegalState, OutOfBounds
from tests.support.flink.golden import cases

ERRORS = {
    IllegalState: "IllegalStateException",
    IllegalArgument: "IllegalArgumentException",
    OutOfBounds: "IndexOutOfBoundsException",
}


def answer(builder: BufferBuilder, consumers: list[BufferConsumer], command: list[Any]) -> Any:
    match command:
        case ["create_consumer"]:
            consumers.append(builder.create_consumer())
        case ["create_consumer_from_beginning"]:
            consumers.append(builder.create_consumer_from_beginning())
        case ["copy_consumer", number]:
            consumers.append(consumers[number].copy())
        case ["append", data]:
            taken = builder.append(bytes(data))
            return [taken, len(data) - taken]
        case ["append_and_commit", data]:
            taken = builder.append_and_commit(bytes(data))
            return [taken, len(data) - taken]
        case ["commit"]:
            builder.commit()
        case ["finish"]:
            return builder.finish()
        case ["trim", size]:
            builder.trim(size)
        case ["build", number]:
            piece = consumers[number].build()
            piece.recycle()
            return list(piece.payload)
        case ["state"]:
            return None
        case _:
            raise AssertionError(f"unknown command {command}")
    return None


def outcome(builder: BufferBuilder, consumers: list[BufferConsumer], command: list[Any]) -> tuple[Any, str | None]:
    try:
        return answer(builder, consumers, command), None
    except InvariantViolation as misuse:
        return None, ERRORS[type(misuse)]


def test_every_command_equals_flinks() -> None:
    """Misuse too, and what a misused consumer shows afterwards. What the oracle calls committed is the writer's position."""
    commands = 0
    for case in cases("component/buffer_builder"):
        builder = BufferBuilder(MemorySegment(case["size"]), FREEING)
        consumers: list[BufferConsumer] = []
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            result, error = outcome(builder, consumers, command)
            assert {
                "res": result,
                "err": error,
                "finished": builder.finished,
                "full": builder.is_full,
                "writable": builder.writable_bytes,
                "committed": len(builder.data),
                "max": builder.capacity,
                "consumers": [[c.is_finished, c.is_data_available, c.written_bytes] for c in consumers],
            } == {**expected, "err": expected["err"] and expected["err"][0]}, (case["id"], commands, command)
            commands += 1
    assert commands == 7_629
