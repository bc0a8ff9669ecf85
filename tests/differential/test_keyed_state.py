"""Keyed state with and without a time to live, beside the real HeapKeyedStateBackend and TtlStateFactory."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.datastream.common.time import Duration
from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateBackend
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.values.types import Types, parse_type
from tests.support.flink.machine import Differential

Script = dict[str, Any]
Command = list[Any]
ERRORS = {"NullPointerException": (ValueNotAllowed, BadInput)}


def mix(a: int, factor: int, b: int) -> int:
    return (a * factor + b) % 1_000_003


class Mix:
    """The same aggregation as the probe's: the order of adding and merging shows."""

    def create_accumulator(self) -> object:
        return 1

    def add(self, value: Any, accumulator: Any) -> object:
        return mix(accumulator, 3, value)

    def get_result(self, accumulator: Any) -> object:
        return f"is {accumulator}"

    def merge(self, acc_a: Any, acc_b: Any) -> object:
        return mix(acc_a, 7, acc_b)


def in_order(cells: dict[int, list[StoredCell]], start: int, after: int) -> list[tuple[int, StoredCell]]:
    return [(group, cell) for group in sorted(cells) if start <= group < after for cell in cells[group]]


class OurStates:
    """Runs the commands of a script on our backend."""

    def __init__(self, script: Script) -> None:
        self.now = 0
        self.is_void, self.map_key = script["void"], script["map_key"]
        self.script, self.range = script, KeyGroupRange(script["start"], script["end"])
        self.backend = self.new_backend(self.range)
        self.descriptors = self.new_descriptors(script["ttl"])
        self.move_to(0)

    def new_descriptors(self, ttl: Script | None) -> dict[str, StateDescriptor]:
        long = Types.LONG()
        descriptors: dict[str, StateDescriptor] = {
            "value": ValueStateDescriptor("value", long),
            "list": ListStateDescriptor("list", long),
            "map": MapStateDescriptor("map", parse_type(self.map_key), long),
            "reducing": ReducingStateDescriptor("reducing", lambda a, b: mix(a, 31, b), long),  # type: ignore[arg-type]
            "aggregating": AggregatingStateDescriptor("aggregating", Mix(), long),
        }
        for descriptor in descriptors.values():
            if ttl is not None:
                descriptor.enable_time_to_live(config(ttl))
        return descriptors

    def new_backend(self, key_range: KeyGroupRange) -> KeyedStateBackend:
        now = lambda: self.now  # noqa: E731 - read later
        backend = KeyedStateBackend(key_range, self.script["max_parallelism"], self.script["key"], now)
        backend.keep_order()
        return backend

    def restore(self, starts: list[int], ttl: Script | None) -> None:
        """Stores the state in subtasks of these ranges, and restores it into one."""
        cells, kinds = self.backend.snapshot()
        self.descriptors = self.new_descriptors(ttl)
        parts = []
        for start, after in zip(starts, [*starts[1:], self.range.end + 1], strict=True):
            part = self.new_backend(KeyGroupRange(start, after - 1))
            part.restore(in_order(cells, start, after), kinds)
            self.declare_in(part)
            parts.append(part.snapshot())
        backend = self.new_backend(self.range)
        for stored, of_part in parts:
            backend.restore(in_order(stored, 0, self.range.end + 1), of_part)
        self.declare_in(backend)

    def declare_in(self, backend: KeyedStateBackend) -> None:
        self.backend = backend
        self.move_to(0 if self.namespace is None else self.namespace)

    def move_to(self, namespace: int) -> None:
        self.namespace = None if self.is_void else namespace
        store = self.backend.store(self.namespace)
        self.states: dict[str, Any] = {name: store.get_any(each) for name, each in self.descriptors.items()}

    def answer(self, command: Command) -> Any:
        match command:
            case ["key", key]:
                self.backend.set_current_key(key)
            case ["namespace", namespace]:
                self.move_to(namespace)
            case ["time", now]:
                self.now = now
            case ["restore", starts, ttl]:
                self.restore(starts, ttl)
            case ["clear", name]:
                self.states[name].clear()
            case ["merge", name, sources]:
                self.states[name].merge_namespaces(sources)
            case ["keys", name]:
                return self.backend.keys(name, self.namespace)
            case ["apply", value]:
                seen = []

                def update(key: object, state: Any) -> None:
                    seen.append(key)
                    state.update(value)

                self.backend.apply_to_all_keys(self.descriptors["value"], update, self.namespace)
                return seen
            case ["clear_all"]:
                self.backend.apply_to_all_keys(self.descriptors["list"], lambda _, each: each.clear(), self.namespace)
            case ["fill", first, end]:
                for key in range(first, end):
                    self.backend.set_current_key(key)
                    self.states["value"].update(key)
                    self.states["list"].add(key)
                    self.states["map"].put(first if self.map_key != "STRING" else str(first), key)
                    self.states["reducing"].add(key)
            case ["map.put_all", pairs]:
                self.states["map"].put_all(dict(pairs))
            case [name, *arguments]:
                kind, _, method = name.partition(".")
                return plain(getattr(self.states[kind], method)(*arguments))
        return None


