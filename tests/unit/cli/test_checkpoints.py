"""``flowsim checkpoints``: directories of checkpoints, folders of them, and paths that are neither."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.checkpoints.storage.job_checkpoint_storage import storage_for
from flowsim.checkpoints.storage.storage_locations import SnapshotOwner
from tests.support.checkpoints.stored_job import OPERATORS, written
from tests.unit.cli.conftest import Flowsim


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with the checkpoints 3 and 12."""
    storage = storage_for(tmp_path / "ck", SnapshotOwner("flights", OPERATORS))
    for checkpoint_id in (3, 12):
        metadata = written(storage, checkpoint_id)
        storage.initialize_location_for_checkpoint(checkpoint_id).write_metadata(metadata)
    return tmp_path / "ck"


def test_checkpoint_is_shown_as_a_table_of_states(flowsim: Flowsim, stored: Path) -> None:
    called = flowsim("checkpoints", stored / "chk-3")
    assert called.code == 0
    first, *lines = called.out.splitlines()
    assert first.startswith("checkpoint 3 of job 'flights', triggered at 1,500 ms on the job's clock, ")
    assert [line.split("  ")[0] for line in lines[:2]] == ["finished: Window, subtasks 1", "finished: Sink"]
    assert [" ".join(line.split()) for line in lines[4:]] == [
        "Source: flights - coordinator coordinator 1 11",
        "Source: flights 0 splits union list 0 0",
        "Source: flights 1 splits list 2 20",
        "Source: flights 1 rules broadcast 1 16",
        "Window 0 count value 2 45",
        "Window 0 routes map 1 33",
        "Window 0 user-timers event-time timers 1 4",
        "Window 0 user-timers processing-time timers 1 2",
        "Window 0 window-timers event-time timers 1 9",
    ]


def test_json_has_operators_states_and_entries_with_all_values(flowsim: Flowsim, stored: Path) -> None:
    document = flowsim("checkpoints", stored / "chk-3", "--entries", 9, "--json").document
    assert (document["job"], document["checkpoint_id"], document["kind"]) == ("flights", 3, "CHECKPOINT")
    assert [each["is_finished"] for each in document["operators"]] == [False, False, True]
    assert sum(each["entries"] for each in document["states"]) == len(document["entries"])
    by_state = {(each["state"], each["kind"]): each for each in document["entries"]}
    assert by_state["routes", "map"]["value"] == [[[1, "x"], [["a", 1.5]]], ["\u00e9", None]]
    assert by_state["routes", "map"]["key"] == "00ff"
    assert by_state["user-timers", "processing-time timers"]["timestamp_ms"] == -(2**63)
    assert by_state["coordinator", "coordinator"]["value"] == [["split-2"], 3]


def test_options_select_operator_state_and_number_of_entries(flowsim: Flowsim, stored: Path) -> None:
    arguments = ("checkpoints", stored / "chk-3", "--operator", "Window", "--state", "count", "--entries", 1, "--json")
    document = flowsim(*arguments).document
    assert [(each["operator"], each["state"]) for each in document["states"]] == [("Window", "count")]
    assert [(each["key_group"], each["key"], each["namespace"], each["value"]) for each in document["entries"]] == [
        (0, "AMS", [0, 1000], 3)
    ]
    text = flowsim(*arguments[:-1]).out.splitlines()
    assert text[-1].split() == ["Window", "0", "count", "0", '"AMS"', "[0,", "1000]", "3"]


def test_folder_of_checkpoints_is_listed_in_the_order_of_their_numbers(flowsim: Flowsim, stored: Path) -> None:
    called = flowsim("checkpoints", stored)
    assert [line.split()[0] for line in called.out.splitlines()] == [
        "folder",
        called.out.splitlines()[1],
        "chk-3",
        "chk-12",
    ]
    listed = flowsim("checkpoints", stored, "--json").document["checkpoints"]
    assert [(each["directory"], each["checkpoint_id"]) for each in listed] == [("chk-3", 3), ("chk-12", 12)]


