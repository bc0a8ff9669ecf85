"""The order of a Java hash map, hand-computed without trees; differential tests compare the trees with Java."""

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


def test_tree_bin_starts_with_its_root() -> None:
    assert list(filled(*(64 * n for n in range(11)))) == [192, 0, 64, 128, 256, 320, 384, 448, 512, 576, 640]


def test_new_key_follows_its_parent_in_tree_and_tree_is_balanced_as_in_java() -> None:
    """The answer of java.util.HashMap."""
    numbers = filled(*(64 * n for n in (3, 9, 1, 12, 7, 0, 5, 11, 2, 8, 10, 4, 6, 13)))
    numbers.remove(576)
    assert list(numbers) == [448, 192, 64, 768, 832, 0, 320, 384, 256, 704, 128, 512, 640]


def test_small_tree_becomes_list_again() -> None:
    numbers = filled(*(64 * n for n in range(11)))
    for n in range(10, 2, -1):
        numbers.remove(64 * n)
    assert sorted(numbers) == [0, 64, 128]
    numbers.put(640, True)
    assert list(numbers)[-1] == 640


def test_capacities_equal_javas() -> None:
    assert [capacity_for(n) for n in (0, 1, 2, 3, 6, 7, 12, 13)] == [1, 2, 4, 4, 8, 16, 16, 32]
    assert [capacity_after(n) for n in (0, 12, 13, 25)] == [16, 16, 32, 64]
    assert in_order_of_bins([9, 1, 8], java_hash, 8) == [8, 9, 1]
