"""Several LocalBufferPools over one NetworkBufferPool beside the real ones (rules 5.33-5.40).

The real one shares what is spare over a HashSet, whose order comes from the identity hash codes of its pools. No model can
know them, but the running Java can be asked: ours shares in the same order, so that every size must be the same.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from flowsim.errors import FlowsimError
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.local_buffer_pool import UNLIMITED, LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, InsufficientNetworkBuffers
from tests.support.flink.machine import Differential, DifferentialMachine, java_text

ERRORS: dict[type[FlowsimError], str] = {
    BufferPoolDestroyed: "CancelTaskException",
    InsufficientNetworkBuffers: "IOException",
    IllegalArgument: "IllegalArgumentException",
}
POOLS = 5


class Ordered(list[LocalBufferPool]):
    """The pools of a network pool in the order that the real one has, which is set before a pool is added."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[int] = []
        self.made: list[LocalBufferPool] = []

    def append(self, pool: LocalBufferPool) -> None:
        self.made.append(pool)
        super().append(pool)
        rank = {number: place for place, number in enumerate(self.order)}
        # Pools that cannot grow are in no such order: they do not take part.
        self.sort(key=lambda each: rank.get(self._number(each), len(rank)))

    def _number(self, pool: LocalBufferPool) -> int:
        return next(number for number, each in enumerate(self.made) if each is pool)


class Listener:
    """Waits for one segment, and takes or leaves it."""

    def __init__(self, number: int, takes: bool, machine: LocalBufferPoolMachine) -> None:
        self.number = number
        self.takes = takes
        self.machine = machine
        self.pool: LocalBufferPool

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        machine = self.machine
        machine.told.append(f"{'took' if self.takes else 'left'}{self.number}")
        if self.takes:
            machine.taken.append((self.pool, segment))
            machine.held_by_listeners.append(len(machine.taken) - 1)
        return self.takes