def test_folder_with_a_damaged_checkpoint_lists_the_others_and_fails(flowsim: Flowsim, stored: Path) -> None:
    (stored / "chk-3/manifest.json").write_text("{}")
    called = flowsim("checkpoints", stored)
    assert called.code == 2
    assert "chk-12" in called.out
    assert "chk-3/manifest.json: not the manifest of a checkpoint" in called.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent",), "absent: does not exist; give the folder of a checkpoint, such as chk-1 or savepoint-1"),
        (("tiny.yaml",), "tiny.yaml: is a file; give the folder of a checkpoint, such as chk-1 or savepoint-1"),
        (
            ("ck/chk-3/timers",),
            "ck/chk-3/timers: not a checkpoint: it has no manifest.json; give a folder such as chk-1",
        ),
        (
            ("ck/chk-3", "--operator", "Windov"),
            "--operator: the checkpoint has no operator 'Windov' (did you mean 'Window'?)",
        ),
        (("ck/chk-3", "--state", "coun"), "--state: there is no state 'coun' (did you mean 'count'?)"),
        (("ck", "--entries", "1"), "--entries: ck has several checkpoints: give the folder of one of them"),
    ],
)
def test_wrong_argument_is_refused_with_the_next_step(
    arguments: tuple[str, ...], message: str, flowsim: Flowsim, stored: Path
) -> None:
    called = flowsim("checkpoints", *arguments)
    assert (called.code, called.err) == (2, f"error: {message}\n")


RESTARTED = """\
flowsim: 1
name: restarted
settings: {checkpointing: {interval: 1 h, min_pause: 1 h}, restart_strategy: {fixed_delay: {delay: 10 ms}}}
sources:
  numbers: {generator: {count: 20, pace: 10 ms, fields: {n: {sequence: {}}, k: {choice: {values: [a, b, c]}}}}}
operators:
  sums: {input: numbers, key_by: k, parallelism: 2, reduce: {n: sum}}
sinks: {kept: {input: sums, collect: {}}}
actions: [{checkpoint: {at: 55 ms}}, {savepoint: {at: 75 ms}}]
failures: [{fail_task: {task: numbers, at_record: 15}}]
"""


@pytest.fixture
def restarted(flowsim: Flowsim) -> Flowsim:
    Path("restarted.yaml").write_text(RESTARTED)
    assert flowsim("run", "restarted.yaml", "--out", "out").code == 0
    return flowsim


def test_recording_is_shown_with_its_checkpoints_and_restarts(restarted: Flowsim) -> None:
    called = restarted("checkpoints", "out")
    assert called.code == 0
    lines = [" ".join(line.split()) for line in called.out.splitlines()]
    assert lines[0] == "checkpoints: 3 completed, 0 failed, 0 in progress, 1 restored; 1 restart"
    assert [line.split()[:2] for line in lines[4:7]] == [["1", "checkpoint"], ["2", "savepoint"], ["3", "final"]]
    assert re.fullmatch(r"1 checkpoint completed 55 ms 0 4/4 [\d,]+ \d+ once -", lines[4]), lines[4]
    cause = next(number for number, line in enumerate(lines) if line.startswith("failure 0: "))
    assert re.fullmatch(r"0 Source: numbers \(1/1\) 150\.\d+ ms 0 10 4 1", lines[cause - 1]), lines[cause - 1]
    assert " ".join(lines[cause:]) == (
        "failure 0: operator Source: numbers, record (15, 'c'): RequestedFailure: Source: numbers (1/1) fails at record 15, as "
        "the run asks for"
    )


