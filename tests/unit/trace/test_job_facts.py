"""Facts of the job's side in a trace: their sentences, their order, and the selections that have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim import BadInput, Recording, open_recording, run_scenario
from flowsim.cli.main import app
from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointReason,
    RestartAction,
    SnapshotKind,
    StoredAction,
)
from flowsim.laws.job_history import CheckpointEvent, RestartEvent, StoredChannelEvent
from flowsim.recording.merged_facts import Selection
from flowsim.trace.job_facts import NO_TASK, facts_with_job
from flowsim.trace.kinds import wanted_tables
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence

SCENARIO = """\
flowsim: 1
name: restarted
settings: {checkpointing: {interval: 1 h, min_pause: 1 h}, restart_strategy: {fixed_delay: {delay: 10 ms}}}
sources: {numbers: {generator: {count: 20, pace: 10 ms, fields: {n: {sequence: {}}}}}}
sinks: {kept: {input: numbers, parallelism: 2, collect: {}}}
actions: [{checkpoint: {at: 55 ms}}, {savepoint: {at: 75 ms}}]
failures: [{fail_task: {task: numbers, at_record: 15}}]
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    out: Path = tmp_path_factory.mktemp("job")
    run_scenario(SCENARIO, out=out)
    return open_recording(out)


def lines_of_job(recording: Recording, *options: str) -> list[str]:
    called = CliRunner().invoke(app, ["trace", str(recording.directory), *options], env={"COLUMNS": "300"})
    assert called.exit_code == 0, called.output
    return [
        re.split(r"  +", line.strip(), maxsplit=2)[2] for line in called.stdout.splitlines() if "  the job  " in line
    ]


def test_trace_has_checkpoints_failure_and_restart_of_the_job(recording: Recording) -> None:
    lines = lines_of_job(recording, "--kinds", "checkpoints")
    assert lines[0] == "triggers checkpoint 1 of 3 tasks  [12.1, 12.45]"
    assert lines[3].startswith("receives the acknowledgement of checkpoint 1 by Sink: kept (")
    assert lines[3].endswith(", 3 of 3  [12.49]")
    assert re.fullmatch(r"completes checkpoint 1 with [\d,]+ bytes of state  \[12.3, 12.50\]", lines[4])
    assert lines[5] == "triggers savepoint 2 of 3 tasks  [12.1, 12.45]"
    failure = lines.index(
        "receives the failure of attempt 0 of Source: numbers (1/1): failure 0 (operator Source: numbers, record (15,): "
        "RequestedFailure: Source: numbers (1/1) fails at record 15, as the run asks for), restart in 10 ms  [12.123]"
    )
    assert lines[failure + 1].startswith("restores checkpoint 1 with ")
    assert "starts attempt 1 of Source: numbers (1/1) from checkpoint 1 because of failure 0  [12.29, 12.123]" in lines


def test_one_checkpoint_begins_with_its_trigger_before_the_steps_of_tasks(recording: Recording) -> None:
    called = CliRunner().invoke(app, ["trace", str(recording.directory), "--checkpoint", "2"])
    facts = [line for line in called.stdout.splitlines() if " ms  " in line]
    assert re.search(r"  the job +triggers savepoint 2 of 3 tasks", facts[0])
    last_acknowledgement = max(number for number, line in enumerate(facts) if "acknowledges checkpoint 2" in line)
    completion = next(number for number, line in enumerate(facts) if "completes savepoint 2" in line)
    assert completion > last_acknowledgement
    assert not any("checkpoint 1 " in line for line in lines_of_job(recording, "--checkpoint", "2"))


def test_selection_of_task_channel_or_time_limits_the_facts_of_the_job(recording: Recording) -> None:
    assert lines_of_job(recording, "--task", "numbers") == lines_of_job(recording, "--channel", "0") == []
    assert lines_of_job(recording, "--kinds", "elements") == []
    early = lines_of_job(recording, "--to", "60 ms")
    assert early == lines_of_job(recording, "--kinds", "checkpoints")[:5]
    assert len(lines_of_job(recording, "--kinds", "restarts")) == 4


