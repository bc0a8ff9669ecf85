"""The view Checkpoints: its numbers equal those that Python reads from the facts of a job that fails and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import CheckpointStep, ElementKind
from flowsim.facts.schema import TABLES
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.report.conftest import OpenReport
from tests.support.accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCENARIO = """
flowsim: 1
name: two-attempts
settings:
  segment_size: 1 KiB
  cost: 1 us
  record: full
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
sources:
  busy: {generator: {count: 300, fields: {n: {sequence: {}}}}}
  quiet: {generator: {count: 12, pace: 10 ms, fields: {n: {sequence: {}}}}}
operators:
  merged: {input: [busy, quiet], map: {add: {twice: n * 2}}, cost: 100 us}
sinks:
  out: {input: merged, collect: {}}
actions:
  - checkpoint: {at: 5 ms}
failures:
  - fail_task: {task: merged, at: 60 ms}
"""

EXPIRED = (
    SCENARIO.replace("min_pause: 1 h", "min_pause: 1 h, timeout: 10 ms, tolerable_failed_checkpoints: 1", 1)
    .replace("count: 300", "count: 200")
    .replace("at: 60 ms", "at: 25 ms")
)
"""The barrier of the busy source is behind records for longer than the checkpoint may take."""

NOT_BEGUN = "flowsim.model.checkpoints.withoutBarrier(flowsim.model.checkpoints.get(1))"

MODEL = """
() => {
    const {checkpoints, attempts, facts, names} = flowsim.model
    return {
        history: checkpoints.taken.map(({id, outcome, bytes, restored}) => ({id, outcome, bytes, restored: restored.length})),
        failures: checkpoints.failures.map(({task, attempt, restarted}) => ({task, attempt, restarted})),
        alignment: checkpoints.of(1).map(one => checkpoints.metric(one, 'alignment_ns')),
        cuts: checkpoints.cuts(1).map(
            ({barrier: {channel, sent, received}, before, behind}) => [channel, sent, received, before, behind]
        ),
        attempts: [...names.tasks.keys()].map(task => attempts.at(task, facts.count - 1)),
    }
}
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(SCENARIO, tmp_path_factory.mktemp("checkpoints"))


def recorded(scenario: str, folder: Path) -> Recording:
    (folder / "job.yaml").write_text(scenario)
    ended = CliRunner().invoke(app, ["run", str(folder / "job.yaml"), "--out", str(folder / "run")])
    assert ended.exit_code == 0, ended.output
    return Recording.open(folder / "run")


def rows_of(facts: list[Fact], table: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Steps and rows."""
    for step, fact in enumerate(facts):
        if fact.table == table:
            yield step, dict(zip(TABLES[table].names, fact.row, strict=True))


def cuts_of(recording: Recording, facts: list[Fact]) -> list[list[int]]:
    """Of checkpoint 1 per channel: steps of its barrier, and the elements in front of and behind it by plain counting."""
    snapshots = {
        row["task"]: step
        for step, row in rows_of(facts, "checkpoint_steps")
        if (row["checkpoint"], row["step"]) == (1, CheckpointStep.SYNC_START)
    }
    found = []
    for channel in (dict(zip(TABLES["channels"].names, row, strict=True)) for row in recording.static_rows("channels")):
        sent, received = (
            [(step, row) for step, row in rows_of(facts, table) if row["channel"] == channel["channel"]]
            for table in ("sent", "received")
        )
        (wrote,), (read,) = (
            [step for step, row in rows if (row["kind"], row["timestamp"]) == (ElementKind.CHECKPOINT_BARRIER, 1)]
            for rows in (sent, received)
        )
        before = sum(step < wrote for step, _ in sent) - sum(step < wrote for step, _ in received)
        behind = sum(wrote < step < snapshots[int(channel["target_task"])] for step, _ in sent)
        found.append([int(channel["channel"]), wrote, read, before, behind])
    return found


def test_numbers_of_checkpoints_equal_the_facts(recording: Recording, open_report: OpenReport) -> None:
    facts = list(merged_facts(recording, Selection()))
    metrics = [row["alignment_ns"] for _, row in rows_of(facts, "checkpoint_metrics") if row["checkpoint"] == 1]

    page = open_report(recording, "#view=checkpoints&checkpoint=1", dark=True)
    found: dict[str, Any] = page.evaluate(MODEL)

    first, last = found["history"]
    assert (first["id"], first["outcome"], first["restored"]) == (1, "completed", 1)
    assert first["bytes"] == sum(
        row["state_bytes"] for _, row in rows_of(facts, "checkpoint_metrics") if row["checkpoint"] == 1
    )
    assert (last["id"], last["outcome"], last["restored"]) == (2, "completed", 0)
    assert found["failures"] == [{"task": 2, "attempt": 0, "restarted": [0, 1, 2]}]
    assert found["attempts"] == [1, 1, 1]
    assert sorted(found["alignment"]) == sorted(metrics)
    assert max(metrics) > 0
    assert found["cuts"] == cuts_of(recording, facts)
    assert found["cuts"][0][3] > 0
    assert page.locator("[aria-label='Subtasks of checkpoint 1'] tbody tr").count() == 3
    assert page.locator("[aria-label='Failures and restarts'] tbody tr").count() == 1
    assert violations(page) == []
    page.click("text=checkpoint ▶")
    page.wait_for_url("**checkpoint=2**")


def test_causes_are_those_of_the_command(recording: Recording, open_report: OpenReport) -> None:
    page = open_report(recording, "#view=checkpoints&checkpoint=1")
    page.get_by_text("What it waited for").click()
    page.get_by_text("Why failure 0 came, and what it repeats").click()
    facts = RunFacts(recording)
    for question, number, summary in (
        ("checkpoint", "1", "What it waited for"),
        ("restart", "0", "Why failure 0 came"),
    ):
        answered = answer(facts, question, Asked([number]))
        shown = page.locator("details.why", has_text=summary).locator("ol > li").all_inner_texts()
        assert len(shown) == 1 + len(answered.causes)
        for text, cause in zip(shown, (answered.statement, *answered.causes), strict=True):
            assert text.startswith(cause.text)


def test_view_names_the_subtask_for_which_an_expired_checkpoint_waited(tmp_path: Path, open_report: OpenReport) -> None:
    page = open_report(recorded(EXPIRED, tmp_path), "#view=checkpoints&checkpoint=1")

    assert "aborted: CHECKPOINT_EXPIRED after 10 ms" in page.inner_text("section.checkpoint h2")
    assert page.evaluate(NOT_BEGUN) == [2]
    assert "No barrier had arrived at merged (1/1)" in page.inner_text("section.checkpoint")
    assert page.inner_text("[aria-label='Failures and restarts'] tbody td:last-child") == "none"
