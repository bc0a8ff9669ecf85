"""Regions, restarted tasks, plans of checkpoints and finished vertices in snapshots beside those of a real execution graph.

Rules 12.1, 12.27, 12.28, 12.35, 12.36 and 12.101.
"""

from __future__ import annotations

import re
from random import Random

from flowsim.checkpoints.checkpoint_plan import CheckpointPlan
from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.checkpoints.execution import Execution
from flowsim.checkpoints.failover.pipelined_region_compute_util import compute_pipelined_regions
from flowsim.checkpoints.failover.restart_pipelined_region_failover_strategy import (
    RestartPipelinedRegionFailoverStrategy,
)
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.checkpoints.vertex_finished_state_checker import VertexFinishedStateChecker
from flowsim.errors import BadInput
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from tests.support.checkpoints.execution_graph import ScriptedExecutionGraph
from tests.support.flink.machine import Answers, Differential

TYPES = (
    "BLOCKING", "BLOCKING_PERSISTENT", "PIPELINED", "PIPELINED_BOUNDED", "PIPELINED_APPROXIMATE", "HYBRID_FULL",
    "HYBRID_SELECTIVE",
)  # fmt: skip
STATES = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED", "CANCELING", "CANCELED", "FAILED")


def write_script(random: Random) -> list[str]:
    count = random.randint(1, 7)
    parallelism = [random.randint(1, 5) for _ in range(count)]
    types = random.choice([["PIPELINED_BOUNDED"], ["PIPELINED_BOUNDED", "BLOCKING"], ["BLOCKING"], TYPES])
    edges = [
        (source, target, random.choice(["POINTWISE", "ALL_TO_ALL"]), random.choice(types))
        for target in range(1, count)
        for source in random.sample(range(target), min(target, random.choice([0, 1, 1, 1, 2, 3])))
    ]
    described = ",".join(" ".join(map(str, edge)) for edge in edges)
    script = [f"{','.join(map(str, parallelism))};{described or '-'}", "regions"]
    tasks = [f"{vertex}/{subtask}" for vertex, p in enumerate(parallelism) for subtask in range(p)]
    results = [0] * count
    partitions = []
    for source, *_ in edges:
        partitions += [f"{source}.{results[source]}.{subtask}" for subtask in range(parallelism[source])]
        results[source] += 1
    script += [f"state {task} RUNNING" for task in tasks]
    for _ in range(random.randint(5, 25)):
        number = random.random()
        if number < 0.15:
            script.append(f"state {random.choice(tasks)} {random.choice(STATES)}")
        elif number < 0.3:
            script += [f"state {random.choice(tasks)} FINISHED" for _ in range(random.randint(1, 4))]
        elif number < 0.4:
            vertex = random.randrange(count)
            script += [f"state {vertex}/{subtask} FINISHED" for subtask in range(parallelism[vertex])]
        elif number < 0.45:
            script += [f"state {task} RUNNING" for task in tasks]
        elif number < 0.55:
            script.append(" ".join(["lost", *random.sample(partitions, random.randint(0, len(partitions)))]))
        elif number < 0.8:
            named = [random.choice(partitions)] if partitions and random.random() < 0.3 else []
            script.append(" ".join(["restart", random.choice(tasks), *named]))
        elif number < 0.9:
            finished = [f"{vertex}={random.choice(['full', 'full', 'part'])}" for vertex in range(count)]
            script.append(" ".join(["restore", *random.sample(finished, random.randint(0, count))]))
        else:
            script.append(f"plan {'true' if random.random() < 0.9 else 'false'}")
    return script


