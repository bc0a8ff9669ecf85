"""The laws of async operators over hand-made histories: what satisfies them, and each violation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.facts.kinds import AsyncAction, ElementKind, Level, LifeEvent, SystemTimer, TimerAction
from flowsim.laws.law import Verdict
from flowsim.units import MAX_WATERMARK
from tests.support.facts.async_history import IDLE, LAW_OF_ASYNC, RETRY, STATUS, WATERMARK, AsyncHistory, of_async

PUT, INVOKE, RETRIED, COMPLETE, FAIL, TIMEOUT, EMIT = (
    AsyncAction.PUT, AsyncAction.INVOKE, AsyncAction.RETRY, AsyncAction.COMPLETE, AsyncAction.FAIL, AsyncAction.TIMEOUT,
    AsyncAction.EMIT,
)  # fmt: skip


def honest(mode: str = "unordered") -> AsyncHistory:
    """Two records, a watermark and a third record; a drain."""
    history = AsyncHistory(of_async(mode)).takes(0, 1).done(0, 7).leaves(0).takes_mark(2, 5).takes(3)
    history.done(1, 8, 9).leaves(1, 2).done(3).leaves(3)
    return history.ends().life(LifeEvent.CLOSE)


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_correct_history_satisfies_all_laws(mode: str) -> None:
    outcomes = {law: honest(mode).judged(law) for law in (*LAW_OF_ASYNC, "task-watermark", "idle")}
    assert {outcome.verdict for outcome in outcomes.values()} == {Verdict.HOLDS}
    assert {law: outcome.rows_examined for law, outcome in outcomes.items()} == {
        "async-order": 8, "async-once": 11, "async-capacity": 14, "async-retries": 6, "async-end": 2,
        "async-payload": 3,
        "task-watermark": 4, "idle": 2,
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_every_prefix_of_correct_history_satisfies_all_laws(mode: str) -> None:
    whole = honest(mode)
    for cut in range(whole.seq):
        prefix = honest(mode)
        for name, rows in prefix.tables.items():
            if name in ("lifecycle", "received", "sent", "task_watermark", "async_elements"):
                prefix.tables[name] = [row for row in rows if int(row[0]) < cut]
        assert prefix.broken_laws(whole=False) == set(), cut


@pytest.mark.parametrize("law", LAW_OF_ASYNC)
def test_job_without_async_operator_is_not_applicable(law: str) -> None:
    outcome = AsyncHistory(("map", {})).judged(law)
    assert (outcome.verdict, outcome.reason) == (Verdict.NOT_APPLICABLE, "the job has no async operator")
    assert AsyncHistory().judged(law).verdict is Verdict.VACUOUS


# async-order


def test_ordered_record_overtaking_head_violates_async_order() -> None:
    history = AsyncHistory(of_async("ordered")).takes(0, 1).done(1, 7).leaves(1).done(0, 8).leaves(0).ends()
    assert history.broken("async-order") == ["an element was overtaken"]
    assert history.broken_laws() == {"async-order"}


def test_unordered_record_overtaking_watermark_violates_async_order() -> None:
    history = AsyncHistory().takes(0, 1).takes_mark(2, 5).done(1, 7).leaves(1).done(0, 8).leaves(0, 2).ends()
    assert history.broken_laws() == set()
    history = AsyncHistory().takes(0).takes_mark(1, 5).takes(2).done(2, 7).leaves(2).done(0, 8).leaves(0, 1).ends()
    assert history.broken("async-order") == ["an element was overtaken", "an element was overtaken"], (
        "the record and the watermark"
    )


def test_watermark_overtaking_records_violates_async_order() -> None:
    history = AsyncHistory().takes(0, 1).takes_mark(2, 5).leaves(2).done(1, 7).leaves(1).done(0, 8).leaves(0).ends()
    assert history.broken("async-order") == ["an element was overtaken", "an element was overtaken"]
    assert history.broken_laws() == {"async-order"}


def test_watermarks_in_wrong_order_violate_async_order() -> None:
    history = AsyncHistory().takes_mark(0, 5).takes_mark(1, 6).leaves(1, 0).ends()
    assert history.broken("async-order") == ["an element was overtaken"]


def test_overtaken_element_never_emitted_violates_prefix() -> None:
    history = AsyncHistory().takes(0).takes_mark(1, 5).leaves(1)
    assert history.broken("async-order", whole=False) == ["an element was overtaken"]


def test_records_of_a_segment_leave_in_order_of_outcomes() -> None:
    """Rules 11.9, 11.11; the first one's outcome got lost on its way."""
    history = AsyncHistory().takes(0, 1).done(0, 7).done(1, 8).leaves(1)
    assert history.broken("async-order", whole=False) == ["an element was overtaken"]
    legacy = AsyncHistory(of_async(design="legacy")).takes(0, 1).done(0, 7).done(1, 8).leaves(1)
    assert legacy.broken("async-order", whole=False) == [], "its threads tell of outcomes in any order"


