"""The order of a Java hash map, hand-computed; a differential test compares it with Java."""

from __future__ import annotations

from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import JavaHashMap, capacity_after, capacity_for, in_order_of_bins


def filled(*numbers: int) -> JavaHashMap[int, bool]:
    numbered = JavaHashMap[int, bool](java_hash)
    for number in numbers:
        numbered.put(number, True)
    return numbered


def test_keys_are_ordered_by_bin_then_insertion() -> None:
    assert list(filled(17, 2, 1, 18)) == [17, 1, 2, 18]


def test_key_keeps_its_position_until_removed() -> None:
    numbers = filled(1, 17, 33)
    numbers.put(1, False)
    assert list(numbers) == [1, 17, 33]
    assert numbers.get(1) is False
    assert numbers.remove(1) is False
    assert numbers.remove(1) is None
    numbers.put(1, True)
    assert list(numbers) == [17, 33, 1]


def test_thirteenth_key_doubles_table_and_removal_never_shrinks_it() -> None:
    numbers = filled(16, *range(11))
    assert list(numbers)[:2] == [16, 0]
    numbers.put(11, True)
    assert list(numbers)[-2:] == [11, 16]
    for number in range(1, 11):
        numbers.remove(number)
    assert list(numbers) == [0, 11, 16]


def test_ninth_key_of_bin_doubles_small_table() -> None:
    assert list(filled(*(16 * n for n in range(8)))) == [16 * n for n in range(8)]
    assert list(filled(*(16 * n for n in range(9)))) == [0, 32, 64, 96, 128, 16, 48, 80, 112]


def test_crowded_bin_of_large_table_keeps_insertion_order() -> None:
    """Java makes a tree of this bin, whose root comes first: 192, 0, 64, ... (docs/deviations.md)."""
    numbers = filled(*(64 * n for n in range(11)))
    assert list(numbers) == [64 * n for n in range(11)]
    numbers.remove(192)
    numbers.put(192, True)
    assert list(numbers) == [64 * n for n in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 3)]


def test_capacities_equal_javas() -> None:
    assert [capacity_for(n) for n in (0, 1, 2, 3, 6, 7, 12, 13)] == [1, 2, 4, 4, 8, 16, 16, 32]
    assert [capacity_after(n) for n in (0, 12, 13, 25)] == [16, 16, 32, 64]
    assert in_order_of_bins([9, 1, 8], java_hash, 8) == [8, 9, 1]