class Played:
    """Our classes under a script."""

    def __init__(self, description: str) -> None:
        parallelism, edges = description.split(";")
        self.graph = ScriptedExecutionGraph(
            map(int, parallelism.split(",")),
            [
                (int(source), int(target), pattern, partition_type)
                for source, target, pattern, partition_type in (
                    edge.split() for edge in ([] if edges == "-" else edges.split(","))
                )
            ],
        )
        for task in self.graph.tasks:
            self.graph.execution(task.name).state = "CREATED"
        self.names = [task.name for task in self.graph.tasks]
        self.topology, self.partitions = self.graph.topology()
        self.lost: list[ResultPartition] = []
        self.strategy = RestartPipelinedRegionFailoverStrategy(self.topology, self, self)

    def is_available(self, partition: ResultPartition) -> bool:
        return not any(partition is lost for lost in self.lost)

    def is_created(self, subtask: int) -> bool:
        return self.graph.execution(self.names[subtask]).state == "CREATED"

    @property
    def has_finished_tasks(self) -> bool:
        return any(self.graph.execution(name).state == "FINISHED" for name in self.names)

    def partition(self, name: str) -> ResultPartition:
        vertex, result, subtask = map(int, name.split("."))
        return self.partitions[vertex, result, subtask]

    def answer(self, command: str) -> str:
        match command.split():
            case ["state", task, state]:
                self.graph.execution(task).state = state
                return ""
            case ["lost", *names]:
                self.lost = [self.partition(name) for name in names]
                return ""
            case ["regions"]:
                regions = compute_pipelined_regions(self.topology)
                return self.listed(self.listed(self.names[subtask] for subtask in region) for region in regions)
            case ["restart", task, *named]:
                partition = self.partition(named[0]) if named else None
                tasks = self.strategy.get_tasks_needing_restart(self.names.index(task), partition)
                return self.listed(self.names[task] for task in tasks)
            case ["restore", *finished]:
                return self.restored(dict(each.split("=") for each in finished))
            case ["plan", is_allowed]:
                calculator = CheckpointPlanCalculator(self, self.graph.vertices_topologically, is_allowed == "true")
                try:
                    return self.planned(calculator.calculate_checkpoint_plan())
                except CheckpointException as error:
                    return error.reason.name
        raise AssertionError(f"unknown command {command}")

    def restored(self, finished: dict[str, str]) -> str:
        """Whether a snapshot can be restored in which these vertices had finished."""
        state = SnapshotState(
            fully_finished_operators={f"v{vertex}" for vertex, how in finished.items() if how == "full"},
            finished_subtasks={f"v{vertex}": {0} for vertex, how in finished.items() if how == "part"},
        )
        try:
            VertexFinishedStateChecker(self.graph.vertices_topologically, state).validate_operators_finished_state()
        except BadInput as error:
            return without_ids(str(error))
        return ""

    @staticmethod
    def listed(names: object) -> str:
        """As Java writes a sorted set."""
        return f"[{', '.join(sorted(names))}]"  # type: ignore[call-overload]

    @staticmethod
    def planned(plan: CheckpointPlan) -> str:
        def names(tasks: list[Execution]) -> str:
            return ",".join(f"{task.attempt_id.vertex_id}/{task.attempt_id.subtask}" for task in tasks)

        committed = ",".join(f"{task.job_vertex.id}/{task.subtask}" for task in plan.tasks_to_commit_to)
        finished = ",".join(sorted(str(vertex.id) for vertex in plan.fully_finished_vertices))
        return (
            f"[{names(plan.tasks_to_trigger)}] [{names(plan.tasks_to_wait_for)}] [{committed}] "
            f"[{names(plan.finished_tasks)}] [{finished}]"
        )


def without_ids(text: str) -> str:
    """The message, with the name of the vertex only."""
    return re.sub(r"(v\d+)\(\w+\)", r"\1", text)


def test_regions_restarts_and_plans_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.FailoverGraphs

    def play(script: list[str]) -> Answers:
        played = Played(script[0])
        ours = [played.answer(command) for command in script[1:]]
        return ["", *map(without_ids, real.run("\n".join(script)).split("\n"))], ["", *(ours or [""])]

    differential.run_scripts("pipelined regions, failover and plans", write_script, play, examples=60)
