"""BufferBuilder and BufferConsumer beside the real ones: every command, every misuse, every reference (rules 5.15-5.17)."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.buffer import BufferSlice, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder, BufferConsumer
from flowsim.network.errors import IllegalArgument, IllegalState, OutOfBounds
from tests.support.flink.machine import Differential, DifferentialMachine, java_text
from tests.support.network import Recycled

MISUSE: dict[type[InvariantViolation], str] = {
    IllegalState: "IllegalStateException",
    IllegalArgument: "IllegalArgumentException",
    OutOfBounds: "IndexOutOfBoundsException",
}


class BufferBuilderMachine(DifferentialMachine):
    """One builder with all its consumers and slices; the segment is used until everybody let go of it."""

    subject = "BufferBuilder"

    @initialize(size=st.sampled_from([1, 2, 4, 8, 16, 32]))
    def begin(self, size: int) -> None:
        self.real = self.flink.java.flowsim.differential.BufferDriver(size)
        recycled = Recycled()
        self.back = recycled.segments
        self.builder = BufferBuilder(MemorySegment(size), recycled)
        self.consumers: list[BufferConsumer] = []
        self.slices: list[BufferSlice] = []
        self.open_consumers: list[int] = []
        self.open_slices: list[int] = []
        self.closed = False
        self.written = self.size = 0

    @property
    def writing(self) -> bool:
        return not self.closed

    @property
    def reading(self) -> bool:
        return bool(self.open_consumers) and not self.back

    @precondition(lambda self: self.writing)
    @rule(from_beginning=st.booleans())
    def create_consumer(self, from_beginning: bool) -> None:
        builder = self.builder
        make = builder.create_consumer_from_beginning if from_beginning else builder.create_consumer
        self.command(
            "create_consumer_from_beginning" if from_beginning else "create_consumer", lambda: self.adopt(make())
        )

    @precondition(lambda self: self.reading)
    @rule(pick=st.integers(0, 99))
    def copy(self, pick: int) -> None:
        number = self.open_consumers[pick % len(self.open_consumers)]
        self.command(f"copy {number}", lambda: self.adopt(self.consumers[number].copy()))

    @precondition(lambda self: self.writing)
    @rule(length=st.integers(0, 12), commit=st.booleans())
    def append(self, length: int, commit: bool) -> None:
        data = bytes((self.written + i) % 256 for i in range(length))

        def ours() -> str:
            taken = (self.builder.append_and_commit if commit else self.builder.append)(data)
            self.written += taken
            return f"{taken},{length - taken}"

        self.command(f"append{'_and_commit' if commit else ''} {length}", ours)

    @precondition(lambda self: self.writing)
    @rule()
    def commit(self) -> None:
        self.command("commit", self.builder.commit)

    @precondition(lambda self: self.writing)
    @rule()
    def finish(self) -> None:
        self.command("finish", lambda: java_text(self.builder.finish()))

    @precondition(lambda self: self.writing)
    @rule(size=st.integers(0, 40))
    def trim(self, size: int) -> None:
        self.command(f"trim {size}", lambda: self.builder.trim(size))

    @precondition(lambda self: self.reading)
    @rule(pick=st.integers(0, 99))
    def build(self, pick: int) -> None:
        number = self.open_consumers[pick % len(self.open_consumers)]

        def ours() -> str:
            piece = self.consumers[number].build()
            self.slices.append(piece)
            self.open_slices.append(len(self.slices) - 1)
            return piece.payload.hex() or "."

        self.command(f"build {number}", ours)

    @precondition(lambda self: bool(self.open_slices))
    @rule(pick=st.integers(0, 99))
    def recycle(self, pick: int) -> None:
        number = self.open_slices.pop(pick % len(self.open_slices))
        self.command(f"recycle {number}", self.slices[number].recycle)

    @precondition(lambda self: self.reading)
    @rule(pick=st.integers(0, 99))
    def close_consumer(self, pick: int) -> None:
        number = self.open_consumers.pop(pick % len(self.open_consumers))
        self.command(f"close_consumer {number}", self.consumers[number].close)

    @precondition(lambda self: self.writing and bool(self.consumers))
    @rule()
    def close(self) -> None:
        self.closed = True
        self.command("close", self.builder.close)

    @rule()
    def look(self) -> None:
        """Also when everybody let go."""
        self.command("look", lambda: None)

    def adopt(self, consumer: BufferConsumer) -> None:
        self.consumers.append(consumer)
        self.open_consumers.append(len(self.consumers) - 1)

    def command(self, command: str, ours: Callable[[], str | None]) -> None:
        self.same(self.real.run(command), lambda: f"{self.outcome(ours)} {self.state()}")

    def outcome(self, ours: Callable[[], str | None]) -> str:
        try:
            return ours() or "-"
        except InvariantViolation as misuse:
            return "!" + MISUSE[type(misuse)]

    def state(self) -> str:
        builder = self.builder
        # A segment that went back is empty here; the real one keeps its bytes, and the builder its positions.
        size = self.size = self.size if self.back else len(builder.data)
        seen = [
            builder.finished,
            size >= builder.capacity,
            builder.capacity - size,
            size,
            builder.capacity,
            len(self.back),
        ]
        consumers = [
            f"{java_text(each.is_finished)},{java_text(each.is_data_available)},{each.written_bytes}"
            for each in self.consumers
        ]
        return " ".join([*map(java_text, seen), *consumers])


def test_builder_and_consumers_equal_flinks(differential: Differential) -> None:
    differential.run(BufferBuilderMachine, examples=40, steps=30)
