"""What a checkpoint stores of windows: copies of the moment, whose rows are created when they are read (rule 12.66)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.window_contents import ListContents, ReducingContents, WindowContents
from flowsim.operators.windowing.window_functions import InternalProcessWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.state.snapshots.deferred_key_groups import DeferredKeyGroups
from flowsim.state.snapshots.stored_streams import StoredCell, StoredTimer
from flowsim.testing.harness import OneInputOperatorHarness
from tests.support.operators.rows_of_windows import Rows


def windows(contents: WindowContents) -> WindowOperator:
    return create_window_operator(TumblingEventTimeWindows(10), contents, InternalProcessWindowFunction(Rows()))


def key_of(value: object) -> object:
    return value[0]  # type: ignore[index]


def test_snapshot_that_is_read_later_has_contents_and_timers_of_its_moment() -> None:
    """Records and a watermark after the snapshot change lists, remove windows and timers, and add others."""
    with OneInputOperatorHarness(windows(ListContents()), key_selector=key_of, max_parallelism=1) as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        cells, timers = harness.operator.snapshot_keyed_state()
        harness.process_elements([("a", 3), ("c", 4)])
        harness.process_watermark(9)
        harness.process_elements([("a", 11)])
        assert cells is not None
        assert dict(cells.cells) == {
            0: (
                StoredCell("window-contents", (0, 10), "a", ["a"]),
                StoredCell("window-contents", (0, 10), "b", ["b"]),
            )
        }
        assert cells.descriptions == {"window-contents": "operator"}
        assert timers is not None
        assert dict(timers.timers) == {
            0: tuple(StoredTimer("window-timers", True, 9, key, (0, 10)) for key in ("a", "b"))
        }


def test_rows_of_snapshot_are_created_once_and_only_when_they_are_read() -> None:
    created: list[str] = []

    def create() -> Iterator[tuple[int, str]]:
        created.append("once")
        yield from ((2, "a"), (1, "b"), (2, "c"))

    groups = DeferredKeyGroups(create)
    assert created == []
    assert (dict(groups), list(groups), len(groups)) == ({1: ("b",), 2: ("a", "c")}, [1, 2], 2)
    assert created == ["once"]


def test_content_that_is_no_value_is_refused_when_snapshot_is_taken() -> None:
    operator = windows(ReducingContents(lambda first, second: lambda: first))
    with OneInputOperatorHarness(operator, key_selector=key_of) as harness:
        harness.process_elements([("a", 1), ("a", 2)])
        with pytest.raises(ValueNotAllowed, match="window contents cannot be stored in a checkpoint"):
            operator.snapshot_keyed_state()
