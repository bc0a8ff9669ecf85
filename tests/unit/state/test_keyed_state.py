"""Keyed state: one cell per name, namespace and key."""

from __future__ import annotations

import math

import pytest

from flowsim.errors import BadInput, InvariantViolation, ValueNotAllowed
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import assign_to_key_group
from flowsim.state.keyed_state import KeyedStateBackend, StateEntry
from flowsim.values.types import Types

LONG, STRING = Types.LONG(), Types.STRING()
COUNT = ValueStateDescriptor("count", LONG)
SEEN = ListStateDescriptor("seen", LONG)
BY_NAME = MapStateDescriptor("by_name", STRING, LONG)


class Mean:
    """An aggregate whose accumulator is a list that it changes in place, as users do."""

    def create_accumulator(self) -> object:
        return [0, 0]

    def add(self, value: object, accumulator: object) -> object:
        assert isinstance(accumulator, list)
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: object) -> object:
        assert isinstance(accumulator, list)
        total, count = accumulator
        accumulator.clear()
        return total / count

    def merge(self, acc_a: object, acc_b: object) -> object:
        assert isinstance(acc_a, list)
        assert isinstance(acc_b, list)
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


MEAN = AggregatingStateDescriptor("mean", Mean(), Types.LIST(LONG))
LONGEST = ReducingStateDescriptor("longest", lambda a, b: max(str(a), str(b), key=len), STRING)


@pytest.fixture
def backend() -> KeyedStateBackend:
    return KeyedStateBackend(KeyGroupRange(0, 127), 128)


def test_each_key_has_its_own_value(backend: KeyedStateBackend) -> None:
    count = backend.store().get_state(COUNT)
    for key in (1, 1.0, True, "1", math.nan, (1,), -0.0, 0.0):
        backend.set_current_key(key)
        assert count.value() is None
        count.update(repr(key))
    for key in (1, 1.0, True, "1", float("-nan"), (1,), -0.0, 0.0):
        backend.set_current_key(key)
        assert count.value() == repr(key)
        backend.validate()


def test_cleared_value_is_none_and_its_key_removed(backend: KeyedStateBackend) -> None:
    count = backend.store().get_state(COUNT)
    backend.set_current_key("a")
    count.clear()
    count.update(1)
    assert backend.key_groups() == [81]
    count.update(None)
    assert (count.value(), backend.key_groups()) == (None, [])
    count.update(2)
    count.clear()
    assert (count.value(), backend.entries_of_key_group(81)) == (None, [])
    backend.validate()


def test_names_and_namespaces_separate_states(backend: KeyedStateBackend) -> None:
    backend.set_current_key("a")
    stores = [backend.store(namespace) for namespace in (None, (0, 10), (10, 20))]
    for i, store in enumerate(stores):
        store.get_state(COUNT).update(i)
        store.get_state(ValueStateDescriptor("other", LONG)).update(-i)
    assert [store.get_state(COUNT).value() for store in stores] == [0, 1, 2]
    stores[1].get_state(COUNT).clear()
    assert [store.get_state(COUNT).value() for store in stores] == [0, None, 2]
    assert stores[1].get_state(ValueStateDescriptor("other", LONG)).value() == -1


def test_list_state_adds_updates_and_is_cleared_by_empty_update(backend: KeyedStateBackend) -> None:
    seen = backend.store().get_list_state(SEEN)
    backend.set_current_key("a")
    assert seen.get() == []
    seen.add(1)
    seen.add_all([2, 3])
    assert seen.get() == [1, 2, 3]
    seen.update([4])
    seen.add_all([])
    assert seen.get() == [4]
    seen.update([])
    assert (seen.get(), backend.key_groups()) == ([], [])


def test_list_state_refuses_none_and_is_unchanged(backend: KeyedStateBackend) -> None:
    seen = backend.store().get_list_state(SEEN)
    backend.set_current_key("a")
    seen.add(1)
    with pytest.raises(ValueNotAllowed, match="state 'seen': a list state cannot contain None"):
        seen.update([2, None])
    with pytest.raises(ValueNotAllowed, match="state 'seen': a list state cannot contain None"):
        seen.add_all([2, None])
    assert seen.get() == [1]


def test_map_state_compares_keys_as_java(backend: KeyedStateBackend) -> None:
    by_name = backend.store().get_map_state(BY_NAME)
    backend.set_current_key("a")
    assert (by_name.is_empty(), by_name.get("x"), by_name.contains("x")) == (True, None, False)
    by_name.put(1, "int")
    by_name.put(True, "bool")
    by_name[1.0] = "float"
    by_name.put_all({"x": None, "y": 2})
    # By the low bits of their hash codes, as in a java.util.HashMap.
    assert by_name.items() == [(1.0, "float"), (1, "int"), ("x", None), ("y", 2), (True, "bool")]
    assert (by_name.keys(), by_name.values()) == ([1.0, 1, "x", "y", True], ["float", "int", None, 2, "bool"])
    assert [type(key) for key in by_name] == [float, int, str, str, bool]
    assert ("x" in by_name, by_name["x"], by_name.is_empty()) == (True, None, False)
    by_name.remove("nothing")
    for key in (1, True, 1.0, "x"):
        del by_name[key]
    assert by_name.items() == [("y", 2)]
    by_name.remove("y")
    assert (by_name.is_empty(), backend.key_groups()) == (True, [])