def plain(answer: Any) -> Any:
    if not isinstance(answer, list):
        return answer
    return [list(item) if isinstance(item, tuple) else item for item in answer]


def config(ttl: Script) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Duration.of_millis(ttl["ms"]))
    builder.set_update_type(StateTtlConfig.UpdateType[ttl["update"]])
    builder.set_state_visibility(StateTtlConfig.StateVisibility[ttl["visibility"]])
    if ttl["cleanup"] is not None:
        builder.cleanup_incrementally(*ttl["cleanup"])
    if not ttl["background"]:
        builder.disable_cleanup_in_background()
    return builder.build()


STATES = ("value", "list", "map", "reducing", "aggregating")


def drawn(random: Random, script: Script) -> Command:
    """A command with arguments at random."""
    maybe = random.choice([None, *range(10)])
    value = random.randrange(10)
    some = [random.randrange(10) for _ in range(random.randrange(4))]
    map_key = of_type(script["map_key"], random.choice([random.randrange(6), random.randrange(-200_000, 200_000)]))
    if random.random() < 0.1:
        map_key = of_type(script["map_key"], 1024 * random.randrange(30))
    number = random.choice([random.randrange(6), random.randrange(-300, 300)])
    pairs = {of_type(script["map_key"], random.randrange(-50, 50)): maybe for _ in range(random.randrange(20))}
    choices: list[Command] = [
        ["key", of_type(script["key"], number)], ["namespace", random.randrange(3)], ["clear", random.choice(STATES)],
        ["value.value"], ["value.update", maybe], ["value.update", value], ["list.get"], ["list.get"],
        ["list.add", value], ["list.add", maybe], ["list.add_all", some], ["list.update", some],
        ["map.get", map_key], ["map.put", map_key, maybe], ["map.put", map_key, maybe],
        ["map.put_all", [list(pair) for pair in pairs.items()]], ["map.remove", map_key], ["map.contains", map_key],
        ["map.items"], ["map.keys"], ["map.values"], ["map.is_empty"], ["reducing.get"], ["reducing.add", maybe],
        ["reducing.add", value], ["aggregating.get"], ["aggregating.add", maybe], ["aggregating.add", value],
        ["merge", random.choice(["list", "reducing", "aggregating"]), some_namespaces(random)],
        ["keys", random.choice(STATES)], ["keys", random.choice(STATES)], ["apply", value], ["clear_all"],
    ]  # fmt: skip
    return random.choice(choices)


def of_type(name: str, number: int) -> object:
    return str(number) if name == "STRING" else number


def some_namespaces(random: Random) -> list[int]:
    return [random.randrange(3) for _ in range(random.randrange(4))]


def has_none(command: Command) -> bool:
    match command:
        case ["map.put_all", pairs]:
            return any(value is None for _, value in pairs)
        case [("map.put" | "reducing.add" | "aggregating.add"), *arguments]:
            return None in arguments
        case _:
            return False