@pytest.mark.parametrize("action", CheckpointAction)
def test_every_action_of_a_checkpoint_has_a_sentence(action: CheckpointAction, recording: Recording) -> None:
    event = CheckpointEvent(
        0, 1, 7, action, SnapshotKind.SAVEPOINT, AlignmentType.ALIGNED, CheckpointReason.CHECKPOINT_EXPIRED, 0, 3, 1, 10
    )
    text, rules = sentence(Names(recording), "checkpoints", tuple(event))
    assert text
    assert rules
    is_failure = action in (CheckpointAction.REJECTED, CheckpointAction.DECLINED, CheckpointAction.ABORTED)
    assert ("CHECKPOINT_EXPIRED" in text) == is_failure


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            RestartEvent(0, 1, RestartAction.GIVE_UP, 2, -1, -1, -1, 0),
            "fails as a whole: failure 2, no restart is allowed",
        ),
        (
            RestartEvent(0, 1, RestartAction.RESTART, 2, 0, 1, -1, 0),
            "starts attempt 1 of Source: numbers (1/1) without a checkpoint because of failure 2",
        ),
    ],
)
def test_restart_has_a_sentence(event: RestartEvent, text: str, recording: Recording) -> None:
    assert sentence(Names(recording), "restarts", tuple(event)).text == text


UNALIGNED = """\
flowsim: 1
name: unaligned
settings:
  checkpointing: {interval: 1 h, min_pause: 1 h, unaligned: true}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
  segment_size: 256 B
sources: {numbers: {generator: {count: 300, fields: {n: {sequence: {}}}}}}
operators: {slow: {input: numbers, partition: rebalance, map: {add: {twice: n * 2}}, cost: 1 ms}}
sinks: {kept: {input: slow, collect: {}}}
actions: [{checkpoint: {at: 55 ms}}]
failures: [{fail_task: {task: slow, at_record: 100}}]
"""


def test_in_flight_data_of_a_checkpoint_is_shown_per_channel_when_stored_and_when_restored(tmp_path: Path) -> None:
    run_scenario(UNALIGNED, out=tmp_path)
    lines = lines_of_job(open_recording(tmp_path), "--checkpoint", "1")
    size = r"\d+ buffers? \([\d,]+ bytes\)"
    data = rf"in-flight data of Source: numbers \(1/1\) -> slow .*: {size} of its receiver, {size} of its sender, "
    stored = next(number for number, line in enumerate(lines) if line.startswith("stores "))
    assert re.fullmatch(rf"stores in checkpoint 1 {data}\d+ elements  \[12\.83, 12\.84\]", lines[stored])
    assert "completes checkpoint 1" in lines[stored - 1]
    restored = next(number for number, line in enumerate(lines) if line.startswith("restores from "))
    assert re.fullmatch(rf"restores from checkpoint 1 {data}\d+ elements  \[12\.92\]", lines[restored])
    assert "restores checkpoint 1 with" in lines[restored - 1]
    recording = open_recording(tmp_path)
    facts = list(facts_with_job(recording, Selection(wanted_tables(None, "normal")[0])))
    at = max(number for number, fact in enumerate(facts) if fact.table == "stored_channels")
    same = [fact.task == NO_TASK for fact in facts if fact.time_ns == facts[at].time_ns]
    assert same == sorted(same, reverse=True), "the facts of the job come first"
    assert set(same) == {False, True}


def test_in_flight_data_after_rescaling_is_shown_with_its_old_channel(recording: Recording) -> None:
    event = StoredChannelEvent(0, 1, 4, StoredAction.RESTORED, 0, 2, 5, -1, 0, 0, 0, 0, 0, 7, 0, 0, 0)
    found = sentence(Names(recording), "stored_channels", tuple(event))
    assert found.text == (
        "gives Source: numbers (1/1) 7 records of the old channel from subtask 2 to subtask 5 of "
        "Source: numbers -> Sink: kept from checkpoint 4"
    )


def test_number_that_no_run_records_is_refused_with_the_table(recording: Recording) -> None:
    row = (0, 1, 1, 99, 0, 0, 0, -1, 1, 0, 0)
    with pytest.raises(BadInput, match=r"checkpoints.*fact 0 has a number that is out of range"):
        sentence(Names(recording), "checkpoints", row)
    with pytest.raises(BadInput, match=r"stored_channels.*fact 0 has a number that is out of range"):
        sentence(Names(recording), "stored_channels", (0, 1, 1, 99, *[0] * 13))