class LocalBufferPoolMachine(DifferentialMachine):
    """Pools come and go, grow and shrink, lend overdraft, and are waited for.

    What happens depends on the order that Java chose, which is another one when a sequence is run again: so no rule has a
    precondition, it does nothing when there is nothing to do.
    """

    subject = "LocalBufferPool"

    @initialize(segments=st.integers(3, 20), pools=st.integers(0, 3))
    def begin(self, segments: int, pools: int) -> None:
        self.real = self.flink.java.flowsim.differential.PoolDriver(segments)
        self.network = NetworkBufferPool(segments, 8)
        self.ordered = self.network._pools = Ordered()
        self.pools: list[LocalBufferPool] = []
        self.subpartitions: list[int] = []
        self.builders: list[BufferBuilder] = []
        self.held: list[int] = []
        self.taken: list[tuple[LocalBufferPool, MemorySegment]] = []
        self.held_by_listeners: list[int] = []
        self.reserved = 0
        self.numbers = 0
        self.told: list[str] = []
        for number in range(pools):
            self.create(1 + number, (None, 3, 0)[number], 2, (UNLIMITED, 2, 3)[number], (0, 2, 5)[number])

    @rule(
        required=st.integers(0, 5), more=st.sampled_from([-1, 0, 1, 3, 6, None]), subpartitions=st.integers(0, 3),
        per_channel=st.sampled_from([UNLIMITED, 1, 2, 3]), overdraft=st.sampled_from([0, 0, 1, 2, 5]),
    )  # fmt: skip
    def create(self, required: int, more: int | None, subpartitions: int, per_channel: int, overdraft: int) -> None:
        if len(self.pools) == POOLS:
            return
        maximum = UNLIMITED if more is None else required + more
        if not 0 < required <= maximum and required > 0:
            required = 0  # The real one would count what the refused pool required for ever.
        arguments = (required, maximum, subpartitions, per_channel, overdraft)

        def ours() -> None:
            self.pools.append(self.network.create_buffer_pool(*arguments))
            self.subpartitions.append(subpartitions)

        def reorder() -> None:
            order = self.real.order()
            self.ordered.order = [int(number) for number in order.split()]

        self.command(f"create {' '.join(map(str, arguments))}", ours, reorder)

    @rule(pick=st.integers(0, 99), channel=st.integers(-1, 2), times=st.integers(1, 4))
    def request(self, pick: int, channel: int, times: int) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        channel = min(channel, self.subpartitions[number] - 1)

        def ours() -> str:
            builder = self.pools[number].request_builder(channel)
            if builder is None:
                return "none"
            self.builders.append(builder)
            self.held.append(len(self.builders) - 1)
            return str(len(self.builders) - 1)

        for _ in range(times):
            self.command(f"request {number} {channel}", ours)

    @rule(pick=st.integers(0, 99))
    def recycle(self, pick: int) -> None:
        if not self.held:
            return
        number = self.held.pop(pick % len(self.held))
        self.command(f"recycle {number}", self.builders[number].close)

    @rule(pick=st.integers(0, 99))
    def give_back(self, pick: int) -> None:
        if not self.held_by_listeners:
            return
        number = self.held_by_listeners.pop(pick % len(self.held_by_listeners))
        pool, segment = self.taken[number]
        self.command(f"give_back {number}", lambda: pool.recycle(segment))

    @rule(pick=st.integers(0, 99), size=st.integers(0, 9))
    def set_num_buffers(self, pick: int, size: int) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        self.command(f"set_num_buffers {number} {size}", lambda: self.pools[number].set_num_buffers(size))

    @rule(pick=st.integers(0, 99), overdraft=st.integers(0, 5))
    def set_overdraft(self, pick: int, overdraft: int) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        self.command(f"set_overdraft {number} {overdraft}", lambda: setattr(self.pools[number], "overdraft", overdraft))

    @rule(pick=st.integers(0, 99), really=st.integers(0, 3))
    def lazy_destroy(self, pick: int, really: int) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        if really == 0:
            self.command(f"lazy_destroy {number}", self.pools[number].lazy_destroy)

    @rule(pick=st.integers(0, 99), takes=st.booleans())
    def listen(self, pick: int, takes: bool) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        self.numbers += 1
        listener = Listener(self.numbers, takes, self)
        listener.pool = self.pools[number]
        self.command(
            f"listen {number} {self.numbers} {int(takes)}", lambda: java_text(listener.pool.add_listener(listener))
        )

    @rule(pick=st.integers(0, 99))
    def when_available(self, pick: int) -> None:
        if not self.pools:
            return
        number = pick % len(self.pools)
        self.numbers += 1
        name = f"free{self.numbers}"

        def ours() -> None:
            pool = self.pools[number]
            if pool.available:
                self.told.append(name)
            else:
                pool.on_available.append(lambda: self.told.append(name))

        self.command(f"when_available {number} {self.numbers}", ours)

    @rule(segments=st.integers(0, 3))
    def reserve(self, segments: int) -> None:
        """Exclusive buffers; the real one would wait for segments that are lent out.

        It shares out anew before it takes them, and by rounding each pool may then take one more.
        """
        if segments + len(self.pools) <= self.network.available_segments:
            self.reserved += segments

            def ours() -> None:
                try:
                    self.network.reserve(segments)
                except InsufficientNetworkBuffers:
                    self.reserved -= segments
                    raise

            self.command(f"reserve {segments}", ours)

    @rule(pick=st.integers(0, 99))
    def return_reserved(self, pick: int) -> None:
        if not self.reserved:
            return
        segments = 1 + pick % self.reserved
        self.reserved -= segments
        self.command(f"return_reserved {segments}", lambda: self.network.return_reserved(segments))

    def command(
        self, command: str, ours: Callable[[], str | None], before_ours: Callable[[], None] | None = None
    ) -> None:
        theirs = self.real.run(command)
        if before_ours is not None:
            before_ours()
        self.told.clear()
        self.same(theirs, lambda: f"{self.outcome(ours)} {self.state()}")

    def outcome(self, ours: Callable[[], str | None]) -> str:
        try:
            return ours() or "-"
        except FlowsimError as refusal:
            return "!" + ERRORS[type(refusal)]

    def state(self) -> str:
        available = self.network.available_segments
        pools = [
            ",".join(
                map(
                    java_text,
                    (pool.size, pool.requested, pool.free_segments, pool.used_segments, pool.available, pool.destroyed),
                )
            )
            for pool in self.pools
        ]
        told = "".join(f"{each}," for each in self.told)
        return " ".join([f"[{told}]", java_text(available), java_text(available > 0), *pools])


def test_pools_of_one_network_are_flinks(differential: Differential) -> None:
    differential.run(LocalBufferPoolMachine, examples=60, steps=50)
