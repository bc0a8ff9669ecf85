"""The shapes of a job are the same in whatever language it is described."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.conform.job_shapes import Life, Shapes, Window
from tests.support.conform.old_job_shapes import generators, stored
from tests.support.conform.scenario_shapes import shapes_of_scenario

WINDOW_SCENARIO: dict[str, Any] = {
    "sources": {
        "s": {
            "script": {
                "fields": {"k": "string", "n": "long"},
                "gap": "97 ms",
                "subtasks": [
                    [{"record": ["a", 1], "timestamp": 9, "step": 0}, {"watermark": 5, "step": 1}],
                    [{"record": ["b", 2], "timestamp": 3, "step": 2}, {"idle": True, "step": 3}],
                ],
            }
        }
    },
    "operators": {
        "w": {
            "input": "s",
            "key_by": "k",
            "parallelism": 3,
            "window": {
                "tumbling": "10 ms",
                "offset": "3 ms",
                "trigger": {"purging": {"count": 2}},
                "evictor": {"time": "4 ms", "after": True},
                "allowed_lateness": "5 ms",
                "late_output": "late",
            },
            "aggregate": {"n": "sum(n)"},
        }
    },
    "sinks": {"out": {"input": "w", "collect": {}}, "late": {"input": "w.late", "collect": {}}},
}


def same_window() -> Shapes:
    """Of the window alone, however a job describes it."""
    shapes: Shapes = set()
    trigger = ("purging", "count")
    Window(
        "tumbling event time", ("offset",), trigger, "time after", allows_lateness=True, has_late_output=True
    ).add_to(shapes)
    return shapes


def test_scenario_has_the_shapes_of_its_window() -> None:
    shapes = shapes_of_scenario(WINDOW_SCENARIO)
    assert same_window() <= shapes
    assert "window x trigger: tumbling event time x purging" in shapes
    assert {
        "exchange: hash",
        "exchange x parallelism: hash x more subtasks",
        "operator x exchange: window x hash",
    } <= shapes
    assert {"source: idle", "source: several subtasks", "watermarks: written", "checkpoint: none"} <= shapes


def test_scenario_has_the_shapes_of_its_phases_and_failures() -> None:
    settings = {"checkpointing": {"interval": "1 h", "unaligned": True, "aligned_timeout": "15 ms"}}
    scenario = {
        **WINDOW_SCENARIO,
        "settings": settings,
        "failures": [{"fail_task": {"task": "w", "at_record": 3}}],
        "actions": [{"stop": {"at": "300 ms", "drain": True, "savepoint": {}}}],
        "phases": [{"set": {"operators.w.parallelism": 2}}],
    }
    shapes = shapes_of_scenario(scenario)
    assert {
        "checkpoint: unaligned after a timeout",
        "failure: at a record",
        "restore x parallelism: stop with drain x fewer subtasks",
        "checkpoint x failure x restore: unaligned after a timeout x at a record x stop with drain",
        "operator x restore: window x fewer subtasks",
    } <= shapes


def test_life_without_phases_has_no_restore() -> None:
    shapes: Shapes = set()
    Life("aligned", ("at a record",), (), (3,)).add_to(shapes, ["window"])
    assert [shape for shape in shapes if "restore" in shape] == []
    assert "operator x failure: window x any" in shapes


@pytest.mark.parametrize("generator", generators())
def test_stored_counts_know_the_shapes_of_every_generator(generator: str) -> None:
    known = {shape for shape, counts in stored().items() if generator in counts}
    shapes_of = generators()[generator]
    for seed in range(10):
        assert shapes_of(seed) - known == set()