def random_script(random: Random, *, ttl: bool, restores: bool = False) -> Script:
    max_parallelism = random.choice([1, 2, 128])
    script: Script = {
        "max_parallelism": max_parallelism,
        "start": 0,
        "end": max_parallelism - 1,
        "key": random.choice(["LONG", "STRING"]),
        "map_key": random.choice(["LONG", "INT", "STRING"]),
        "void": random.random() < 0.4,
        "ttl": random_ttl(random) if ttl else None,
    }
    now, commands, current = 1000, [["time", 1000]], script["ttl"]
    for _ in range(random.randrange(30, 150)):
        if ttl and random.random() < 0.25:
            now += random.randrange(12)
            commands.append(["time", now])
        elif restores and random.random() < 0.04:
            inner = random.sample(range(1, max_parallelism), min(random.randrange(4), max_parallelism - 1))
            if random.random() < 0.3:
                current = random_ttl(random) if ttl and random.random() < 0.7 else None
            commands.append(["restore", [0, *sorted(inner)], current])
            commands.append(["key", of_type(script["key"], random.randrange(6))])
        elif script["key"] == "LONG" and random.random() < 0.04:
            first = random.randrange(200)
            commands.append(["fill", first, first + random.randrange(1, 150)])
        else:
            commands.append(drawn(random, script))
    if restores:  # Flink's serializers cannot write a None that was put or added
        commands = [each for each in commands if not has_none(each)]
    if script["void"]:
        commands = [command for command in commands if command[0] not in ("namespace", "merge")]
    return {**script, "commands": commands}


def random_ttl(random: Random) -> Script:
    return {
        "ms": random.randrange(1, 25),
        "update": random.choice(["OnCreateAndWrite", "OnReadAndWrite", "OnReadAndWrite", "Disabled"]),
        "visibility": random.choice(["NeverReturnExpired", "ReturnExpiredIfNotCleanedUp"]),
        "cleanup": random.choice([None, [random.randrange(1, 8), random.random() < 0.5]]),
        "background": random.random() < 0.5,
    }


def check(differential: Differential, subject: str, script: Script) -> None:
    theirs = json.loads(differential.flink.java.flowsim.differential.KeyedStates.run(json.dumps(script)))
    ours = OurStates(script)
    with differential.comparing(subject, commands=len(theirs)):
        for number, (command, answer) in enumerate(zip(script["commands"], theirs, strict=True)):
            if isinstance(answer, dict):
                assert answer["error"] in ERRORS, (number, command, answer)
                with pytest.raises(ERRORS[answer["error"]]):
                    ours.answer(command)
            else:
                assert ours.answer(command) == answer, (number, command)


def test_states_equal_flinks_heap_in_order(differential: Differential) -> None:
    @differential.settings(60)
    @given(st.integers(0, 2**32))
    def compare(seed: int) -> None:
        check(differential, "HeapKeyedStateBackend", random_script(Random(seed), ttl=False))

    compare()


def test_states_with_ttl_equal_flinks(differential: Differential) -> None:
    @differential.settings(80)
    @given(st.integers(0, 2**32))
    def compare(seed: int) -> None:
        check(differential, "TtlStateFactory", random_script(Random(seed), ttl=True))

    compare()


@pytest.mark.parametrize("ttl", [False, True], ids=["without TTL", "with TTL"])
def test_restored_and_rescaled_states_equal_flinks(differential: Differential, ttl: bool) -> None:
    @differential.settings(40)
    @given(st.integers(0, 2**32))
    def compare(seed: int) -> None:
        check(differential, "HeapSnapshotStrategy", random_script(Random(seed), ttl=ttl, restores=True))

    compare()


@pytest.mark.parametrize(("before", "after"), [(None, 5), (5, None), (5, 5)])
def test_a_state_that_gets_or_loses_its_ttl_in_a_restore_ends_its_rehash(
    differential: Differential, before: int | None, after: int | None
) -> None:
    def of(ttl_ms: int | None) -> Script | None:
        return None if ttl_ms is None else {**random_ttl(Random(0)), "ms": ttl_ms, "update": "OnCreateAndWrite"}

    commands: list[Command] = [["time", 1000], ["fill", 182, 281], ["restore", [0], of(after)], ["keys", "value"]]
    script = {"max_parallelism": 1, "start": 0, "end": 0, "key": "LONG", "map_key": "LONG", "void": False}
    check(differential, "HeapSnapshotStrategy", {**script, "ttl": of(before), "commands": commands})
