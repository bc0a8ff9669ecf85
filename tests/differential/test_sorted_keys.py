"""The order of sorted inputs, beside Flink's serializers and its QuickSort."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flowsim.tasks.inputs.quick_sort import sorted_order
from flowsim.values.java_key_bytes import sort_key
from tests.support.flink.keys import Key, keys
from tests.support.flink.machine import Differential

RANKS = st.one_of(
    st.lists(st.integers(0, 4), min_size=1, max_size=300),
    st.lists(st.integers(), min_size=1, max_size=100, unique=True).map(
        lambda some: [sorted(some).index(each) for each in some]
    ),
)


DIVIDED_UNEVENLY = [
    *(
        0,
        40,
        2,
        60,
        4,
        42,
        6,
        70,
        8,
        44,
        10,
        62,
        12,
        46,
        14,
        71,
        16,
        48,
        18,
        64,
        20,
        50,
        22,
        72,
        24,
        52,
        26,
        66,
        28,
        54,
    ),
    *(30, 73, 32, 56, 34, 69, 36, 58, 38, 68, *range(3, 69, 2), 80, *range(74, 79), 1),
]
"""So unevenly that the sort goes on with a heap."""


def test_order_of_records_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.SortedKeys

    @differential.settings(60)
    @given(RANKS)
    def compare(ranks: list[int]) -> None:
        with differential.comparing("QuickSort", commands=len(ranks)):
            assert sorted_order(ranks) == json.loads(real.sorted(json.dumps(ranks)))

    compare()
    for numbers in (DIVIDED_UNEVENLY, [each // 3 for each in DIVIDED_UNEVENLY], [*range(300), *range(300, 0, -1)]):
        assert sorted_order(numbers) == json.loads(real.sorted(json.dumps(numbers)))


def test_place_of_key_is_that_of_flinks_bytes(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.SortedKeys

    @differential.settings(60)
    @given(st.lists(keys, min_size=8, max_size=24))
    def compare(some: list[Key]) -> None:
        theirs = json.loads(real.serialized(json.dumps([code for _, _, code in some])))
        with differential.comparing("serialized keys", commands=len(some)):
            for (key, declared, _), signed in zip(some, theirs, strict=True):
                assert [byte - 128 for byte in sort_key(key, declared)] == signed, (key, declared.name)

    compare()
