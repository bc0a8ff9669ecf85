"""Checkpoints that are planned between a failure and its restart (rules 12.35, 12.36; docs/deviations.md)."""

from __future__ import annotations

from typing import cast

import pytest

from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_master.executions import JobExecutions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState


def attempts_in(*states: TaskState) -> JobExecutions:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).print()
    executions = JobExecutions(MiniCluster(env.stream_graph(), RunOptions()).execution)
    for subtask, state in zip(executions.subtasks, states, strict=True):
        subtask.deploy(cast(StreamTask, None)).state = state
    return executions


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.CANCELED])
def test_attempt_that_failed_is_not_finished(state: TaskState) -> None:
    executions = attempts_in(TaskState.FINISHED, state)
    calculator = CheckpointPlanCalculator(executions, executions.vertices, True)
    with pytest.raises(CheckpointException) as refused:
        calculator.calculate_checkpoint_plan()
    assert refused.value.reason is CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING


def test_finished_attempt_is_in_the_plan_of_running_ones() -> None:
    executions = attempts_in(TaskState.FINISHED, TaskState.RUNNING)
    plan = CheckpointPlanCalculator(executions, executions.vertices, True).calculate_checkpoint_plan()
    assert [each.attempt_id.vertex_id for each in plan.finished_tasks] == [executions.vertices[0].id]
    assert plan.tasks_to_trigger == plan.tasks_to_wait_for
