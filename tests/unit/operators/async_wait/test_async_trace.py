"""The recorded steps of an async operator (table ``async_elements``)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.operators.async_wait.retry_strategies import FixedDelayRetryStrategy
from flowsim.streamrecord.elements import StreamRecord, Watermark
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import fingerprint
from tests.support.operators.async_wait_harness import AsyncOperatorHarness

PUT, INVOKE, RETRY, COMPLETE, FAIL, TIMEOUT, EMIT = AsyncAction
RECORD, WATERMARK = ElementKind.RECORD, ElementKind.WATERMARK


def test_elements_are_numbered_and_recorded_with_kind_and_timestamp() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 7)
        harness.process_watermark(8)
        harness.process_element("b", None)
        assert harness.facts("entry", "action", "kind", "timestamp") == [
            (0, PUT, RECORD, 7), (0, INVOKE, RECORD, 7), (1, PUT, WATERMARK, 8), (2, PUT, RECORD, NO_TIMESTAMP),
            (2, INVOKE, RECORD, NO_TIMESTAMP),
        ]  # fmt: skip


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_queued_equals_put_minus_emitted_after_every_step(mode: Any) -> None:
    """I11.e."""
    with AsyncOperatorHarness(mode) as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.process_watermark(2)
        harness.process_element("c", 3)
        for value in "bca":
            harness.answer(value, value)
        queued = 0
        for action, after in harness.facts("action", "queued"):
            queued += (action == PUT) - (action == EMIT)
            assert after == queued
        assert queued == 0


def test_outcome_is_recorded_when_received_and_emission_after_results() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 7)
        harness.calls.answer("a", "x", "y")
        assert harness.facts("action")[-1] == (COMPLETE,)
        harness.run_mails()
        mixed = fingerprint(7, "x") ^ fingerprint(7, "y")
        assert harness.facts("action", "fingerprint", "rows", "queued") == [
            (PUT, fingerprint(7, "a"), 0, 1), (INVOKE, fingerprint(7, "a"), 0, 1), (COMPLETE, mixed, 2, 1), (EMIT, mixed, 2, 0),
        ]  # fmt: skip


def test_late_outcome_is_not_recorded() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 7)
        harness.calls.answer("a", "x")
        harness.calls.answer("a", "too late")
        harness.calls.future("a").complete_exceptionally(ValueError())
        harness.run_mails()
        assert harness.steps() == [(0, "PUT"), (0, "INVOKE"), (0, "COMPLETE"), (0, "EMIT")]


def test_failed_element_is_emitted_without_rows() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 7)
        harness.calls.future("a").complete_exceptionally(ValueError())
        harness.run_mails()
        assert harness.facts("action", "rows")[2:] == [(FAIL, 0), (EMIT, 0)]


def test_timeout_is_recorded_before_function_call_and_attempts_count_from_one() -> None:
    strategy = FixedDelayRetryStrategy(2, 5, lambda results: not results)
    with AsyncOperatorHarness(timeout_ms=20, strategy=strategy) as harness:
        seen: list[tuple[Any, ...]] = []
        harness.calls.on_timeout = lambda value, future: seen.extend(harness.facts("action"))
        harness.process_element("a", 7)
        harness.answer("a")
        harness.set_processing_time(6)
        harness.set_processing_time(21)
        assert harness.facts("action", "attempt") == [(PUT, 0), (INVOKE, 1), (RETRY, 1), (INVOKE, 2), (TIMEOUT, 0)]
        assert seen[-1] == (TIMEOUT,)


def test_element_waiting_for_queue_slot_is_not_recorded_before() -> None:
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_element("a", 7)
        seen: list[list[tuple[int, str]]] = []
        harness.executor.execute(lambda: seen.append(harness.steps()), "looks")
        harness.calls.answer("a", "x")
        harness.process_element("b", 8)
        assert seen == [[(0, "PUT"), (0, "INVOKE"), (0, "COMPLETE")]]


def test_restored_elements_are_put_and_numbered_from_zero() -> None:
    with AsyncOperatorHarness(restored=[StreamRecord("a", 1), Watermark(2)]) as harness:
        assert harness.facts("entry", "action", "kind") == [
            (0, PUT, RECORD), (0, INVOKE, RECORD), (1, PUT, WATERMARK)
        ]  # fmt: skip
