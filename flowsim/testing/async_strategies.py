"""Hypothesis strategies for async operators: the answers of their calls.

Examples shrink to calls that are answered at once, in order, with enough capacity.
"""

from __future__ import annotations

from typing import Final

from flowsim.datastream.async_data_stream import Design
from flowsim.errors import MissingExtra
from flowsim.testing.async_calls import Answer, AsyncStep, Outcome, Retry

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.async_strategies") from missing

LONGEST_US: Final = 40_000
"""The longest latency in microseconds of a call that is neither silent nor late."""

NEVER_MS: Final = 10_000_000_000
"""A timeout in ms that no answered call reaches, even after a long wait in the queue."""

LONG_MS: Final = 20_000
"""A timeout in ms that no answered call reaches unless it waits long for other calls."""


def latencies_us(longest_us: int = LONGEST_US) -> SearchStrategy[int]:
    """Draws a latency in microseconds: 0 (before the call returns), a short one, or any."""
    return st.just(0) | st.integers(1, 100) | st.integers(1, longest_us)


def retries() -> SearchStrategy[Retry]:
    """Draws retries with fixed or growing delays, after empty results, errors or both."""
    return st.builds(
        lambda attempts, delay_ms, on, multiplier: Retry(attempts, delay_ms, "empty" in on, "error" in on, multiplier),
        st.integers(1, 4),
        st.sampled_from([1, 10, 45]),
        st.sampled_from([("empty",), ("error",), ("empty", "error")]),
        st.sampled_from([0.0, 1.5, 3.0]),
    )


@st.composite
def async_steps(
    draw: st.DrawFn,
    *,
    tries_again: bool | None = None,
    silent_retries: bool = False,
    designs: tuple[Design, ...] = ("mailbox",),
) -> AsyncStep:
    """Draws one async operator with determined outcomes: an answer near its timeout has the results of a timeout.

    All calls of the legacy design are answered: there a timeout fails the job (rule 11.31), and there are no retries.
    ``tries_again`` says whether calls are retried; None allows both. ``silent_retries`` says whether retried calls may
    be silent; then the job should have no other operator that waits long.
    """
    design = draw(st.sampled_from(designs))
    retry = draw(retries()) if _decided(draw, tries_again) and design == "mailbox" else None
    outcomes: list[Outcome] = ["one", "one", "two", "none"]
    timeout_ms = 0
    if retry is not None:
        outcomes += ["none", "none", "error", "error"]
        outcomes += ["silent", "late"] if silent_retries else []
        timeout_ms = LONG_MS if silent_retries else NEVER_MS
    elif design == "mailbox" and draw(st.booleans()):
        outcomes += ["silent", "late", "near"]
        timeout_ms = draw(st.sampled_from([LONGEST_US // 1000 + 1, 60]))
    answer = st.builds(Answer, latencies_us(), st.sampled_from(outcomes))
    return AsyncStep(
        mode=draw(st.sampled_from(["ordered", "unordered"])),
        capacity=draw(st.sampled_from([100, 10, 3, 2, 1])),
        answers=tuple(draw(st.lists(answer, min_size=1, max_size=7))),
        salt=draw(st.integers(0, 6)),
        timeout_ms=timeout_ms,
        replaces=draw(st.booleans()),
        retry=retry,
        design=design,
    )


def _decided(draw: st.DrawFn, given: bool | None) -> bool:
    return draw(st.booleans()) if given is None else given
