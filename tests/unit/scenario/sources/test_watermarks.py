"""``watermarks:`` of a scenario: the watermarks of each form."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.facts.kinds import ElementKind, Level
from flowsim.scenario.runner import run_compiled
from flowsim.units import MAX_WATERMARK
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: watermarks
sources:
  rows:
    collection: {fields: {at: long, last: boolean}, rows: [[10, false], [30, true], [20, false], [50, true]]}
    watermarks: {timestamp: at, WAY}
sinks:
  out: {input: rows, chaining: never, collect: {}}
"""

WAYS = {
    "emit: every_record": [9, 29, 49],
    "emit: every_record, max_out_of_orderness: 5 ms": [4, 24, 44],
    "emit: periodic": [],
    "emit: never": [],
    "punctuated: last": [29, 49],
    "punctuated: last, max_out_of_orderness: 5 ms": [24, 44],
    "punctuated: timestamp == 20": [19],
    "generator: 'flowsim_user_code:EverySecondRecord'": [30, 50],
}


@pytest.mark.parametrize("way", WAYS)
def test_each_form_of_watermarks_emits_expected_timestamps(way: str, tmp_path: Path) -> None:
    """All records come before the first periodic call, so a periodic generator says nothing until the end."""
    run = run_compiled(compiled(JOB.replace("WAY", way), tmp_path, allow_python=True), record=Level.ELEMENTS)
    assert run.facts is not None
    made = [row[5] for row in run.facts.rows("task_watermark") if row[4] == ElementKind.WATERMARK]
    assert made == [*WAYS[way], MAX_WATERMARK]


@pytest.mark.parametrize(("way", "made"), [("periodic", [149, 299, 449]), ("never", [])])
def test_periodic_watermarks_follow_clock_and_never_emits_none(way: str, made: list[int], tmp_path: Path) -> None:
    rows = "collection: {fields: {at: long, last: boolean}, rows: [[10, false], [30, true], [20, false], [50, true]]}"
    assert rows in JOB
    # Records at 0, 150, 300, 450 and 600 ms; the generator is asked every 200 ms, so 600 belongs to the end.
    paced = "generator: {count: 5, pace: 150 ms, fields: {at: {event_time: {step: 150 ms}}}}"
    text = (
        JOB.replace(rows, paced)
        .replace("WAY", f"emit: {way}")
        .replace("sinks:", "settings: {buffer_timeout: 0}\nsinks:")
    )
    run = run_compiled(compiled(text, tmp_path), record=Level.ELEMENTS)
    assert run.facts is not None
    found = [row[5] for row in run.facts.rows("task_watermark") if row[4] == ElementKind.WATERMARK]
    assert found == [*made, MAX_WATERMARK]


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("emit: every_record, punctuated: last", "expected one of emit, punctuated and generator"),
        ("punctuated: at", "expected a condition, this expression gives long"),
        ("generator: 'flowsim_user_code:double'", "expected a WatermarkGenerator class"),
        ("alignment: {group: g}", "max_drift"),
        ("alignment: {group: g, max_drift: 1 s, interval: 0}", "interval"),
    ],
)
def test_invalid_watermarks_are_refused(way: str, message: str, tmp_path: Path) -> None:
    (error,) = refused(JOB.replace("WAY", way), tmp_path, allow_python=True)
    assert error.startswith("s.yaml:6:")
    assert message in error


def test_alignment_of_operator_is_refused(tmp_path: Path) -> None:
    operator = "operators: {w: {input: rows, watermarks: {timestamp: at, alignment: {group: g, max_drift: 1 s}}}}\n"
    (error,) = refused(JOB.replace(", WAY", "") + operator, tmp_path)
    assert "alignment pauses sources" in error


ALIGNED = """\
flowsim: 1
name: aligned
sources:
  fast:
    generator: {count: 3000, pace: 1 ms, fields: {at: {event_time: {step: 10 ms}}}}
    watermarks: {timestamp: at, emit: every_record, alignment: {group: GROUP, max_drift: 100 ms, interval: 10 ms}}
  slow:
    generator: {count: 300, pace: 10 ms, fields: {at: {event_time: {step: 10 ms}}}}
    watermarks: {timestamp: at, emit: every_record, alignment: {group: g, max_drift: 100 ms, interval: 10 ms}}
sinks:
  out: {input: [fast, slow], collect: {}}
"""


@pytest.mark.parametrize(("group", "waits"), [("g", True), ("another", False)])
def test_sources_of_one_group_wait_for_each_other(group: str, waits: bool, tmp_path: Path) -> None:
    run = run_compiled(compiled(ALIGNED.replace("GROUP", group), tmp_path), record=Level.ELEMENTS)
    assert run.facts is not None
    assert bool(run.facts.rows("alignment")) is waits
    assert run.sinks[0].rows == 3300
