"""``flowsim trace`` and ``flowsim metrics``: their sentences and their options."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import (
    ActionKind,
    AsyncAction,
    BufferSide,
    CheckpointAction,
    CheckpointStep,
    CommittableAction,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    RestartAction,
    SegmentAction,
    StateAction,
    StoredKind,
    TimerAction,
    WaitKind,
    WindowResult,
)
from flowsim.graph.alignment import FORCED_RULE
from flowsim.history.job_events import JOB_TABLES
from flowsim.recording.manifest import MANIFEST
from flowsim.recording.merged_facts import TASK_TABLES
from flowsim.trace import phrases, sentences
from flowsim.trace.kinds import KINDS
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, moment_ns, moment_text
from tests.unit.cli.conftest import Flowsim

ROOT = Path(__file__).parents[3]
RULE = re.compile(r"\*\*(?:I?\d+\.\w+)\*\*")


@pytest.fixture
def recorded(flowsim: Flowsim) -> Flowsim:
    assert flowsim("run", "tiny.yaml", "--out", "tiny").code == 0
    return flowsim


def lines(flowsim: Flowsim, *arguments: object) -> list[str]:
    """The printed facts, without the lines above them."""
    called = flowsim("trace", "tiny", *arguments)
    assert called.code == 0, called.err
    return [line for line in called.out.splitlines() if re.match(r" *-?\d+\.\d+ m?s  ", line)]


@pytest.mark.parametrize(
    ("phrases", "kinds"),
    [
        (phrases.SENT, ElementKind),
        (phrases.RECEIVED, ElementKind),
        (phrases.LIFE, LifeEvent),
        (phrases.SEGMENTS, SegmentAction),
        (phrases.CREDITS, CreditKind),
        (phrases.TIMERS, TimerAction),
        (phrases.STATE_CHANGES, StateAction),
        (phrases.WAITS, WaitKind),
        (phrases.ACTIONS, ActionKind),
        (phrases.CHECKPOINT_STEPS, CheckpointStep),
        (phrases.STORED_KINDS, StoredKind),
        (phrases.COMMITTABLES, CommittableAction),
        (phrases.BUFFERS, BufferSide),
        (phrases.WINDOW_RESULTS, WindowResult),
        (phrases.ASYNC_ACTIONS, AsyncAction),
        (phrases.SYSTEM_TIMERS, TimerAction),
        (phrases.MAILS, MailAction),
        (phrases.CHECKPOINTS, CheckpointAction),
        (phrases.RESTARTS, RestartAction),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_every_fact_kind_has_a_phrase(phrases: phrases.Phrases, kinds: type[IntEnum]) -> None:
    assert set(phrases) == set(kinds)


def test_state_change_names_state_key_and_value(flowsim: Flowsim) -> None:
    assert flowsim("run", "tiny.yaml", "--out", "tiny", "--record", "full", "--record-state").code == 0
    first, *others = lines(flowsim, "--kinds", "state")
    assert re.search(r"sums writes value state '_op_state' of key \"[abc]\": \[\d+,\"[abc]\"\]$", first), first
    assert len(others) == 199


def test_every_table_has_a_sentence_and_a_kind() -> None:
    tables = {table.name for table in TASK_TABLES}

    assert set(sentences.SENTENCES) == tables | {*JOB_TABLES}
    assert {table for group in KINDS.values() for table in group} == tables | {*JOB_TABLES}


def test_every_cited_rule_exists() -> None:
    stated = {found.strip("*") for found in RULE.findall((ROOT / "docs/flink_rules.md").read_text())}

    rules = [each.rules for each in sentences.SENTENCES.values()]
    rules += [of for each in sentences.SENTENCES.values() for _, of in each.phrases.values()]
    cited = set(re.findall(r"\b\d+\.\d+\b", " ".join((FORCED_RULE, *rules))))
    assert len(cited) > 100
    assert cited <= stated


def test_detail_everything_prints_one_line_per_fact(recorded: Flowsim) -> None:
    manifest = json.loads(Path("tiny/recording", MANIFEST).read_text())

    assert len(lines(recorded, "--detail", "everything")) == sum(manifest["rows"][table.name] for table in TASK_TABLES)


def test_trace_of_channel_follows_record_through_buffers(recorded: Flowsim) -> None:
    reported = "\n".join(lines(recorded, "--channel", 0))

    for sentence in (
        r"writes record .* key \"[abc]\", to sums \(1/2\) #0  \[1.18\]",
        r"sends buffer 0 \([\d,]+ bytes\) to sums \(1/2\) #0, backlog 0, 1 credit left  \[6.11, 6.12\]",
        r"receives buffer 0 .* from Source: numbers \(1/1\) #0",
        r"reads record .* from Source: numbers \(1/1\) #0  \[7.17\]",
        r"reads EndOfPartition from Source: numbers \(1/1\) #0  \[7.6\]",
    ):
        assert re.search(sentence, reported), sentence


def test_wait_names_its_reason(recorded: Flowsim) -> None:
    reported = "\n".join(lines(recorded, "--kinds", "actions"))

    assert "waits for input: idle  [3.12, 3.28]" in reported
    assert "is busy: the cost of its batch passes  [3.28]" in reported


def test_wait_for_mail_inside_yield_is_not_idle(flowsim: Flowsim) -> None:
    command = ("run", ROOT / "scenarios/25_async_capacity_one.yaml", "--record", "full", "--out", "tiny")
    assert flowsim(*command).code == 0

    facts = flowsim("trace", "tiny", "--kinds", "actions", "--json").document["facts"]

    inside, outside = ([fact["text"] for fact in facts if bool(fact["depth"]) is nested] for nested in (True, False))
    assert "waits for a mail inside a yield" in inside
    assert "waits for input: idle" not in inside
    assert "waits for input: idle" in outside
    assert "waits for a mail inside a yield" not in outside


def test_trace_lines_fit_terminal_of_80_columns(recorded: Flowsim, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = " ".join(recorded("trace", "tiny").out.split())
    monkeypatch.setenv("COLUMNS", "80")

    out = recorded("trace", "tiny").out

    assert max(map(len, out.splitlines())) <= 80
    assert " ".join(out.split()) == whole


def test_event_time_of_a_date_is_printed_as_number_and_date() -> None:
    assert event_time(1_357_016_400_000) == "1357016400000 = 2013-01-01 05:00"
    assert window_text(1_357_016_400_000, 1_357_020_000_000) == (
        "window [1357016400000, 1357020000000) = [2013-01-01 05:00, 06:00)"
    )
    assert window_text(0, 10) == "window [0, 10)"
    assert event_time(1_249) == "1,249 ms"


def test_blocked_output_between_elements_is_soft_back_pressure(flowsim: Flowsim) -> None:
    command = ("run", ROOT / "scenarios/03_slow_sink_backpressure.yaml", "--until", "20ms", "--record", "full")
    flowsim(*command, "--out", "tiny")

    reported = "\n".join(lines(flowsim, "--kinds", "actions", "--task", "numbers"))

    assert "waits for output: soft back pressure  [3.28, 4.6]" in reported


def test_facts_are_indented_by_enclosing_actions(recorded: Flowsim) -> None:
    reported = lines(recorded, "--task", "sums (1/2)", "--kinds", "actions,elements")
    texts = [line.split("sums (1/2)  ", 1)[1] for line in reported]
    first = next(text for text in texts if "reads record" in text)

    assert first.startswith("  reads record")
    assert next(text for text in texts if "begins the default action" in text).startswith("begins")


def test_time_range_selects_part_of_trace(recorded: Flowsim) -> None:
    whole = lines(recorded)
    times = [line.split("  ")[0].strip() for line in whole]
    start, end = "0.01ms", "0.05 ms"

    part = lines(recorded, "--from", start, "--to", end)

    assert part
    assert part == [
        line
        for line, time in zip((line for line in whole), (line.lstrip().split("  ")[0] for line in whole), strict=True)
        if (moment_ns("", start) or 0) <= (moment_ns("", time) or 0) < (moment_ns("", end) or 0)
    ]
    assert times


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1.5s", 1_500_000_000), ("20 ms", 20_000_000), ("1 ns", 1), ("2min", 120_000_000_000), ("0", 0)],
)
def test_moment_is_parsed_exactly(text: str, ns: int) -> None:
    assert moment_ns("--from", text) == ns
    assert moment_ns("--from", moment_text(ns)) == ns


@pytest.mark.parametrize("text", ["", "5", "five ms", "1.5 lightyears", "0.0000001 ms", "-1s"])
def test_invalid_moment_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--from"):
        moment_ns("--from", text)


def test_task_is_found_by_number_name_or_part_of_name(recorded: Flowsim) -> None:
    by_number = lines(recorded, "--task", 1)

    assert by_number
    assert by_number == lines(recorded, "--task", "sums (1/2)") == lines(recorded, "--task", "s (1/2)")
    assert all("sums (1/2)" in line for line in by_number)


def test_operator_name_selects_all_its_subtasks(recorded: Flowsim) -> None:
    both = lines(recorded, "--task", "sums")
    assert both == lines(recorded, "--task", "sums (1/2)", "--task", "sums (2/2)")
    assert (
        lines(recorded, "--task", "numbers")
        == lines(recorded, "--task", 0)
        == lines(recorded, "--task", "Source: numbers")
    )


def test_ambiguous_task_is_refused_with_candidates(recorded: Flowsim) -> None:
    called = recorded("trace", "tiny", "--task", "sum")

    assert called.code == 2
    assert called.err.splitlines() == [
        "error: --task 'sum' matches 2 tasks; give the number or name of a task, or the whole name of an operator:",
        "  1  sums (1/2)",
        "  2  sums (2/2)",
    ]


def test_unknown_task_channel_or_kind_is_refused_with_known_ones(recorded: Flowsim) -> None:
    for arguments, message in (
        (("--task", "unknown"), "no task has that number or name; there are:\n  0  Source: numbers (1/1)"),
        (("--channel", 99), "--channel 99: no such channel; the recording has channels 0 to "),
        (("--kinds", "bufers"), "there is no kind 'bufers' (did you mean 'buffers'?); choose from"),
        (("--from", "5 ms", "--to", "5 ms"), "--from 5 ms is not before --to 5 ms"),
    ):
        called = recorded("trace", "tiny", *arguments)
        assert called.code == 2
        assert message in called.err


def test_lower_detail_prints_fewer_facts(recorded: Flowsim) -> None:
    everything, normal, overview = (
        lines(recorded, "--detail", detail) for detail in ("everything", "normal", "overview")
    )

    assert len(everything) > len(normal) > len(overview) > 0
    assert normal == lines(recorded)
    assert not any("writes record" in line for line in overview)
    assert not any("queues buffer" in line or "begins" in line for line in normal)


def test_trace_stops_at_limit(recorded: Flowsim) -> None:
    called = recorded("trace", "tiny", "--limit", 3)

    assert len(lines(recorded, "--limit", 3)) == 3
    assert called.out.splitlines()[-1] == "stopped after 3 facts (--limit)"


def test_trace_notes_facts_missing_at_lower_recording_level(flowsim: Flowsim) -> None:
    flowsim("run", "tiny.yaml", "--out", "tiny", "--record", "elements")

    called = flowsim("trace", "tiny", "--limit", 1)

    assert re.search(
        r"^note: recorded at level elements, without: .*buffers.*; they need --record full$", called.out, re.M
    )


def test_trace_of_killed_run_ends_at_last_complete_epoch(recorded: Flowsim) -> None:
    path = Path("tiny/recording", MANIFEST)
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "status": "running"}))

    called = recorded("trace", "tiny")

    assert "note: the run was killed: the trace ends with its last complete epoch, 1 in all" in called.out
    assert len(lines(recorded)) > 100


def test_json_trace_has_same_facts_as_text(recorded: Flowsim) -> None:
    document = recorded("trace", "tiny", "--json", "--kinds", "buffers").document

    reported = lines(recorded, "--kinds", "buffers")
    assert document["count"] == len(document["facts"]) == len(reported)
    assert document["exit_code"] == 0
    for fact, line in zip(document["facts"], reported, strict=True):
        assert fact["text"] in line
        assert fact["row"]["time_ns"] - 1_000_000_000 == fact["at_ns"]


def test_damaged_part_ends_trace_with_error_in_text_and_json(recorded: Flowsim) -> None:
    for part in Path("tiny/recording/received").glob("*.parquet"):
        part.write_bytes(b"PAR1 nothing PAR1")

    text, as_json = recorded("trace", "tiny"), recorded("trace", "tiny", "--json")

    assert text.code == as_json.code == 2
    assert "is not the file that was recorded" in text.err
    assert "is not the file that was recorded" in as_json.document["error"]["message"]


def test_closed_pipe_ends_trace_without_error(recorded: Flowsim) -> None:
    command = f"{sys.executable} -m flowsim trace tiny | head -1; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)

    assert done.stdout.splitlines() == ["tiny: complete, level full", "0"]
    assert done.stderr == ""


def test_metrics_prints_sampled_values(recorded: Flowsim) -> None:
    samples = recorded("metrics", "tiny", "--json").document["samples"]

    assert [sample["task_name"] for sample in samples].count("sums (1/2)") == 1
    assert all(
        sample["busy_ms"] + sample["idle_ms"] + sample["soft_ms"] + sample["hard_ms"] == 1000 for sample in samples
    )
    shown = recorded("metrics", "tiny", "--task", "sums (2/2)").out
    assert "sums (2/2)" in shown
    assert "sums (1/2)" not in shown


def test_run_reports_last_sample_and_back_pressure_level(flowsim: Flowsim) -> None:
    tasks = flowsim("run", "tiny.yaml", "--out", "tiny", "--json").document["tasks"]

    assert {task["backpressure_level"] for task in tasks} == {"OK"}
    assert tasks[1]["last_sample"]["records_in"] == tasks[1]["records_in"]


def test_legacy_source_has_no_busy_time(flowsim: Flowsim) -> None:
    legacy = ("--set", "sources.numbers.legacy=true")
    source, *others = flowsim("run", "tiny.yaml", "--json", *legacy).document["tasks"]
    assert source["busy"] is None
    assert None not in {task["busy"] for task in others}
    row = next(line for line in flowsim("run", "tiny.yaml", *legacy).out.splitlines() if "numbers (1/1)" in line)
    assert row.split()[-8:-4] == ["0", "200", "-", "0.0%"]


SPLITS = """\
flowsim: 1
name: splits
settings: {record: full, auto_watermark_interval: 50 ms, checkpointing: {interval: 300 ms}}
sources:
  topic:
    script:
      fields: {at_ms: long}
      gap: 50 ms
      subtasks:
        - - {record: [100], split: quick, step: 0}
          - {record: [10], split: behind, step: 1}
          - {record: [11], split: behind, step: 20}
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  counted: {input: topic, key_by: "'all'", window: {tumbling: 100 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counted, collect: {}}
"""


def test_trace_and_why_name_a_split_as_its_source_does(flowsim: Flowsim, tmp_path: Path) -> None:
    (tmp_path / "splits.yaml").write_text(SPLITS)
    flowsim("run", "splits.yaml", "--out", "out")
    trace = flowsim("trace", "out").out
    assert 'Source: topic, split "quick", generates 99 ms after 1 record' in trace
    assert 'Source: topic, split "behind", generates 9 ms after 1 record' in trace
    assert "split 0" not in trace
    why = " ".join(flowsim("why", "out", "no-output", "out", "[0, 100)", "--at", "500ms").out.split())
    assert 'the minimum over the 2 splits that it waits for, that of split "behind"' in why
