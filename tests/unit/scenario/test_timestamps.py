"""Event-time operators need records with timestamps: checked before the run where it is decidable."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import JobFailed, NoTimestamp
from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, refused, sinks

SOURCES = """\
flowsim: 1
name: test
sources:
  bare: {collection: {fields: {k: string, at: long}, rows: [[a, 1]]}}
  timed: {collection: {fields: {k: string, at: long}, rows: [[a, 1]]}, watermarks: {timestamp: at}}
  old: {collection: {fields: {k: string, at: long}, rows: [[a, 1]]}, legacy: true}
  drawn: {generator: {count: 3, fields: {k: {choice: {values: [a]}}, at: {sequence: {}}}}}
  script: {script: {fields: {k: string, at: long}, subtasks: [[{record: [a, 1]}, {watermark: 5}]]}}
  mixed: {script: {fields: {k: string, at: long}, subtasks: [[{record: [a, 1]}, {record: [a, 2], timestamp: 2}]]}}
  empty: {collection: {fields: {k: string, at: long}, rows: []}}
operators:
"""
COUNT = "aggregate: {n: count()}"
SELECT = "select: {a: left.k, b: right.k}"
PAIRED = "key_by: [k, k], window: {tumbling: 10 ms}"
GIVE_BARE = "add watermarks: {timestamp: ...} to source 'bare'"


def problems(operators: str, tmp_path: Path) -> list[str]:
    return refused(SOURCES + operators + sinks(out="x"), tmp_path)


@pytest.mark.parametrize(
    ("operator", "value", "path", "what"),
    [
        (f"key_by: k, window: {{tumbling: 10 ms}}, {COUNT}", "10 ms", "window.tumbling", "a tumbling window"),
        (f"window: {{tumbling: 10 ms}}, {COUNT}", "10 ms", "window.tumbling", "a tumbling window"),
        (
            f"key_by: k, window: {{sliding: {{size: 10 ms, slide: 5 ms}}}}, {COUNT}",
            "{size",
            "window.sliding",
            "a sliding window",
        ),
        (f"join: {{to: timed, {PAIRED}, {SELECT}}}", "10 ms", "join.window.tumbling", "a tumbling window"),
        (
            f"co_group: {{to: timed, {PAIRED}, left: {{n: count()}}}}",
            "10 ms",
            "co_group.window.tumbling",
            "a tumbling window",
        ),
        (
            f"interval_join: {{to: timed, key_by: [k, k], lower: 0, upper: 1 ms, {SELECT}}}",
            "{to",
            "interval_join",
            "an interval join",
        ),
        ("key_by: k, alarm: {after: 1 ms, emit: {k: k}}", "{after", "alarm", "an alarm in event time"),
    ],
)
def test_event_time_operator_behind_source_without_timestamps_is_refused(
    operator: str, value: str, path: str, what: str, tmp_path: Path
) -> None:
    text = f"  x: {{input: bare, {operator}}}\n"
    (line,) = problems(text, tmp_path)
    assert line.startswith(f"s.yaml:12:{text.index(value) + 1} operators.x.{path}: {what}")
    assert line.endswith(f"needs timestamps, and the records of 'bare' have none: {GIVE_BARE}")
    compiled(SOURCES + f"  x: {{input: timed, {operator}}}\n" + sinks(out="x"), tmp_path)


@pytest.mark.parametrize(
    ("read", "advice"),
    [
        ("bare", GIVE_BARE),
        ("old", "add watermarks: {timestamp: ...} to source 'old'"),
        ("drawn", "add watermarks: {timestamp: ...} to source 'drawn'"),
        (
            "script",
            "add a timestamp to the records of the script 'script', or watermarks: {timestamp: ...} to the source",
        ),
        ("[timed, bare]", GIVE_BARE),
        ("mapped", GIVE_BARE),
        ("kept", GIVE_BARE),
        ("rolled", GIVE_BARE),
        ("looked_up", GIVE_BARE),
        ("connected", GIVE_BARE),
        ("clock", "add watermarks: {timestamp: alarm_ms} after 'clock', which uses processing time"),
    ],
)
def test_missing_timestamps_are_traced_through_operators(read: str, advice: str, tmp_path: Path) -> None:
    between = {
        "mapped": "input: bare, map: {add: {n: at}}",
        "kept": "input: mapped, filter: n > 0",
        "rolled": "input: kept, key_by: k, sum: n",
        "looked_up": "input: rolled, broadcast: {to: timed, put: k, get: k, add: {other: right.at}}",
        "connected": "input: bare, connect: {to: old, map: [{select: {k: k}}, {select: {k: k}}]}",
        "clock": "input: timed, key_by: k, alarm: {after: 1 ms, time: processing, emit: {k: k}}",
    }
    lines = [f"  {name}: {{{operator}}}\n" for name, operator in between.items()]
    window = f"  x: {{input: {read}, key_by: k, window: {{tumbling: 10 ms}}, {COUNT}}}\n"
    (line,) = problems("".join(lines) + window, tmp_path)
    assert line.startswith("s.yaml:18:")
    assert line.endswith(advice)


@pytest.mark.parametrize(
    "operators",
    [
        "  x: {input: bare, key_by: k, window: {tumbling: 10 ms, time: processing}, aggregate: {n: count()}}\n",
        "  x: {input: bare, key_by: k, window: {count: 2}, aggregate: {n: count()}}\n",
        "  x: {input: bare, key_by: k, window: {session: 5 ms}, aggregate: {n: count()}}\n",
        "  x: {input: bare, key_by: k, alarm: {after: 1 ms, time: processing, emit: {k: k}}}\n",
        "  x: {input: mixed, key_by: k, window: {tumbling: 10 ms}, aggregate: {n: count()}}\n",
        "  x: {input: empty, key_by: k, window: {tumbling: 10 ms}, aggregate: {n: count()}}\n",
        (
            "  given: {input: bare, watermarks: {timestamp: at}}\n"
            "  x: {input: given, key_by: k, window: {tumbling: 10 ms}, aggregate: {n: count()}}\n"
        ),
        (
            "  counted: {input: bare, key_by: k, window: {count: 2}, aggregate: {n: count()}}\n"
            "  x: {input: counted, key_by: k, window: {tumbling: 10 ms}, aggregate: {m: count()}}\n"
        ),
        (
            "  both: {input: bare, connect: {to: timed, map: [{select: {k: k}}, {select: {k: k}}]}}\n"
            "  x: {input: both, key_by: k, window: {tumbling: 10 ms}, aggregate: {m: count()}}\n"
        ),
    ],
)
def test_operators_with_possible_or_unneeded_timestamps_are_accepted(operators: str, tmp_path: Path) -> None:
    compiled(SOURCES + operators + sinks(out="x"), tmp_path)


@pytest.mark.parametrize(
    "operator",
    [
        f"window: {{tumbling: 10 ms}}, {COUNT}",
        f"key_by: k, window: {{tumbling: 10 ms}}, {COUNT}",
        f"interval_join: {{to: timed, key_by: [k, k], lower: 0, upper: 1 ms, {SELECT}}}",
        "key_by: k, alarm: {after: 1 ms, emit: {k: k}}",
    ],
)
def test_record_without_timestamp_fails_run_with_advice_for_scenarios(operator: str, tmp_path: Path) -> None:
    job = compiled(SOURCES + f"  x: {{input: mixed, {operator}}}\n" + sinks(out="x"), tmp_path)
    result = run_compiled(job).result
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert isinstance(result.error.cause, NoTimestamp)
    assert str(result.error).endswith(
        "add watermarks: {timestamp: ...} to its source or to an operator before it, or a timestamp to every record of its script"
    )
    assert "assign_timestamps" not in str(result.error)
