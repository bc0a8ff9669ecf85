"""A restart ends what a task holds: views over time show its attempts apart, and what a checkpoint restored."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import CheckpointStep, LifeEvent, RestartAction, TimerAction
from flowsim.facts.schema import TABLES
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from tests.report.conftest import OpenReport

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)
JOB = """
flowsim: 1
name: restarted
settings:
  record: full
  auto_watermark_interval: 10 ms
  buffer_timeout: 0
  checkpointing: {{interval: 1 h}}
  restart_strategy: {{fixed_delay: {{attempts: 5, delay: 20 ms}}}}
sources:
  numbers: {{generator: {{count: 60, pace: 2 ms, fields: {{at: {{sequence: {{}}}}}}}}, watermarks: {{timestamp: at}}}}
operators:
  counts: {{input: numbers, key_by: "at % 2", window: {{tumbling: 30 ms, allowed_lateness: 9 ms}}, aggregate: {{n: count()}}}}
sinks:
  out: {{input: counts, collect: {{}}}}
{actions}
failures:
  - fail_task: {{task: counts, at: 55 ms}}
  - fail_task: {{task: counts, at: 110 ms, attempt: 1}}
"""
CHECKPOINT = "actions: [{checkpoint: {at: 42 ms}}]"
HELD = """
task => {
    const {keyStates, facts} = flowsim.model
    const subject = keyStates.subjects.find(one => one.task === task)
    const states = keyStates.keys(subject).map(key => [flowsim.model.names.key(key), keyStates.of(subject, key)])
    return Array.from({length: facts.count}, (_, place) => states.flatMap(([key, state]) => {
        const {timers, cells} = state.at(place)
        return [
            ...timers.map(({timestamp}) => `timer ${timestamp} of ${key}`),
            ...cells.map(({window, entries}) => `${window} of ${key} holds ${entries}`),
        ]
    }).sort())
}
"""
WINDOWS = """
([task, places]) => {
    const {eventTimes, keyStates} = flowsim.model
    const of = eventTimes.of(eventTimes.subject(task, 0))
    const at = place => of.windows.filter(box => box.first <= place && place < box.gone).map(box => [box.start, box.end, box.key])
    return places.map(place => [at(place).map(([start, end]) => `${start} ${end}`), of.watermarksAt(place).task.value])
}
"""
BREAKS = """
task => {
    const {eventTimes} = flowsim.model
    const {watermark, lines} = eventTimes.of(eventTimes.subject(task, 0))
    const breaks = ({places, values}) => places.filter((_, at) => values[at] === -(2 ** 50))
    return [watermark, ...lines.map(line => line.marks)].map(breaks)
}
"""


@pytest.mark.parametrize("actions", ["", CHECKPOINT])
def test_views_show_in_each_attempt_what_it_holds(open_report: OpenReport, tmp_path: Path, actions: str) -> None:
    scenario = tmp_path / "restarted.yaml"
    scenario.write_text(JOB.format(actions=actions))
    done = CliRunner().invoke(app, ["run", str(scenario), "--record-state", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    recording = Recording.open(tmp_path / "out")
    task = next(int(row[0]) for row in recording.static_rows("tasks") if str(row[3]).startswith("counts"))
    held, begins, ends = held_by(recording, task)
    assert len(begins) == 3

    page = open_report(recording, "#view=event-time")

    assert page.evaluate(HELD, task) == held
    at_begins = page.evaluate(WINDOWS, [task, begins])
    assert [watermark for _, watermark in at_begins] == [None, None, None]
    # Their first timer is that of the trigger, at their last millisecond.
    assert [len(windows) for windows, _ in at_begins] == [count_windows(held[begin]) for begin in begins]
    assert (count_windows(held[begins[1]]) > 0) is bool(actions)
    assert page.evaluate(WINDOWS, [task, ends[:-1]]) == [[[], None], [[], None]]
    assert page.evaluate(BREAKS, task) == [ends[:-1], ends[:-1]]
    page.goto(page.url.replace("view=event-time", "view=state"))
    page.wait_for_selector("html[data-ready]")


def count_windows(held: list[str]) -> int:
    return sum("holds" in one for one in held)


def held_by(recording: Recording, task: int) -> tuple[list[list[str]], list[int], list[int]]:
    """What a task holds after each fact: timers, and entries of windows; and where its attempts begin and end."""
    restored = {
        int(row[TABLES["restarts"].names.index("attempt")]): int(row[TABLES["restarts"].names.index("checkpoint")])
        for row in recording.rows("restarts")
        for names in [TABLES["restarts"].names]
        if row[names.index("action")] == RestartAction.RESTART and row[names.index("task_id")] == task
    }
    keys = {int(row[1]): str(row[4]) for row in recording.static_rows("keys")}
    now: dict[tuple[str, int, int], int] = {}
    snapshots: dict[int, dict[tuple[str, int, int], int]] = {}
    found, begins, ends = list[list[str]](), list[int](), list[int]()
    for place, fact in enumerate(merged_facts(recording, Selection())):
        row = dict(zip(TABLES[fact.table].names, fact.row, strict=True))
        if fact.task == task and fact.table == "timers":
            timer = f"timer {row['timestamp']} of {keys[row['key']]}", 0, 0
            if row["action"] == TimerAction.REGISTER:
                now[timer] = 1
            else:
                now.pop(timer, None)
        elif fact.task == task and fact.table == "state_changes":
            now[keys[row["key"]], row["window_start"], row["window_end"]] = row["entries"]
        elif fact.task == task and fact.table == "checkpoint_steps" and row["step"] == CheckpointStep.SYNC_START:
            snapshots[row["checkpoint"]] = dict(now)
        elif fact.task == task and fact.table == "lifecycle" and row["operator"] < 0:
            if row["event"] == LifeEvent.INITIALIZING:
                now = dict(snapshots.get(restored.get(len(begins), -1), {}))
                begins.append(place)
            elif row["event"] in ENDS:
                ends.append(place)
                now = {} if row["event"] != LifeEvent.FINISHED else now
        found.append(sorted(text(*one) for one in now.items() if one[1]))
    return found, begins, ends


def text(held: tuple[str, int, int], entries: int) -> str:
    name, start, end = held
    return name if name.startswith("timer") else f"window [{start}, {end}) of {name} holds {entries}"
