"""Phases of a scenario: what each changes, the snapshot from which it starts, and the phases that cannot start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import flowsim
from flowsim.cli.main import app
from flowsim.cluster.failures import FailTask
from flowsim.cluster.run_actions import CancelJob, StopWithSavepoint, TriggerSavepoint
from flowsim.errors import BadInput
from flowsim.recording.reader import Recording
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: sums
settings: {checkpointing: {directory: snapshots}}
sources:
  words:
    script:
      fields: {word: string, number: long}
      subtasks:
        - - {record: [a, 1], step: 0}
          - {record: [b, 2], step: 1}
          - {record: [a, 3], step: 6}
          - {record: [b, 4], step: 12}
operators:
  sums: {input: words, key_by: word, sum: number}
sinks:
  out: {input: sums, collect: {}}
  file: {input: sums, jsonl: {}}
actions: [{stop: {at: 50 ms, savepoint: {}}}]
expect: {results: {out: [[a, 1], [b, 2]]}}
phases:
  - set: {operators.sums.parallelism: 3, settings.checkpointing.interval: 30 ms,
      settings.restart_strategy: {fixed_delay: {delay: 1 ms}}}
    actions: [{savepoint: {at: 50 ms}}, {cancel: {at: 55 ms}}]
    failures: [{fail_task: {task: sums, subtask: 1, at: 40 ms}}]
    expect: {rows: {out: 1}, restarts: 1, checkpoints: {restored: 2}}
  - expect: {results: {out: [[b, 6]]}, rows: {file: 1}}
"""


def rows(run: Path) -> list[object]:
    return [json.loads(line) for file in sorted((run / "sinks" / "file").iterdir()) for line in file.open()]


def test_a_phase_has_its_own_changes_actions_failures_and_folder(tmp_path: Path) -> None:
    job = compiled(JOB, tmp_path)
    first, second, third = job.phases
    assert [len(each.phases) for each in job.phases] == [0, 0, 0]
    assert job.stream_graph().name == first.stream_graph().name == "sums"

    assert [type(action) for action in job.actions] == [StopWithSavepoint]
    assert [type(action) for action in second.actions] == [TriggerSavepoint, CancelJob]
    assert third.actions == ()
    assert [failure.subtask for failure in second.failures if isinstance(failure, FailTask)] == [1]
    assert first.failures == third.failures == ()
    of_sums = [
        node.parallelism for each in job.phases for node in each.stream_graph().nodes.values() if node.name == "sums"
    ]
    assert of_sums == [1, 3, 1]
    assert [str(each.checkpoint_folders[0].relative_to(tmp_path)) for each in job.phases] == [
        "out/1/snapshots",
        "out/2/snapshots",
        "out/3/snapshots",
    ]


def test_each_phase_continues_with_the_state_of_the_one_before(tmp_path: Path) -> None:
    last = flowsim.run_scenario(JOB, out=tmp_path)
    runs = [*last.earlier_phases, last]
    assert [run.result.status.value for run in runs] == ["finished", "canceled", "finished"]
    assert [[outcome.met for outcome in run.expectations] for run in runs] == [[True] * 2, [True] * 4, [True] * 3]
    assert rows(tmp_path / "3") == [{"word": "b", "number": 6}]
    assert [Recording.open(tmp_path / str(number)).manifest.run.options["phase"] for number in (1, 2, 3)] == [1, 2, 3]


def test_another_run_replaces_all_phases_of_the_first(tmp_path: Path) -> None:
    flowsim.run_scenario(JOB, out=tmp_path)
    shorter = JOB.replace("[b, 2]", "[b, 3]")
    flowsim.run_scenario(shorter[: shorter.index("  - expect:")], out=tmp_path)
    assert [rows(tmp_path / number) for number in ("1", "2")] == [
        [{"word": "a", "number": 1}, {"word": "b", "number": 3}],
        [{"word": "a", "number": 4}],
    ]
    assert not (tmp_path / "3" / "recording").exists()
    assert not (tmp_path / "3" / "sinks").exists()


def test_a_canceled_job_leaves_its_retained_checkpoint(tmp_path: Path) -> None:
    ending = "{interval: 20 ms, retention: retain_on_cancellation, directory: snapshots}"
    text = JOB.replace("{directory: snapshots}", ending).replace(
        "stop: {at: 50 ms, savepoint: {}}", "cancel: {at: 45 ms}"
    )
    last = flowsim.run_scenario(text, out=tmp_path)
    assert [run.result.status.value for run in (*last.earlier_phases, last)] == ["canceled", "canceled", "finished"]
    assert last.sinks[0].records == ((("b", 6), None),)


