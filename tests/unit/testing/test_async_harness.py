"""The public harness for asynchronous functions."""

from __future__ import annotations

import asyncio
import doctest
from typing import Any

import pytest

from flowsim.datastream import AsyncFunction
from flowsim.datastream.async_retry_strategies import AsyncRetryStrategy
from flowsim.errors import BadInput, Deadlock, ElementFailed
from flowsim.streamrecord.elements import StreamRecord, Watermark
from flowsim.testing import AsyncFunctionHarness, Reply, ScriptedCalls
from flowsim.testing import async_calls as calls_module
from flowsim.testing import async_harness as harness_module


@pytest.mark.parametrize("module", [harness_module, calls_module])
def test_documentation_examples_run(module: Any) -> None:
    assert doctest.testmod(module).failed == 0
    assert doctest.testmod(module).attempted >= 2


def echo(value: Any, attempt: int) -> Reply:
    return Reply(value, ((value, attempt),))


def test_ordered_operator_waits_for_its_head() -> None:
    with AsyncFunctionHarness(ScriptedCalls(echo)) as harness:
        harness.process_elements([(20, 1), (5, 2)])
        harness.wait_until(19)
        assert harness.take_output() == []
        harness.wait_until(21)
        assert harness.take_output() == [("rec", (20, 1), 1), ("rec", (5, 1), 2)]


def test_full_queue_advances_time_until_slot_is_free() -> None:
    with AsyncFunctionHarness(ScriptedCalls(echo), capacity=1) as harness:
        harness.process_element(20, 1)
        assert harness.processing_time.current_processing_time_ms() == 1
        harness.process_element(5, 2)
        assert harness.processing_time.current_processing_time_ms() == 21
        harness.process_watermark(9)
        assert harness.take_output() == [("rec", (20, 1), 1), ("rec", (5, 1), 2), ("wm", 9)]


def test_snapshot_has_queued_elements_and_wait_until_advances_time() -> None:
    with AsyncFunctionHarness(ScriptedCalls(echo)) as harness:
        harness.process_element(500, 1)
        harness.process_watermark(3)
        harness.wait_until(90)
        assert harness.processing_time.current_processing_time_ms() == 90
        assert harness.held_elements() == [StreamRecord(500, 1), Watermark(3)]


def test_answer_at_millisecond_of_timeout_is_in_time() -> None:
    calls = ScriptedCalls(echo, lambda value: ("too late",))
    with AsyncFunctionHarness(calls, timeout_ms=30, mode="unordered") as harness:
        harness.process_elements([(31, 1), (30, 2)])
        harness.wait_until(40)
        assert harness.take_output() == [("rec", (30, 1), 2), ("rec", "too late", 1)]


def test_silent_call_without_timeout_is_deadlock_at_end() -> None:
    with AsyncFunctionHarness(ScriptedCalls(lambda value, attempt: Reply(None))) as harness:
        harness.process_element("silence", 1)
        with pytest.raises(Deadlock, match="yields"):
            harness.end_of_input()


def test_call_is_retried_and_final_error_names_record() -> None:
    calls = ScriptedCalls(lambda value, attempt: Reply(2, error=OSError("down")))
    again = AsyncRetryStrategy.fixed_delay(2, 10, None, lambda error: True)
    with AsyncFunctionHarness(calls, timeout_ms=1000, retry_strategy=again) as harness:
        harness.process_element("a", 1)
        with pytest.raises(ElementFailed):
            harness.wait_until(500)
        assert harness.processing_time.current_processing_time_ms() == 27


class Doubles(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [2 * value] if value < 5 else []


class Sleeps(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(1)
        return [value]


def test_coroutine_without_wait_is_answered_and_with_wait_refused() -> None:
    with AsyncFunctionHarness(Doubles()) as harness:
        harness.process_elements([(2, 1), (7, 2)])
        harness.end_of_input()
        assert harness.take_output()[:1] == [("rec", 4, 1)]
    with AsyncFunctionHarness(Sleeps()) as harness, pytest.raises(BadInput, match=r"Sleeps\.async_invoke waits"):
        harness.process_element(2, 1)
