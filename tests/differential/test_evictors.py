"""Every evictor beside the real one, on random lists (rule 10.31)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.windowing.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from flowsim.operators.windowing.windows import GLOBAL_WINDOW
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.flink.machine import Differential, java_text

timestamps = st.one_of(
    st.integers(-20, 40), st.integers(-20, 40), st.integers(NO_TIMESTAMP, NO_TIMESTAMP + 30), st.just(MAX_WATERMARK)
)
timed = st.builds(TimestampedValue, st.integers(-9, 9), timestamps)
untimed = st.builds(TimestampedValue, st.integers(-9, 9), st.none())
contents = st.one_of(
    st.lists(timed, max_size=12), st.lists(untimed, max_size=12), st.lists(st.one_of(timed, untimed), max_size=6)
)
numbers = {
    "count": st.integers(-2, 14).map(str),
    "time": st.one_of(st.integers(-3, 40), st.just(2**62)).map(str),
    "delta": st.one_of(st.integers(-6, 12).map(lambda n: n / 2), st.just(float("nan"))).map(
        lambda x: str(x).replace("nan", "NaN")
    ),
}


class NoQuestions:
    """What no evictor of Flink's asks."""

    def get_current_processing_time(self) -> int:
        raise AssertionError

    def get_current_watermark(self) -> int:
        raise AssertionError


def distance(one: object, other: object) -> float:
    assert isinstance(one, int)
    assert isinstance(other, int)
    return float(other - one)


def evictor(kind: str, number: str, after: bool) -> Evictor:
    match kind:
        case "count":
            return CountEvictor(int(number), after)
        case "time":
            return TimeEvictor(int(number), after)
    return DeltaEvictor(float(number), distance, after)


def left(ours: Evictor, elements: list[TimestampedValue], before: bool) -> str:
    method = ours.evict_before if before else ours.evict_after
    try:
        method(elements, len(elements), GLOBAL_WINDOW, NoQuestions())
    except BadInput:
        return "!IllegalStateException"
    return " ".join(str(element.value) for element in elements)


@pytest.mark.parametrize("kind", ["count", "time", "delta"])
def test_remaining_records_equal_flinks(differential: Differential, kind: str) -> None:
    real = differential.flink.java.flowsim.differential.Evictors
    cases = st.tuples(numbers[kind], st.booleans(), st.booleans(), contents)
    if kind == "delta":
        # The last record of nothing is an error there; the operator never asks for it.
        cases = cases.filter(lambda case: bool(case[3]))

    @differential.settings(25)
    @given(st.lists(cases, min_size=8, max_size=30))
    def compare(some: list[tuple[str, bool, bool, list[TimestampedValue]]]) -> None:
        script = []
        for number, after, before, elements in some:
            words = [f"{e.value}" if e.timestamp is None else f"{e.value}@{e.timestamp}" for e in elements]
            script.append(" ".join([kind, number, java_text(after), "before" if before else "after", *words]))
        theirs = real.run("\n".join(script)).split("\n")
        with differential.comparing(f"{kind} evictor", commands=len(some)):
            mine = [left(evictor(kind, number, after), list(e), before) for number, after, before, e in some]
            assert mine == theirs

    compare()