def test_gap_in_element_numbers_violates_async_order() -> None:
    history = AsyncHistory().takes(0).puts(2).puts(3)
    assert history.broken("async-order", whole=False) == [
        "an element was not put as it arrived",
        "an element is put in the wrong order",
    ]
    assert AsyncHistory().takes(1).broken("async-order", whole=False) == ["an element is put in the wrong order"]


def test_element_not_put_as_it_arrived_violates_async_order() -> None:
    lost = AsyncHistory().arrives(0).takes(1)
    assert lost.broken("async-order", whole=False) == [
        "an element was not put as it arrived",
        "an element is put in the wrong order",
    ]
    waiting = AsyncHistory().takes(0).arrives(1)
    assert waiting.broken("async-order", whole=False) == [], "it waits for its place"
    assert waiting.broken("async-order") == [], "a stop without drain finds it there, too"
    assert waiting.done(0, 7).leaves(0).ends().broken("async-order") == ["an element was not put as it arrived"]
    other = AsyncHistory().arrives(0).puts(0, fingerprint=9).arrives(1).puts_mark(1, 5).hears(WATERMARK, 4)
    assert other.puts_mark(2, 5).broken("async-order", whole=False) == ["an element was not put as it arrived"] * 3
    assert AsyncHistory().puts(0).broken("async-order", whole=False) == [
        "an element was put before any element arrived"
    ]


def test_statuses_and_channel_watermarks_are_not_put() -> None:
    history = AsyncHistory().takes(0).hears(STATUS, IDLE).takes(1)
    history.add("received", 0, 0, 2, WATERMARK, 5, 0, 0).hears(STATUS, 0).takes(2)
    assert history.broken("async-order", whole=False) == []


def test_element_restored_from_snapshot_needs_no_arrival() -> None:
    """Rule 11.22."""
    history = AsyncHistory(opens=False).puts(0).puts_mark(1, 5).life(LifeEvent.OPEN).takes(2)
    history.done(0, 7).leaves(0, 1).done(2, 8).leaves(2).ends()
    assert history.broken_laws() == set()


# async-once


def test_element_never_emitted_violates_async_once_after_end_of_input() -> None:
    history = AsyncHistory().takes(0).done(0, 7)
    assert history.broken("async-once") == [], "stopped without drain"
    assert history.ends().broken("async-once") == ["an element is never emitted"]


def test_element_emitted_twice_violates_async_once() -> None:
    history = AsyncHistory().takes(0, 1).done(0, 7).leaves(0, 0)
    assert history.broken("async-once", whole=False) == ["an element is emitted a second time"]


def test_element_with_two_outcomes_violates_async_once() -> None:
    history = AsyncHistory().takes(0).done(0, 7).step(0, FAIL)
    assert history.broken("async-once", whole=False) == ["a second outcome"]


def test_outcome_or_emission_before_put_violates_async_once() -> None:
    assert AsyncHistory().done(0, 7).broken("async-once", whole=False) == ["an outcome before the element was put"]
    assert AsyncHistory(of_async(design="legacy")).done(0, 7).broken("async-once", whole=False) == []
    assert AsyncHistory().emits(0).broken("async-once", whole=False) == ["an element is emitted before it was put"]


def test_outcome_of_watermark_violates_async_once() -> None:
    history = AsyncHistory().takes_mark(0, 5).step(0, COMPLETE)
    assert history.broken("async-once", whole=False) == ["an outcome for a watermark"]
    history = AsyncHistory().takes_mark(0, 5).sends(WATERMARK, 5).emits(0, rows=1)
    assert history.broken("async-once", whole=False) == [
        "a reader gets other records than the results emitted", "a watermark with results",
    ]  # fmt: skip


