"""Laws task-watermark and idle over hand-made histories: what satisfies them, and each violation."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.law import Verdict
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.event_time_history import ACTIVE, IDLE, RECORD, STATUS, WATERMARK, History

BOUNDED: dict[str, object] = {"watermarks": {"kind": "bounded", "bound_ms": 2, "idle_ms": 1}}
SOURCE = (("source", BOUNDED), ("map", {}))
MS = 1_000_000


def test_watermark_and_status_forwarded_to_every_channel_satisfy_laws() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5).hears(STATUS, IDLE).sends(STATUS, IDLE)
    assert history.judged("task-watermark").verdict is Verdict.HOLDS
    assert history.judged("idle").verdict is Verdict.HOLDS
    assert history.judged("task-watermark").rows_examined == 6
    assert history.judged("idle").rows_examined == 4


def test_watermark_missing_on_one_channel_violates() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5, 0).hears(WATERMARK, 6).sends(WATERMARK, 6)
    assert history.broken("task-watermark") == ["an expected watermark or status is not sent"]
    assert history.broken("task-watermark", whole=False) == ["an expected watermark or status is not sent"], (
        "the next one came already"
    )


def test_last_watermark_of_prefix_may_be_missing() -> None:
    history = History().hears(WATERMARK, 5).sends(WATERMARK, 5, 0)
    assert history.broken("task-watermark", whole=False) == []
    assert history.broken("task-watermark") == ["an expected watermark or status is not sent"]


def test_watermark_without_cause_violates() -> None:
    history = History().sends(WATERMARK, 1, 0).hears(WATERMARK, 5).sends(WATERMARK, 4, 1)
    assert sorted(map(str, history.broken("task-watermark", whole=False))) == ["a watermark or status has no cause"] * 2


@pytest.mark.parametrize(("sent", "broken"), [(3, 0), (8, 4)])
def test_two_inputs_have_minimum_watermark(sent: int, broken: int) -> None:
    """Rule 8.16."""
    history = History(inputs=2).hears(WATERMARK, 8, of=1).hears(WATERMARK, 3, of=0).sends(WATERMARK, sent)
    assert len(history.broken("task-watermark")) == broken


def test_idle_input_is_ignored_and_all_idle_makes_task_idle() -> None:
    """Rule 8.16: the watermark that the input had held back first, then the status."""
    history = History(inputs=2).hears(WATERMARK, 8, of=1).hears(STATUS, IDLE, of=0).sends(WATERMARK, 8)
    history.hears(STATUS, IDLE, of=1).sends(STATUS, IDLE).hears(STATUS, ACTIVE, of=0).sends(STATUS, ACTIVE)
    history.hears(WATERMARK, 7, of=0)
    assert history.broken("task-watermark") == history.broken("idle") == []


def test_missing_status_violates_task_watermark_and_idle() -> None:
    history = History().hears(STATUS, IDLE).sends(STATUS, IDLE, 0).hears(STATUS, ACTIVE).sends(STATUS, ACTIVE, 0)
    assert history.broken("task-watermark") == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]
    assert history.broken("idle") == [
        "an expected watermark or status is not sent",
        "an expected watermark or status is not sent",
    ]


def test_idle_task_with_active_input_violates_idle() -> None:
    history = History(inputs=2).hears(STATUS, IDLE, of=0).sends(STATUS, IDLE)
    assert history.broken("idle") == ["a watermark or status has no cause"] * 2


def test_watermark_or_repeated_status_while_idle_violates_idle() -> None:
    free = History(inputs=0, chain=(("source", {}),))
    free.sends(STATUS, IDLE).sends(WATERMARK, 3).sends(STATUS, IDLE)
    assert free.broken("idle") == [
        "a watermark is sent while idle",
        "a watermark is sent while idle",
        "a status equals the previous one",
        "a status equals the previous one",
    ]
    assert free.broken("task-watermark") == [], "a source without a strategy may say what it likes, but to all the same"


def test_source_without_strategy_must_send_same_to_all_channels() -> None:
    """Rule 8.18."""
    free = History(inputs=0, chain=(("source", {}),)).sends(WATERMARK, 3).sends(WATERMARK, 4, 0)
    assert free.broken("task-watermark") == ["the watermarks or statuses differ between channels"]
    assert free.broken("task-watermark", whole=False) == []


def source() -> History:
    """Two records and the watermark that they allow, sent."""
    history = History(inputs=0, chain=SOURCE).sends(RECORD, 9, 0, at_ns=MS).sends(RECORD, 7, 1, at_ns=2 * MS)
    return history.makes(WATERMARK, 6, records=2, highest=9).sends(WATERMARK, 6)


def test_watermark_of_strategy_and_final_watermark_satisfy_law() -> None:
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
def test_watermark_of_strategy_ahead_of_records_violates(timestamp: int, records: int, highest: int, what: str) -> None:
    """Rule 8.1."""
    history = History(inputs=0, chain=SOURCE).sends(RECORD, 9, 0).sends(RECORD, 7, 1)
    history.makes(WATERMARK, timestamp, records, highest).sends(WATERMARK, timestamp)
    assert history.broken("task-watermark") == [what]


def test_watermark_of_strategy_that_does_not_grow_violates() -> None:
    """Rule 8.5."""
    assert source().makes(WATERMARK, 6, 2, 9).sends(WATERMARK, 6).broken("task-watermark") == ["does not grow"]


def test_merged_watermark_is_minimum_of_splits() -> None:
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


def test_merged_watermark_that_no_split_reached_violates() -> None:
    history = History(inputs=0, chain=SOURCE).makes(WATERMARK, 6, 1, 9, split=0).makes(WATERMARK, 5).sends(WATERMARK, 5)
    assert history.broken("task-watermark") == ["no split has reached it"]


ASSIGNS = (("watermarks", BOUNDED),)


def test_assigning_operator_swallows_input_watermarks_except_the_last() -> None:
    """Rule 8.7."""
    history = History(chain=ASSIGNS).hears(WATERMARK, 50).hears(STATUS, IDLE).hears(STATUS, ACTIVE)
    history.hears(WATERMARK, MAX_WATERMARK).makes(WATERMARK, MAX_WATERMARK, 0, NO_TIMESTAMP).sends(
        WATERMARK, MAX_WATERMARK
    )
    assert history.broken("task-watermark") == history.broken("idle") == []


def test_assigning_operator_forwarding_input_watermark_violates() -> None:
    assert (
        History(chain=ASSIGNS).hears(WATERMARK, 50).sends(WATERMARK, 50).broken("task-watermark")
        == ["a watermark or status has no cause"] * 2
    )


@pytest.mark.parametrize("early", [True, False])
def test_assigning_operator_emits_max_watermark_with_its_input(early: bool) -> None:
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


def test_source_idle_before_timeout_violates_idle() -> None:
    """Rule 8.4: more than the timeout."""
    assert quiet_source(6 * MS + 1).broken("idle") == []
    assert quiet_source(6 * MS).broken("idle") == ["idle before the timeout has passed"]


def test_source_without_records_idle_before_timeout_violates_idle() -> None:
    history = History(inputs=0, chain=SOURCE)
    history._add("lifecycle", -1, MS, LifeEvent.RUNNING)
    history.makes(STATUS, IDLE, 0, NO_TIMESTAMP, at_ns=2 * MS).sends(STATUS, IDLE)
    assert history.broken("idle") == ["idle before the timeout has passed"]


def test_watermark_of_idle_strategy_violates_idle() -> None:
    history = quiet_source(9 * MS).makes(WATERMARK, 6, 1, 9)
    assert history.broken("idle") == ["a watermark is sent while idle"]


def test_interruptible_timers_may_delay_and_merge_watermarks() -> None:
    """Rule 9.18."""
    history = History(chain=(("keyed_process", {"interruptible_timers": True}),))
    history.hears(WATERMARK, 3).hears(WATERMARK, 5).sends(WATERMARK, 5).hears(STATUS, IDLE).sends(STATUS, IDLE)
    assert history.broken("task-watermark") == []
    assert history.sends(WATERMARK, 4, 0).broken("task-watermark") == ["a watermark or status has no cause"]


def test_task_behind_source_ended_while_idle_needs_no_max_watermark() -> None:
    """Law end: rule 5.8 lets the last watermark of an idle source get lost."""

    def ending(*reported: int) -> list[object]:
        history = History()
        for timestamp in reported:
            history.hears(WATERMARK, timestamp)
        history._add("lifecycle", 0, 0, LifeEvent.FINISH)
        return history.sends(ElementKind.END_OF_DATA, 1).broken("end")

    assert ending(7) == []
    assert ending(7, MAX_WATERMARK) == ["EndOfData with drain, but no MAX_WATERMARK before it"] * 2
