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
    assert "it becomes idle at 150.000000 ms" in text_of(answer)


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
    assert "The input of counted (1/1) had ended by 250.000000 ms. At the end, " in text_of(ask(session, "no-output"))
    before = text_of(ask(session, "no-output", at_ms=100))
    assert "at 100.000000 ms of the run; the recording does not show that it fires before its input has ended" in before


def test_time_at_which_a_window_of_the_clock_fires_is_that_of_the_recording(ask: Ask) -> None:
    found = ask(BY_CLOCK.replace("WINDOW", "tumbling: 80 ms"), "no-output", at_ms=10)
    assert "The clock is at 10.000000 ms of the run; it fires at 40.002000 ms." in text_of(found)


def test_watermark_that_a_later_file_makes_is_named_beside_that_of_the_file_that_is_read(tmp_path: Path) -> None:
    """Rule 8.6: only the file that a subtask reads counts, so the next one makes the watermark of the source."""
    for number, times in enumerate(([10, 500], [15, 30], [700, 800])):
        rows = "".join(f"{time},a\n" for time in times)
        (tmp_path / f"f{number}.csv").write_text(f"at_ms,k\n{rows}")
    (tmp_path / "job.yaml").write_text(FILES)
    flowsim.run_scenario(tmp_path / "job.yaml", out=tmp_path / "out")
    facts = RunFacts(flowsim.open_recording(tmp_path / "out"))
    at = facts.until(facts.start_ns + 60_000_000)
    text = text_of(answer(at, "no-output", Asked(("[500, 550)",))))
    assert "The recording shows no such watermark of it" in text
    assert "Source: rows (1/1) has watermark 799 ms from 90.000000 ms on, because of other splits." in text
    late = answer(at, "no-output", Asked(("late",)))
    assert late.statement.text == "Sink: late has received 1 row by 60.000000 ms."
    assert answer(at, "no-output", Asked(())).notes == ("the other sinks: Sink: out: rows not recorded yet",)