def test_no_phase_follows_a_job_that_failed(tmp_path: Path) -> None:
    failing = "failures: [{fail_task: {task: sums, at_record: 1}}]\nsettings: {restart_strategy: {none: {}}, "
    last = flowsim.run_scenario(JOB.replace("settings: {", failing), out=tmp_path)
    assert (last.result.status.value, last.earlier_phases) == ("failed", ())
    assert not (tmp_path / "2").exists()


def test_the_command_shows_each_phase_and_replays_one(tmp_path: Path) -> None:
    file, out = tmp_path / "sums.yaml", tmp_path / "out"
    file.write_text(JOB.replace("[[b, 6]]", "[[b, 7]]"))
    answer = CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--json"])
    document = json.loads(answer.stdout)
    assert (answer.exit_code, document["exit_code"]) == (1, 1)
    assert [(phase["out"], phase["exit_code"]) for phase in document["phases"]] == [
        (str(out / "1"), 0),
        (str(out / "2"), 0),
        (str(out / "3"), 1),
    ]
    shown = CliRunner().invoke(app, ["run", str(file), "--out", str(out)])
    assert [line for line in shown.stdout.splitlines() if line.startswith("phase")] == [
        f"phase {number} of 3" for number in (1, 2, 3)
    ]
    again = CliRunner().invoke(app, ["replay", str(out / "2")])
    assert again.stdout == f"the same: canceled, digest {document['phases'][1]['digest']}\n"


def test_other_commands_run_no_phases(tmp_path: Path) -> None:
    file = tmp_path / "sums.yaml"
    file.write_text(JOB)
    called = CliRunner().invoke(app, ["explore", str(file)])
    assert called.exit_code == 2
    assert "scenario 'sums' has phases: only 'flowsim run' and 'replay' run them" in called.stderr


def test_run_refuses_to_resume_phases_and_the_directory_of_another_run(tmp_path: Path) -> None:
    file, out = tmp_path / "sums.yaml", tmp_path / "out"
    file.write_text(JOB)
    resumed = CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--resume"])
    assert (resumed.exit_code, "leave out --resume" in resumed.stderr) == (2, True)
    flowsim.run_scenario(JOB[: JOB.index("phases:")], out=tmp_path / "one")
    with pytest.raises(BadInput, match="holds a run without phases"):
        flowsim.run_scenario(JOB, out=tmp_path / "one")


NO_SNAPSHOT = (
    "no savepoint or retained checkpoint of phase {} to start from: end that phase with the action stop and its savepoint, "
    "with savepoint and cancel, or with cancel and settings.checkpointing.retention: retain_on_cancellation"
)


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("parallelism: 3", "parallelism: x", ["s.yaml:21:11 operators.sums.parallelism: expected an integer, got 'x'"]),
        (
            "operators.sums.p",
            "operators.sum.p",
            ["s.yaml:21:11 operators has no 'sum' (did you mean 'sums'?)"],
        ),
        (
            "{operators.sums.parallelism: 3,",
            "{actions: [],",
            [
                "s.yaml:21:10 phases[0].set: expected keys below settings, sources, operators, sinks or faults, got actions"
            ],
        ),
        ("rows: {out: 1}", "rows: {o: 1}", ["s.yaml:25:21 expect.rows.o: there is no sink 'o' (known: out, file)"]),
        (
            "task: sums, subtask: 1",
            "task: sums, subtask: 3",
            ["s.yaml:24:50 failures[0].fail_task.subtask: 'sums' has 3 subtasks, expected 0 to 2, got 3"],
        ),
        (", savepoint: {}", "", ["s.yaml:21:5 phases[0]: " + NO_SNAPSHOT.format(1)]),
        ("{savepoint: {at: 50 ms}}, ", "", ["s.yaml:26:5 phases[1]: " + NO_SNAPSHOT.format(2)]),
        (
            "checkpointing: {directory: snapshots}",
            "checkpointing: {}",
            [
                f"s.yaml:{line}:5 phases[{index}]: the savepoint of phase {index + 1} needs a folder: its directory, or "
                "settings.checkpointing.directory"
                for index, line in ((0, 21), (1, 26))
            ],
        ),
    ],
)
def test_a_phase_that_cannot_run_is_refused_at_its_place(
    old: str, new: str, messages: list[str], tmp_path: Path
) -> None:
    assert old in JOB
    assert refused(JOB.replace(old, new), tmp_path) == messages