def test_emission_before_outcome_violates_async_once() -> None:
    assert AsyncHistory().takes(0).emits(0).broken("async-once", whole=False) == [
        "an element is emitted before its outcome"
    ]


def test_emission_of_other_results_or_timestamp_violates_async_once() -> None:
    history = AsyncHistory().takes(0).done(0, 7).sends(ElementKind.RECORD, 100, 0, fingerprint=8)
    assert history.step(0, EMIT, 8, rows=1).broken("async-once", whole=False) == [
        "the emitted results are not those of the outcome"
    ]
    history = AsyncHistory().takes(0).step(0, FAIL).sends(ElementKind.RECORD, 100, 0, fingerprint=8)
    assert history.step(0, EMIT, 8, rows=1).broken("async-once", whole=False) == [
        "the emitted results are not those of the outcome"
    ]
    history = AsyncHistory().takes(0).done(0).step(0, EMIT, timestamp=99)
    assert history.broken("async-once", whole=False) == [
        "the emitted element has another kind or timestamp than the put element"
    ]


def test_failed_element_is_emitted_without_results() -> None:
    """Rule 11.15."""
    assert AsyncHistory().takes(0).step(0, FAIL).emits(0).broken_laws(whole=False) == set()


def test_results_made_in_task_are_unknown_before_emission() -> None:
    history = AsyncHistory().takes(0).step(0, COMPLETE, rows=-1).sends(ElementKind.RECORD, 100, 0, fingerprint=8)
    assert history.step(0, EMIT, 8, rows=1).broken_laws(whole=False) == set()


def test_timeout_fires_once_after_its_time_and_before_outcome() -> None:
    """Rules 9.10, 11.17, 11.18."""
    in_time = AsyncHistory().takes(0).passes(11).step(0, TIMEOUT)
    assert in_time.broken("async-once", whole=False) == []
    assert in_time.step(0, TIMEOUT).broken("async-once", whole=False) == ["a second timeout"]
    early = AsyncHistory().takes(0).passes(10).step(0, TIMEOUT)
    assert early.broken("async-once", whole=False) == ["a timeout too early"]
    late = AsyncHistory().takes(0).done(0, 7).passes(11).step(0, TIMEOUT)
    assert late.broken("async-once", whole=False) == ["a timeout after the outcome"]
    none = AsyncHistory(of_async(timeout_ms=0)).takes(0).passes(11).step(0, TIMEOUT)
    assert none.broken("async-once", whole=False) == ["a timeout, but the operator has none"]
    unknown = AsyncHistory().passes(11).step(0, TIMEOUT)
    assert unknown.broken("async-once", whole=False) == ["a timeout before the element was put"]
    wrapped = AsyncHistory(of_async(timeout_ms=MAX_WATERMARK)).passes(1).takes(0).step(0, TIMEOUT)
    assert wrapped.broken("async-once", whole=False) == [], "such a time lies in the past"
    legacy = AsyncHistory(of_async(design="legacy")).done(0, 7).step(0, TIMEOUT).takes(0)
    assert legacy.broken("async-once", whole=False) == [], "there time runs while the record waits for its place"


def test_timeout_that_completes_nothing_violates_no_law() -> None:
    """Rule 11.17: the element stays, and the input never ends."""
    assert AsyncHistory().takes(0).passes(11).step(0, TIMEOUT).broken_laws(whole=False) == set()


def test_facts_of_undescribed_async_operator_violate_async_once() -> None:
    history = AsyncHistory(of_async(), ("map", {})).step(0, PUT, of=1)
    assert history.broken("async-once", whole=False) == ["of an operator that is not described as async"]
    assert history.broken_laws(whole=False) == {"async-once"}


def test_readers_receiving_other_results_violate_async_once() -> None:
    lost = AsyncHistory().takes(0).done(0, 7, 9).sends(ElementKind.RECORD, 100, 0, fingerprint=7).emits(0)
    assert lost.broken("async-once", whole=False) == ["a reader gets other records than the results emitted"]
    changed = AsyncHistory().takes(0).done(0, 7).sends(ElementKind.RECORD, 100, 0, fingerprint=6).emits(0)
    assert changed.broken("async-once", whole=False) == ["a reader gets other records than the results emitted"]
    between = AsyncHistory().takes_mark(0, 5).sends(ElementKind.RECORD, 1, 0, fingerprint=3).leaves(0)
    assert between.broken("async-once", whole=False) == ["a reader gets other records than the results emitted"]


