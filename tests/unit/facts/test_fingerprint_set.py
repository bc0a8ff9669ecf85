"""FingerprintSet: what it contains, compared with Python's set."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from flowsim.facts.fingerprint_set import FingerprintSet

HIGHEST = (1 << 63) - 1

# Numbers that choose the same slots, also the last one and the first one after it.
fingerprints = st.one_of(st.integers(0, 40), st.integers(HIGHEST - 40, HIGHEST), st.integers(0, HIGHEST))


@given(st.lists(fingerprints, max_size=300))
def test_add_returns_true_only_for_the_first_occurrence(numbers: list[int]) -> None:
    ours, expected = FingerprintSet(), set[int]()
    for number in numbers:
        assert ours.add(number) is (number not in expected)
        expected.add(number)
    assert (set(ours.values()), len(ours)) == (expected, len(expected))


def test_set_finds_its_fingerprints_after_each_growth() -> None:
    random, ours = Random(1), FingerprintSet()
    numbers = [random.getrandbits(63) for _ in range(5_000)]
    assert all(ours.add(number) for number in numbers)
    assert not any(ours.add(number) for number in numbers)
    assert (len(ours), sorted(ours.values())) == (5_000, sorted(numbers))


@given(st.lists(fingerprints, max_size=100), st.lists(fingerprints, max_size=100), st.integers(0, 4))
def test_set_keeps_and_accepts_only_fingerprints_without_the_bits_of_its_mask(
    before: list[int], after: list[int], bits: int
) -> None:
    ours, mask = FingerprintSet(), (1 << bits) - 1
    for number in before:
        ours.add(number)
    ours.keep(mask)
    for number in after:
        ours.add(number)
    assert set(ours.values()) == {number for number in (*before, *after) if not number & mask}


def test_copy_is_independent_and_has_the_same_mask() -> None:
    ours = FingerprintSet()
    ours.keep(1)
    for number in range(100):
        ours.add(number)
    copied = ours.copy()
    assert sorted(copied.values()) == list(range(0, 100, 2))
    assert (copied.add(101), copied.add(102), ours.add(102)) == (False, True, True)
