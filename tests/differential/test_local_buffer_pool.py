"""Several LocalBufferPools over one NetworkBufferPool beside the real ones (rules 5.33-5.40).

The real one shares what is spare over a HashSet, whose order comes from the identity hash codes of its pools. The probe
gives it a LinkedHashSet: both share in the order in which the pools were made, and every size must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from flowsim.errors import FlowsimError
from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.local_buffer_pool import UNLIMITED, LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, InsufficientNetworkBuffers
from tests.support.flink.machine import Answers, Differential, java_text

ERRORS: dict[type[FlowsimError], str] = {
    BufferPoolDestroyed: "CancelTaskException",
    InsufficientNetworkBuffers: "IOException",
    IllegalArgument: "IllegalArgumentException",
}
POOLS = 5
Command = tuple[object, ...]
"""A name and numbers; ``pick`` chooses among what is there when the command comes."""
NOTHING = "nothing to do"


def script(chance: Random) -> list[Command]:
    """Pools come and go, grow and shrink, lend overdraft, and are waited for."""
    commands: list[Command] = [("network", chance.choice([3, 4, 5, 8, chance.randint(3, 20)]))]
    for number in range(chance.randint(0, 3)):
        commands.append(("create", 1 + number, (None, 3, 0)[number], 2, (UNLIMITED, 2, 3)[number], (0, 2, 5)[number]))
    weights = [chance.choice([1, 1, 4]) * weight for weight, _ in COMMANDS.values()]
    for name in chance.choices(list(COMMANDS), weights, k=chance.randint(1, 60)):
        commands.append((name, *COMMANDS[name][1](chance)))
    return commands


COMMANDS: dict[str, tuple[int, Callable[[Random], tuple[object, ...]]]] = {
    "create": (2, lambda chance: (
        chance.randint(0, 5), chance.choice([-1, 0, 1, 3, 6, None]), chance.randint(0, 3),
        chance.choice([UNLIMITED, 1, 2, 3]), chance.choice([0, 0, 1, 2, 5]),
    )),
    "request": (6, lambda chance: (chance.randrange(100), chance.randint(-1, 2))),
    "recycle": (3, lambda chance: (chance.randrange(100),)),
    "give_back": (1, lambda chance: (chance.randrange(100),)),
    "set_num_buffers": (1, lambda chance: (chance.randrange(100), chance.randint(0, 9))),
    "set_overdraft": (1, lambda chance: (chance.randrange(100), chance.randint(0, 5))),
    "lazy_destroy": (1, lambda chance: (chance.randrange(100), chance.randint(0, 3))),
    "listen": (1, lambda chance: (chance.randrange(100), chance.random() < 0.5)),
    "when_available": (2, lambda chance: (chance.randrange(100),)),
    "reserve": (1, lambda chance: (chance.randint(0, 3),)),
    "return_reserved": (1, lambda chance: (chance.randrange(100),)),
}  # fmt: skip
"""Name -> how often it is drawn, and its numbers."""


class Listener:
    """Waits for one segment, and takes or leaves it."""

    def __init__(self, number: int, takes: bool, pools: Pools, pool: LocalBufferPool) -> None:
        self.number = number
        self.takes = takes
        self.pools = pools
        self.pool = pool

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        pools = self.pools
        pools.notified.append(f"{'took' if self.takes else 'left'}{self.number}")
        if self.takes:
            pools.taken.append((self.pool, segment))
            pools.held_by_listeners.append(len(pools.taken) - 1)
        return self.takes


class Pools:
    """Ours. It plays the commands, and writes down what the probe has to do for the same."""

    def __init__(self, segments: int) -> None:
        self.network = NetworkBufferPool(segments, 8)
        self.pools: list[LocalBufferPool] = []
        self.subpartitions: list[int] = []
        self.builders: list[BufferBuilder] = []
        self.held: list[int] = []
        self.taken: list[tuple[LocalBufferPool, MemorySegment]] = []
        self.held_by_listeners: list[int] = []
        self.reserved = 0
        self.numbers = 0
        self.notified: list[str] = []
        self.for_probe: list[str] = []

    def play(self, command: Command) -> str:
        self.notified.clear()
        before = len(self.for_probe)
        match command:
            case ["create", required, more, *others] if len(self.pools) < POOLS:
                result = self.outcome(lambda: self.create(required, more, *others))  # type: ignore[arg-type]
            case ["request", int(pick), int(channel)] if self.pools:
                result = self.outcome(lambda: self.request(pick % len(self.pools), channel))
            case ["recycle", int(pick)] if self.held:
                result = self.outcome(lambda: self.recycle(self.held.pop(pick % len(self.held))))
            case ["give_back", int(pick)] if self.held_by_listeners:
                number = self.held_by_listeners.pop(pick % len(self.held_by_listeners))
                result = self.outcome(lambda: self.give_back(number))
            case [name, int(pick), *numbers] if self.pools and name in ON_A_POOL:
                result = self.outcome(lambda: self.on_a_pool(name, pick % len(self.pools), *numbers))  # type: ignore[arg-type]
            case ["reserve", int(segments)] if segments + len(self.pools) <= self.network.available_segments:
                # The real one would wait for segments that are lent out. It shares out anew before it takes them, and by
                # rounding each pool may then take one more.
                result = self.outcome(lambda: self.reserve(segments))
            case ["return_reserved", int(pick)] if self.reserved:
                result = self.outcome(lambda: self.return_reserved(1 + pick % self.reserved))
            case _:
                result = NOTHING
        return NOTHING if len(self.for_probe) == before else f"{result} {self.state()}"

    def outcome(self, act: Callable[[], str | None]) -> str:
        try:
            return act() or "-"
        except FlowsimError as refusal:
            return "!" + ERRORS[type(refusal)]

    def send(self, *command: object) -> None:
        """What the probe has to do."""
        self.for_probe.append(" ".join(map(str, command)))

    def create(self, required: int, more: int | None, subpartitions: int, per_channel: int, overdraft: int) -> None:
        maximum = UNLIMITED if more is None else required + more
        if required > maximum:
            required = 0  # The real one would count what the refused pool required for ever.
        self.send("create", required, maximum, subpartitions, per_channel, overdraft)
        self.pools.append(self.network.create_buffer_pool(required, maximum, subpartitions, per_channel, overdraft))
        self.subpartitions.append(subpartitions)

    def request(self, number: int, channel: int) -> str:
        channel = min(channel, self.subpartitions[number] - 1)
        self.send("request", number, channel)
        builder = self.pools[number].request_builder(channel)
        if builder is None:
            return "none"
        self.builders.append(builder)
        self.held.append(len(self.builders) - 1)
        return str(len(self.builders) - 1)

    def recycle(self, number: int) -> None:
        self.send("recycle", number)
        self.builders[number].close()

    def give_back(self, number: int) -> None:
        self.send("give_back", number)
        pool, segment = self.taken[number]
        pool.recycle(segment)

    def on_a_pool(self, name: str, number: int, value: int = 0) -> str | None:
        pool = self.pools[number]
        match name:
            case "set_num_buffers":
                self.send(name, number, value)
                pool.set_num_buffers(value)
            case "set_overdraft":
                self.send(name, number, value)
                pool.overdraft = value
            case "lazy_destroy" if value == 0:
                self.send(name, number)
                pool.lazy_destroy()
            case "listen":
                self.numbers += 1
                self.send(name, number, self.numbers, int(value))
                return java_text(pool.add_listener(Listener(self.numbers, bool(value), self, pool)))
            case "when_available":
                self.numbers += 1
                self.send(name, number, self.numbers)
                freed = f"free{self.numbers}"
                if pool.available:
                    self.notified.append(freed)
                else:
                    pool.on_available.append(lambda: self.notified.append(freed))
        return None

    def reserve(self, segments: int) -> None:
        self.send("reserve", segments)
        self.network.reserve(segments)
        self.reserved += segments

    def return_reserved(self, segments: int) -> None:
        self.send("return_reserved", segments)
        self.reserved -= segments
        self.network.return_reserved(segments)

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
        notified = "".join(f"{each}," for each in self.notified)
        return " ".join([f"[{notified}]", java_text(available), java_text(available > 0), *pools])


ON_A_POOL = ("set_num_buffers", "set_overdraft", "lazy_destroy", "listen", "when_available")


def test_pools_of_one_network_equal_flinks(differential: Differential) -> None:
    probe = differential.flink.java.flowsim.differential.PoolDriver

    def play(commands: list[Command]) -> Answers:
        """Ours first: what there is to recycle or to give back decides what the probe gets."""
        segments = commands[0][1]
        assert isinstance(segments, int)
        pools = Pools(segments)
        ours = [NOTHING, *map(pools.play, commands[1:])]
        answers = iter(probe(segments).runAll("\n".join(pools.for_probe)).split("\n")) if pools.for_probe else iter(())
        theirs = [NOTHING if mine == NOTHING else next(answers) for mine in ours]
        # Where listeners and limited channels meet, as in no gate and no partition, the real pool may find its own
        # availability wrong: what comes after that is not compared.
        wrong = next((at for at, real in enumerate(theirs) if real.startswith("!IllegalStateException")), len(theirs))
        return theirs[:wrong], ours[:wrong]

    differential.run_scripts("LocalBufferPool", script, play, examples=600)