def test_in_flight_data_of_unaligned_checkpoints_has_a_column(
    flowsim: Flowsim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    unaligned = RESTARTED.replace("checkpointing: {", "checkpointing: {unaligned: true, ", 1)
    slow = unaligned.replace("pace: 10 ms, ", "").replace("sinks: {kept: {", "sinks: {kept: {cost: 10 ms, ", 1)
    Path("slow.yaml").write_text(slow)
    flowsim("run", "slow.yaml", "--out", "out")
    first = flowsim("checkpoints", "out", "--json").document["checkpoints"][0]
    lines = flowsim("checkpoints", "out").out.splitlines()
    assert "persisted bytes" in lines[2]
    assert f" {first['persisted_bytes']:,} " in lines[4]
    assert first["persisted_bytes"] > 0


def test_history_fits_80_columns(restarted: Flowsim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for options in ((), ("--checkpoint", 1)):
        assert max(map(len, restarted("checkpoints", "out", *options).out.splitlines())) <= 80


def test_json_of_a_recording_has_checkpoints_restores_and_failures(restarted: Flowsim) -> None:
    document = restarted("checkpoints", "out/recording", "--json").document
    assert document["counts"] == {"completed": 3, "failed": 0, "in_progress": 0, "restored": 1, "restarts": 1}
    assert [(one["checkpoint"], one["kind"], one["is_final"]) for one in document["checkpoints"]] == [
        (1, "CHECKPOINT", False),
        (2, "SAVEPOINT", False),
        (3, "CHECKPOINT", True),
    ]
    (restore,), (failure,) = document["restores"], document["failures"]
    first = document["checkpoints"][0]
    assert (restore["checkpoint"], restore["state_bytes"]) == (1, first["state_bytes"])
    assert (first["restores"], first["acknowledged_subtasks"], first["subtasks"]) == (1, 4, 4)
    assert (failure["task"], failure["attempt"], failure["delay_ms"]) == ("Source: numbers (1/1)", 0, 10)
    assert (failure["restarted_tasks"], failure["restored_checkpoint"]) == (4, 1)
    assert failure["restarted_ns"] - failure["at_ns"] == 10_000_000


def test_checkpoint_is_shown_with_its_subtasks_and_their_extremes(restarted: Flowsim) -> None:
    document = restarted("checkpoints", "out", "--checkpoint", 1, "--json").document
    source, sums, sink = document["vertices"]
    assert (source["vertex"], len(source["subtasks"]), len(sums["subtasks"])) == ("Source: numbers", 1, 2)
    sizes = [one["state_bytes"] for one in sums["subtasks"]]
    found = [sums[name]["state_bytes"] for name in ("minimum", "average", "maximum")]
    assert found == [min(sizes), sum(sizes) // 2, max(sizes)]
    assert sum(sizes) + source["maximum"]["state_bytes"] + sink["maximum"]["state_bytes"] == document["state_bytes"]
    lines = restarted("checkpoints", "out", "--checkpoint", 1).out.splitlines()
    assert lines[0].startswith("checkpoint 1: triggered at 55 ms, completed at 55.008 ms; 4 of 4 subtasks")
    assert [line.split()[0] for line in lines[-4:-1]] == ["minimum", "average", "maximum"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--checkpoint", 9), "--checkpoint 9: no such checkpoint; the recording has 1 to 3"),
        (("--state", "x"), "--state: out is a recording: give a checkpoint directory, such as chk-1"),
    ],
)
def test_wrong_option_of_a_recording_is_refused(options: tuple[object, ...], message: str, restarted: Flowsim) -> None:
    called = restarted("checkpoints", "out", *options)
    assert (called.code, called.err) == (2, f"error: {message}\n")


def test_option_of_a_recording_is_refused_for_a_directory(flowsim: Flowsim, stored: Path) -> None:
    called = flowsim("checkpoints", stored / "chk-3", "--checkpoint", 3)
    assert called.code == 2
    assert "is no recording: give the folder of the checkpoint, such as chk-1" in called.err


def test_recording_without_checkpoints_says_so(flowsim: Flowsim) -> None:
    flowsim("run", "tiny.yaml", "--out", "tiny")
    called = flowsim("checkpoints", "tiny")
    assert called.out.strip() == "checkpoints: 0 completed, 0 failed, 0 in progress, 0 restored; 0 restarts"
    called = flowsim("checkpoints", "tiny", "--checkpoint", 1)
    assert called.err == "error: --checkpoint 1: no such checkpoint; the recording has no checkpoints\n"
