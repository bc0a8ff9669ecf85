"""``flowsim why ... no-output``: windows, sinks and keys without results, compared with plain computations."""

from __future__ import annotations

import re

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind
from flowsim.history.windows import panes_of, pending, window_operators
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, Recorded, text_of

SPLITS = """\
flowsim: 1
name: splits
sources:
  topic:
    script:
      fields: {at_ms: long, partition: string}
      subtasks:
        - - {record: [30, fast], split: fast}
          - {record: [5, slow], split: slow}
          - {record: [40, fast], split: fast}
          - {sleep: 1 h}
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  seen: {input: topic, key_by: partition, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks: {out: {input: seen, collect: {}}}
actions: [{stop: {at: 2 s, drain: false}}]
"""
COUNTED = """\
flowsim: 1
name: counted
sources:
  readings:
    collection: {fields: {n: long}, rows: [[1], [2], [3], [4], [5], [6]]}
operators:
  counts:
    input: readings
    key_by: "'all'"
    window: {global_window: true, trigger: {purging: {count: 4}}}
    aggregate: {n: count()}
sinks: {out: {input: counts, collect: {}}}
"""
QUEUED = """\
flowsim: 1
name: queued
settings: {buffer_timeout: 0}
sources:
  readings:
    script:
      fields: {n: long}
      subtasks: [[{record: [1], timestamp: 1}, {record: [5000], timestamp: 2}, {watermark: 9}, {sleep: 1 h}]]
operators:
  asked: {input: readings, async: {mode: unordered, latency: {each: n}, select: {n: n}}}
  counts: {input: asked, key_by: "'all'", window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks: {out: {input: counts, collect: {}}}
actions: [{stop: {at: 9 s, drain: false}}]
"""
ALL_FIRED = ["08a_stop_with_drain", "11b_silent_partition_idle", "12_three_lateness_settings", "13_sessions_merge"]


def facts_of(recorded: Recorded, scenario: str) -> RunFacts:
    return RunFacts(flowsim.open_recording(recorded(scenario)))


@pytest.mark.parametrize("scenario", ALL_FIRED)
def test_no_window_is_pending_after_a_drained_run(recorded: Recorded, scenario: str) -> None:
    facts = facts_of(recorded, scenario)
    operators = list(window_operators(facts))

    assert operators
    assert [pane for task, operator, plan in operators for pane in pending(panes_of(facts, task, operator, plan))] == []


