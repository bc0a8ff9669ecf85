"""Laws task-watermark and idle over hand-made histories: what satisfies them, and each violation."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, WaitKind
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


ENDED = ElementKind.END_OF_PARTITION
WRONG, MISSING = "not the merged watermark of the splits", "the merged watermark of the splits is missing"


class Splits:
    """A source with two splits, whose records no edge shows."""

    def __init__(self, *splits: int) -> None:
        self.history = History(inputs=0, chain=(("source", {"watermarks": {"kind": "none"}}), ("filter", {})))
        for split in splits or (0, 1):
            self.make(STATUS, ACTIVE, split)

    def make(self, kind: ElementKind, timestamp: int, split: int = -1, records: int = 0, at_ms: int = 0) -> Splits:
        self.history.makes(kind, timestamp, records, split=split, at_ns=at_ms * MS)
        if split == -1 and kind in (WATERMARK, STATUS):
            self.history.sends(kind, timestamp)
        return self

    def broken(self, whole: bool = True) -> list[object]:
        return self.history.broken("task-watermark", whole)


def test_merged_watermark_is_minimum_of_splits_and_of_all_the_maximum_if_they_are_idle() -> None:
    """Rule 8.6."""
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1).make(WATERMARK, 3, at_ms=0)
    made.make(STATUS, IDLE, 1, 1, 5).make(WATERMARK, 6, at_ms=5).make(WATERMARK, 9, 0, 2, 7).make(WATERMARK, 9, at_ms=7)
    made.make(STATUS, IDLE, 0, 2, 9).make(STATUS, IDLE, at_ms=9).make(STATUS, ACTIVE, 1, 1, 11)
    assert made.broken() == []
    ahead = Splits().make(WATERMARK, 6, 0).make(STATUS, IDLE, 1).make(WATERMARK, 6).make(WATERMARK, 8, 0, 1, 2)
    assert ahead.make(WATERMARK, 8, at_ms=2).make(STATUS, IDLE, 0, 1, 4).make(STATUS, IDLE, at_ms=4).broken() == []


@pytest.mark.parametrize("emitted", [6, 4])
def test_merged_watermark_that_is_not_that_of_the_splits_violates(emitted: int) -> None:
    assert Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1).make(WATERMARK, emitted).broken()[:1] == [WRONG]


def test_missing_merged_watermark_violates() -> None:
    """Rule 8.6: it is due in the call in which a split makes it possible, and the run or the next call shows that."""
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1)
    assert made.broken() == [MISSING]
    assert made.broken(whole=False) == [], "it may come"
    assert made.make(WATERMARK, 7, 0, 1, at_ms=1).broken(whole=False) == [MISSING]


def test_record_after_split_shows_that_merged_watermark_is_missing() -> None:
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1)
    made.history.sends(RECORD, 9, 0)
    assert made.broken(whole=False) == [MISSING]


def test_late_merged_watermark_violates() -> None:
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1).make(WATERMARK, 7, 0, 1, at_ms=1)
    assert made.make(WATERMARK, 3, at_ms=1).broken() == [MISSING]


def test_merged_watermark_can_follow_a_status_that_waited_for_buffers() -> None:
    """Rule 8.6: both are sent in one call, which goes on when the status has found buffers."""
    made = Splits().make(WATERMARK, 6, 0).make(STATUS, IDLE, 1).make(WATERMARK, 6).make(STATUS, IDLE, 0)
    made.make(STATUS, IDLE).make(STATUS, ACTIVE, 0, 1, 5).make(WATERMARK, 8, 0, 1, 5).make(STATUS, ACTIVE, at_ms=5)
    assert made.make(WATERMARK, 8, at_ms=9).broken() == []
    made.make(STATUS, IDLE, 0, 1, 20).make(STATUS, IDLE, at_ms=20).make(STATUS, ACTIVE, 0, 1, 30)
    made.make(WATERMARK, 9, 0, 1, 30).make(STATUS, ACTIVE, at_ms=30)
    assert made.broken() == [MISSING]


def test_no_flush_of_maximum_when_all_splits_are_idle_violates() -> None:
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1).make(WATERMARK, 3)
    made.make(STATUS, IDLE, 0, 1, 5).make(STATUS, IDLE, 1, 1, 5).make(STATUS, IDLE, at_ms=5)
    assert made.broken() == [MISSING]


def test_idle_split_that_holds_back_merged_watermark_violates() -> None:
    made = Splits().make(WATERMARK, 6, 0).make(WATERMARK, 3, 1).make(WATERMARK, 3).make(STATUS, IDLE, 1, 1, 5)
    assert made.broken() == [MISSING]


def test_split_without_watermark_holds_back_the_others_until_it_ends() -> None:
    made = Splits().make(WATERMARK, 6, 0).make(ENDED, 0, 1)
    assert made.broken() == [], "it counts from the next call on"
    made.make(WATERMARK, 8, 0, 2, 5)
    assert made.broken() == [MISSING]
    assert made.make(WATERMARK, 8, at_ms=5).broken() == []


def test_split_that_begins_late_holds_back_the_others() -> None:
    made = Splits(0).make(WATERMARK, 6, 0).make(WATERMARK, 6).make(STATUS, ACTIVE, 1).make(WATERMARK, 8, 0, 1, 2)
    assert made.make(WATERMARK, 3, 1, 1, 3).broken() == []
    assert made.make(WATERMARK, 8, at_ms=3).broken() == [WRONG]


def test_source_whose_splits_are_not_known_is_not_judged_by_them() -> None:
    """Older recordings show no beginnings; and records that belong to no split have watermarks, too."""
    older = Splits(0).make(WATERMARK, 6, 1).make(WATERMARK, 6, 0).make(WATERMARK, 5)
    mixed = Splits(0).make(WATERMARK, 6, 0).make(WATERMARK, 6).make(RECORD, NO_TIMESTAMP).make(WATERMARK, 9)
    assert older.broken() == mixed.broken() == []


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


# Law idle: back pressure and alignment stop the clock of a timeout (rule 8.4).

EARLY, LATE = ["idle before the timeout has passed"], ["not idle although the timeout has passed"]
CALLED: dict[str, object] = {"watermarks": {"kind": "none", "idle_ms": 10, "auto_watermark_interval_ms": 2}}
OPENED_NS = 100 * MS
FULL = -2
"""The priority of a wait for output."""


class Quiet:
    """A source that reads one record at 101 ms; its periodic calls come every 2 ms."""

    def __init__(self, kind: str = "source") -> None:
        inputs = 0 if kind == "source" else 1
        self.history = History(inputs=inputs, chain=((kind, CALLED), ("map", {})))
        self.history.lives(LifeEvent.OPEN, 0, at_ns=OPENED_NS).lives(LifeEvent.RUNNING, at_ns=OPENED_NS)
        self.history.acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, 101 * MS).sends(RECORD, 9, 0, at_ns=101 * MS)
        self.history.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, 101 * MS)
        self.now_ms = 101

    def call(
        self, at_ms: int, priority: int = -1, split: int = -1, status: int | None = None, records: int = 1
    ) -> Quiet:
        """The loop waits, then a periodic call runs, and may declare a status."""
        history = self.history
        for phase, time_ns in ((ActionPhase.WAIT, self.now_ms * MS), (ActionPhase.RESUME, at_ms * MS)):
            history._add("actions", time_ns, phase, WaitKind.MAIL, 0, priority, 0)
        history.acts(ActionPhase.BEGIN, ActionKind.MAIL, at_ms * MS)
        if status is not None:
            history.makes(STATUS, status, records, 9, split=split, at_ns=at_ms * MS)
        history.acts(ActionPhase.END, ActionKind.MAIL, at_ms * MS)
        self.now_ms = at_ms
        return self

    def calls(self, *at_ms: int, priority: int = -1) -> Quiet:
        for each in at_ms:
            self.call(each, priority)
        return self

    def align(self, split: int, paused: int) -> Quiet:
        self.history._add("alignment", 0, self.now_ms * MS, split, paused, 5, 9)
        return self

    def broken(self, whole: bool = False) -> list[object]:
        return [what for what in self.history.broken("idle", whole) if what in (*EARLY, *LATE)]


def test_source_is_idle_at_first_call_more_than_timeout_after_second_call() -> None:
    """The call at 102 ms notices the record, that at 104 ms stores the time."""
    quiet = Quiet().calls(102, 104, 106, 108, 110, 112)
    assert quiet.call(114, status=IDLE).broken() == EARLY
    assert Quiet().calls(102, 104, 106, 108, 110, 112, 114).call(116, status=IDLE).broken() == []


@pytest.mark.parametrize("missing", [False, True])
def test_other_mails_are_no_periodic_calls(missing: bool) -> None:
    """Three mails at once: the time is stored by the next call that is due, 2 ms later."""
    quiet = Quiet().calls(102, 102, 102) if not missing else Quiet()
    assert quiet.calls(103).call(113, status=IDLE).broken() == EARLY


@pytest.mark.parametrize(("priority", "broken"), [(-1, []), (FULL, EARLY)])
def test_wait_for_output_stops_clock(priority: int, broken: list[str]) -> None:
    """FLINK-35886."""
    quiet = Quiet().calls(102, 104).calls(110, 112, priority=priority).call(116, status=IDLE)
    assert quiet.broken() == broken
    later = Quiet().calls(102, 104).calls(110, 112, priority=priority).calls(*range(114, 124, 2))
    assert later.call(124, status=IDLE).broken() == []
    later = Quiet().calls(102, 104).calls(110, 112, priority=priority).calls(*range(114, 126, 2))
    assert later.call(126, status=IDLE).broken() == ([] if priority == FULL else LATE)


def test_wait_for_buffer_inside_element_stops_clock() -> None:
    def waited(kind: WaitKind) -> Quiet:
        quiet = Quiet().calls(102, 104)
        quiet.history.acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, 104 * MS)
        quiet.history.acts(ActionPhase.WAIT, kind, 104 * MS).acts(ActionPhase.RESUME, kind, 112 * MS)
        quiet.history.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, 112 * MS)
        quiet.now_ms = 112
        return quiet.call(116, status=IDLE)

    assert waited(WaitKind.BUFFER).broken() == EARLY
    assert waited(WaitKind.COST).broken() == []


@pytest.mark.parametrize(("paused", "broken"), [(-1, EARLY), (0, []), (1, [])])
def test_alignment_of_source_stops_clock_of_whole_operator(paused: int, broken: list[str]) -> None:
    quiet = Quiet().calls(102, 104, 106).align(paused, 1).calls(108, 110, 112).align(paused, 0)
    assert quiet.calls(114).call(116, status=IDLE).broken() == broken


@pytest.mark.parametrize(("paused", "broken"), [(0, EARLY), (-1, []), (1, [])])
def test_alignment_of_split_stops_clock_of_split(paused: int, broken: list[str]) -> None:
    quiet = Quiet().calls(102, 104, 106).align(paused, 1).calls(108, 110, 112)
    assert quiet.calls(114).call(116, split=0, status=IDLE).broken() == broken


def test_source_that_is_never_idle_violates() -> None:
    """Its clock would have to stand still: at 122 ms the facts show it."""
    times = range(102, 136, 2)
    assert Quiet().calls(*times[:8]).broken() == []
    assert Quiet().calls(*times).broken() == LATE
    assert Quiet().calls(*times, priority=FULL).broken() == []
    assert Quiet().calls(102, 104, 106).align(-1, 1).calls(*times[3:]).broken() == []
    assert Quiet().calls(*times[:7]).call(116, status=IDLE).calls(*times[8:]).broken() == []
    reading = Quiet().calls(*times[:6])
    reading.history.sends(RECORD, 10, 0, at_ns=112 * MS)
    assert reading.calls(*times[6:11]).broken() == []
    ended = Quiet().calls(*times[:6])
    ended.history.lives(LifeEvent.FINISH, 0)
    assert ended.calls(*times[6:]).broken() == []


def test_operator_that_assigns_timestamps_is_idle_in_time() -> None:
    """Its calls come 3 ms after each other: 1 ms more than the interval (rule 9.10)."""
    times = range(102, 150, 3)
    assert Quiet("watermarks").calls(*times).broken() == LATE
    assert Quiet("watermarks").calls(*times, priority=FULL).broken() == []
    assert Quiet("watermarks").calls(*times[:5]).call(117, status=IDLE).calls(*times[6:]).broken() == []
    assert Quiet("watermarks").calls(*times[:3]).call(111, status=IDLE).broken() == EARLY


def quiet_split(*rows: tuple[ElementKind, int], begins: bool = True) -> Quiet:
    """A source with one split, and the rows of the split at 101 ms."""
    made = Quiet()
    for kind, timestamp, records in ((STATUS, ACTIVE, 0),) if begins else ():
        made.history.makes(kind, timestamp, records, NO_TIMESTAMP, split=0, at_ns=101 * MS)
    for kind, timestamp in rows:
        made.history.makes(kind, timestamp, 1, 9, split=0, at_ns=101 * MS)
    return made


def test_split_that_is_never_idle_violates_unless_it_ended() -> None:
    times = range(102, 136, 2)
    assert quiet_split((WATERMARK, 8)).calls(*times).broken() == LATE
    assert quiet_split((WATERMARK, 8)).align(0, 1).calls(*times).broken() == []
    assert quiet_split((WATERMARK, 8), (ENDED, 0)).calls(*times).broken() == []
    ends = quiet_split((WATERMARK, 8)).calls(*times)
    ends.history.makes(ENDED, 0, 1, 9, split=0, at_ns=136 * MS)
    assert ends.broken() == LATE
    older = quiet_split((WATERMARK, 8), begins=False)
    assert older.calls(*times).broken() == [], "the end of a split may not be recorded"


def test_split_without_records_that_is_never_idle_violates() -> None:
    made = quiet_split((WATERMARK, 8))
    made.history.makes(STATUS, ACTIVE, 0, NO_TIMESTAMP, split=1, at_ns=101 * MS)
    made.calls(*range(102, 116, 2)).call(116, split=0, status=IDLE).calls(*range(118, 136, 2))
    assert made.broken() == LATE


def test_split_that_begins_late_is_idle_a_timeout_after_that() -> None:
    def begun(idle_ms: int) -> list[object]:
        made = quiet_split((WATERMARK, 8)).calls(102, 104)
        made.history.makes(STATUS, ACTIVE, 0, NO_TIMESTAMP, split=1, at_ns=105 * MS)
        return made.calls(*range(106, idle_ms, 2)).call(idle_ms, split=1, status=IDLE, records=0).broken()

    assert begun(116) == EARLY, "the call at 106 ms stores the time"
    assert begun(118) == []


MERGED, PART = "not idle although all its splits are", "idle although a split is not"


def both_idle(*others: tuple[int, int]) -> History:
    """Both splits are idle at 116 ms; then the status of splits or of the source (-1), and calls."""
    made = quiet_split((WATERMARK, 8))
    made.history.makes(STATUS, ACTIVE, 0, NO_TIMESTAMP, split=1, at_ns=101 * MS)
    made.calls(*range(102, 116, 2)).call(116, split=0, status=IDLE)
    made.history.makes(STATUS, IDLE, 0, NO_TIMESTAMP, split=1, at_ns=116 * MS)
    made.history.makes(WATERMARK, 8, 1, 9, at_ns=116 * MS)
    for split, status in others:
        made.history.makes(STATUS, status, 1, 9, split=split, at_ns=116 * MS)
    return made.calls(*range(118, 136, 2)).history


def test_source_is_idle_when_all_its_splits_are() -> None:
    """Rule 8.6."""
    assert MERGED in both_idle().broken("idle", whole=False)
    idle = both_idle((-1, IDLE)).broken("idle", whole=False)
    active = both_idle((0, ACTIVE)).broken("idle", whole=False)
    assert MERGED not in (*idle, *active)


def test_source_that_is_idle_although_a_split_is_not_violates() -> None:
    made = quiet_split((WATERMARK, 8)).history
    made.makes(WATERMARK, 8, 1, 9).makes(STATUS, IDLE, 1, 9, at_ns=116 * MS)
    assert PART in made.broken("idle", whole=False)
    assert PART not in both_idle((-1, IDLE)).broken("idle", whole=False)


def test_clock_of_task_with_checkpoint_lock_and_of_real_time_is_not_judged() -> None:
    locked = Quiet()
    locked.history.acts(ActionPhase.BEGIN, ActionKind.LOCK_HOLDER, 101 * MS)
    locked.history.acts(ActionPhase.END, ActionKind.LOCK_HOLDER, 101 * MS)
    assert locked.calls(*range(102, 136, 2)).broken() == []


# Law task-watermark: what a periodic call generates is there when it has run (rules 8.1, 8.2, 8.6).

LATE_MARK = "no watermark is generated for the highest timestamp"
EVERY_2_MS: dict[str, object] = {"watermarks": {"kind": "bounded", "bound_ms": 2, "auto_watermark_interval_ms": 2}}


class Periodic:
    """A source opened at 100 ms, whose periodic calls come every 2 ms; it reads a record at 101 ms."""

    def __init__(self, strategy: dict[str, object] = EVERY_2_MS, behind: str = "map") -> None:
        self.now_ms = 101
        self.history = History(inputs=0, chain=(("source", strategy), (behind, {})))
        self.history.lives(LifeEvent.OPEN, 0, at_ns=OPENED_NS).lives(LifeEvent.RUNNING, at_ns=OPENED_NS)
        self.history.acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, 101 * MS)

    def read(self) -> Periodic:
        self.history.sends(RECORD, 9, 0, at_ns=101 * MS)
        self.history.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, 101 * MS)
        return self

    def waits(self, *at_ms: int) -> Periodic:
        """The loop waits for mail until each of these times."""
        for now_ms in at_ms:
            self.history.waits(self.now_ms * MS, now_ms * MS)
            self.now_ms = now_ms
        return self

    def makes(self, timestamp: int, at_ms: int, highest: int = 9, split: int = -1) -> Periodic:
        self.history.makes(WATERMARK, timestamp, 1, highest, split=split, at_ns=at_ms * MS)
        if split < 0:
            self.history.sends(WATERMARK, timestamp, at_ns=at_ms * MS)
        return self

    def broken(self) -> list[object]:
        return self.history.broken("task-watermark", whole=False)


def test_watermark_of_next_periodic_call_satisfies_law() -> None:
    """Rule 8.2."""
    assert Periodic().read().waits(102).makes(6, 102).waits(104, 106).broken() == []


def test_watermark_that_next_periodic_call_leaves_out_violates() -> None:
    never = Periodic().read().waits(102, 104)
    assert never.broken() == [], "the call of 102 ms may be the next thing that the task does"
    assert never.waits(106).broken() == [LATE_MARK]
    assert Periodic().read().waits(102, 104, 106).makes(6, 106).waits(108).broken() == [LATE_MARK], "one call too late"


@pytest.mark.parametrize("event", [LifeEvent.FINISH, LifeEvent.CANCELING, LifeEvent.STOP_NO_DRAIN])
def test_no_periodic_call_is_due_after_end(event: LifeEvent) -> None:
    made = Periodic().read().waits(102)
    made.history.lives(event, 0 if event is LifeEvent.FINISH else -1)
    assert made.waits(104, 106, 108).broken() == []


@pytest.mark.parametrize("strategy", [{"kind": "custom"}, {"kind": "bounded", "bound_ms": 2}, {"kind": "none"}])
def test_watermark_of_unknown_calls_or_of_other_strategy_may_be_missing(strategy: dict[str, object]) -> None:
    own = {"auto_watermark_interval_ms": 2} if strategy["kind"] != "bounded" else {}
    assert Periodic({"watermarks": {**strategy, **own}}).read().waits(102, 104, 106).broken() == []


def test_record_below_the_highest_timestamp_needs_no_watermark() -> None:
    made = Periodic()
    made.history.sends(RECORD, 20, 0, at_ns=101 * MS)
    made.read().history.acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, 101 * MS)
    assert made.makes(17, 101, 20).waits(102, 104, 106).broken() == ["the strategy did not count the sent records"]


def test_merged_watermark_after_end_of_split_is_due_at_next_call() -> None:
    """Rule 8.6: an unregistered split no longer counts, from the next update on."""

    def ended(*, late: bool, begins: bool = False) -> list[object]:
        made = Periodic({"watermarks": {"kind": "none", "auto_watermark_interval_ms": 2}}, "filter")
        for split in (0, 1):
            made.history.makes(STATUS, ACTIVE, split=split)
        made.makes(6, 101, split=0).history.makes(ENDED, 0, split=1, at_ns=101 * MS)
        made.history.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, 101 * MS)
        made.waits(102)
        if begins:
            made.history.makes(STATUS, ACTIVE, split=2, at_ns=102 * MS)
        elif not late:
            made.makes(6, 102)
        made.waits(104, 106)
        return made.makes(6, 106).broken() if late else made.broken()

    assert ended(late=False) == ended(late=False, begins=True) == []
    assert ended(late=True) == ["no merged watermark after the end of a split"]
