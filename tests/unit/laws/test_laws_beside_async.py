"""Other laws on async operators, over hand-made histories: event time in a queue, counters, ends of channels."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.law import Verdict
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.async_history import IDLE, STATUS, WATERMARK, AsyncHistory, of_async

# What laws task-watermark and idle make of a queue of watermarks


def test_watermark_sent_when_it_leaves_queue_satisfies_law() -> None:
    history = AsyncHistory().takes(0).takes_mark(1, 5).takes_mark(2, 6).done(0, 7).leaves(0, 1, 2).ends()
    assert history.judged("task-watermark").verdict is Verdict.HOLDS
    assert history.judged("task-watermark").rows_examined == 8


def test_watermark_sent_early_or_not_at_all_violates() -> None:
    early = AsyncHistory().takes(0).takes_mark(1, 5).sends(WATERMARK, 5).done(0).emits(0).emits(1).ends()
    assert early.broken("task-watermark") == [
        "a watermark or status has no cause",
        "a watermark or status has no cause",
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]
    withheld = AsyncHistory().takes_mark(0, 5).emits(0)
    assert withheld.broken("task-watermark", whole=False) == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]
    other = AsyncHistory().takes_mark(0, 5).sends(WATERMARK, 4).emits(0)
    assert other.broken("task-watermark", whole=False) == [
        "an expected watermark or status is not sent", "an expected watermark or status is not sent",
        "a watermark or status has no cause", "a watermark or status has no cause",
    ]  # fmt: skip


def test_emission_that_is_recorded_twice_calls_for_a_second_watermark() -> None:
    """Both rows have the same number; the next watermark belongs to the second one."""
    history = AsyncHistory().takes_mark(0, 5).takes_mark(1, 6).leaves(0)
    history.tables["async_elements"].append(history.tables["async_elements"][-1])
    assert history.leaves(1).broken("task-watermark", whole=False) == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]


def test_prefix_may_send_watermark_before_its_emission_is_recorded() -> None:
    history = AsyncHistory().takes_mark(0, 5).sends(WATERMARK, 5, 0)
    assert history.broken("task-watermark", whole=False) == []
    assert history.broken("task-watermark") == ["a watermark or status has no cause"]
    assert history.sends(WATERMARK, 5, 0).broken("task-watermark", whole=False) == [
        "a watermark or status has no cause"
    ]
    next_one = AsyncHistory().takes_mark(0, 5).takes_mark(1, 6).sends(WATERMARK, 6, 0)
    assert next_one.broken("task-watermark", whole=False) == ["a watermark or status has no cause"]
    record = AsyncHistory().takes(0).sends(WATERMARK, 100, 0)
    assert record.broken("task-watermark", whole=False) == ["a watermark or status has no cause"], (
        "the record that waits is none"
    )
    gone = AsyncHistory().takes_mark(0, 5).leaves(0).sends(WATERMARK, 5, 0)
    assert gone.broken("task-watermark", whole=False) == ["a watermark or status has no cause"]


def test_status_overtakes_queue_and_suppresses_queued_watermarks() -> None:
    """Rules 5.8, 11.3."""
    history = AsyncHistory().takes_mark(0, 5).hears(STATUS, IDLE).sends(STATUS, IDLE).emits(0)
    assert history.broken_laws(whole=False) == set()
    emitted = AsyncHistory().takes_mark(0, 5).hears(STATUS, IDLE).sends(STATUS, IDLE).leaves(0)
    assert emitted.broken("task-watermark", whole=False) == ["a watermark or status has no cause"] * 2
    assert emitted.broken("idle", whole=False) == ["a watermark is sent while idle"] * 2


def test_status_that_waits_in_queue_violates() -> None:
    late = AsyncHistory().takes_mark(0, 5).hears(STATUS, IDLE).leaves(0).sends(STATUS, IDLE)
    assert late.broken_laws(whole=False) == {"task-watermark"}
    lost = AsyncHistory().takes_mark(0, 5).hears(STATUS, IDLE).leaves(0)
    assert lost.broken_laws() == {"task-watermark", "idle"}


def test_put_watermark_must_equal_received_watermark() -> None:
    behind = AsyncHistory(("map", {}), of_async())
    behind.hears(WATERMARK, 5).puts_mark(0, 5, of=1).hears(WATERMARK, 6).puts_mark(1, 7, of=1)
    assert behind.broken("task-watermark", whole=False) == ["a watermark or status has no cause"]
    assert behind.broken("task-watermark") == [
        "an expected watermark or status is not sent",
        "a watermark or status has no cause",
    ]
    assert behind.broken("async-order", whole=False) == [], "it is not the head"


def test_watermark_dropped_by_idle_output_reaches_no_operator() -> None:
    """Rule 5.8; a valve that is idle emits no watermark, so that the head receives none either."""
    behind = AsyncHistory(("map", {}), of_async()).hears(STATUS, IDLE).sends(STATUS, IDLE).hears(WATERMARK, 5)
    assert behind.broken_laws(whole=False) == set()
    assert behind.puts_mark(0, 5, of=1).broken("task-watermark", whole=False) == ["a watermark or status has no cause"]
    head = AsyncHistory().hears(STATUS, IDLE).sends(STATUS, IDLE).hears(WATERMARK, 5)
    assert head.broken("task-watermark") == []
    assert head.puts_mark(0, 5).emits(0).broken("task-watermark") == ["a watermark or status has no cause"]


def test_second_queue_of_chain_receives_watermarks_of_first() -> None:
    def chain() -> AsyncHistory:
        return AsyncHistory(of_async(), of_async("ordered")).takes(0).takes_mark(1, 5).done(0)

    whole = chain().emits(0).puts_mark(0, 5, of=1).emits(1).sends(WATERMARK, 5).emits(0, of=1).ends(0, 1)
    assert whole.broken_laws() == set()
    early = chain().puts_mark(0, 5, of=1).emits(0).emits(1)
    assert early.broken("task-watermark", whole=False) == [
        "a watermark or status has no cause",
        "an expected watermark or status is not sent",
    ]
    under_way = chain().emits(0).puts_mark(0, 5, of=1)
    assert under_way.broken("task-watermark", whole=False) == []


def test_status_overtakes_elements_of_legacy_emitter() -> None:
    """It waits for a place in the next queue, and lets others at the lock."""
    history = AsyncHistory(of_async(design="legacy"), of_async(design="legacy")).takes_mark(0, 5)
    history.hears(STATUS, IDLE).sends(STATUS, IDLE).puts_mark(0, 5, of=1).emits(0).emits(0, of=1)
    assert history.broken_laws(whole=False) == set()


def test_sent_statuses_count_where_inputs_have_none() -> None:
    free = AsyncHistory(("source", {}), of_async(), inputs=0)
    free.puts_mark(0, 5, of=1).sends(WATERMARK, 5).emits(0, of=1).sends(STATUS, IDLE).puts_mark(1, 6, of=1).emits(
        1, of=1
    )
    assert free.broken_laws() == set()
    free.puts_mark(2, 7, of=1).sends(WATERMARK, 7).emits(2, of=1)
    assert free.broken("task-watermark") == ["a watermark or status has no cause"] * 2


def test_last_watermark_of_source_comes_from_its_task() -> None:
    """Rule 4.10."""
    source = ("source", {"watermarks": {"kind": "bounded", "bound_ms": 0}})
    history = AsyncHistory(source, of_async(), inputs=0).puts_mark(0, MAX_WATERMARK, of=1)
    history.sends(WATERMARK, MAX_WATERMARK).emits(0, of=1).ends(1)
    assert history.broken("task-watermark") == []
    assert AsyncHistory(source, of_async(), inputs=0).puts_mark(0, 5, of=1).broken("task-watermark", whole=False) == [
        "a watermark or status has no cause"
    ]


def test_strategy_behind_queue_emits_max_watermark_when_queue_does() -> None:
    """Rule 8.7."""
    watermarks = ("watermarks", {"watermarks": {"kind": "custom"}})

    def chain() -> AsyncHistory:
        return AsyncHistory(of_async(), watermarks).takes_mark(0, MAX_WATERMARK)

    def made(history: AsyncHistory) -> AsyncHistory:
        history.add("generated_watermark", 1, 0, -1, WATERMARK, MAX_WATERMARK, 0, NO_TIMESTAMP)
        return history.sends(WATERMARK, MAX_WATERMARK)

    assert made(chain()).emits(0).ends(0).broken("task-watermark") == []
    assert made(chain()).broken("task-watermark", whole=False) == [], "its emission is about to be a fact"
    assert made(AsyncHistory(of_async(), watermarks)).broken("task-watermark", whole=False) == [
        "the end of event time before the inputs reached it"
    ]
    assert chain().emits(0).ends(0).broken("task-watermark") == ["the end of event time does not pass"]


# Conservation


def test_async_operator_counters_equal_put_and_emitted_records() -> None:
    def counted(records_in: int, records_out: int, finished: bool = True) -> list[object]:
        history = AsyncHistory(opens=False).puts(0).life(LifeEvent.OPEN).takes(1, 2).done(1, 7, 9).leaves(1)
        history.done(2).done(0, 8).leaves(2, 0).ends().add("operator_counts", 0, 0, records_in, records_out, 0, 0)
        return (history.life(LifeEvent.FINISHED, -1) if finished else history).broken("conservation", whole=False)

    assert counted(2, 3) == [], "the first one comes from a snapshot"
    assert counted(3, 3) == [
        "more records went in than the task received", "more records went in than were put into the queue",
    ]  # fmt: skip

    assert counted(2, 2) == [
        "fewer records went out than were results of elements", "more records were sent over edge 0 than went out",
    ]  # fmt: skip

    assert counted(2, 2, finished=False) == ["fewer records went out than were results of elements"]
    assert counted(3, 4, finished=False) == [], "one is under way"


# Channel-end


def test_results_after_end_of_data_are_allowed_without_drain() -> None:
    """Rules 4.9, 11.19: an answer that comes before the operator is closed is emitted, and read, and passed on."""

    def late(drain: int, *chain: tuple[str, dict[str, object]]) -> list[object]:
        history = AsyncHistory(*chain)
        history.tables["edges"].append((1, 1, 0, 2, 0, "FORWARD", "", "", "PIPELINED_BOUNDED"))
        history.tables["channels"].append((2, 1, 1, 0, 2, 0, 0, 0))
        for channel in (0, 2):
            for position, kind in enumerate((ElementKind.END_OF_DATA, ElementKind.RECORD, ElementKind.WATERMARK)):
                history.add("sent", 0, channel, position, kind, drain * (kind == ElementKind.END_OF_DATA), 0, 0, 0)
        return history.broken("channel-end", whole=False)

    assert late(0) == []
    assert late(1) == ["after END_OF_DATA"] * 4
    assert late(0, ("map", {})) == ["after END_OF_DATA"] * 4
