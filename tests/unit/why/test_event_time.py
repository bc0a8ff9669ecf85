"""What answers about windows and late records say of idleness, attempts, ends and splits, and of what comes later."""

from __future__ import annotations

from pathlib import Path

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, text_of

MARKED_IDLE = """
flowsim: 1
name: marked-idle
settings: {record: full, auto_watermark_interval: 50 ms, buffer_timeout: 0}
sources:
  rows:
    script:
      fields: {at_ms: long, k: string}
      subtasks: [[{record: [10, a]}, {sleep: 85 ms}, {idle: true}, {sleep: 300 ms}], [{record: [30, a]}, {sleep: 400 ms}]]
    watermarks: {timestamp: at_ms, emit: every_record, idle_after: 30 ms}
operators:
  counted: {input: rows, key_by: k, window: {tumbling: 20 ms}, aggregate: {n: count()}}
sinks: {out: {input: counted, collect: {}}}
"""

RESTARTED = """
flowsim: 1
name: late-in-one-attempt
settings:
  record: full
  buffer_timeout: 0
  checkpointing: {interval: 100 ms}
  restart_strategy: {fixed_delay: {delay: 50 ms, attempts: 3}}
sources:
  rows:
    script:
      fields: {at_ms: long, k: string}
      subtasks: [[{record: [70, a]}, {sleep: 210 ms}, {record: [20, a]}, {record: [200, b]}, {sleep: 100 ms}]]
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  counted: {input: rows, key_by: k, window: {tumbling: 30 ms, late_output: late}, aggregate: {n: count()}}
sinks:
  out: {input: counted, collect: {}}
  late: {input: counted.late, collect: {}}
failures: [{fail_task: {task: counted, at: 250 ms}}]
"""

BY_CLOCK = """
flowsim: 1
name: stopped-by-clock
settings: {record: full, buffer_timeout: 0}
sources:
  rows: {script: {fields: {at_ms: long, k: string}, subtasks: [[{record: [10, a]}, {sleep: 3 s}]]}}
operators:
  counted: {input: rows, key_by: k, window: {WINDOW, time: processing}, aggregate: {n: count()}}
sinks: {out: {input: counted, collect: {}}}
actions: [{stop: {at: 250 ms, drain: false}}]
"""

FILES = """
flowsim: 1
name: files-in-turn
settings: {record: full, auto_watermark_interval: 20 ms, buffer_timeout: 0}
sources:
  rows:
    csv: {path: 'f*.csv', columns: {at_ms: long, k: string}}
    cost: 15 ms
    watermarks: {timestamp: at_ms}
operators:
  counted: {input: rows, key_by: k, window: {tumbling: 50 ms, late_output: late}, aggregate: {n: count()}}
sinks:
  out: {input: counted, collect: {}}
  late: {input: counted.late, collect: {}}
"""


def test_reader_and_not_the_timeout_is_named_as_the_cause_of_later_idleness(ask: Ask) -> None:
    """Rule 8.4: the countdown starts at 50 ms and ends at the call at 100 ms; the reader marks its output idle at 85 ms."""
    before = text_of(ask(MARKED_IDLE, "no-output", "[0, 20)", at_ms=60))
    assert "its reader or its watermark generator declares it idle at 85.00" in before
    assert "it becomes idle" not in before


def test_idle_timeout_is_named_where_a_periodic_call_declares_idleness(ask: Ask) -> None:
    """The second subtask has no entry for it: its countdown ends at the call at 150 ms, more than 30 ms after 100 ms."""
    answer = ask(MARKED_IDLE, "no-output", "[20, 40)", at_ms=120)
    assert "it becomes idle at 150 ms" in text_of(answer)


def test_late_record_names_its_attempt_and_the_attempt_in_which_it_was_in_time(ask: Ask) -> None:
    """No operator stores its watermark, so the record is in time after the restart (rules 8.1, 12.123)."""
    found = ask(RESTARTED, "late", '[20,"a"]')
    assert " is late at counted (1/1) in attempt 0 (of 0 to 1): " in found.statement.text
    assert found.notes == ("an equal record is not late at counted (1/1) in attempt 1 (of 0 to 1)",)
    assert "1 late record" not in text_of(ask(RESTARTED, "late"))