def test_results_after_last_emission_violate_only_after_end_of_input() -> None:
    history = AsyncHistory().takes(0).done(0, 7).leaves(0).sends(ElementKind.RECORD, 100, 0, fingerprint=7)
    assert history.broken("async-once", whole=False) == []
    assert history.ends().broken("async-once") == ["a reader gets records after the last emission"]


def test_every_channel_of_broadcast_must_receive_results() -> None:
    history = AsyncHistory(of_async(), partitioner="BROADCAST").takes(0).done(0, 7)
    history.sends(ElementKind.RECORD, 100, fingerprint=7).emits(0)
    assert history.broken("async-once", whole=False) == []
    history.takes(1).done(1, 8).sends(ElementKind.RECORD, 101, 1, fingerprint=8).emits(1)
    assert history.broken("async-once", whole=False) == ["a reader gets other records than the results emitted"]


def test_next_async_operator_of_chain_must_receive_results() -> None:
    def chain() -> AsyncHistory:
        return AsyncHistory(of_async(), of_async("ordered")).takes(0).done(0, 7)

    assert chain().puts(0, of=1, fingerprint=7).emits(0).broken_laws(whole=False) == set()
    assert chain().puts(0, of=1, fingerprint=6).emits(0).broken_laws(whole=False) == {"async-once"}
    assert chain().emits(0).broken_laws(whole=False) == {"async-once"}


# async-capacity


def test_more_elements_than_capacity_violate_async_capacity() -> None:
    history = AsyncHistory(of_async(capacity=1)).takes(0).takes_mark(1, 5)
    assert history.broken("async-capacity", whole=False) == ["more elements than the capacity of the queue"]
    assert history.broken_laws(whole=False) == {"async-capacity"}


def test_wrong_queue_size_violates_async_capacity() -> None:
    history = AsyncHistory().takes(0).step(0, COMPLETE, 7, rows=1, queued=2)
    assert history.broken("async-capacity", whole=False) == [
        "the queue size is not the number of elements put and not emitted"
    ]


def test_wrong_queue_size_violates_async_capacity_once_until_it_is_another() -> None:
    history = AsyncHistory().takes(0, 1).step(0, TIMEOUT, queued=1).step(1, TIMEOUT, queued=1).step(1, FAIL, queued=0)
    assert len(history.broken("async-capacity", whole=False)) == 1
    assert len(history.step(0, TIMEOUT, queued=0).broken("async-capacity", whole=False)) == 2
    over = AsyncHistory(of_async(capacity=1)).takes(0, 1)
    over.step(0, TIMEOUT, queued=2)
    assert len(over.broken("async-capacity", whole=False)) == 1


def test_only_outcome_may_occur_during_emission_of_other_element() -> None:
    assert AsyncHistory().takes(0, 1).step(1, FAIL, queued=1).broken("async-capacity", whole=False) == []
    history = AsyncHistory().takes(0, 1).passes(11).step(1, TIMEOUT, queued=1)
    assert history.broken("async-capacity", whole=False) == [
        "the queue size is not the number of elements put and not emitted"
    ]


# async-retries


def retrying(**params: object) -> AsyncHistory:
    return AsyncHistory(of_async(retry={**RETRY, **params}))


def test_one_call_more_than_retries_is_allowed() -> None:
    history = retrying().takes(0)
    for attempt in (1, 2):
        history.step(0, RETRIED, attempt=attempt).step(0, INVOKE, attempt=attempt + 1)
    history.takes(1)
    assert history.broken_laws(whole=False) == set()
    history.step(0, RETRIED, attempt=3).step(0, INVOKE, attempt=4).takes(2)
    assert history.broken("async-retries", whole=False) == [
        "a record waits for one retry too many",
        "the function is called again, but no retry is due",
    ]


def test_strategy_without_limit_allows_any_number_of_retries() -> None:
    history = retrying(max_attempts=None).takes(0)
    for attempt in range(1, 9):
        history.step(0, RETRIED, attempt=attempt).step(0, INVOKE, attempt=attempt + 1)
    assert history.takes(1).broken("async-retries", whole=False) == []


