"""``flowsim why ... late``: late records, records in time, and records that no window takes."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.why.late import why_late
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, Recorded, text_of

GAPS = """\
flowsim: 1
name: gaps
sources:
  readings:
    script:
      fields: {key: string, n: long}
      subtasks:
        - [{record: [a, 1], timestamp: 3}, {record: [a, 2], timestamp: 15}, {record: [a, 3], timestamp: 23}]
operators:
  counts:
    input: readings
    key_by: key
    window: {sliding: {size: 10 ms, slide: 20 ms}}
    aggregate: {n: count()}
sinks: {out: {input: counts, collect: {}}}
"""
OUT_OF_ORDER = """\
flowsim: 1
name: out-of-order
sources:
  readings:
    collection:
      fields: {n: long, at_ms: long}
      rows: [[0, 3], [1, 18], [2, 7], [3, 12], [4, 25], [5, 14], [6, 11], [7, 9], [8, 40], [9, 21], [10, 33], [11, 19]]
    watermarks: {timestamp: at_ms, max_out_of_orderness: 5 ms, emit: every_record}
operators:
  counts:
    input: readings
    key_by: "'all'"
    window: {tumbling: 10 ms, allowed_lateness: 2 ms}
    aggregate: {n: count()}
sinks: {out: {input: counts, collect: {}}}
"""


@pytest.mark.parametrize(
    ("record", "operator"), list(product(["a,1", "a,2", "a,3", "a,4", "a,5", "a,6"], ["strict", "kept", "forgiving"]))
)
def test_record_is_late_where_end_of_window_and_lateness_are_below_watermark(
    ask: Ask, recorded: Recorded, record: str, operator: str
) -> None:
    """The plain computation: windows of 10 ms, and the watermark that the operator had."""
    value = f'["a",{record[-1]}]'
    recording = Recording.open(recorded("12_three_lateness_settings"))
    names = Names(recording)
    lateness_ms = {"strict": 0, "kept": 0, "forgiving": 5}[operator]
    (intake,) = (
        row
        for row in recording.rows("window_intake")
        if names.task(row[1]).startswith(operator) and names.value(row[7]) == value
    )
    timestamp, watermark = intake[6], intake[8]
    is_late = timestamp - timestamp % 10 + 9 + lateness_ms <= watermark

    answer = ask("12_three_lateness_settings", "late", value, task=operator)

    assert ("is late at" in answer.statement.text) is is_late
    assert ("is not late at" in answer.statement.text) is not is_late


def test_late_records_of_bounded_generator_are_those_that_plain_computation_finds(ask: Ask) -> None:
    """The watermark of a record is that after the records before it: the highest timestamp - 5 - 1."""
    rows = [3, 18, 7, 12, 25, 14, 11, 9, 40, 21, 33, 19]
    for number, timestamp in enumerate(rows):
        watermark = max(rows[:number], default=-(2**62)) - 5 - 1
        cleanup = timestamp - timestamp % 10 + 9 + 2
        answer = text_of(ask(OUT_OF_ORDER, "late", f"[{number},{timestamp}]"))
        if cleanup > watermark:
            assert "is not late" in answer
            continue
        needed = max(rows[:number]) - cleanup
        assert f"has watermark {watermark} ms" in answer
        assert f"With a bound of at least {needed} ms it would have been in time. [8.1]" in answer


@pytest.mark.parametrize(("bound_ms", "is_late"), [(18, True), (19, False)])
def test_named_bound_is_the_smallest_that_suffices(ask: Ask, bound_ms: int, is_late: bool) -> None:
    """Record [11,19] arrives after timestamp 40; its window is closed at 19 + 2."""
    assert "at least 19 ms" in text_of(ask(OUT_OF_ORDER, "late", "[11,19]"))
    bound = (f"sources.readings.watermarks.max_out_of_orderness={bound_ms} ms",)

    answer = ask(OUT_OF_ORDER, "late", "[11,19]", overrides=bound)

    assert ("is late" in answer.statement.text) is is_late


def test_chain_leads_to_watermark_that_source_emitted(ask: Ask) -> None:
    answer = ask("12_three_lateness_settings", "late", '["a",4]', task="strict")

    assert [cause.text.split(",")[0].split(":")[0] for cause in answer.causes] == [
        "The watermark of the operator was 11 ms when the record arrived",
        "strict (1/1) has watermark 11 ms since 9 us",
        "The record came over channel #0 from Source",
        "Source",
    ]
    assert answer.causes[-1].text.startswith("Source: readings (1/1) itself emitted watermark 11 ms")
    assert all(cause.place is not None and cause.place.seq is not None for cause in answer.causes)


def test_chain_leads_through_tasks_to_idle_channel(ask: Ask) -> None:
    text = text_of(ask("16_two_watermarks", "late", '["payment"]@18'))

    assert "channel #1 from Source: payments (1/1), whose own watermark is only 12 ms" in text
    assert "that channel was idle from 60 ms on" in text
    assert "[8.11, 8.16]" in text
    assert text.splitlines()[-1].startswith("Source: payments (1/1) itself declared that it is idle.")


def test_timestamp_selects_one_of_equal_values(ask: Ask) -> None:
    assert "is not late" in ask("16_two_watermarks", "late", '["payment"]@6').statement.text


def test_generator_that_mixes_splits_is_named_with_the_bound_that_suffices(ask: Ask) -> None:
    text = text_of(ask("23_splits_of_one_subtask", "late", '[5,"slow"]'))

    assert "blind in Source: topic (1/1) generated watermark 39 ms after 2 records" in text
    assert "With a bound of at least 31 ms" in text
    assert "an equal record is not late at seen (1/1)" in text


def test_record_between_windows_is_skipped_and_not_late(ask: Ask) -> None:
    answer = ask(GAPS, "late", '["a",2]')

    assert answer.statement.text.endswith("is not late at counts (1/1), but no window contains it.")
    assert "a size of 10 ms, and a new one starts every 20 ms" in text_of(answer)


def test_first_late_record_is_explained_without_a_value(ask: Ask) -> None:
    answer = ask("12_three_lateness_settings", "late")

    assert answer.statement.text.startswith('Record ["a",4] (timestamp 5 ms), key "a", is late at strict (1/1)')
    assert "5 late records: 2 at strict (1/1), 2 at kept (1/1), 1 at forgiving (1/1)" in answer.notes[0]


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ("18_busy_is_not_idle", "got 400 records, all above its watermark"),
        ("13_sessions_merge", "got 6 records, of which 1 arrived behind its watermark"),
        ("02_wordcount_inline", "no record arrived at a window"),
    ],
)
def test_run_without_late_records_is_reported(ask: Ask, scenario: str, text: str) -> None:
    assert text in ask(scenario, "late").statement.text


@pytest.mark.parametrize(
    ("scenario", "about", "message"),
    [
        ("12_three_lateness_settings", "[9]", r"no recorded value is or contains '\[9\]'"),
        ("02_wordcount_inline", '["not",1]', "did not arrive at a window"),
    ],
)
def test_record_that_is_nowhere_or_not_at_a_window_is_refused(
    ask: Ask, scenario: str, about: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        ask(scenario, "late", about)


def test_recording_of_killed_run_is_explained(recorded: Recorded, ask: Ask) -> None:
    """What a killed run left: status running."""
    path = recorded(OUT_OF_ORDER, "settings.seed=7")
    manifest = path / "recording" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"running"'))
    assert flowsim.open_recording(path).status.value == "running"

    assert "is late" in ask(OUT_OF_ORDER, "late", overrides=("settings.seed=7",)).statement.text


def test_record_in_many_windows_lists_the_newest(ask: Ask) -> None:
    many = OUT_OF_ORDER.replace("{tumbling: 10 ms, allowed_lateness: 2 ms}", "{sliding: {size: 10 ms, slide: 1 ms}}")
    rule = ask(many, "late", "[7,9]").causes[0]

    assert "all its 10 windows are closed" in rule.text
    assert [line.split(" is closed")[0] for line in rule.details] == [
        f"window [{n}, {n + 10})" for n in range(9, 3, -1)
    ]


@pytest.mark.parametrize(
    ("idle_after", "text"),
    [
        ("", "was declared idle by its reader or its watermark generator."),
        (
            ", idle_after: 1 h",
            "was declared idle by its reader or its watermark generator.",
        ),
    ],
)
def test_chain_leads_to_reader_that_marked_its_source_idle(idle_after: str, text: str, ask: Ask) -> None:
    scenario = f"""\
