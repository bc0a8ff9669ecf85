"""The first different row of two recordings, for any epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.facts import schema
from flowsim.facts.choice_table import ChoiceKind
from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.task_clock import TaskClock
from flowsim.trace.difference import differences


def recorded(
    directory: Path, rows_per_epoch: int = 7, marks: int = 40, changed: dict[int, int] | None = None
) -> Recording:
    """Two tasks that emit watermarks; ``changed``: other times, by their number in task 1."""
    writer = RecordingWriter(directory, Level.ELEMENTS, RunDescription(), rows_per_epoch=rows_per_epoch)
    writer.static(schema.TASKS, [(task, 0, 0, f"map ({task + 1}/2)", task, 2, 128, 1) for task in range(2)])
    clock = TaskClock(START_NS - 1_000_000)
    traces = [TaskTrace(task, clock, writer) for task in range(2)]
    choose = writer.appender(schema.CHOICES)
    for number in range(marks):
        clock.now_ns += 1_000_000
        traces[0].task_watermark(0, ElementKind.WATERMARK, number)
        traces[1].task_watermark(0, ElementKind.WATERMARK, (changed or {}).get(number, number))
        choose(number, 0, 2, ChoiceKind.TURN, 0, -1, -1)
    traces[0].lifecycle(-1, LifeEvent.FINISHED)
    writer.finish(RunStatus.COMPLETE)
    return Recording.open(directory)


@pytest.mark.parametrize("rows_per_epoch", [1, 7, 13, 1000])
def test_first_different_row_is_reported_with_both_values(tmp_path: Path, rows_per_epoch: int) -> None:
    one = recorded(tmp_path / "one")
    other = recorded(tmp_path / "other", rows_per_epoch, changed={25: 99, 31: 5})
    [found] = differences(one, other, ["lifecycle", "task_watermark", "choices", "tasks", "keys"])
    assert (found.table, found.where) == ("task_watermark", "map (2/2) (task 1), at 25 ms, seq 25")
    assert found.recorded == "watermark of input 0 is now 25 ms"
    assert found.replayed == "watermark of input 0 is now 99 ms"
    assert found.columns == (("timestamp", "recorded 25, replayed 99"),)


def test_equal_facts_in_different_epochs_do_not_differ(tmp_path: Path) -> None:
    one, other = recorded(tmp_path / "one", 5), recorded(tmp_path / "other", 9)
    assert differences(one, other, list(one.manifest.table_digests)) == []


def test_missing_or_additional_rows_differ_from_nothing(tmp_path: Path) -> None:
    one, other = recorded(tmp_path / "one", marks=40), recorded(tmp_path / "other", 9, marks=38)
    lost = {found.table: found for found in differences(one, other, ["choices", "task_watermark"])}
    assert lost["task_watermark"].where == "map (1/2) (task 0), at 38 ms, seq 38"
    assert lost["task_watermark"].replayed == "nothing: there are no more rows"
    assert lost["choices"].where == "step 38"
    assert lost["choices"].recorded == "step 38, choice 0, ready 2, name 0, actor 0, number -1, edge -1"
    [more, _] = differences(other, one, ["choices", "task_watermark"])
    assert (more.table, more.recorded) == ("task_watermark", "nothing: there are no more rows")


def test_different_description_is_reported_with_values(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one")
    writer = RecordingWriter(tmp_path / "other", Level.ELEMENTS, RunDescription())
    writer.static(schema.TASKS, [(0, 0, 0, "map (1/2)", 0, 2, 128, 1), (1, 0, 0, "filter (2/2)", 1, 2, 128, 1)])
    writer.appender(schema.CHOICES)(0, 0, 2, ChoiceKind.TURN, 0, -1, -1)
    writer.finish(RunStatus.COMPLETE)
    [found] = differences(one, Recording.open(tmp_path / "other"), ["tasks"])
    assert found.columns == (("name", "recorded map (2/2), replayed filter (2/2)"),)
