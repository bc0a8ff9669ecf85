"""What the event-time view says of each channel and split at the cursor follows from rules 8.6 to 8.16, in each attempt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.facts.schema import TABLES
from flowsim.laws.event_time.valve_model import ValveModel
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.units import NO_TIMESTAMP
from tests.report.conftest import OpenReport
from tests.support.accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]

HOLDS = "the lowest: holds the task's back"
CATCHES_UP = "behind since it was idle: not waited for until it has caught up"
NONE_ALIGNED = "behind since it was idle: its input emits nothing until a channel has caught up"
BOUND = 2**50
"""The viewer's MAX watermark."""
ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)

ROLES = """
([task, places]) => {
    const {eventTimes} = flowsim.model
    const of = eventTimes.of(eventTimes.subject(task, null))
    return places.map(place => of.watermarksAt(place).lines.map(({channel, value, idle, role}) => [channel, value, idle, role]))
}
"""
OF_SPLITS = """
() => {
    const {eventTimes, facts} = flowsim.model
    const of = eventTimes.of(eventTimes.subjects.find(subject => subject.operator === -2))
    return Array.from({length: facts.count}, (_, place) => of.watermarksAt(place))
        .map(({task, lines}) => ({sent: task.value, lines: lines.map(({value, idle, role}) => [value, idle, role])}))
}
"""
IDLE_SPLITS = """
flowsim: 1
name: flushed-maximum
settings: {record: full, auto_watermark_interval: 50 ms, buffer_timeout: 0}
sources:
  topic:
    script:
      fields: {at_ms: long, from: string}
      gap: 50 ms
      subtasks:
        - - {record: [100, quick], split: quick, step: 0}
          - {record: [10, behind], split: behind, step: 1}
          - {record: [11, behind], split: behind, step: 20}
          - {record: [20, behind], split: behind, step: 22}
    watermarks: {timestamp: at_ms, emit: every_record, idle_after: 200 ms}
operators:
  counted: {input: topic, key_by: "'all'", window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counted, collect: {}}
"""
RESTARTED = """
flowsim: 1
name: restarted
settings:
  record: full
  auto_watermark_interval: 10 ms
  restart_strategy: {fixed_delay: {delay: 20 ms}}
sources:
  fast: {generator: {count: 60, pace: 2 ms, fields: {at: {sequence: {}}}}, watermarks: {timestamp: at, idle_after: 30 ms}}
  slow: {generator: {count: 12, pace: 10 ms, fields: {at: {sequence: {}}}}, watermarks: {timestamp: at, idle_after: 15 ms}}
operators:
  merged: {input: [fast, slow], key_by: "at % 2", window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: merged, collect: {}}
failures:
  - fail_task: {task: merged, at: 70 ms}
"""

BEHIND = """
flowsim: 1
name: behind
settings: {record: full, auto_watermark_interval: 5 ms, buffer_timeout: 0}
sources:
  fast:
    script:
      fields: {at: long}
      gap: 2 ms
      subtasks: [[{record: [50]}, {record: [51]}, {sleep: 60 ms}, {record: [52]}, {sleep: 200 ms}, {record: [90]}]]
    watermarks: {timestamp: at, idle_after: 70 ms}
  slow:
    script:
      fields: {at: long}
      gap: 2 ms
      subtasks: [[{record: [10]}, {sleep: 50 ms}, {record: [20]}, {sleep: 12 ms}, {record: [21]}, {sleep: 18 ms}, {record: [22]},
                  {sleep: 18 ms}, {record: [23]}, {sleep: 18 ms}, {record: [24]}, {sleep: 18 ms}, {record: [25]},
                  {sleep: 18 ms}, {record: [26]}, {sleep: 18 ms}, {record: [27]}, {sleep: 18 ms}, {record: [28]}]]
    watermarks: {timestamp: at, idle_after: 20 ms}
operators:
  merged: {input: [fast, slow], key_by: "at % 2", window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: merged, collect: {}}
"""
"""The slow source becomes idle, resumes behind the fast one, and is the only active one after the fast one is idle, too."""


def recorded(scenario: str, folder: Path) -> Recording:
    (folder / "job.yaml").write_text(scenario)
    ended = CliRunner().invoke(app, ["run", str(folder / "job.yaml"), "--out", str(folder / "run")])
    assert ended.exit_code == 0, ended.output
    return Recording.open(folder / "run")