@pytest.mark.parametrize("retry", [None, {**RETRY, "result": False}])
def test_retry_without_strategy_violates_async_retries(retry: object) -> None:
    history = AsyncHistory(of_async(retry=retry)).takes(0).step(0, RETRIED, attempt=1).step(0, INVOKE, attempt=2)
    assert history.broken("async-retries", whole=False) == [
        "a record waits for a retry without a retry strategy", "the function is called again without a retry strategy",
    ]  # fmt: skip


def test_calls_not_numbered_consecutively_violate_async_retries() -> None:
    history = AsyncHistory().arrives(0).step(0, PUT, 100).step(0, INVOKE, attempt=2)
    assert history.broken("async-retries", whole=False) == ["attempts are not numbered 1, 2, 3"]
    assert AsyncHistory().step(0, INVOKE, attempt=1).broken("async-retries") == [
        "the function is called before the element was put"
    ]


def test_call_without_due_retry_violates_async_retries() -> None:
    history = retrying().takes(0).step(0, INVOKE, attempt=2).takes(1)
    assert history.broken("async-retries", whole=False) == ["the function is called again, but no retry is due"]
    history = retrying().takes(0).step(0, RETRIED, attempt=1).done(0, 7).step(0, INVOKE, attempt=2).takes(1)
    assert history.broken("async-retries", whole=False) == ["the function is called again, but no retry is due"]


def test_end_of_input_allows_one_more_call_per_pending_retry() -> None:
    """Rules 11.27, 11.28: for the first its time ran out before its first retry, the second is being asked for the last time."""
    history = retrying().takes(0, 1).step(0, RETRIED, attempt=1)
    for attempt in (1, 2):
        history.step(1, RETRIED, attempt=attempt).step(1, INVOKE, attempt=attempt + 1)
    history.passes(11).step(0, TIMEOUT).done(0).leaves(0)
    history.step(0, INVOKE, attempt=2).step(1, INVOKE, attempt=4).done(1, 7).leaves(1).ends()
    assert history.broken_laws() == set()
    assert history.takes(2).broken("async-retries", whole=False) == [
        "the function is called again, but no retry is due", "the function is called again, but no retry is due",
    ], "it was not the end"  # fmt: skip
    history = retrying(max_attempts=1).takes(0).step(0, RETRIED, attempt=1)
    for attempt in (2, 3, 4):
        history.step(0, INVOKE, attempt=attempt)
    assert history.broken("async-retries", whole=False) == ["the function is called too often"]


def test_retry_that_is_not_due_violates_async_retries() -> None:
    assert retrying().takes(0).step(0, RETRIED, attempt=2).broken("async-retries") == [
        "a record waits for a retry of an attempt that is not its last"
    ]
    twice = retrying().takes(0).step(0, RETRIED, attempt=1).step(0, RETRIED, attempt=1)
    assert twice.broken("async-retries", whole=False) == ["a record waits for the same retry again"]
    over = retrying().takes(0, 1).done(0, 7).step(0, RETRIED, attempt=1).passes(11).step(1, TIMEOUT)
    over.step(1, RETRIED, attempt=1)
    assert over.broken("async-retries", whole=False) == ["a record waits for a retry after its timeout or outcome"] * 2


def test_record_without_call_violates_async_retries() -> None:
    history = AsyncHistory().arrives(0).step(0, PUT, 100)
    assert history.broken("async-retries", whole=False) == [], "about to be asked for"
    assert history.takes_mark(1, 5).broken("async-retries", whole=False) == ["the function was never called"]
    history = AsyncHistory().arrives(0).step(0, PUT, 100).ends()
    assert history.broken("async-retries", whole=False) == ["the function was never called"]


# async-end


def test_end_of_input_before_queue_is_empty_violates_async_end() -> None:
    history = AsyncHistory().takes(0, 1).done(0, 7).leaves(0).done(1, 8).ends()
    assert history.broken("async-end") == ["the queue is not empty at the end of input"]
    assert history.leaves(1).broken("async-end") == [
        "the queue is not empty at the end of input", "a step after the end of input",
    ]  # fmt: skip
    assert history.broken_laws() == {"async-end"}


@pytest.mark.parametrize("action", [PUT, INVOKE, RETRIED, TIMEOUT, EMIT])
def test_step_after_end_of_input_or_close_violates_async_end(action: AsyncAction) -> None:
    assert AsyncHistory().ends().step(0, action).broken("async-end") == ["a step after the end of input"]
    closed = AsyncHistory().life(LifeEvent.CLOSE).step(0, action)
    assert closed.broken("async-end") == ["a step after the operator was closed"]