flowsim: 1
name: marked
sources:
  topic:
    script:
      fields: {{t: long}}
      subtasks: [[{{record: [5], step: 0}}, {{idle: true}}, {{record: [5], step: 3}}, {{sleep: 1 s}}]]
    watermarks: {{timestamp: t, emit: every_record{idle_after}}}
  other:
    script: {{fields: {{t: long}}, subtasks: [[{{record: [50], step: 2}}, {{sleep: 1 s}}]]}}
    watermarks: {{timestamp: t, emit: every_record}}
operators:
  counts: {{input: [topic, other], key_by: "'all'", window: {{tumbling: 10 ms}}, aggregate: {{n: count()}}}}
sinks: {{out: {{input: counts, collect: {{}}}}}}
settings: {{buffer_timeout: 0}}
"""
    assert text in text_of(ask(scenario, "late"))


FILES = """\
flowsim: 1
name: files
sources:
  rows:
    csv: {path: "*.csv", columns: {at_ms: long, k: string}}
    watermarks: {timestamp: at_ms, max_out_of_orderness: 1 s, emit: every_record}
operators:
  counts: {input: rows, key_by: "'all'", window: {tumbling: 10 s}, aggregate: {n: count()}}
sinks: {out: {input: counts, collect: {}}}
"""


def test_later_file_of_the_subtask_is_named_instead_of_a_bound(tmp_path: Path) -> None:
    """The second file begins with earlier timestamps than those with which the first one ends."""
    (tmp_path / "a.csv").write_text("at_ms,k\n1000,a\n5000,b\n230000,c\n")
    (tmp_path / "b.csv").write_text("at_ms,k\n1500,d\n6000,e\n231000,f\n")
    (tmp_path / "files.yaml").write_text(FILES)
    flowsim.run_scenario(tmp_path / "files.yaml", out=tmp_path / "out")
    facts = RunFacts(flowsim.open_recording(tmp_path / "out"))

    for record in ('[1500,"d"]', '[6000,"e"]'):
        text = text_of(why_late(facts, record))
        assert 'generated watermark 228,999 ms after 3 records: that of split "a.csv". [8.6]' in text
        assert (
            'The record is of split "b.csv", which did not hold back this watermark: a subtask reads its files' in text
        )
        assert "bound" not in text


RESUMED = """\
flowsim: 1
name: resumed
settings: {buffer_timeout: 0, auto_watermark_interval: 50 ms}
sources:
  quiet:
    script:
      fields: {t: long}
      gap: 50 ms
      subtasks: [[{record: [5], step: 0}, {record: [4], step: 10}, {record: [50], step: 20}, {sleep: 1 s}]]
    watermarks: {timestamp: t, idle_after: 100 ms}
  other:
    script: {fields: {t: long}, gap: 50 ms, subtasks: [[{record: [40], step: 0}, {record: [60], step: 22}, {sleep: 1 s}]]}
    watermarks: {timestamp: t}