class Inputs:
    """The channels of a task and what its inputs emitted, by the law's own valve."""

    def __init__(self, channels: list[dict[str, Any]]) -> None:
        self.channels = {each["channel"]: each for each in channels}
        self.of_input: dict[int, list[int]] = {}
        for each in channels:
            self.of_input.setdefault(each["input"], []).append(each["channel"])
        self.reset()

    def reset(self) -> None:
        self.valves = {number: ValveModel(number, len(found)) for number, found in self.of_input.items()}
        self.last = dict.fromkeys(self.of_input, NO_TIMESTAMP)
        self.idle = dict.fromkeys(self.of_input, False)

    def add(self, channel: int, kind: int, timestamp: int) -> None:
        number = self.channels[channel]["input"]
        for _, what, value in self.valves[number].on_element(self.of_input[number].index(channel), kind, timestamp):
            if what == ElementKind.WATERMARK:
                self.last[number] = value
            else:
                self.idle[number] = value != 0

    def now(self) -> list[list[Any]]:
        """Channel, watermark, whether it is idle, and its role."""
        active = [number for number in self.of_input if not self.idle[number]]
        least = min((self.last[number] for number in active), default=None)
        aligned = {
            channel: self.valves[number].watermark(at)
            for number, found in self.of_input.items()
            for at, channel in enumerate(found)
            if self.valves[number].is_aligned(at)
        }
        rows = []
        for number, found in self.of_input.items():
            waited = [aligned[channel] for channel in found if channel in aligned]
            for at, channel in enumerate(found):
                value, is_active = self.valves[number].watermark(at), self.valves[number].is_active(at)
                role = ""
                if is_active and channel not in aligned:
                    role = CATCHES_UP if waited else NONE_ALIGNED
                elif is_active and number in active and self.last[number] == least and value == min(waited):
                    role = HOLDS if max(aligned.values()) > value else ""
                rows.append([channel, None if value == NO_TIMESTAMP else min(value, BOUND), not is_active, role])
        return rows


def expected(recording: Recording) -> dict[int, dict[int, list[list[Any]]]]:
    """By task and place of a watermark or status: what is expected of its channels."""
    rows = [dict(zip(TABLES["channels"].names, row, strict=True)) for row in recording.static_rows("channels")]
    inputs = {
        int(task): Inputs([row for row in rows if row["target_task"] == task])
        for task in {r["target_task"] for r in rows}
    }
    found: dict[int, dict[int, list[list[Any]]]] = {}
    for place, fact in enumerate(merged_facts(recording, Selection())):
        row = dict(zip(TABLES[fact.table].names, fact.row, strict=True))
        if fact.table == "lifecycle" and fact.task in inputs and row["operator"] < 0 and row["event"] in ENDS:
            inputs[fact.task].reset()
        elif fact.table == "received" and row["kind"] in (ElementKind.WATERMARK, ElementKind.STATUS):
            inputs[fact.task].add(row["channel"], row["kind"], row["timestamp"])
            found.setdefault(fact.task, {})[place] = inputs[fact.task].now()
    return found


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("11b", {"", HOLDS}),
        ("16", {"", HOLDS}),
        ("18", {""}),
        ("42b", {""}),
        ("restarted", {"", HOLDS}),
        ("behind", {"", HOLDS, CATCHES_UP, NONE_ALIGNED}),
    ],
)
def test_role_of_each_channel_follows_from_its_watermark_and_status(
    open_report: OpenReport, recordings: Recordings, tmp_path: Path, name: str, least: set[str]
) -> None:
    own = {"restarted": RESTARTED, "behind": BEHIND}.get(name)
    recording = recordings(name) if own is None else recorded(own, tmp_path)
    page = open_report(recording, "#view=event-time")
    roles = set()
    for task, at in expected(recording).items():
        if not page.evaluate("task => flowsim.model.eventTimes.subject(task, null)?.task === task", task):
            continue
        shown = page.evaluate(ROLES, [task, list(at)])
        for place, of_place in zip(at, shown, strict=True):
            assert sorted(of_place) == sorted(at[place]), (task, place)
            roles |= {role for *_, role in of_place}
    assert roles >= least, roles
    assert violations(page) == []


def test_split_that_is_idle_or_behind_holds_nothing_back(open_report: OpenReport, tmp_path: Path) -> None:
    """Rule 8.6: when both splits are idle the maximum was emitted; the one that resumes below it is behind."""
    page = open_report(recorded(IDLE_SPLITS, tmp_path), "#view=event-time")
    found = page.evaluate(OF_SPLITS)
    for one in found:
        active = [NO_TIMESTAMP if value is None else value for value, idle, _ in one["lines"] if not idle]
        for value, idle, role in one["lines"]:
            assert role == "" or not idle
            if role.startswith("the lowest"):
                assert (NO_TIMESTAMP if value is None else value) == min(active) < max(active)
    roles = {role for one in found for *_, role in one["lines"]}
    assert roles == {"", HOLDS, "behind what the source has emitted"}
    both_idle = [one for one in found if all(idle for _, idle, _ in one["lines"])]
    assert both_idle
    assert {role for one in both_idle for *_, role in one["lines"]} == {""}
