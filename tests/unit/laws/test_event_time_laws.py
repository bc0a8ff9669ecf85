"""Laws task-watermark and idle over histories made by hand: what holds, and each way to break them."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.law import Verdict
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.event_time_history import ACTIVE, IDLE, RECORD, STATUS, WATERMARK, History

BOUNDED: dict[str, object] = {"watermarks": {"kind": "bounded", "bound_ms": 2, "idle_ms": 1}}
SOURCE = (("source", BOUNDED), ("map", {}))
MS = 1_000_000


def test_what_a_task_hears_it_tells_every_channel() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5).hears(STATUS, IDLE).sends(STATUS, IDLE)
    assert history.judged("task-watermark").verdict is Verdict.HOLDS
    assert history.judged("idle").verdict is Verdict.HOLDS
    assert history.judged("task-watermark").rows_examined == 6
    assert history.judged("idle").rows_examined == 4


def test_a_watermark_that_one_channel_misses() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5, 0).hears(WATERMARK, 6).sends(WATERMARK, 6)
    assert history.broken("task-watermark") == ["an expected watermark or status is not sent"]
    assert history.broken("task-watermark", whole=False) == ["an expected watermark or status is not sent"], (
        "the next one came already"
    )


def test_in_a_prefix_the_last_watermark_may_be_under_way() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5, 0)
    assert history.broken("task-watermark", whole=False) == []
    assert history.broken("task-watermark") == ["an expected watermark or status is not sent"]


def test_a_watermark_that_nobody_told() -> None:
    history = History().sends(WATERMARK, 1, 0).hears(WATERMARK, 5).sends(WATERMARK, 4, 1)
    assert sorted(map(str, history.broken("task-watermark", whole=False))) == ["a watermark or status has no cause"] * 2


@pytest.mark.parametrize(("sent", "broken"), [(3, 0), (8, 4)])
def test_two_inputs_go_with_the_slower_one(sent: int, broken: int) -> None:
    """Rule 8.16."""
    history = History(inputs=2).hears(WATERMARK, 8, of=1).hears(WATERMARK, 3, of=0).sends(WATERMARK, sent)
    assert len(history.broken("task-watermark")) == broken


def test_an_idle_input_holds_nobody_back_and_the_last_one_lets_the_task_go_idle() -> None:
    """Rule 8.16: the watermark that the input had held back first, then the status."""
    history = History(inputs=2).hears(WATERMARK, 8, of=1).hears(STATUS, IDLE, of=0).sends(WATERMARK, 8)
    history.hears(STATUS, IDLE, of=1).sends(STATUS, IDLE).hears(STATUS, ACTIVE, of=0).sends(STATUS, ACTIVE)
    history.hears(WATERMARK, 7, of=0)
    assert history.broken("task-watermark") == history.broken("idle") == []


def test_a_status_that_is_not_told_breaks_both_laws() -> None:
    history = History().hears(STATUS, IDLE).sends(STATUS, IDLE, 0).hears(STATUS, ACTIVE).sends(STATUS, ACTIVE, 0)
    assert history.broken("task-watermark") == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]
    assert history.broken("idle") == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]


def test_a_task_that_is_idle_while_an_input_is_not() -> None:
    history = History(inputs=2).hears(STATUS, IDLE, of=0).sends(STATUS, IDLE)
    assert history.broken("idle") == ["a watermark or status has no cause"] * 2


def test_a_watermark_and_a_repeated_status_while_idle() -> None:
    free = History(inputs=0, chain=(("source", {}),))
    free.sends(STATUS, IDLE).sends(WATERMARK, 3).sends(STATUS, IDLE)
    assert free.broken("idle") == [
        "a watermark is sent while idle",
        "a watermark is sent while idle",
        "a status equals the previous one",
        "a status equals the previous one",
    ]
    assert free.broken("task-watermark") == [], "a source without a strategy may say what it likes, but to all the same"


def test_a_free_source_tells_all_channels_the_same() -> None:
    """Rule 8.18."""
    free = History(inputs=0, chain=(("source", {}),)).sends(WATERMARK, 3).sends(WATERMARK, 4, 0)
    assert free.broken("task-watermark") == ["the watermarks or statuses differ between channels"]
    assert free.broken("task-watermark", whole=False) == []


def source() -> History:
    """Two records and the watermark that they allow, sent."""
    history = History(inputs=0, chain=SOURCE).sends(RECORD, 9, 0, at_ns=MS).sends(RECORD, 7, 1, at_ns=2 * MS)
    return history.makes(WATERMARK, 6, records=2, highest=9).sends(WATERMARK, 6)


def test_what_a_strategy_made_is_sent_and_the_task_ends_it() -> None:
    history = source().sends(WATERMARK, MAX_WATERMARK)
    assert history.broken("task-watermark") == []


@pytest.mark.parametrize(
    ("timestamp", "records", "highest", "what"),
    [
        (7, 2, 9, "not the highest timestamp less the bound"),
        (7, 2, 10, "the strategy did not count the sent records"),
        (6, 3, 9, "the strategy did not count the sent records"),
    ],
)
def test_a_strategy_that_is_ahead_of_its_records(timestamp: int, records: int, highest: int, what: str) -> None:
    """Rule 8.1."""
    history = History(inputs=0, chain=SOURCE).sends(RECORD, 9, 0).sends(RECORD, 7, 1)
    history.makes(WATERMARK, timestamp, records, highest).sends(WATERMARK, timestamp)
    assert history.broken("task-watermark") == [what]


def test_a_strategy_only_grows() -> None:
    """Rule 8.5."""
    assert source().makes(WATERMARK, 6, 2, 9).sends(WATERMARK, 6).broken("task-watermark") == ["does not grow"]


def test_splits_hold_each_other_back() -> None:
    """Rule 8.6."""
    history = History(inputs=0, chain=SOURCE)
    history.makes(WATERMARK, 6, 1, 9, split=0).makes(WATERMARK, 3, 1, 6, split=1)
    history.makes(WATERMARK, 3, 2, 9).sends(WATERMARK, 3).makes(STATUS, IDLE, 1, 6, split=1)
    history.makes(WATERMARK, 6, 2, 9).sends(WATERMARK, 6)
    assert history.broken("task-watermark") == []
    history.makes(WATERMARK, 8, 2, 11, split=0).makes(WATERMARK, 7, 1, 10, split=1).makes(WATERMARK, 8).sends(
        WATERMARK, 8
    )
    assert history.broken("task-watermark") == [], "the slower one may have ended"
    history.makes(WATERMARK, 9, 2, 12, split=1)
    assert history.broken("task-watermark") == ["was there, but did not hold back the others"]


def test_a_merged_watermark_that_no_split_has_reached() -> None:
    history = History(inputs=0, chain=SOURCE).makes(WATERMARK, 6, 1, 9, split=0).makes(WATERMARK, 5).sends(WATERMARK, 5)
    assert history.broken("task-watermark") == ["no split has reached it"]


ASSIGNS = (("watermarks", BOUNDED),)


def test_an_operator_that_assigns_timestamps_swallows_all_but_the_end() -> None:
    """Rule 8.7."""
    history = History(chain=ASSIGNS).hears(WATERMARK, 50).hears(STATUS, IDLE).hears(STATUS, ACTIVE)
    history.hears(WATERMARK, MAX_WATERMARK).makes(WATERMARK, MAX_WATERMARK, 0, NO_TIMESTAMP).sends(
        WATERMARK, MAX_WATERMARK
    )
    assert history.broken("task-watermark") == history.broken("idle") == []


def test_an_operator_that_assigns_timestamps_and_lets_others_pass() -> None:
    assert (
        History(chain=ASSIGNS).hears(WATERMARK, 50).sends(WATERMARK, 50).broken("task-watermark")
        == ["a watermark or status has no cause"] * 2
    )


@pytest.mark.parametrize("early", [True, False])
def test_an_operator_that_assigns_timestamps_ends_when_its_input_does(early: bool) -> None:
    history = History(chain=ASSIGNS)
    if early:
        history.makes(WATERMARK, MAX_WATERMARK, 0, NO_TIMESTAMP).sends(WATERMARK, MAX_WATERMARK)
        assert history.broken("task-watermark") == ["the end of event time before the inputs reached it"]
    else:
        history.hears(WATERMARK, MAX_WATERMARK)
        assert history.broken("task-watermark") == ["the end of event time does not pass"]
        assert history.broken("task-watermark", whole=False) == []


def quiet_source(at_ns: int) -> History:
    history = History(inputs=0, chain=SOURCE)
    history._add("lifecycle", -1, MS, LifeEvent.RUNNING)
    history.sends(RECORD, 9, 0, at_ns=5 * MS).makes(STATUS, IDLE, 1, 9, at_ns=at_ns)
    return history.sends(STATUS, IDLE)


def test_a_source_is_idle_only_after_its_timeout() -> None:
    """Rule 8.4: more than the timeout."""
    assert quiet_source(6 * MS + 1).broken("idle") == []
    assert quiet_source(6 * MS).broken("idle") == ["idle before the timeout has passed"]


def test_a_source_that_never_spoke_is_idle_only_after_its_timeout() -> None:
    history = History(inputs=0, chain=SOURCE)
    history._add("lifecycle", -1, MS, LifeEvent.RUNNING)
    history.makes(STATUS, IDLE, 0, NO_TIMESTAMP, at_ns=2 * MS).sends(STATUS, IDLE)
    assert history.broken("idle") == ["idle before the timeout has passed"]


def test_a_strategy_that_speaks_while_idle() -> None:
    history = quiet_source(9 * MS).makes(WATERMARK, 6, 1, 9)
    assert history.broken("idle") == ["a watermark is sent while idle"]


def test_timers_that_give_way_hold_watermarks_back_and_merge_them() -> None:
    """Rule 9.18."""
    history = History(chain=(("keyed_process", {"interruptible_timers": True}),))
    history.hears(WATERMARK, 3).hears(WATERMARK, 5).sends(WATERMARK, 5).hears(STATUS, IDLE).sends(STATUS, IDLE)
    assert history.broken("task-watermark") == []
    assert history.sends(WATERMARK, 4, 0).broken("task-watermark") == ["a watermark or status has no cause"]


def test_a_task_behind_a_source_that_ends_while_idle_owes_no_last_watermark() -> None:
    """Law end: rule 5.8 lets the last watermark of an idle source get lost."""

    def ending(*told: int) -> list[object]:
        history = History()
        for timestamp in told:
            history.hears(WATERMARK, timestamp)
        history._add("lifecycle", 0, 0, LifeEvent.FINISH)
        return history.sends(ElementKind.END_OF_DATA, 1).broken("end")

    assert ending(7) == []
    assert ending(7, MAX_WATERMARK) == ["EndOfData with drain, but no MAX_WATERMARK before it"] * 2