@pytest.mark.parametrize("at_ms", [250, 650, 1100, 1499, 1990, 2400])
def test_pending_windows_are_those_with_records_and_without_firing(recorded: Recorded, at_ms: int) -> None:
    """The plain computation: tumbling windows of 500 ms, less those in window_fire."""
    whole = facts_of(recorded, "11b_silent_partition_idle")
    now_ns = whole.start_ns + at_ms * 1_000_000
    intakes = [row for row in whole.recording.rows("window_intake") if row[3] <= now_ns]
    fires = {row[5:8] for row in whole.recording.rows("window_fire") if row[3] <= now_ns}
    expected = {(row[5], row[6] // 500 * 500, row[6] // 500 * 500 + 500) for row in intakes} - fires

    facts = whole.until(now_ns)
    panes = [
        pane
        for task, operator, plan in window_operators(facts)
        for pane in pending(panes_of(facts, task, operator, plan))
    ]

    assert {(pane.key, *pane.window) for pane in panes} == expected


@pytest.mark.parametrize("at_ms", [32, 41, 45, 52, 55, 59])
def test_channel_with_lowest_watermark_is_named(ask: Ask, recorded: Recorded, at_ms: int) -> None:
    """The plain computation: the last watermark of each channel of the task with two inputs."""
    facts = facts_of(recorded, "16_two_watermarks")
    now_ns = facts.start_ns + at_ms * 1_000_000
    lowest: dict[int, int] = {0: NO_TIMESTAMP, 1: NO_TIMESTAMP}
    for row in facts.recording.rows("received"):
        if row[1] == 2 and row[2] <= now_ns and row[5] == ElementKind.WATERMARK:
            lowest[row[3]] = row[6]
    channel = min(lowest, key=lambda one: lowest[one])

    text = text_of(ask("16_two_watermarks", "no-output", "[20, 30)", at_ms=at_ms))

    watermark = "no watermark yet" if lowest[channel] == NO_TIMESTAMP else f"watermark {lowest[channel]} ms"
    found = re.search(r"Channel #(\d+) from Source: (\w+) \(1/1\) holds it back with (.*?)\. \[", text)
    assert found is not None, text
    assert (int(found[1]), found[3]) == (channel, f"{watermark}")


def test_silent_channel_without_idle_timeout_holds_back_the_watermark(ask: Ask) -> None:
    text = text_of(ask("11a_silent_partition", "no-output", at_ms=5000))

    assert text.startswith("Sink: out has received no row by 5 s.")
    for part in (
        'Window [0, 500) of key "b" has not fired at counts (1/1); it has 4 records. 7 more windows',
        "reaches 499 ms, its last millisecond. [10.13, 10.17]",
        "Channel #2 from Source: empty (1/1) holds it back with no watermark yet. [8.9]",
        "has generated no watermark: it makes its watermark from records, and none has come so far. [8.1]",
        "stamped_empty is not idle, and no idle timeout is set: the recording does not show that it becomes idle. [8.4]",
    ):
        assert part in text


def test_idle_channels_create_no_watermark(ask: Ask) -> None:
    text = text_of(ask("17_idleness_makes_no_watermark", "no-output", "[1000, 2000)", at_ms=20000))

    assert "has watermark 1,899 ms, and its 2 channels are all idle. Idleness creates no watermark" in text
    assert "needs a record of timestamp 2,000 ms or later, and none has come so far." in text
    assert "stamped is idle since 1.407 s, after its idle timeout of 1 s" in text


def test_needed_record_would_fire_the_window(ask: Ask) -> None:
    """A record with the named timestamp fires it; one with a timestamp of 1 ms less does not."""
    for timestamp, has_fired in ((2000, True), (1999, False)):
        text = f"""\
flowsim: 1
name: needed
sources:
  readings:
    script:
      fields: {{at_ms: long}}
      subtasks: [[{{record: [1200]}}, {{record: [{timestamp}]}}, {{sleep: 1 h}}]]
operators:
  stamped: {{input: readings, watermarks: {{timestamp: at_ms}}}}
  counts: {{input: stamped, key_by: "'all'", window: {{tumbling: 1 s}}, aggregate: {{n: count()}}}}
sinks: {{out: {{input: counts, collect: {{}}}}}}
actions: [{{stop: {{at: 2 s, drain: false}}}}]
"""
        answer = ask(text, "no-output", "[1000, 2000)")
        assert ("has fired" in answer.statement.text) is has_fired
        assert ("needs a record of timestamp 2,000 ms or later" in text_of(answer)) is not has_fired


def test_stop_without_drain_ends_no_event_time(ask: Ask) -> None:
    text = text_of(ask("08b_stop_without_drain", "no-output"))

    assert "Sink: counts has received 2 rows." in text
    assert "Source: ticks (1/1) has ended its data without drain: it sent no MAX watermark" in text
    assert "A stop without drain reached Source: ticks (1/1)." in text


def test_source_that_ends_while_idle_sends_no_watermark(ask: Ask) -> None:
    text = text_of(ask("21_ends_while_idle", "no-output", "quiet_out"))

    assert "was idle when its input ended. An idle output drops watermarks" in text
    assert "[5.8, 8.17, 4.10]" in text


def test_processing_time_window_is_dropped_at_the_end(ask: Ask) -> None:
    text = text_of(ask("19_processing_time_windows_vanish", "no-output", "clock"))

    assert "at 1,499 ms of the processing time, which is 500 ms of the run. [10.18, 9.10]" in text
    assert "had ended by 400.003 ms. At the end, processing-time timers that are not due are dropped" in text


def test_event_time_timers_wait_for_the_watermark(ask: Ask) -> None:
    text = text_of(ask("14_timer_storm", "no-output", at_ms=1.5))

    assert (
        "silent (1/1) waits with 1,114 event-time timers. The first one, 60,000 ms of key 0, fires when the watermark"
        in text
    )
    assert "needs a record of timestamp 60,001 ms or later, and none has come so far" in text


def test_subtask_without_keys_lists_key_groups(ask: Ask) -> None:
    text = text_of(ask("20_few_keys", "no-output", "counts (7/8)"))

    assert "it owns the key groups 96 to 111 of 128" in text
    assert 'key "2": group 27, subtask 2' in text


def test_late_side_output_without_late_records_is_explained(ask: Ask) -> None:
    text = text_of(ask("18_busy_is_not_idle", "no-output", "late"))

    assert (
        "Side output 'late' of counts gets only late records, and none of the 400 records of counts was late." in text
    )


def test_failed_job_names_the_failure_and_the_element_in_the_queue(ask: Ask) -> None:
    answer = ask("26a_async_timeout_fails", "no-output")

    assert "The job failed in Source: asks -> asked -> Sink: out (1/1)" in answer.causes[0].text
    assert "asked in Source: asks (1/1) has 2 elements in its queue: element 1: record [2]" in answer.causes[1].text


def test_region_that_has_not_started_leads_to_the_blocking_exchange(ask: Ask) -> None:
    text = text_of(ask("09_blocking_or_pipelined", "no-output", "from_spilled", at_ms=50))

    assert "Sink: from_spilled (1/1) starts together with spilled (1/1)" in text
    assert "spilled (1/1) reads a blocking exchange" in text


def test_watermark_that_waits_behind_records_leads_to_the_slow_task(ask: Ask) -> None:
    text = text_of(ask("18_busy_is_not_idle", "no-output", "[0, 500)", "b", at_ms=1900))

    assert "To generate watermark 499 ms, Source: busy (1/1) needs a record of timestamp" in text
    assert "counts (1/1) is busy" in text


def test_all_results_are_there(ask: Ask) -> None:
    answer = ask("08a_stop_with_drain", "no-output")

    assert answer.statement.text == "Sink: counts has received 3 rows."
    assert answer.notes == ("nothing is open before it: what was read has been processed",)


LOST = "41e_rows_lost_behind_interruptible_timers"


def test_rows_behind_the_end_of_data_are_named_with_their_timers(ask: Ask) -> None:
    """2,000 timers fire, and the scenario expects 1,165 rows."""
    answer = ask(LOST, "no-output", "out")

    assert answer.statement.text == "Sink: out has received 1,165 rows."
    dropped, finished = answer.causes
    assert "dropped 835 records that came after the end of its data" in dropped.text
    assert (dropped.rules, len(dropped.details), dropped.details[-1]) == (("4.11",), 17, "and 819 more")
    assert "while 835 timers of its 2,000 had not fired" in finished.text
    assert "FLINK-39481" in finished.text


@pytest.mark.parametrize("at_ms", [300, 900, 1_200, 1_600, 3_000])
def test_rows_that_are_called_lost_are_those_that_are_nowhere(ask: Ask, recorded: Recorded, at_ms: int) -> None:
    answer = ask(LOST, "no-output", "out", at_ms=at_ms)
    table = flowsim.open_recording(recorded(LOST)).table("received").to_pylist()
    arrived = [row["time_ns"] for row in table if row["task"] == 2 and row["kind"] == ElementKind.RECORD]
    until = sum(time <= 1_000_000_000 + at_ms * 1_000_000 for time in arrived)

    assert answer.statement.text.startswith(f"Sink: out has received {min(until, 1165):,} rows")
    lost = re.search(r"dropped ([\d,]+) records? that came after the end", text_of(answer))
    assert (0 if lost is None else int(lost[1].replace(",", ""))) == max(until - 1165, 0)


def test_no_row_is_called_lost_without_interruptible_timers(ask: Ask) -> None:
    answer = ask(LOST, "no-output", "out", overrides=("settings.interruptible_timers=false", "expect={}"))

    assert (answer.statement.text, answer.causes) == ("Sink: out has received 2,000 rows.", ())


def test_window_that_fired_names_its_firing(ask: Ask) -> None:
    answer = ask("12_three_lateness_settings", "no-output", "[0,10)", "forgiving")

    assert answer.statement.text.startswith('Window [0, 10) of key "a" has fired at forgiving (1/1): 2 times')


def test_window_without_records_lists_windows_with_records(ask: Ask) -> None:
    answer = ask("12_three_lateness_settings", "no-output", "[90, 100)")

    assert answer.statement.text.startswith("No record of window [90, 100) has arrived")
    assert answer.notes == ('windows with records: [0, 10) of key "a", [10, 20) of key "a"',)


def test_unknown_name_is_refused(ask: Ask) -> None:
    with pytest.raises(BadInput, match=r"'zz' is no operator, window or key of this recording \(known: .*a window is"):
        ask("11a_silent_partition", "no-output", "zz")


def test_slowest_split_holds_back_the_watermark_of_its_source(ask: Ask) -> None:
    text = text_of(ask(SPLITS, "no-output", at_ms=1000))

    assert 'the minimum over the 2 splits that it waits for, that of split "slow". [8.6]' in text
    assert 'Split "slow" of Source: topic (1/1) generated watermark 4 ms after 1 record' in text
    assert 'split "slow" of Source: topic (1/1) needs a record of timestamp 10 ms or later' in text


def test_purged_window_waits_for_the_next_count(ask: Ask) -> None:
    text = text_of(ask(COUNTED, "no-output"))

    assert "The global window" in text
    assert "It fires when it has 4 records; it has 2. Time does not fire it. [10.19]" in text


def test_window_of_several_triggers_names_what_each_waits_for(ask: Ask) -> None:
    trigger = "any_of: [{count: 9}, {any_of: [{purging: {count: 7}}, never]}]"
    text = text_of(ask(COUNTED.replace("{purging: {count: 4}}", "{" + trigger + "}"), "no-output"))

    assert "It fires when one of its triggers fires: count, count, never." in text
    assert "The trigger count fires at every 9 records that it counts. [10.19]" in text
    assert "The trigger count fires at every 7 records that it counts. [10.19]" in text
    assert "The global window never fires by itself" in text


def test_watermark_waits_in_async_queue_behind_its_records(ask: Ask) -> None:
    text = text_of(ask(QUEUED, "no-output", "[0, 10)", at_ms=1000))

    assert 'Window [0, 10) of key "all" has not fired at counts (1/1): it has 1 record.' in text
    assert "Watermark 9 ms is in the queue of asked: it leaves after 1 record before it. [11.2, 11.11]" in text
    assert "has fired" in ask(QUEUED, "no-output", "[0, 10)", at_ms=6000).statement.text


def test_killed_run_is_explained_up_to_its_last_epoch(recorded: Recorded, ask: Ask) -> None:
    path = recorded(SPLITS, "settings.seed=9")
    manifest = path / "recording" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"running"'))

    assert 'split "slow": watermark 4 ms' in text_of(ask(SPLITS, "no-output", overrides=("settings.seed=9",)))


def test_too_many_windows_are_refused(ask: Ask) -> None:
    many = SPLITS.replace("{tumbling: 10 ms}", "{sliding: {size: 5 s, slide: 1 ms}}")

    with pytest.raises(
        BadInput, match="seen puts 3 records into 5,000 windows each, more than 'why no-output' computes"
    ):
        ask(many, "no-output")


def test_elements_on_the_way_are_counted_at_level_elements(ask: Ask) -> None:
    overrides = ("settings.record=elements", "sources.clicks.generator.count=2000")
    text = text_of(ask("06_one_slow_channel", "no-output", "out", at_ms=10, overrides=overrides))

    assert "where they are is not recorded without --record full" in text
    assert "15 elements sent and not read" in text
    assert "in the sender's queue" not in text


MARKED = """\
flowsim: 1
name: marked
sources:
  topic:
    script:
      fields: {at_ms: long}
      subtasks: [[{record: [30]}, {idle: true}, {sleep: 1 h}]]
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  seen: {input: topic, key_by: "'all'", window: {tumbling: 100 ms}, aggregate: {n: count()}}
sinks: {out: {input: seen, collect: {}}}
actions: [{stop: {at: 2 s, drain: false}}]
"""


def test_source_that_its_reader_marked_idle_is_not_called_timed_out(ask: Ask) -> None:
    marked = text_of(ask(MARKED, "no-output", "[0, 100)", at_ms=1000))
    assert "Source: topic is idle since 1 us: its reader or its watermark generator declared this." in marked
    assert "timeout" not in marked
