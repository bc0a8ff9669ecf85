"""Timers beside InternalTimeServiceManagerImpl, InternalTimerServiceImpl and HeapPriorityQueueSet (section 9).

A script is a list of commands that a Java driver and ours run alike: registrations and deletions of several services,
advances of event time, whole or interrupted, and of processing time, cancellations, snapshots of key groups, and restores
into a subtask with fewer key groups. Callbacks register and delete timers by the rules of the script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowsim.operators.windowing.windows import TimeWindow
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager, no_window
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import CancellationContext, InternalTimerService
from flowsim.timers.key_groups import KeyGroups
from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import JavaHashMap, spread
from flowsim.values.keys import state_key
from flowsim.values.types import Types
from tests.support.flink.machine import Differential, java_text
from tests.support.flink.system_timer import SystemTimer

MOST_ANSWERS = 60
SERVICES = ("user-timers", "window-timers", "CLEANUP_TIMER", "Aa", "BB", "timers")
WHAT = ("re", "de", "rp", "dp")

timestamps = st.one_of(
    st.integers(-4, 12), st.integers(0, 9).map(lambda n: n * 1000), st.integers(-(2**40), 2**40),
    st.sampled_from([2**63 - 1, -(2**63), 2**63 - 2, 0]),
)  # fmt: skip
keys = st.integers(-3, 8)
rules = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from([1, 2, 3, 5]), st.integers(0, 2), st.integers(0, 3), st.integers(0, 3),
        st.integers(0, 2), st.integers(-3, 8),
    ),
    max_size=4,
)  # fmt: skip
registrations = st.tuples(
    st.sampled_from(["re", "re", "re", "rp", "rp", "de", "dp"]), st.integers(0, 3), keys, st.integers(0, 2), timestamps
)
advances = st.one_of(
    st.tuples(st.just("wm"), timestamps),
    st.tuples(st.just("try"), timestamps, st.sampled_from(["0", "1", "001", "01"])),
    st.tuples(st.just("pt"), st.one_of(st.integers(0, 14), st.integers(0, 9000))),
)
others = st.one_of(
    st.tuples(st.just("cancel"), st.integers(0, 1)),
    st.tuples(st.just("snapshot"), st.integers(0, 130)),
    st.tuples(st.just("snapshot"), st.integers(0, 3)),
    st.tuples(st.just("restore"), st.integers(0, 2), st.integers(1, 200)),
)
commands = st.lists(
    st.one_of(registrations, registrations, registrations, advances, advances, others), min_size=15, max_size=60
)


class OurServices:
    """What the Java driver does, with our classes."""

    def __init__(self, groups: int, key_kind: str, namespace_kind: str, names: list[str], the_rules: list[Any]) -> None:
        self.groups = groups
        self.range = KeyGroupRange(0, groups - 1)
        self.key_kind = key_kind
        self.namespace_kind = namespace_kind
        self.names = names
        self.rules = the_rules
        self.reported: list[str] = []
        self.current_key: object = None
        self.current_key_id: object = None
        self.cancellation = CancellationContext()
        self.answered = 0
        self.now = 0
        self.begin({})

    def begin(self, snapshots: dict[int, Any]) -> None:
        self.scheduled: list[SystemTimer] = []
        key_type = "LONG" if self.key_kind == "long" else "STRING"
        self.manager = InternalTimeServiceManager(
            self, self, key_groups=KeyGroups(self.range, self.groups, key_type), cancellation=self.cancellation
        )
        self.services: dict[str, InternalTimerService[Any]] = {
            name: self.manager.internal_timer_service(name, RecordsFirings(self, name), no_window)
            for name in self.names
        }
        self.manager.restore_timers(snapshots)

    def set_current_key(self, key: object, key_id: object) -> None:
        self.current_key, self.current_key_id = key, key_id

    def current_processing_time_ms(self) -> int:
        return self.now

    def register_timer(self, timestamp_ms: int, callback: Callable[[int], None], **_: object) -> SystemTimer:
        self.scheduled.append(SystemTimer(timestamp_ms, callback))
        return self.scheduled[-1]

    def schedule_with_fixed_delay(self, *_: object, **__: object) -> None:
        raise AssertionError("timers are registered one by one")

    def key(self, number: int) -> object:
        return number if self.key_kind == "long" else f"k{number}"

    def namespace(self, number: int) -> Any:
        match self.namespace_kind:
            case "void":
                return None
            case "window":
                return TimeWindow(number * 1000, number * 1000 + 1000)
        return f"n{number}"

    def number(self, namespace: Any) -> str:
        if namespace is None:
            return "0"
        return str(namespace.start // 1000) if isinstance(namespace, TimeWindow) else namespace[1:]

    def change(self, what: str, service: InternalTimerService[Any], namespace: Any, timestamp: int) -> None:
        methods = {
            "re": service.register_event_time_timer,
            "de": service.delete_event_time_timer,
            "rp": service.register_processing_time_timer,
            "dp": service.delete_processing_time_timer,
        }
        methods[what](namespace, timestamp)

    def fired(self, name: str, domain: int, timer: InternalTimer) -> None:
        at = timer.timestamp
        watermark = self.services[name].current_watermark
        self.reported.append(
            f"{name} {'EP'[domain]}{at},{timer.key},{self.number(timer.namespace)},{self.current_key},{watermark} "
        )
        for of_domain, modulus, remainder, service, what, namespace, delta in self.rules:
            if of_domain == domain and at % modulus == remainder and self.answered < MOST_ANSWERS:
                self.answered += 1
                chosen = self.services[self.names[service % len(self.names)]]
                later = (at + delta + 2**63) % 2**64 - 2**63
                self.change(WHAT[what], chosen, self.namespace(namespace), later)

    def execute(self, command: tuple[Any, ...]) -> str:
        self.reported = []
        match command:
            case ("wm", timestamp):
                self.manager.advance_watermark(timestamp)
            case ("try", timestamp, answers):
                asked = iter(answers * 2000)
                done = self.manager.try_advance_watermark(timestamp, lambda: next(asked) == "1")
                self.reported.append("done " if done else "stopped ")
            case ("pt", now):
                self.advance(now)
            case ("cancel", yes):
                self.cancellation.is_cancelled = yes == 1
            case ("snapshot", group):
                self.snapshot(group % self.groups if self.range.size else 0)
            case ("restore", first, last):
                self.restore(first, last)
            case (what, service, key, namespace, timestamp):
                self.set_current_key(self.key(key), state_key(self.key(key)))
                self.change(
                    what, self.services[self.names[service % len(self.names)]], self.namespace(namespace), timestamp
                )
        for name in self.names:
            service = self.services[name]
            self.reported.append(
                f"| {service.num_event_time_timers} {service.num_processing_time_timers} {service.current_watermark} "
            )
            service.validate()
        live = "".join(f" {timer.timestamp}" for timer in self.scheduled if timer.live)
        return f"{''.join(self.reported)}| {self.manager.fired_timers} |{live}"

    def advance(self, now: int) -> None:
        self.now = now
        for _ in range(200):
            due = [
                (timer.timestamp, i) for i, timer in enumerate(self.scheduled) if timer.live and timer.timestamp <= now
            ]
            if not due:
                return
            timer = self.scheduled[min(due)[1]]
            timer.live = False
            timer.callback(timer.timestamp)

    def snapshot(self, group: int) -> None:
        reported = self.manager.snapshot_timers_for_key_group(group)
        for name in self.names:
            self.reported.append(f"{name} e")
            self.reported.extend(f" {at},{key},{self.number(ns)}" for at, key, _, ns in reported[name].event_time)
            self.reported.append(" p")
            self.reported.extend(f" {at},{key},{self.number(ns)}" for at, key, _, ns in reported[name].processing_time)
            self.reported.append(" ")

    def restore(self, first: int, last: int) -> None:
        groups = range(max(first, self.range.start), min(last, self.range.end) + 1)
        self.begin({group: self.manager.snapshot_timers_for_key_group(group) for group in groups})


class RecordsFirings:
    def __init__(self, owner: OurServices, name: str) -> None:
        self.owner = owner
        self.name = name

    def on_event_time(self, timer: InternalTimer) -> None:
        self.owner.fired(self.name, 0, timer)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.owner.fired(self.name, 1, timer)


def script_of(ours: OurServices, some: list[tuple[Any, ...]]) -> str:
    """The same for the Java driver."""
    the_rules = ";".join(",".join(map(str, rule)) for rule in ours.rules)
    lines = [f"{ours.groups} {ours.key_kind} {ours.namespace_kind} {','.join(ours.names)} {the_rules}".strip()]
    for command in some:
        if command[0] in WHAT:
            what, service, key, namespace, timestamp = command
            lines.append(f"{what} {ours.names[service % len(ours.names)]} {ours.key(key)} {namespace} {timestamp}")
        elif command[0] == "snapshot":
            lines.append(f"snapshot {command[1] % ours.groups}")
        else:
            lines.append(" ".join(map(str, command)))
    return "\n".join(lines)


def test_services_fire_snapshot_and_restore_as_in_flink(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.TimerServices

    @differential.settings(60)
    @given(
        st.sampled_from([1, 2, 7, 128]), st.sampled_from(["string", "long"]),
        st.sampled_from(["void", "string", "window"]),
        st.lists(st.sampled_from(SERVICES), min_size=1, max_size=4, unique=True), rules, commands,
    )  # fmt: skip
    def compare(
        groups: int, key_kind: str, namespace_kind: str, names: list[str], the_rules: list[Any],
        some: list[tuple[Any, ...]],
    ) -> None:  # fmt: skip
        ours = OurServices(groups, key_kind, namespace_kind, names, the_rules)
        theirs = real.run(script_of(ours, some)).split("\n")
        with differential.comparing("InternalTimeServiceManagerImpl", commands=len(some)):
            for command, answer in zip(some, theirs, strict=True):
                assert ours.execute(command) == answer, command

    compare()


def test_timers_of_equal_time_fire_after_restore_as_in_flink(differential: Differential) -> None:
    """Rule 9.15: the order in which a snapshot is written and read decides the ties."""
    real = differential.flink.java.flowsim.differential.TimerServices

    @differential.settings(25)
    @given(
        st.sampled_from([1, 2, 128]), st.sampled_from(["string", "long"]), st.sampled_from(["void", "string", "window"]),
        st.lists(
            st.tuples(st.sampled_from(["re", "re", "rp"]), st.just(0), st.integers(0, 60), st.integers(0, 2),
                      st.integers(0, 2)),
            min_size=10, max_size=60,
        ),
    )  # fmt: skip
    def compare(groups: int, key_kind: str, namespace_kind: str, some: list[tuple[Any, ...]]) -> None:
        ours = OurServices(groups, key_kind, namespace_kind, ["user-timers"], [])
        whole = [*some, ("restore", 0, groups), ("wm", 0), ("pt", 1), ("restore", 0, groups), ("wm", 2), ("pt", 2)]
        theirs = real.run(script_of(ours, whole)).split("\n")
        with differential.comparing("InternalTimeServiceManagerImpl", commands=len(whole)):
            for command, answer in zip(whole, theirs, strict=True):
                assert ours.execute(command) == answer, command

    compare()


queue_commands = st.one_of(
    st.tuples(st.just("add"), keys, timestamps), st.tuples(st.just("add"), keys, st.integers(0, 5)),
    st.tuples(st.just("add"), st.integers(0, 60), st.integers(0, 300)), st.tuples(st.just("remove"), keys, timestamps),
    st.tuples(st.just("remove"), keys, st.integers(0, 5)), st.tuples(st.just("poll")), st.tuples(st.just("peek")),
    st.tuples(st.just("set"), st.integers(0, 7)),
)  # fmt: skip


def test_queue_moves_and_set_order_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.TimerQueues

    def answer(queue: HeapPriorityQueueSet, command: tuple[Any, ...], groups: int) -> str:
        def text(timer: InternalTimer | None) -> str:
            return "-" if timer is None else f"{timer.key},{timer.timestamp}"

        match command:
            case ("add", key, timestamp):
                reported = java_text(queue.add(InternalTimer(timestamp, f"k{key}", f"k{key}", None)))
            case ("remove", key, timestamp):
                reported = java_text(queue.remove(InternalTimer(timestamp, f"k{key}", f"k{key}", None)))
            case ("poll",):
                reported = text(queue.poll())
            case ("peek",):
                reported = text(queue.peek())
            case (_, group):
                reported = f"[{';'.join(map(text, queue.timers_of_key_group(group % groups)))}]"
        queue.validate()
        return f"{reported} {len(queue)}"

    @differential.settings(60)
    @given(st.sampled_from([1, 2, 3, 128]), st.lists(queue_commands, min_size=30, max_size=150))
    def compare(groups: int, some: list[tuple[Any, ...]]) -> None:
        lines = [f"128 0 {groups - 1} {groups}"]
        for command in some:
            name, *rest = command
            lines.append(
                " ".join(
                    map(str, [name, *([f"k{rest[0]}", rest[1]] if len(rest) == 2 else [r % groups for r in rest])])
                )
            )
        theirs = real.run("\n".join(lines)).split("\n")
        queue: HeapPriorityQueueSet = HeapPriorityQueueSet(KeyGroups(KeyGroupRange(0, groups - 1), groups, "STRING"))
        with differential.comparing("HeapPriorityQueueSet", commands=len(some)):
            for command, expected in zip(some, theirs, strict=True):
                assert answer(queue, command, groups) == expected, command

    compare()


map_keys = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(0, 40), st.integers(0, 60).map(lambda n: n * 1000),
    st.integers(0, 40).map(lambda n: n * 64), st.integers(0, 40).map(lambda n: n * 4096),
)  # fmt: skip


def without_crowded_bins(commands: list[tuple[str, object]], declared: Any) -> list[tuple[str, object]]:
    """Drops ninth keys of a bin with 64 bins: Java makes a tree of such a bin, flowsim does not (docs/deviations.md)."""
    present: dict[object, int] = {}
    kept = []
    for sign, key in commands:
        index = spread(java_hash(key, declared)) & 63
        if sign == "-":
            present.pop(key, None)
        elif key in present or list(present.values()).count(index) < 8:
            present[key] = index
        else:
            continue
        kept.append((sign, key))
    return kept


def test_hash_map_order_equals_javas(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.TimerQueues

    @differential.settings(40)
    @given(
        st.sampled_from(["long", "string"]),
        st.lists(st.tuples(st.sampled_from("+++-"), map_keys), min_size=20, max_size=150),
    )
    def compare(kind: str, some: list[tuple[str, int]]) -> None:
        declared = Types.LONG() if kind == "long" else Types.STRING()
        commands = without_crowded_bins(
            [(sign, number if kind == "long" else str(number)) for sign, number in some], declared
        )
        theirs = real.hashMap(kind, "\n".join(f"{sign}{key}" for sign, key in commands)).split("\n")
        ours = JavaHashMap[Any, bool](lambda key: java_hash(key, declared))
        with differential.comparing("java.util.HashMap", commands=len(commands)):
            for (sign, key), answer in zip(commands, theirs, strict=True):
                if sign == "+":
                    ours.put(key, True)
                else:
                    ours.remove(key)
                assert ",".join(map(str, ours)) == answer

    compare()


def test_system_timer_waits_one_millisecond_longer(differential: Differential) -> None:
    """Rule 9.10."""
    from flowsim.tasks.processing_time import processing_time_delay_ms

    pairs = [(at, now) for at in (0, 1, 5, 1000, 2**40, -3) for now in (0, 1, 4, 5, 6, 2**40 + 1)]
    theirs = differential.flink.java.flowsim.differential.TimerServices.delays("\n".join(f"{a} {n}" for a, n in pairs))
    with differential.comparing("ProcessingTimeServiceUtil", commands=len(pairs)):
        assert [processing_time_delay_ms(at, now) for at, now in pairs] == [int(delay) for delay in theirs.split(" ")]