def test_outcome_after_close_is_allowed() -> None:
    """Rule 11.16."""
    history = AsyncHistory().takes(0).life(LifeEvent.CLOSE).done(0, 7)
    assert history.judged("async-end").verdict is Verdict.HOLDS


# Steps after the emission of an element; if it timed out while it waited for a retry, there is one more call (rule 11.28)


def emitted_before_its_retry() -> AsyncHistory:
    history = AsyncHistory(of_async(retry=RETRY)).takes(0).step(0, RETRIED, attempt=1).passes(11).step(0, TIMEOUT)
    return history.done(0).leaves(0)


def test_function_may_be_called_once_more_after_the_emission() -> None:
    history = emitted_before_its_retry().step(0, INVOKE, attempt=2).ends()
    assert history.broken_laws() == set()


@pytest.mark.parametrize("history", [emitted_before_its_retry, lambda: AsyncHistory().takes(0).done(0).leaves(0)])
@pytest.mark.parametrize(
    ("action", "what"),
    [
        (COMPLETE, "an outcome after the emission"),
        (TIMEOUT, "a timeout after the emission"),
        (EMIT, "an element is emitted a second time"),
    ],
)
def test_other_step_after_the_emission_violates_async_once(
    action: AsyncAction, what: str, history: Callable[[], AsyncHistory]
) -> None:
    assert history().step(0, action).broken("async-once", whole=False) == [what]


@pytest.mark.parametrize(
    ("action", "what"),
    [
        (RETRIED, "a record waits for a retry after its emission"),
        (INVOKE, "the function is called for the first time after the emission"),
    ],
)
def test_call_after_the_emission_violates_async_retries(action: AsyncAction, what: str) -> None:
    history = AsyncHistory(of_async(retry=RETRY)).takes(0).done(0).leaves(0).step(0, action, attempt=1)
    assert history.broken("async-retries", whole=False) == [what]


# async-timers

REGISTER, FIRE, DELETE = TimerAction.REGISTER, TimerAction.FIRE, TimerAction.DELETE


@pytest.mark.parametrize(
    ("timers", "whats"),
    [
        ([(REGISTER, 10), (DELETE, 10)], []),
        ([], ["a record is emitted without a timeout timer"]),
        ([(REGISTER, 10)], ["the timer of an emitted record is still registered"]),
        ([(DELETE, 10)], ["a timer that is not registered is fired or deleted"]),
        ([(REGISTER, 10), (DELETE, 9)], ["a timer that is not registered is fired or deleted"]),
        ([(REGISTER, 10), (FIRE, 10)], ["a timer fired before its time"]),
        ([(REGISTER, 10), (DELETE, 10), (REGISTER, 10), (DELETE, 10)], ["a timer is registered a second time"]),
        ([(REGISTER, 9), (DELETE, 9)], ["a timer is registered for another time than the timeout"]),
    ],
)
def test_record_has_one_timer_for_its_timeout(timers: list[tuple[TimerAction, int]], whats: list[str]) -> None:
    history = AsyncHistory().takes(0)
    history.level = Level.FULL
    for action, timestamp in timers:
        history.add("system_timers", 0, 0, action, SystemTimer.TIMEOUT, 0, timestamp)
    assert history.done(0).leaves(0).ends().broken("async-timers") == whats


def test_timer_at_the_end_of_input_violates_async_timers() -> None:
    history = AsyncHistory().takes(0)
    history.level = Level.FULL
    history.add("system_timers", 0, 0, REGISTER, SystemTimer.TIMEOUT, 0, 10)
    assert history.ends().broken("async-timers") == ["a timer is still registered at the end of input"]


# async-payload


@pytest.mark.parametrize(
    ("fingerprint", "whats"), [(100, []), (7, ["the function receives another element than was put"])]
)
@pytest.mark.parametrize("action", [INVOKE, TIMEOUT])
def test_function_receives_what_was_put(action: AsyncAction, fingerprint: int, whats: list[str]) -> None:
    history = AsyncHistory().takes(0).passes(11).step(0, action, fingerprint, attempt=2 * (action is INVOKE))
    assert history.broken("async-payload", whole=False) == whats