def test_counts_of_arrivals_name_their_attempts(ask: Ask) -> None:
    found = ask(RESTARTED.replace("[20, a]", "[150, a]"), "late")
    assert (
        "counted (1/1) got 5 records (3 in attempt 0, 2 in attempt 1), all above its watermark" in found.statement.text
    )


def test_window_of_the_clock_does_not_fire_after_a_stop_without_drain(ask: Ask) -> None:
    """Rule 4.12: a stop without drain finishes no operator, and timers that are not due are dropped."""
    session = BY_CLOCK.replace("WINDOW", "session: 500 ms")
    assert "The input of counted (1/1) had ended by 250 ms. At the end, " in text_of(ask(session, "no-output"))
    before = text_of(ask(session, "no-output", at_ms=100))
    assert "at 100 ms of the run; the recording does not show that it fires before its input has ended" in before


def test_time_at_which_a_window_of_the_clock_fires_is_that_of_the_recording(ask: Ask) -> None:
    found = ask(BY_CLOCK.replace("WINDOW", "tumbling: 80 ms"), "no-output", at_ms=10)
    assert "The clock is at 10 ms of the run; it fires at 40.002 ms." in text_of(found)


def test_watermark_that_a_later_file_makes_is_named_beside_that_of_the_file_that_is_read(tmp_path: Path) -> None:
    """Rule 8.6: only the file that a subtask reads counts, so the next one makes the watermark of the source."""
    for number, times in enumerate(([10, 500], [15, 30], [700, 800])):
        rows = "".join(f"{time},a\n" for time in times)
        (tmp_path / f"f{number}.csv").write_text(f"at_ms,k\n{rows}")
    (tmp_path / "job.yaml").write_text(FILES)
    flowsim.run_scenario(tmp_path / "job.yaml", out=tmp_path / "out")
    facts = RunFacts(flowsim.open_recording(tmp_path / "out"))
    at = facts.until(facts.start_ns + 59_000_000)
    text = text_of(answer(at, "no-output", Asked(("[500, 550)",))))
    assert "The recording shows no such watermark of it" in text
    assert "Source: rows (1/1) has watermark 799 ms from 90 ms on, because of other splits." in text
    late = answer(at, "no-output", Asked(("late",)))
    assert late.statement.text == "Sink: late has received 1 row by 59 ms."
    assert answer(at, "no-output", Asked(())).notes == ("the other sinks: Sink: out: rows not recorded yet",)


TRIGGERS = """
flowsim: 1
name: triggers
settings: {record: full, auto_watermark_interval: 20 ms, buffer_timeout: 0}
sources:
  rows:
    script: {fields: {at_ms: long, k: string}, subtasks: [[{record: [10, a]}, {record: [25, a]}, {sleep: 500 ms}]]}
    watermarks: {timestamp: at_ms}
operators:
  counted: {input: rows, key_by: k, window: {WINDOW}, aggregate: {n: count()}}
sinks: {out: {input: counted, collect: {}}}
"""


def test_no_record_is_late_at_a_global_window_because_it_is_never_closed(ask: Ask) -> None:
    counted = TRIGGERS.replace("WINDOW", "count: 5")
    assert "2 records: the global window is never closed, so no record is late. [10.6]" in text_of(ask(counted, "late"))
    assert "The global window is never closed, so no record is late. [10.6]" in text_of(
        ask(counted, "late", '[10,"a"]')
    )


def test_time_out_of_a_trigger_is_named_beside_the_watermark(ask: Ask) -> None:
    """Rule 10.23: 60 ms of the processing time after the first record, whatever the watermark is."""
    window = "tumbling: 100 ms, trigger: {timeout: {of: event_time, after: 60 ms}}"
    text = text_of(ask(TRIGGERS.replace("WINDOW", window), "no-output", at_ms=40))
    assert "It fires when one of its triggers fires: timeout, event_time." in text
    assert (
        "The time-out fires it by the clock, 60 ms after the first record that did not fire it: its timer is due at 61"
        in text
    )
    assert "of the run; it fires at 61." in text


