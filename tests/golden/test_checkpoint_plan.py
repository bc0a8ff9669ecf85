"""The plan of a checkpoint equals the one of the real DefaultCheckpointPlanCalculator (rules 12.1, 12.35, 12.36)."""

from __future__ import annotations

from typing import Any

from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from tests.support.checkpoints.execution_graph import ScriptedExecutionGraph
from tests.support.flink.golden import cases

KEYS = ("err", "trigger", "wait_for", "commit_to", "finished", "fully_finished_vertices")


class Context:
    def __init__(self, has_finished_tasks: bool) -> None:
        self.has_finished_tasks = has_finished_tasks


def plan_of(case: dict[str, Any]) -> dict[str, Any]:
    edges = [(source, target, pattern, "PIPELINED_BOUNDED") for source, target, pattern in case["edges"]]
    graph = ScriptedExecutionGraph(case["parallelism"], edges)
    for name in case["finished_tasks"]:
        graph.execution(name).state = "FINISHED"
    for name, state in case["other_states"].items():
        graph.execution(name).state = state
    calculator = CheckpointPlanCalculator(
        Context(bool(case["finished_tasks"])), graph.vertices_topologically, case["allow_after_finish"]
    )
    try:
        plan = calculator.calculate_checkpoint_plan()
    except CheckpointException as error:
        return {"err": error.reason.name}
    return {
        "err": None,
        "trigger": [str(task.attempt_id).split("#")[0] for task in plan.tasks_to_trigger],
        "wait_for": [str(task.attempt_id).split("#")[0] for task in plan.tasks_to_wait_for],
        "commit_to": [f"{task.job_vertex.id}/{task.subtask}" for task in plan.tasks_to_commit_to],
        "finished": [str(task.attempt_id).split("#")[0] for task in plan.finished_tasks],
        # Flink keeps these in a hash map.
        "fully_finished_vertices": sorted(vertex.id for vertex in plan.fully_finished_vertices),
    }


def test_every_plan_equals_flinks() -> None:
    refused = 0
    plans = 0
    for case in cases("component/checkpoint_plan"):
        expected = {key: case[key] for key in KEYS if key in case}
        if "fully_finished_vertices" in expected:
            expected["fully_finished_vertices"].sort()
        assert plan_of(case) == expected, case["id"]
        plans += 1
        refused += expected["err"] is not None
    assert plans == 400
    assert refused > 20
