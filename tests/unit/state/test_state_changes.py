"""Recorded changes of keyed state: each change once, with the remaining entries (table ``state_changes``)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.datastream.common.time import Duration
from flowsim.datastream.state import StateTtlConfig
from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.facts.kinds import Level, StateAction
from flowsim.facts.schema import RECORD_VALUES, STATE_CHANGES, STATES
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.windowing.windows import TimeWindow
from flowsim.recording.memory import MemoryRecorder
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
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_ttl_config import TtlBuilder
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, State, ValueState
from flowsim.task_clock import TaskClock
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.values.types import Types

LONG, STRING = Types.LONG(), Types.STRING()
PUT, ADD, REMOVE, CLEAR, EXPIRE, *_ = StateAction

Shown = tuple[StateAction, int, str]


class Mean:
    """Sum and count; the result is their quotient."""

    def create_accumulator(self) -> object:
        return (0, 0)

    def add(self, value: object, accumulator: object) -> object:
        assert isinstance(accumulator, tuple)
        assert isinstance(value, int)
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: object) -> object:
        assert isinstance(accumulator, tuple)
        return accumulator[0] // accumulator[1]

    def merge(self, acc_a: object, acc_b: object) -> object:
        assert isinstance(acc_a, tuple)
        assert isinstance(acc_b, tuple)
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


def total(first: object, second: object) -> object:
    assert isinstance(first, int)
    assert isinstance(second, int)
    return first + second


class Backend(KeyedStateBackend):
    """One with a clock that tests set, a current key, and a recorder."""

    __slots__ = ("now", "recorder", "read")

    def __init__(self, key: str | None = "k") -> None:
        self.recorder = MemoryRecorder(Level.FULL, records_state=True)
        trace = TaskTrace(0, TaskClock(5), self.recorder)
        changes = StateChanges(trace, 2, KeyFacts(trace, None))
        super().__init__(KeyGroupRange(0, 127), 128, None, lambda: self.now, changes=changes)
        self.now = 100
        self.read = 0
        if key is not None:
            self.set_current_key(key)

    def rows(self) -> list[dict[str, int]]:
        """The facts since the last call."""
        rows = self.recorder.rows(STATE_CHANGES.name)[self.read :]
        self.read += len(rows)
        return [dict(zip(STATE_CHANGES.names, row, strict=True)) for row in rows]

    def shown(self) -> list[Shown]:
        """Of each fact since the last call its action, the entries left, and the value behind its fingerprint."""
        values = {row[0]: str(row[2]) for row in self.recorder.static_rows(RECORD_VALUES.name)}
        found = [(row["action"], row["entries"], row["fingerprint"]) for row in self.rows()]
        return [(StateAction(action), entries, values[number] if number else "") for action, entries, number in found]


@pytest.fixture
def backend() -> Backend:
    return Backend()


def ten_ms() -> TtlBuilder:
    return StateTtlConfig.new_builder(Duration.of_millis(10)).disable_cleanup_in_background()


def living(descriptor: StateDescriptor, builder: TtlBuilder | None = None) -> None:
    descriptor.enable_time_to_live((builder or ten_ms()).build())


def test_state_change_has_operator_key_state_and_window(backend: Backend) -> None:
    backend.store().get_state(ValueStateDescriptor("one", LONG)).update(1)
    backend.store(TimeWindow(10, 20)).get_list_state(ListStateDescriptor("two", LONG)).add(1)
    first, second = backend.rows()
    assert (first["task"], first["operator"], first["time_ns"], first["key_hash"]) == (0, 2, 5, 107)
    assert (first["state"], first["window_start"], first["window_end"]) == (0, 0, 0)
    assert (second["state"], second["window_start"], second["window_end"]) == (1, 10, 20)
    assert (first["seq"], second["seq"], first["key"] == second["key"] != 0) == (0, 1, True)
    assert backend.recorder.static_rows(STATES.name) == [(0, 2, 0, "one", "value"), (0, 2, 1, "two", "list")]


def test_value_state_records_writes_and_clears_but_no_reads(backend: Backend) -> None:
    count = backend.store().get_state(ValueStateDescriptor("count", LONG))
    count.clear()
    assert count.value() is None
    count.update(1)
    count.update([1, 2])
    assert count.value() == [1, 2]
    count.update(None)
    count.update(None)
    assert backend.shown() == [(PUT, 1, "1"), (PUT, 1, "[1,2]"), (CLEAR, 0, "")]


def test_refused_value_is_not_recorded(backend: Backend) -> None:
    with pytest.raises(ValueNotAllowed):
        backend.store().get_state(ValueStateDescriptor("count", LONG)).update(memoryview(b"x"))
    with pytest.raises(ValueNotAllowed):
        backend.store().get_list_state(ListStateDescriptor("seen", LONG)).add(None)
    assert backend.shown() == []


def test_list_state_records_each_element_and_length(backend: Backend) -> None:
    seen = backend.store().get_list_state(ListStateDescriptor("seen", LONG))
    seen.add(1)
    seen.add_all(iter([2, 3]))
    seen.update([4, 5])
    assert list(seen) == [4, 5]
    seen.update([])
    seen.clear()
    assert backend.shown() == [(ADD, 1, "1"), (ADD, 3, "2"), (ADD, 3, "3"), (PUT, 2, "[4,5]"), (CLEAR, 0, "")]


def test_map_state_records_each_entry_and_size(backend: Backend) -> None:
    rates = backend.store().get_map_state(MapStateDescriptor("rates", STRING, LONG))
    rates["a"] = 1
    rates.put_all({"b": 2, "c": 3})
    rates.append("d", 4)
    rates.remove("x")
    del rates["a"]
    assert ("b" in rates, rates["b"], rates.keys(), rates.is_empty()) == (True, 2, ["b", "c", "d"], False)
    for key in "bc":
        rates.remove(key)
    rates.remove("d")
    rates.put("e", 5)
    rates.clear()
    puts = [(PUT, 1, '["a",1]'), (PUT, 3, '["b",2]'), (PUT, 3, '["c",3]'), (ADD, 4, '["d",4]')]
    removes = [(REMOVE, 3, '"a"'), (REMOVE, 2, '"b"'), (REMOVE, 1, '"c"'), (REMOVE, 0, '"d"')]
    assert backend.shown() == [*puts, *removes, (PUT, 1, '["e",5]'), (CLEAR, 0, "")]


def test_map_state_lends_the_items_in_a_range(backend: Backend) -> None:
    times = backend.store().get_map_state(MapStateDescriptor("times", LONG, LONG))
    times.put_all({17: 1, 2: 2, 1: 3, 5: 4})
    assert times.borrowed_between(1, 17) == [(17, 1), (1, 3), (2, 2), (5, 4)]
    assert times.borrowed_between(2, 16) == [(2, 2), (5, 4)]
    assert times.borrowed_between(6, 1) == []


def test_reducing_and_aggregating_states_record_result_of_add(backend: Backend) -> None:
    reduced = backend.store().get_reducing_state(ReducingStateDescriptor("sum", total, LONG))
    mean = backend.store().get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), LONG))
    for state in (reduced, mean):
        state.add(2)
        state.add(4)
    assert (reduced.get(), mean.get()) == (6, 3)
    reduced.add(None)
    mean.clear()
    found = backend.shown()
    assert found[:4] == [(ADD, 1, "2"), (ADD, 1, "6"), (ADD, 1, "[2,1]"), (ADD, 1, "[6,2]")]
    assert found[4:] == [(CLEAR, 0, ""), (CLEAR, 0, "")]


@pytest.mark.parametrize("lives", [False, True])
def test_merge_records_clear_of_absorbed_namespaces_and_put_of_target(backend: Backend, lives: bool) -> None:
    descriptor = ReducingStateDescriptor("sum", total, LONG)
    if lives:
        living(descriptor)
    for start, value in ((0, 1), (10, 2)):
        backend.store(TimeWindow(start, start + 5)).get_reducing_state(descriptor).add(value)
    backend.rows()
    target = backend.store(TimeWindow(0, 20)).get_reducing_state(descriptor)
    target.merge_namespaces([TimeWindow(0, 5), TimeWindow(10, 15), TimeWindow(15, 16)])
    facts = [(row["action"], row["window_start"], row["window_end"], row["entries"]) for row in backend.rows()]
    assert facts == [(CLEAR, 0, 5, 0), (CLEAR, 10, 15, 0), (PUT, 0, 20, 1)]


def test_merged_list_is_recorded_whole(backend: Backend) -> None:
    descriptor = ListStateDescriptor("seen", LONG)
    living(descriptor)
    backend.store(TimeWindow(0, 5)).get_list_state(descriptor).add_all([1, 2])
    backend.rows()
    backend.store(TimeWindow(0, 9)).get_list_state(descriptor).merge_namespaces([TimeWindow(0, 5)])
    assert backend.shown() == [(CLEAR, 0, ""), (PUT, 2, "[1,2]")]


def test_read_of_expired_single_value_is_recorded(backend: Backend) -> None:
    value, reduced = ValueStateDescriptor("value", LONG), ReducingStateDescriptor("sum", total, LONG)
    mean = AggregatingStateDescriptor("mean", Mean(), LONG)
    for descriptor in (value, reduced, mean):
        living(descriptor)
    store = backend.store()
    store.get_state(value).update(1)
    store.get_reducing_state(reduced).add(1)
    store.get_aggregating_state(mean).add(1)
    assert [action for action, _, _ in backend.shown()] == [PUT, ADD, ADD]
    backend.now = 110
    assert store.get_state(value).value() is None
    assert store.get_reducing_state(reduced).get() is None
    assert store.get_aggregating_state(mean).get() is None
    assert store.get_state(value).value() is None
    assert backend.shown() == [(EXPIRE, 0, "")] * 3


def test_read_of_expired_map_entries_records_key_or_remaining_size(backend: Backend) -> None:
    descriptor = MapStateDescriptor("rates", STRING, LONG)
    living(descriptor)
    rates = backend.store().get_map_state(descriptor)
    rates.put_all({"a": 1, "b": 2, "c": 3, "d": 4})
    backend.now = 105
    rates["e"] = 5
    backend.shown()
    backend.now = 110
    assert (rates["a"], "b" in rates, rates["e"]) == (None, False, 5)
    assert rates.items() == [("e", 5)]
    assert backend.shown() == [(EXPIRE, 4, '"a"'), (EXPIRE, 3, '"b"'), (EXPIRE, 1, "")]


def test_renewing_read_of_map_records_expired_entries(backend: Backend) -> None:
    descriptor = MapStateDescriptor("rates", STRING, LONG)
    living(descriptor, ten_ms().update_ttl_on_read_and_write())
    rates = backend.store().get_map_state(descriptor)
    rates["a"] = 1
    backend.now = 105
    rates["b"] = 2
    backend.shown()
    backend.now = 112
    assert rates.items() == [("b", 2)]
    assert backend.shown() == [(EXPIRE, 1, "")]


def test_renewing_read_of_list_records_expired_elements(backend: Backend) -> None:
    descriptor = ListStateDescriptor("seen", LONG)
    living(descriptor, ten_ms().update_ttl_on_read_and_write())
    seen = backend.store().get_list_state(descriptor)
    seen.add(1)
    backend.now = 105
    seen.add(2)
    backend.shown()
    backend.now = 112
    assert seen.get() == [2]
    assert seen.get() == [2]
    backend.now = 130
    assert seen.get() == []
    assert backend.shown() == [(EXPIRE, 1, ""), (EXPIRE, 0, "")]


def test_read_that_only_renews_ttl_is_not_recorded(backend: Backend) -> None:
    descriptor = ValueStateDescriptor("value", LONG)
    living(descriptor, ten_ms().update_ttl_on_read_and_write())
    value = backend.store().get_state(descriptor)
    value.update(1)
    backend.now = 105
    assert value.value() == 1
    assert backend.shown() == [(PUT, 1, "1")]


def cleaned_up() -> TtlBuilder:
    return StateTtlConfig.new_builder(Duration.of_millis(10)).cleanup_incrementally(10, False)


def test_cleanup_records_expired_state_of_other_keys(backend: Backend) -> None:
    descriptor = ListStateDescriptor("seen", LONG)
    living(descriptor, cleaned_up())
    seen = backend.store().get_list_state(descriptor)
    seen.add(1)
    backend.now = 105
    seen.add(2)
    dropped = backend.rows()[0]["key"]
    backend.now = 112
    backend.set_current_key("other")
    seen.add(3)
    first, added = backend.rows()
    assert (first["action"], first["entries"], first["key"] == dropped) == (EXPIRE, 1, True)
    assert (added["action"], added["key"] == dropped) == (ADD, False)
    backend.now = 116
    for _ in range(30):  # the cleanup goes through a table of 128 buckets, ten at a time
        seen.add(4)
    expired = [row for row in backend.rows() if row["action"] == EXPIRE]
    assert [(row["entries"], row["key"] == dropped) for row in expired] == [(0, True)]


def test_cleanup_of_current_key_is_recorded_once(backend: Backend) -> None:
    descriptor = ValueStateDescriptor("value", LONG)
    living(descriptor, cleaned_up())
    value = backend.store().get_state(descriptor)
    value.update(1)
    backend.now = 110
    assert value.value() is None
    assert [action for action, _, _ in backend.shown()] == [PUT, EXPIRE]


def test_state_without_key_is_refused() -> None:
    with pytest.raises(BadInput, match="state 'count': no key is set"):
        Backend(key=None).store().get_state(ValueStateDescriptor("count", LONG)).update(1)


OF_KINDS: list[tuple[type[State], Callable[[Backend], State]]] = [
    (ValueState, lambda b: b.store().get_state(ValueStateDescriptor("s", LONG))),
    (ListState, lambda b: b.store().get_list_state(ListStateDescriptor("s", LONG))),
    (MapState, lambda b: b.store().get_map_state(MapStateDescriptor("s", LONG, LONG))),
    (ReducingState, lambda b: b.store().get_reducing_state(ReducingStateDescriptor("s", total, LONG))),
    (AggregatingState, lambda b: b.store().get_aggregating_state(AggregatingStateDescriptor("s", Mean(), LONG))),
]
FORWARDED = {"keys", "values", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__"}
"""Made of others of their class."""


@pytest.mark.parametrize(("kind", "make"), OF_KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_observed_state_overrides_every_method_of_its_kind(
    kind: type[State], make: Callable[[Backend], State], backend: Backend
) -> None:
    observed = make(backend)
    assert isinstance(observed, kind)
    public = {
        name
        for base in kind.__mro__[:-1]
        for name, member in vars(base).items()
        if callable(member) and (not name.startswith("_") or name in FORWARDED)
    }
    own = type(observed)
    assert [name for name in sorted(public - FORWARDED) if getattr(own, name) is getattr(kind, name)] == []