def test_reducing_and_aggregating_states_fold_added_values(backend: KeyedStateBackend) -> None:
    longest, mean = backend.store().get_reducing_state(LONGEST), backend.store().get_aggregating_state(MEAN)
    backend.set_current_key("a")
    assert (longest.get(), mean.get()) == (None, None)
    for text in ("a", "ccc", "bb"):
        longest.add(text)
        mean.add(len(text))
    assert (longest.get(), mean.get(), mean.get()) == ("ccc", 2.0, 2.0)
    longest.add(None)
    mean.add(None)
    assert (longest.get(), mean.get(), backend.key_groups()) == (None, None, [])


def test_namespaces_merge_in_order_into_target(backend: KeyedStateBackend) -> None:
    backend.set_current_key("other")
    backend.store("w1").get_list_state(SEEN).add(9)
    backend.set_current_key("a")
    for window, number in (("w1", 1), ("w2", 2), ("target", 3)):
        backend.store(window).get_list_state(SEEN).add(number)
        backend.store(window).get_reducing_state(LONGEST).add("x" * number)
        backend.store(window).get_aggregating_state(MEAN).add(number)
    target = backend.store("target")
    for state in (target.get_list_state(SEEN), target.get_reducing_state(LONGEST), target.get_aggregating_state(MEAN)):
        state.merge_namespaces(["w2", "empty", "w1"])
    assert target.get_list_state(SEEN).get() == [3, 2, 1]
    assert target.get_reducing_state(LONGEST).get() == "xxx"
    assert target.get_aggregating_state(MEAN).get() == 2.0
    assert backend.store("w1").get_list_state(SEEN).get() == []
    backend.store("new").get_list_state(SEEN).merge_namespaces(["target"])
    backend.store("new").get_list_state(SEEN).merge_namespaces(["empty"])
    assert backend.store("new").get_list_state(SEEN).get() == [3, 2, 1]
    backend.set_current_key("other")
    assert backend.store("w1").get_list_state(SEEN).get() == [9]


def test_state_is_independent_of_objects_put_in_or_taken_out(backend: KeyedStateBackend) -> None:
    store = backend.store()
    value, seen, by_name = store.get_state(COUNT), store.get_list_state(SEEN), store.get_map_state(BY_NAME)
    backend.set_current_key("a")
    content: list[object] = [1]
    value.update(content)
    seen.add(content)
    by_name.put("k", content)
    content.append(2)
    for taken in (value.value(), seen.get()[0], by_name.get("k"), by_name.values()[0], by_name.items()[0][1]):
        assert isinstance(taken, list)
        assert taken == [1]
        taken.append(3)
    assert (value.value(), seen.get(), by_name.items()) == ([1], [[1]], [("k", [1])])


def test_invalid_value_is_refused_with_name_of_state(backend: KeyedStateBackend) -> None:
    backend.set_current_key("a")
    store = backend.store()
    with pytest.raises(ValueNotAllowed, match=r"state 'count': value\[1\]: builtins.memoryview is not a record value"):
        store.get_state(COUNT).update((1, memoryview(b"x")))
    with pytest.raises(ValueNotAllowed, match="state 'by_name'"):
        store.get_map_state(BY_NAME).put("k", memoryview(b"x"))
    with pytest.raises(ValueNotAllowed, match="cannot be a key"):
        store.get_map_state(BY_NAME).put([1], 2)
    assert backend.key_groups() == []


def test_state_entries_are_returned_per_key_group(backend: KeyedStateBackend) -> None:
    keys = ["a", "b", "user-1", 7, 42, (1, "x")]
    for key in keys:
        backend.set_current_key(key)
        backend.store().get_state(COUNT).update(0)
        backend.store("w").get_map_state(BY_NAME).put("n", 1)
    groups = sorted({assign_to_key_group(key, 128) for key in keys})
    assert backend.key_groups() == groups
    entries = [entry for group in range(128) for entry in backend.entries_of_key_group(group)]
    assert len(entries) == 2 * len(keys)
    assert backend.entries_of_key_group(81) == [
        StateEntry("count", None, "a", 0),
        StateEntry("by_name", "w", "a", [("n", 1)]),
    ]


def test_declared_key_type_determines_key_group() -> None:
    for key_type in ("INT", "LONG"):
        backend = KeyedStateBackend(KeyGroupRange(0, 127), 128, key_type)
        backend.set_current_key(-1)
        backend.store().get_state(COUNT).update(1)
        assert backend.key_groups() == [assign_to_key_group(-1, 128, key_type)]


def test_key_of_other_subtask_is_refused() -> None:
    backend = KeyedStateBackend(KeyGroupRange(0, 63), 128)
    backend.set_current_key("a")
    with pytest.raises(InvariantViolation, match="key 'a' of key group 81 reached a subtask that owns 0 to 63"):
        backend.store().get_state(COUNT).update(1)


def test_state_name_has_one_kind(backend: KeyedStateBackend) -> None:
    backend.store().get_state(COUNT)
    with pytest.raises(BadInput, match="'count' was declared with a ValueStateDescriptor before and now with a List"):
        backend.store("w").get_list_state(ListStateDescriptor("count", LONG))
    with pytest.raises(BadInput, match="expected a MapStateDescriptor, got ValueStateDescriptor"):
        backend.store().get_map_state(COUNT)  # type: ignore[arg-type]


def test_descriptor_without_name_or_type_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a name"):
        ValueStateDescriptor("", LONG)
    with pytest.raises(BadInput, match=r"state 'x': expected a type such as Types.LONG\(\), got 'LONG'"):
        MapStateDescriptor("x", "LONG", LONG)  # type: ignore[arg-type]
    assert (COUNT.get_name(), COUNT.type_info) == ("count", LONG)
    assert MEAN.get_agg_function().create_accumulator() == [0, 0]
    assert LONGEST.get_reduce_function().reduce("a", "bb") == "bb"
