"""The view Checkpoints of unaligned checkpoints: its in-flight data is that of the facts, counted plainly in Python."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.checkpoint_tables import STORED_CHANNELS
from flowsim.facts.kinds import BufferSide, CheckpointStep, ElementKind, Level, StoredAction
from flowsim.facts.schema import TABLES
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.writer import RecordingWriter
from flowsim.report.page import page as html_of
from flowsim.report.payload import build_payload
from tests.report.conftest import SCENARIOS, OpenReport
from tests.support.accessibility import violations
from tests.support.jobs.unaligned_job import run_unaligned
from tests.support.plain_model import counted_states, seen_by_viewer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Recordings = Callable[[str], Recording]

TIMEOUT = """
flowsim: 1
name: barriers-with-a-timeout
settings:
  segment_size: 256 B
  record: full
  checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true, aligned_timeout: 5 ms}
sources:
  orders: {generator: {count: 400, pace: 20 us, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: orders, partition: rebalance, parallelism: 2, map: {add: {tax: n * 2}}, cost: 1 ms}
sinks:
  out: {input: slow, collect: {}}
actions:
  - checkpoint: {at: 20 ms}
"""
"""The source snapshots at its trigger; the barriers time out in the queues of ``slow``, which have full buffers before."""

MODEL = """
() => {
    const {checkpoints, inFlight, facts, channels} = flowsim.model
    return checkpoints.taken.map(({id}) => ({
        id,
        unaligned: checkpoints.of(id).map(one => inFlight.isUnaligned(one)),
        persisted: inFlight.sum(id, 'persisted_bytes'),
        stored: inFlight.stored(id).map(one => [one.channel, one.elements]),
        cuts: checkpoints.cuts(id).map(({barrier, before, behind}) => ({
            channel: barrier.channel, before, behind, overtaken: inFlight.overtaken(barrier)?.length ?? null,
            between: inFlight.between(barrier)?.map(one => [
                one.sent < 0 ? -1 : facts.of('sent').places[one.sent],
                one.received < 0 ? -1 : facts.of('received').places[one.received],
                one.side,
            ]) ?? null,
        })),
        restores: inFlight.restores(id).map(restore => restore.channels.map(
            row => [row.channel, row.task, row.elements, inFlight.reading(id, restore, row)?.elements]
        )),
    }))
}
"""


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Barriers of several checkpoints time out in the queues of senders; the job fails and is restored."""
    folder = tmp_path_factory.mktemp("restored") / "run"
    writer = RecordingWriter(folder, Level.FULL, RunDescription())
    run_unaligned(writer, 40, interval_ms=30, aligned_timeout_ms=8, segment_size_bytes=64)
    writer.finish(RunStatus.COMPLETE)
    return Recording.open(folder)


def run(scenario: Path, out: Path, *options: str) -> Recording:
    ended = CliRunner().invoke(app, ["run", str(scenario), "--out", str(out), *options])
    assert ended.exit_code == 0, ended.output
    return Recording.open(out)


def rows_of(recording: Recording, *tables: str) -> Iterator[tuple[int, str, dict[str, int]]]:
    """Steps, tables and rows."""
    for step, fact in enumerate(merged_facts(recording, Selection())):
        if fact.table in tables:
            yield step, fact.table, dict(zip(TABLES[fact.table].names, fact.row, strict=True))


def first_checkpoint(recording: Recording) -> dict[int, list[tuple[int, int]]]:
    """Of checkpoint 1, before any restore: per channel the steps at which its elements between the cuts are sent and read.

    The elements of a channel are read in the order in which they were sent.
    """
    targets = {
        int(row[0]): int(dict(zip(TABLES["channels"].names, row, strict=True))["target_task"])
        for row in recording.static_rows("channels")
    }
    barriers: dict[int, int] = {}
    snapshots: dict[int, int] = {}
    sent: dict[int, list[int]] = {channel: [] for channel in targets}
    read: dict[int, list[int]] = {channel: [] for channel in targets}
    for step, table, row in rows_of(recording, "sent", "received", "checkpoint_steps"):
        if table == "checkpoint_steps":
            if (row["checkpoint"], row["step"]) == (1, CheckpointStep.SYNC_START):
                snapshots[row["task"]] = step
        elif row["kind"] < ElementKind.END_OF_DATA and row["position"] >= 0:
            (sent if table == "sent" else read)[row["channel"]].append(step)
        elif table == "sent" and row["kind"] == ElementKind.UNALIGNED_BARRIER and row["timestamp"] == 1:
            barriers[row["channel"]] = step
    found = {}
    for channel, target in targets.items():
        count = sum(step < snapshots[target] for step in read[channel])
        last = sum(step < barriers[channel] for step in sent[channel])
        found[channel] = list(zip(sent[channel][count:last], read[channel][count:last], strict=True))
    return found


def test_stored_elements_are_those_between_the_cuts(open_report: OpenReport, recordings: Recordings) -> None:
    recording = recordings("40b")
    expected = first_checkpoint(recording)

    page = open_report("40b", "#view=checkpoints&checkpoint=1&channel=2")
    first = page.evaluate(MODEL)[0]

    assert first["unaligned"] == [True] * 6
    found = {cut["channel"]: [(sent, read) for sent, read, _ in cut["between"]] for cut in first["cuts"]}
    assert found == expected
    assert dict(first["stored"]) == {channel: len(elements) for channel, elements in expected.items()}
    assert [cut["before"] for cut in first["cuts"]] == [cut["overtaken"] for cut in first["cuts"]]
    sides = [side for cut in first["cuts"] if cut["channel"] == 2 for _, _, side in cut["between"]]
    assert sides == ["receiver"] * sides.count("receiver") + ["sender"] * sides.count("sender")
    assert {*sides} == {"receiver", "sender"}


def test_page_shows_the_stored_buffers_of_each_channel_and_who_reads_them_back(
    open_report: OpenReport, recordings: Recordings
) -> None:
    rows = [dict(zip(STORED_CHANNELS.names, row, strict=True)) for row in recordings("40b").rows("stored_channels")]
    stored = [row for row in rows if row["action"] == StoredAction.STORED]

    page = open_report("40b", "#view=checkpoints&checkpoint=1&channel=2", dark=True)

    def size(buffers: int, number: int) -> str:
        return f"{buffers} buffer{'s' * (buffers != 1)}, {number:,} bytes" if buffers else "-"

    def cells(caption: str) -> list[list[str]]:
        found = page.locator(f"[aria-label^='{caption}'] tbody tr")
        return [found.nth(row).locator("td").all_inner_texts() for row in range(found.count())]

    *channels, total = cells("In-flight data in checkpoint 1")
    assert [row[1:] for row in channels] == [
        [size(row["input_buffers"], row["input_bytes"]), size(row["output_buffers"], row["output_bytes"]), str(row["elements"])]
        for row in stored
    ]  # fmt: skip
    assert total[-1] == str(sum(row["elements"] for row in stored))
    assert len(cells("Elements of channel 2:")) == stored[2]["elements"]
    restored = cells("In-flight data restored from checkpoint 1")
    assert [row[5] for row in restored] == [row[3] for row in restored] == [str(row["elements"]) for row in stored]
    subtasks = cells("Subtasks of checkpoint 1")
    metrics = [
        row["persisted_bytes"]
        for _, _, row in rows_of(recordings("40b"), "checkpoint_metrics")
        if row["checkpoint"] == 1
    ]
    assert sorted(row[5] for row in subtasks) == sorted(f"{number:,} bytes" for number in metrics)
    assert {row[6] for row in subtasks} == {"yes"}
    picture = page.get_attribute(".cut svg", "aria-label")
    assert picture is not None
    assert picture.startswith("the barrier overtakes 128 elements;")
    assert violations(page) == []
    page.click("[aria-label='In-flight data in checkpoint 1'] tbody tr:nth-child(1) button")
    page.wait_for_selector("[aria-label^='Elements of channel 0:']")


def test_aligned_checkpoint_stores_nothing_and_its_barriers_overtake_nothing(open_report: OpenReport) -> None:
    page = open_report("40a", "#view=checkpoints&checkpoint=1&channel=2")
    first = page.evaluate(MODEL)[0]

    assert first["unaligned"] == [False] * 6
    assert (first["stored"], first["persisted"]) == ([], 0)
    assert {cut["overtaken"] for cut in first["cuts"]} == {0}
    picture = page.get_attribute(".cut svg", "aria-label")
    assert picture is not None
    assert picture.startswith("the barrier is read behind these elements; 145 elements in front of the barrier")


def test_subtasks_behind_barriers_that_timed_out_are_unaligned(open_report: OpenReport, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TIMEOUT)
    page = open_report(run(tmp_path / "job.yaml", tmp_path / "run"), "#view=checkpoints&checkpoint=1")
    first = page.evaluate(MODEL)[0]

    assert first["unaligned"] == [False, True, True, True]
    assert all(cut["before"] >= cut["overtaken"] > 0 for cut in first["cuts"])
    assert "aligned, after a timeout unaligned" in page.inner_text("section.checkpoint h2")
    barriers = page.locator("[aria-label='Channels at checkpoint 1'] tbody td:nth-child(2)").all_inner_texts()
    assert barriers == ["unaligned after its timeout"] * 4


def test_every_checkpoint_of_a_restored_job_stores_what_is_between_its_cuts(
    open_report: OpenReport, restored: Recording
) -> None:
    found: list[dict[str, Any]] = open_report(restored, "#view=checkpoints").evaluate(MODEL)

    counted = [
        (one["id"], {cut["channel"]: len(cut["between"]) for cut in one["cuts"] if cut["between"]}, dict(one["stored"]))
        for one in found
        if one["stored"]
    ]
    assert len(counted) > 2
    assert [between for _, between, _ in counted] == [stored for *_, stored in counted]
    readings = [row for one in found for restore in one["restores"] for row in restore]
    assert readings
    assert all(elements == read for _, _, elements, read in readings)


def test_queues_with_barriers_that_get_priority_equal_the_facts(open_report: OpenReport, restored: Recording) -> None:
    assert any(row["side"] == BufferSide.PRIORITIZED for _, _, row in rows_of(restored, "buffers"))
    expected = counted_states(restored, 1000)

    found = open_report(restored).evaluate(
        "steps => steps.map(step => flowsim.at(step))", [step for step, _ in expected]
    )

    assert [(one["step"], seen_by_viewer(one)) for one in found] == expected


def test_report_in_parts_has_the_stored_data_and_states_what_is_missing(
    open_report: OpenReport, recordings: Recordings, tmp_path: Path
) -> None:
    shutil.copytree(recordings("40b").directory, tmp_path / "run")
    recording = Recording.open(tmp_path / "run")
    (tmp_path / "run.html").write_text(html_of(build_payload(recording, "out/run", budget_bytes=40_000)))
    stored = [row for _, _, row in rows_of(recording, "checkpoint_metrics") if row["checkpoint"] == 1]

    page = open_report(recording, "#view=checkpoints&checkpoint=1")
    first = page.evaluate(MODEL)[0]

    assert first["persisted"] == sum(row["persisted_bytes"] for row in stored)
    assert len(first["stored"]) == len(recording.static_rows("channels"))
    assert all(cut["between"] is None for cut in first["cuts"])
    assert "barriers and counts outside of them are missing" in page.inner_text(".view")
    assert page.locator("[aria-label='In-flight data in checkpoint 1'] tbody tr").count() == len(first["stored"]) + 1


def test_rescaled_job_names_the_records_that_each_new_subtask_keeps(open_report: OpenReport, tmp_path: Path) -> None:
    (scenario,) = SCENARIOS.glob("43_*.yaml")
    run(scenario, tmp_path / "two")
    recording = run(
        scenario, tmp_path / "three", "--from-savepoint", str(tmp_path / "two/saved/chk-1"),
        "--set", "operators.slow.parallelism=3", "--set", "actions=[]", "--set", "expect={}",
    )  # fmt: skip
    rows = [dict(zip(STORED_CHANNELS.names, row, strict=True)) for row in recording.rows("stored_channels")]

    page = open_report(recording, "#view=checkpoints&checkpoint=1")
    ((restore,),) = [one["restores"] for one in page.evaluate(MODEL) if one["id"] == 1]

    assert {row[0] for row in restore} == {-1}
    assert sorted(row[1:3] for row in restore) == sorted([row["task_id"], row["elements"]] for row in rows)
    for task in {row["task_id"] for row in rows}:
        kept = sum(elements for _, of, elements, _ in restore if of == task)
        assert {read for _, of, _, read in restore if of == task} == {kept}
    table = page.inner_text("[aria-label^='In-flight data restored from checkpoint 1']")
    assert "Source: orders -> slow, from old subtask 0 to 1" in table
