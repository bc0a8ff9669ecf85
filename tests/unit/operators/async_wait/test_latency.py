"""Latencies of simulated calls: drawn from a seed, in whole nanoseconds, never below 0."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from random import Random
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.async_wait.latency import (
    MAX_LATENCY_NS,
    ExponentialLatency,
    FixedLatency,
    Latency,
    LognormalLatency,
    NormalLatency,
    RecordLatency,
    SpikyLatency,
    TraceLatency,
    UniformLatency,
)
from flowsim.operators.stream_operator import Value

MS = 1_000_000


def drawn(latency: Latency, count: int, seed: int = 1) -> list[int]:
    random = Random(seed)
    return [latency.draw_ns(None, random) for _ in range(count)]


def percentile(latencies: list[int], share: float) -> int:
    return sorted(latencies)[int(share * len(latencies))]


durations = st.integers(0, 10**15)
latencies = st.one_of(
    st.builds(FixedLatency, durations),
    st.builds(lambda low, more: UniformLatency(low, low + more), durations, durations),
    st.builds(NormalLatency, durations, durations),
    st.builds(
        lambda m, ratio: LognormalLatency.of_percentiles(m + 1, (m + 1) * ratio), durations, st.integers(1, 10**10)
    ),
    st.builds(LognormalLatency, durations.map(lambda ns: ns + 1), st.floats(0, 10)),
    st.builds(ExponentialLatency, durations),
    st.lists(durations, min_size=1, max_size=5).map(TraceLatency),
)


@given(latencies, st.integers(0, 2**32))
def test_latency_is_whole_nanoseconds_and_equal_for_equal_seeds(latency: Latency, seed: int) -> None:
    first = drawn(copy.deepcopy(latency), 20, seed)
    assert all(type(ns) is int and 0 <= ns <= max(MAX_LATENCY_NS, 2 * 10**15) for ns in first)
    assert first == drawn(copy.deepcopy(latency), 20, seed)


def test_fixed_latency_uses_no_random_number() -> None:
    random = Random(1)
    before = random.getstate()
    assert FixedLatency(7).draw_ns(None, random) == 7
    assert random.getstate() == before


def test_uniform_latency_reaches_both_limits_and_no_more() -> None:
    assert set(drawn(UniformLatency(3, 6), 200)) == {3, 4, 5, 6}


def test_normal_latency_is_redrawn_below_zero() -> None:
    found = drawn(NormalLatency(0, 100 * MS), 4000)
    assert min(found) >= 0
    assert found.count(0) == 0
    # The mean of what is left of a normal distribution cut in its middle is sqrt(2 / pi) standard deviations.
    assert mean(found) == pytest.approx(math.sqrt(2 / math.pi) * 100 * MS, rel=0.05)


def test_lognormal_latency_has_given_median_and_percentile() -> None:
    found = drawn(LognormalLatency.of_percentiles(20 * MS, 200 * MS), 40_000)
    assert median(found) == pytest.approx(20 * MS, rel=0.03)
    assert percentile(found, 0.99) == pytest.approx(200 * MS, rel=0.06)


def test_lognormal_latency_with_sigma_zero_is_its_median() -> None:
    assert set(drawn(LognormalLatency(5, 0.0), 5)) == set(drawn(LognormalLatency.of_percentiles(5, 5), 5)) == {5}


def test_exponential_latency_has_its_mean_and_no_memory() -> None:
    found = drawn(ExponentialLatency(10 * MS), 40_000)
    assert mean(found) == pytest.approx(10 * MS, rel=0.03)
    older = [ns - 10 * MS for ns in found if ns > 10 * MS]
    assert mean(older) == pytest.approx(10 * MS, rel=0.03)


def test_trace_latency_starts_anew_in_every_copy_and_repeats() -> None:
    trace = TraceLatency([5, 0, 7])
    assert drawn(trace, 4) == [5, 0, 7, 5]
    assert drawn(copy.deepcopy(trace), 2) == [5, 0]
    assert drawn(trace, 2) == [0, 7]


def test_record_latency_is_milliseconds_of_function() -> None:
    latency = RecordLatency(lambda value: value)
    assert [latency.draw_ns(ms, Random(1)) for ms in (0, 3, 0.5, 1e-7)] == [0, 3 * MS, MS // 2, 0]


@pytest.mark.parametrize("said", [-1, -0.5, math.nan, math.inf, None, "5", True, 10**20])
def test_invalid_record_latency_names_the_record(said: object) -> None:
    with pytest.raises(BadInput, match=r"expected milliseconds of at least 0, got .* for \('r', 1\)"):
        RecordLatency(lambda _: said).draw_ns(("r", 1), Random(1))


def test_spikes_affect_given_share_of_calls() -> None:
    found = drawn(SpikyLatency(FixedLatency(1), 0.25, UniformLatency(100, 200)), 20_000)
    assert sum(ns >= 100 for ns in found) / len(found) == pytest.approx(0.25, abs=0.02)
    assert set(drawn(SpikyLatency(FixedLatency(1), 0.0, FixedLatency(2)), 50)) == {1}
    assert set(drawn(SpikyLatency(FixedLatency(1), 1.0, FixedLatency(2)), 50)) == {2}


WRONG: list[tuple[Callable[[], Latency], str]] = [
    (lambda: FixedLatency(-1), "fixed latency: expected at least 0 ns, got -1"),
    (lambda: UniformLatency(-2, 3), "uniform latency: expected low of at least 0 ns, got -2"),
    (lambda: UniformLatency(5, 4), "uniform latency: expected high >= low, 5 ns, got 4"),
    (lambda: NormalLatency(-1, 1), "normal latency: expected a mean of at least 0 ns, got -1"),
    (lambda: NormalLatency(1, -1), "normal latency: expected a standard deviation of at least 0 ns, got -1"),
    (lambda: LognormalLatency(0, 1.0), "lognormal latency: expected a median of at least 1 ns, got 0"),
    (lambda: LognormalLatency(1, math.nan), "lognormal latency: expected sigma from 0 to 10, got nan"),
    (lambda: LognormalLatency(1, 10.5), "lognormal latency: expected sigma from 0 to 10, got 10.5"),
    (lambda: LognormalLatency.of_percentiles(9, 8), "lognormal latency: expected p99 >= median, 9 ns, got 8"),
    (lambda: ExponentialLatency(-1), "exponential latency: expected a mean of at least 0 ns, got -1"),
    (lambda: TraceLatency([]), "trace of latencies: expected at least one, got 0"),
    (lambda: TraceLatency([4, -3]), "trace of latencies: expected at least 0 ns, got -3"),
    (lambda: SpikyLatency(FixedLatency(1), 1.5, FixedLatency(2)), "spikes: expected a share from 0 to 1, got 1.5"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_invalid_latency_is_refused(make: Callable[[], Latency], message: str) -> None:
    with pytest.raises(BadInput) as error:
        make()
    assert str(error.value) == message


def test_spiky_latency_passes_record_to_inner_latency() -> None:
    value: Value = 8
    assert SpikyLatency(FixedLatency(1), 1.0, RecordLatency(lambda ms: ms)).draw_ns(value, Random(1)) == 8 * MS
