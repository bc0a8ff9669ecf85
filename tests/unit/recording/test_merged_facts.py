"""The facts of a recording in one order: complete, by time, in each task's own order; equal for any size of parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import ActionPhase, Level
from flowsim.facts.schema import TABLES
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from tests.support.jobs.small_jobs import SmallJob


def record_job(directory: Path, rows_per_epoch: int, level: Level = Level.FULL) -> Recording:
    job = SmallJob(metrics_interval_ms=1, segment_size_bytes=128)
    source = job.values(lambda subtask: range(subtask, 300, 2), parallelism=2)
    job.sink(job.map(source, lambda value: value, by="SHUFFLE", parallelism=2, chain=False), by="REBALANCE")
    writer = RecordingWriter(directory, level, RunDescription(), rows_per_epoch=rows_per_epoch)
    job.run(recorder=writer)
    writer.finish(RunStatus.COMPLETE)
    return Recording.open(directory)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """In many small epochs."""
    return record_job(tmp_path_factory.mktemp("recording") / "small", 300)


def seq(fact: Fact) -> int:
    return fact.row[0]


def test_every_fact_is_returned_once(recording: Recording) -> None:
    reported: dict[str, list[tuple[int, ...]]] = {}
    for fact in merged_facts(recording, Selection()):
        reported.setdefault(fact.table, []).append(fact.row)

    assert len(recording.epochs) > 3
    for table in TASK_TABLES:
        assert sorted(reported.get(table.name, [])) == sorted(recording.rows(table.name)), table.name


def test_times_never_decrease_and_seq_of_task_increases(recording: Recording) -> None:
    facts = list(merged_facts(recording, Selection()))

    assert [fact.time_ns for fact in facts] == sorted(fact.time_ns for fact in facts)
    for task in range(5):
        mine = [seq(fact) for fact in facts if fact.task == task]
        assert mine == sorted(mine)


def test_facts_do_not_depend_on_size_of_parts(recording: Recording, tmp_path: Path) -> None:
    whole = record_job(tmp_path / "one", 1 << 18)

    assert len(whole.epochs) == 1
    assert list(merged_facts(whole, Selection())) == list(merged_facts(recording, Selection()))


def test_depth_counts_enclosing_actions_and_waits(recording: Recording) -> None:
    depths = dict.fromkeys(range(5), 0)
    for fact in merged_facts(recording, Selection()):
        phase = fact.row[TABLES["actions"].names.index("phase")] if fact.table == "actions" else None
        if phase in (ActionPhase.END, ActionPhase.RESUME):
            depths[fact.task] -= 1
        assert fact.depth == depths[fact.task], fact
        if phase in (ActionPhase.BEGIN, ActionPhase.WAIT):
            depths[fact.task] += 1


def test_selection_equals_filtering_all_facts(recording: Recording) -> None:
    everything = list(merged_facts(recording, Selection()))
    times = [fact.time_ns for fact in everything]
    from_ns, to_ns = times[len(times) // 3], times[2 * len(times) // 3]

    selection = Selection(
        tables=("sent", "received", "buffers"), tasks=frozenset({0, 2}), channels=frozenset({0, 1}),
        from_ns=from_ns, to_ns=to_ns, values={"buffers": {"side": frozenset({0})}},
    )  # fmt: skip
    selected = list(merged_facts(recording, selection))

    assert selected
    assert selected == [
        fact
        for fact in everything
        if fact.table in selection.tables
        and fact.task in (0, 2)
        and from_ns <= fact.time_ns < to_ns
        and fact.row[TABLES[fact.table].names.index("channel")] in (0, 1)
        and (fact.table != "buffers" or fact.row[TABLES["buffers"].names.index("side")] == 0)
    ]


def test_channel_selection_excludes_facts_without_channel(recording: Recording) -> None:
    facts = merged_facts(recording, Selection(channels=frozenset({1})))

    assert {fact.table for fact in facts} == {"sent", "received", "buffers", "credits"}


def test_decreasing_real_clock_times_are_raised_to_the_previous_time(tmp_path: Path) -> None:
    """On the real clock facts that others record of a task may be later than its own next ones."""
    writer = RecordingWriter(tmp_path / "real", Level.FULL, RunDescription(clock="real"), rows_per_epoch=2)
    life = writer.appender(TABLES["lifecycle"])
    for number, (task, time_ns) in enumerate([(0, 50), (1, 20), (0, 30), (1, 60), (0, 70)]):
        life(number, task, -1, time_ns, 0)
    writer.finish(RunStatus.COMPLETE)

    facts = merged_facts(Recording.open(tmp_path / "real"), Selection())

    assert [(fact.time_ns, fact.task, seq(fact)) for fact in facts] == [
        (20, 1, 1), (50, 0, 0), (50, 0, 2), (60, 1, 3), (70, 0, 4),
    ]  # fmt: skip


def test_recording_of_elements_has_depth_zero(tmp_path: Path) -> None:
    facts = list(merged_facts(record_job(tmp_path / "elements", 100, Level.ELEMENTS), Selection()))

    assert {fact.depth for fact in facts} == {0}
    assert "buffers" not in {fact.table for fact in facts}


def test_missing_part_is_refused(tmp_path: Path) -> None:
    recording = record_job(tmp_path / "damaged", 100)
    next(iter((tmp_path / "damaged" / "received").iterdir())).unlink()

    with pytest.raises(BadInput, match="missing, but its epoch"):
        list(merged_facts(recording, Selection()))