def test_next_timer_of_a_continuous_trigger_is_the_watermark_that_is_needed(ask: Ask) -> None:
    """Rule 10.21: the next multiple fires the window, not only its end."""
    window = "tumbling: 100 ms, trigger: {continuous_event_time: 15 ms}"
    text = text_of(ask(TRIGGERS.replace("WINDOW", window).replace("[25, a]", "[10, a]"), "no-output", at_ms=40))
    assert "at the latest at 99 ms, its last millisecond. Its next timer is 15 ms." in text
    assert "To generate watermark 15 ms, Source: rows (1/1) needs a record of timestamp 16 ms or later" in text


def test_trigger_for_the_end_of_the_stream_fires_a_window_at_its_own_end(ask: Ask) -> None:
    """Flink's EndOfStreamTrigger compares with the last millisecond of the window, which is MAX only for the global one."""
    window = "tumbling: 40 ms, trigger: end_of_stream"
    assert "reaches 39 ms, its last millisecond" in text_of(
        ask(TRIGGERS.replace("WINDOW", window), "no-output", at_ms=40)
    )
    window = "global_window: true, trigger: end_of_stream"
    assert "It fires when event time ends" in text_of(ask(TRIGGERS.replace("WINDOW", window), "no-output", at_ms=40))


CONTINUED = """
flowsim: 1
name: continued
settings: {record: full, buffer_timeout: 0}
sources:
  rows:
    script:
      fields: {at_ms: long, k: string}
      subtasks: [[{record: [10, a]}, {record: [25, a]}, {sleep: 200 ms}, {record: [12, a]}, {record: [120, a]}, {sleep: 50 ms}]]
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  counted: {input: rows, key_by: k, window: {tumbling: 50 ms}, aggregate: {n: count()}}
sinks: {out: {input: counted, collect: {}}}
"""


def test_windows_of_a_snapshot_of_another_run_are_not_said_to_be_missing(tmp_path: Path) -> None:
    """The window holds 2 records of the first run and 1 of the second, and fires with 3 of them."""
    stop = "actions: [{stop: {at: 100 ms, drain: false, savepoint: {directory: savepoints}}}]\n"
    flowsim.run_scenario(CONTINUED + stop, out=tmp_path / "first")
    savepoint = tmp_path / "first/savepoints/savepoint-1"
    flowsim.run_scenario(CONTINUED, out=tmp_path / "second", from_savepoint=savepoint)
    facts = RunFacts(flowsim.open_recording(tmp_path / "second"))
    fired = facts.all_rows("window_fire").row(0)
    assert (fired["window_start"], fired["rows"]) == (0, 3)
    before = facts.until(facts.start_ns + 50_000_000)
    text = text_of(answer(before, "no-output", Asked(("[0, 50)",))))
    assert (
        "No record of window [0, 50) has arrived in this run. counted (1/1) started with snapshot 1 of another run"
        in text
    )
    assert "counted (1/1) has 1 event-time timer of snapshot 1 of another run." in text
    assert "counted (1/1) has no watermark yet: that of its only channel, from Source: rows (1/1)." in text
    arrived = facts.all_rows("window_intake").row(0)
    text = text_of(answer(facts.until(arrived["time_ns"]), "no-output", Asked(("[0, 50)",))))
    assert "it has 1 record, besides any in snapshot 1 of another run, which are not recorded." in text


def test_file_of_a_late_record_is_that_which_was_read_at_each_operator_behind_the_source(tmp_path: Path) -> None:
    """A source that two operators read sends each record twice."""
    for number, times in enumerate(([10, 90], [95, 200, 30], [210])):
        (tmp_path / f"f{number}.csv").write_text("at_ms,k\n" + "".join(f"{time},a\n" for time in times))
    more = "  others: {input: rows, key_by: k, window: {tumbling: 50 ms}, aggregate: {n: count()}}\nsinks:\n"
    text = FILES.replace("sinks:\n", more) + "  more: {input: others, collect: {}}\n"
    (tmp_path / "job.yaml").write_text(text.replace("{timestamp: at_ms}", "{timestamp: at_ms, emit: every_record}"))
    flowsim.run_scenario(tmp_path / "job.yaml", out=tmp_path / "out")
    facts = RunFacts(flowsim.open_recording(tmp_path / "out"))
    for task in facts.names.find_tasks("counted"), facts.names.find_tasks("others"):
        late = text_of(answer(facts, "late", Asked(('[30,"a"]',), frozenset(task))))
        assert "The record is 170 ms behind" in late or "The bound of Source: rows is 0 ms" in late
        assert "The record is of split" not in late
