"""``flowsim why`` about timers, firings and state: cases that random jobs rarely reach, and refused questions."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from tests.unit.why.conftest import Ask, text_of

GLOBAL = """\
flowsim: 1
name: global
settings: {record: full}
sources:
  readings: {collection: {fields: {n: long}, rows: [[1], [2], [3]]}}
operators:
  counts:
    input: readings
    key_by: "'all'"
    window: {global_window: true, trigger: {count: 2}}
    aggregate: {n: count()}
sinks: {out: {input: counts, collect: {}}}
"""
UNKEYED = """\
flowsim: 1
name: unkeyed
settings: {record: full, record_state: true}
sources: {readings: {collection: {fields: {n: long}, rows: [[1]]}}}
sinks: {out: {input: readings, collect: {}}}
"""


def test_timers_need_a_recording_of_level_full(ask: Ask) -> None:
    for question in ("timer", "ignored"):
        with pytest.raises(
            BadInput, match="timers are recorded at level full only; run the job again with 'record: full'"
        ):
            ask(GLOBAL.replace("record: full", "record: elements"), question)


def test_state_needs_recorded_changes(ask: Ask) -> None:
    with pytest.raises(
        BadInput, match="changes of state are recorded only with 'record: full' and 'record_state: true'"
    ):
        ask(GLOBAL, "state")


def test_unknown_key_is_refused_with_a_similar_one(ask: Ask) -> None:
    with pytest.raises(
        BadInput, match=r"'silnet' is no operator, window or key of this recording \(did you mean 'silent'\?\)"
    ):
        ask("14_timer_storm", "timer", "silnet")


def test_job_without_keys_has_no_timers_and_no_state(ask: Ask) -> None:
    assert ask(UNKEYED, "timer").statement.text == (
        "No timer was registered: this job has no keyed stream, and timers need keys."
    )
    assert ask(UNKEYED, "state").statement.text == "No call has written state."


def test_time_that_no_timer_has_is_named_with_the_timers_there_are(ask: Ask) -> None:
    answer = ask("14_timer_storm", "timer", "7", "@9")

    assert answer.statement.text == "No timer 9 ms of key 7 was registered."
    assert answer.notes == ("1 other timer: 1 fired",)


def test_count_fires_a_global_window_that_is_never_cleaned_up(ask: Ask) -> None:
    text = text_of(ask(GLOBAL, "fired"))

    assert text.startswith('The global window of key "all" fired once, at ')
    assert (
        "with record [2], the count of its trigger reached 2 records. It passed 2 records to the window function."
        in text
    )


def test_global_window_is_never_deleted(ask: Ask) -> None:
    answer = ask(GLOBAL, "deleted")

    assert answer.statement.text == 'The global window of key "all" has not been deleted at counts (1/1).'
    assert [cause.text for cause in answer.causes] == [
        "It is never cleaned up: its cleanup time is MAX, for which there is no timer."
    ]


def test_what_has_not_fired_is_answered_as_no_output(ask: Ask) -> None:
    fired = ask("11a_silent_partition", "fired", "[0, 500)", "a", at_ms=5000)

    assert fired == ask("11a_silent_partition", "no-output", "[0, 500)", "a", at_ms=5000)


def test_key_of_a_sink_behind_another_task_finds_its_window(ask: Ask) -> None:
    """The sink is not in the chain of the windows."""
    answer = ask("12_three_lateness_settings", "no-output", "late_out", "a")

    assert answer.statement.text.startswith('Window [0, 10) of key "a" has fired at kept (1/1): 1 time')
