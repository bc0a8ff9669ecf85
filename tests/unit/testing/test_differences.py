"""Where two values differ, and how a message shows it."""

from __future__ import annotations

from collections import Counter

import pytest

from flowsim.testing.differences import (
    Difference,
    difference_of,
    first_difference,
    missing_text,
    shown,
    swapped_texts,
    texts_of,
)


def test_descends_to_what_differs() -> None:
    per_subtask = difference_of({"a": [[1], [2, 3]], "b": [[4]]}, {"a": [[1], [3, 2]], "b": [[5]]})
    assert per_subtask == Difference([2, 3], [3, 2], ("a", 1))
    assert per_subtask.lines() == ("expected ['a'][1]: [2, 3]", "found ['a'][1]:    [3, 2]")
    assert difference_of([1, (2, 3)], [1, (3, 2)]).place == ()
    assert difference_of([[1]], [[1], [2]]).place == ()


def test_missing_key_is_found_before_differing_values() -> None:
    found = difference_of({"a": [1], "b": [2]}, {"a": [0]}, ("first", "other"))
    assert found.is_missing
    assert found.lines() == ("first ['b']: [2]", "other ['b']: nothing")
    assert difference_of({"a": 1}, {"a": 1, "b": 2}).place == ()
    assert difference_of(Counter("ab"), Counter("a")).place == ()


def test_first_difference_is_a_position_of_lists() -> None:
    assert first_difference([1, 2, 3], [1, 3, 2]) == 1
    assert first_difference([1], [1, 2]) == 1
    assert first_difference([1], [1]) is None
    assert first_difference("ab", "ba") is None


def test_long_values_are_cut_around_the_difference() -> None:
    many = list(range(1000))
    assert shown(many, 500) == ("[..., 498, 499, 500, 501, 502, 503, 504, 505, ...] (1,000 values, from position 498)")
    assert shown(tuple(many), 999) == "(..., 997, 998, 999) (1,000 values, from position 997)"
    assert len(shown(many)) == 303
    assert shown("one\ntwo") == r"'one\ntwo'"


def test_sets_are_shown_in_the_order_of_their_texts() -> None:
    assert shown({"d", "b", "a", "c"}) == "set('a', 'b', 'c', 'd')"
    assert shown(frozenset()) == "frozenset()"


def test_texts_are_those_of_a_recording() -> None:
    assert texts_of([("a", 1), 2.5]) == ['["a",1]', "2.5"]
    assert texts_of({"b", "a"}) == ['"a"', '"b"']
    assert texts_of(Counter({"a": 2})) == ['"a"', '"a"']
    for other in ("ab", 7, None, [lambda: 0]):
        assert texts_of(other) is None


@pytest.mark.parametrize(
    ("expected", "found", "swapped", "missing"),
    [
        ("abc", "acb", ("b", "c"), None),
        ("abc", "abc", None, None),
        ("abb", "bab", None, None),
        ("ab", "a", None, "b"),
        ("aab", "ab", None, "a"),
        ("ab", "abc", None, None),
    ],
)
def test_swapped_and_missing_texts(
    expected: str, found: str, swapped: tuple[str, str] | None, missing: str | None
) -> None:
    assert swapped_texts(expected, found) == swapped
    assert missing_text(expected, found) == missing