operators:
  counts: {input: [quiet, other], key_by: "'all'", window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks: {out: {input: counts, collect: {}}}
"""


def test_source_that_reads_again_is_not_active_before_its_next_watermark(ask: Ask) -> None:
    """Rule 8.5: the record of 550 ms does not raise the watermark, so the source stays idle until that of 1,050 ms."""
    text = text_of(ask(RESUMED, "late", "[4]"))

    assert "whose own watermark is only 4 ms. But that channel was idle from 250 ms on" in text
    assert (
        "Source: quiet (1/1) was declared idle: it had no record for more than its idle timeout of 100 ms. [8.4]"
        in text
    )
    assert "sent 1 record on this channel since it was idle, from 550.001 ms on, this record included." in text
    assert text.splitlines()[-1].endswith("must be above its last one: it did so at 1.050001 s. [8.5]")


JOINED = """\
flowsim: 1
name: joined
sources:
  left:
    script: {fields: {t: long}, gap: 10 ms, subtasks: [[{record: [50], step: 0}, {record: [9], step: 2}, {sleep: 1 s}]]}
    watermarks: {timestamp: t, emit: every_record}
  right:
    script: {fields: {t: long}, gap: 10 ms, subtasks: [[{record: [30], step: 1}, {record: [29], step: 3}, {sleep: 1 s}]]}
    watermarks: {timestamp: t, emit: every_record}
operators:
  joined:
    input: left
    interval_join: {to: right, key_by: ["'all'", "'all'"], lower: -5 ms, upper: 5 ms, select: {l: left.t, r: right.t}}
sinks: {out: {input: joined, collect: {}}}
settings: {buffer_timeout: 0}
"""


def test_interval_join_cites_its_own_rule(ask: Ask) -> None:
    """Rule 10.35; the watermark is the minimum over both inputs, and came with the right one."""
    late = ask(JOINED, "late", "[9]")
    in_time = ask(JOINED, "late", "[29]")

    assert late.statement.rules == late.causes[0].rules == ("10.35",)
    assert late.causes[1].text.startswith("joined (1/1) has watermark 29 ms since 20.002 ms: the minimum")
    assert in_time.statement.rules == in_time.causes[0].rules == ("10.35",)
    assert in_time.causes[0].text == "Its timestamp is not below the watermark, which was 29 ms."
