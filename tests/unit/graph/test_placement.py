"""The placement of subtasks by the settings, and refused settings."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.graph.placement import Chain, Placement, PlacementError, TaskManagers, place

CHAINS = [Chain(["source", "map"], 3), Chain(["window", "sink"], 2)]


def test_each_subtask_has_its_own_task_manager_by_default() -> None:
    placement = place("each", CHAINS)
    assert placement.task_manager_of == [0, 1, 2, 3, 4]
    assert placement.names[:2] == ["source -> map (1)", "source -> map (2)"]


def test_one_task_manager_holds_all_subtasks() -> None:
    assert place("one", CHAINS) == Placement([0, 0, 0, 0, 0], ["task manager"])


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"a": ["source"]}, [0, 0, 0, 1, 2]),
        ({"a": ["map/1", "window"], "b": ["source/0"]}, [1, 0, 2, 0, 0]),
        ({"a": ["source/0-1", "sink/0"], "b": ["source/2", "sink/1"]}, [0, 0, 1, 0, 1]),
        ({"a": ["source/0", "map/0"]}, [0, 1, 2, 3, 4]),
        ({"a": []}, [1, 2, 3, 4, 5]),
    ],
)
def test_unplaced_subtasks_get_their_own_task_manager(wanted: TaskManagers, expected: list[int]) -> None:
    placement = place(wanted, CHAINS)
    assert placement.task_manager_of == expected
    assert len(placement.names) == max(expected) + 1
    assert placement.names[: len(wanted)] == list(wanted)


def test_name_with_slash_is_an_operator_before_a_subtask() -> None:
    chains = [Chain(["Source: in/0"], 2), Chain(["to/1"], 2)]
    assert place({"a": ["Source: in/0/1", "to/1"]}, chains).task_manager_of == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("wanted", "manager", "position", "message"),
    [
        ({"a": ["sauce"]}, "a", 0, "there is no operator 'sauce'; there are: source, map, window, sink"),
        ({"a": ["source/x"]}, "a", 0, "there is no operator 'source/x'; there are: source, map, window, sink"),
        ({"a": ["source/3"]}, "a", 0, "source/3: source has the subtasks 0 to 2"),
        ({"a": ["source/2-1"]}, "a", 0, "source/2-1: source has the subtasks 0 to 2"),
        ({"a": ["source", "source/1"]}, "a", 1, "source/1 is already placed on 'a'"),
        ({"a": ["source/1"], "b": ["window", "source/0-1"]}, "b", 1, "source/1 is already placed on 'a'"),
        (
            {"a": ["source/0"], "b": ["map/0"]}, "b", 0,
            "map/0 is chained with source/0, which runs on 'a': the operators of a chain (source -> map) run in one task",
        ),
    ],
)  # fmt: skip
def test_invalid_placement_is_refused_with_position(
    wanted: TaskManagers, manager: str, position: int, message: str
) -> None:
    with pytest.raises(PlacementError) as refused:
        place(wanted, CHAINS)
    assert (refused.value.task_manager, refused.value.place, refused.value.reason) == (manager, position, message)


def test_placement_of_ambiguous_operator_name_is_refused() -> None:
    with pytest.raises(PlacementError, match="2 operators are called 'Map': give them different names"):
        place({"a": ["Map"]}, [Chain(["Map"], 1), Chain(["Map"], 2)])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("two", "expected 'each', 'one' or a mapping"), ({"a": "map"}, "expected a list of subtasks")],
)
def test_placement_of_wrong_type_is_refused(wanted: TaskManagers, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        place(wanted, CHAINS)
