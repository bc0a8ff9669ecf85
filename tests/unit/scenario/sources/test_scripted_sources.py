"""Event-time entries of a ``script`` beside ``watermarks`` (rules 8.2-8.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.facts.kinds import ElementKind, Level
from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: idleness
settings: {buffer_timeout: 0}
sources:
  rows:
    script:
      fields: {at: long}
      subtasks:
        - ENTRIES
    watermarks: {timestamp: at, emit: EMIT}
sinks:
  out: {input: rows, chaining: never, collect: {}}
"""
IDLE, ACTIVE = "idle", "active"


def event_time(entries: str, emit: str, tmp_path: Path) -> list[object]:
    """What the source sends beside records, before the end of its data."""
    run = run_compiled(compiled(JOB.replace("ENTRIES", entries).replace("EMIT", emit), tmp_path), record=Level.ELEMENTS)
    assert run.facts is not None
    marks = [
        (row[5], row[6])
        for row in sorted(run.facts.rows("sent"))
        if row[5] in (ElementKind.WATERMARK, ElementKind.STATUS)
    ]
    return [(IDLE if at == -1 else ACTIVE) if kind == ElementKind.STATUS else at for kind, at in marks]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("[{record: [10]}, {idle: true}, {record: [30]}, {sleep: 1 s}]", [9, IDLE, ACTIVE, 29]),
        # A record that raises no watermark does not end idleness.
        ("[{record: [10]}, {idle: true}, {record: [10]}, {record: [5]}, {sleep: 1 s}]", [9, IDLE]),
        (
            "[{record: [50], split: a}, {record: [10], split: b}, {idle: true, split: b}, {record: [60], split: a}]",
            [9, 49, 59],
        ),
        (
            (
                "[{record: [50], split: a}, {record: [10], split: b}, {idle: true, split: b}, {idle: true, split: a}, "
                "{record: [20], split: b}, {record: [80], split: b}]"
            ),
            [9, 49, IDLE, ACTIVE, 79],
        ),
    ],
)
def test_idle_entry_lasts_until_generator_emits_higher_watermark(
    entries: str, expected: list[object], tmp_path: Path
) -> None:
    assert event_time(entries, "every_record", tmp_path)[: len(expected)] == expected


def test_next_periodic_call_makes_split_active_again_without_record(tmp_path: Path) -> None:
    """Flink's BoundedOutOfOrdernessWatermarks emits in every periodic call, which makes the split active (rule 8.6)."""
    script = (
        "[{record: [50], split: a}, {record: [10], split: b}, {sleep: 250 ms}, {idle: true, split: b}, "
        "{record: [60], split: a}, {sleep: 100 ms}, {sleep: 150 ms}, {record: [70], split: a}, {sleep: 300 ms}]"
    )
    # At 250 ms b becomes idle, and the merged watermark rises to that of a; the call at 400 ms brings b back with 9.
    assert event_time(script, "periodic", tmp_path)[:2] == [9, 49]
    assert 69 not in event_time(script, "periodic", tmp_path)


@pytest.mark.parametrize(
    ("entry", "legacy", "problem"),
    [
        (
            "{watermark: 20}", "",
            ("s.yaml:9:40 sources.rows.script.subtasks[0][1].watermark: the watermarks of this source generate its watermarks: "
            "remove the watermark entries of the script, or watermarks (idle entries can stay)"),
        ),
        (
            "{idle: true}", "    legacy: true\n",
            ("s.yaml:9:35 sources.rows.script.subtasks[0][1].idle: with legacy, an operator after the source generates the "
            "watermarks, and ignores the idleness of the source (rule 8.7): remove the idle entries, legacy or watermarks"),
        ),
    ],
)  # fmt: skip
def test_entries_that_contradict_strategy_are_refused_at_their_place(
    entry: str, legacy: str, problem: str, tmp_path: Path
) -> None:
    text = JOB.replace("ENTRIES", f"[{{record: [10]}}, {entry}]").replace("EMIT", "every_record")
    assert refused(text.replace("    watermarks", f"{legacy}    watermarks"), tmp_path) == [problem]


SCRIPT = """\
flowsim: 1
name: scripted
sources:
  rows:
    script:
      fields: {n: long}
      subtasks:
        - [{record: [1], step: 0}]
        - [{record: [1], step: 0},
           ENTRY]
sinks:
  out: {input: rows, collect: {}}
"""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "{record: [2], step: 0}",
            (
                "s.yaml:10:32 sources.rows.script.subtasks[1][1].step: expected a step of at least 1, because entry 0 of "
                "the subtask has step 0, got 0"
            ),
        ),
        (
            "{end: true, split: a}, {record: [2], split: a}",
            "s.yaml:10:56 sources.rows.script.subtasks[1][2].split: split 'a' has already ended",
        ),
    ],
)
def test_entry_that_its_script_cannot_have_is_named_at_its_place(entry: str, message: str, tmp_path: Path) -> None:
    assert message in refused(SCRIPT.replace("ENTRY", entry), tmp_path)
