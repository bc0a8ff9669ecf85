"""``flowsim checkpoints``: directories of checkpoints, folders of them, and paths that are neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.checkpoints.storage.job_checkpoint_storage import storage_for
from flowsim.checkpoints.storage.storage_locations import SnapshotOwner
from tests.support.checkpoints.stored_job import NAMES, written
from tests.unit.cli.conftest import Flowsim


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with the checkpoints 3 and 12."""
    storage = storage_for(tmp_path / "ck", SnapshotOwner("flights", NAMES))
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


def test_recording_is_refused_with_the_command_that_shows_its_checkpoints(flowsim: Flowsim) -> None:
    flowsim("run", "tiny.yaml", "--out", "out")
    for path in ("out", "out/recording"):
        called = flowsim("checkpoints", path)
        assert called.code == 2
        assert f"{path}: is a recording: 'flowsim trace {path}' shows its checkpoints" in called.err
