"""Runs one job on both sides: here, and on Flink's embedded cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from flowsim.cluster.failures import PLACES_OF_FAILURES, FailAnyTask, FailTask, RunFailure
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, StopJob, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.conform.flink_contexts import FlinkSide
from flowsim.conform.java_machine import SOURCES, JavaMachine, compiled
from flowsim.conform.operators import java_sources
from flowsim.conform.plan import Plan
from flowsim.conform.played_sources import PlayedEntry, played_sources
from flowsim.conform.seen import Answer, SeenComponents, SeenElement, key_text, labels_of
from flowsim.conform.settings import CommonJob, buffers, configuration
from flowsim.conform.unsupported import Unsupported
from flowsim.conform.values import Keys, Numbers, Values
from flowsim.errors import BadInput, InvariantViolation, JobFailed
from flowsim.facts.kinds import CheckpointAction, Level, LifeEvent, SnapshotKind
from flowsim.facts.schema import LIFECYCLE
from flowsim.graph.stream_graph import StreamGraph, StreamNode
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.values.record_text import value_text

MOST_ELEMENTS = 300_000
"""How many elements the operators of a compared job may see."""
MARGIN_NS = 10_000_000_000
"""How long after the end of the simulated job Flink's may go on, in ns of its clock."""


@dataclass(frozen=True)
class Simulated:
    """A run here, and what a run on Flink needs to know of it."""

    answer: Answer
    ended_ns: int
    """The end of the job in ns of its clock."""
    periodic: Sequence[int]
    """When the job triggered checkpoints by itself, except its last one; in ns of the clock."""


def simulated(job: CommonJob, options: RunOptions) -> Simulated:
    """Runs a job here. Raises Unsupported for one whose operators see more than MOST_ELEMENTS."""
    job.commits.clear()
    components, recorder = SeenComponents(job.graph, MOST_ELEMENTS), MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(job.graph, replace(options, components=components, recorder=recorder)).run()
    if components.is_full:
        raise Unsupported(
            f"its operators see more than {MOST_ELEMENTS:,} elements: Flink would take too long, or the job has no end "
            "without costs; give its sources fewer records, or a rate"
        )
    cause = task = None
    if result.error is not None:
        error: BaseException = result.error
        if isinstance(error, JobFailed):
            # A failure of the whole job is no task's.
            task, error = None if error.task == job.graph.name else error.task, error.cause
        while error.__cause__ is not None:
            error = error.__cause__
        cause = f"{type(error).__name__}: {error}"
    events = [_CheckpointRow(*row[1:5]) for row in recorder.rows("checkpoints")]
    ends = _Ends(recorder)
    triggered = [
        each.time_ns
        for each in events
        if each.action == CheckpointAction.TRIGGERED
        and each.type in (SnapshotKind.CHECKPOINT, SnapshotKind.FULL_CHECKPOINT)
        and not ends.come_before(each.time_ns)
    ]
    for action in options.actions:
        if isinstance(action, TriggerCheckpoint):
            requested = next((time_ns for time_ns in triggered if time_ns >= START_NS + action.at_ns), None)
            if requested is not None:
                triggered.remove(requested)
    completed = [
        f"{each.checkpoint} {_KINDS[SnapshotKind(each.type)]}"
        for each in events
        if each.action == CheckpointAction.COMPLETED
    ]
    commits = {name: tuple(values) for name, values in job.commits.items() if values}
    answer = Answer(compared_status(result.status.value), components.seen, cause, task, completed, commits)
    return Simulated(answer, START_NS + result.elapsed_ns, triggered)


_KINDS = {
    SnapshotKind.CHECKPOINT: "checkpoint",
    SnapshotKind.FULL_CHECKPOINT: "checkpoint",
    SnapshotKind.SAVEPOINT: "savepoint",
    SnapshotKind.SUSPEND: "savepoint of a stop",
    SnapshotKind.TERMINATE: "savepoint of a stop with drain",
}
_KINDS_IN_FLINK = {
    "Checkpoint": "checkpoint",
    "Full Checkpoint": "checkpoint",
    "Savepoint": "savepoint",
    "Suspend Savepoint": "savepoint of a stop",
    "Terminate Savepoint": "savepoint of a stop with drain",
}


class _Ends:
    """Knows when all tasks of a job had reached the end of their data: then the job takes its last checkpoint by itself."""

    _STARTS: Final = (LifeEvent.INITIALIZING,)
    _ENDS: Final = (LifeEvent.FINISH, LifeEvent.FINISHED, LifeEvent.RESTORED_AS_FINISHED)

    def __init__(self, recorder: MemoryRecorder) -> None:
        self._of_task: dict[int, list[tuple[int, bool]]] = {}
        names = LIFECYCLE.names
        task, time, event = names.index("task"), names.index("time_ns"), names.index("event")
        for row in recorder.rows("lifecycle"):
            if row[event] in self._STARTS or row[event] in self._ENDS:
                self._of_task.setdefault(row[task], []).append((row[time], row[event] in self._ENDS))

    def come_before(self, time_ns: int) -> bool:
        """Returns True if every task had reached the end of its data at this time, in its attempt of that time.

        A start at this very time is behind an end: it is due to what the last checkpoint brought.
        """
        return all(
            [is_end for at, is_end in events if at < time_ns or (at == time_ns and is_end)][-1:] == [True]
            for events in self._of_task.values()
        )


class _CheckpointRow(NamedTuple):
    time_ns: int
    checkpoint: int
    action: int
    type: int


def flink_actions(run: Simulated, options: RunOptions, snapshots: Path) -> list[dict[str, object]]:
    """Returns what happens to the job on Flink, and when: its actions, and the checkpoints that it triggered here by itself."""
    folder = {"directory": snapshots.as_uri()}
    actions: list[dict[str, object]] = [{"kind": "checkpoint", "at_ns": at_ns, **folder} for at_ns in run.periodic]
    for action in options.actions:
        at_ns = START_NS + action.at_ns
        match action:
            case TriggerCheckpoint():
                actions.append({"kind": "checkpoint", "at_ns": at_ns, **folder})
            case TriggerSavepoint():
                actions.append({"kind": "savepoint", "at_ns": at_ns, **folder})
            case StopJob(drain=drain) | StopWithSavepoint(drain=drain):
                actions.append({"kind": "stop_with_savepoint", "at_ns": at_ns, **folder, "drain": drain})
            case CancelJob():
                actions.append({"kind": "cancel", "at_ns": at_ns})
    return actions


def flink_failures(
    plan: Plan, failures: Sequence[RunFailure]
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Returns the failures at places of a task, and those at times, which are actions. Raises Unsupported."""
    places: list[dict[str, object]] = []
    times: list[dict[str, object]] = []
    for failure in failures:
        if isinstance(failure, FailAnyTask):
            raise Unsupported("only an exploration chooses which task fails")
        if not isinstance(failure, FailTask):
            raise Unsupported("only tasks fail on the embedded cluster, not its managers")
        described: dict[str, object] = {
            "node": plan.head_of(failure.task).id,
            "subtask": failure.subtask,
            "attempt": failure.attempt,
            "message": f"{failure.task} fails, as the run asks for",
        }
        if failure.at_ns is not None:
            times.append({"kind": "fail", "at_ns": START_NS + failure.at_ns, **described})
        else:
            places.append({**described, **{place: getattr(failure, place) for place in PLACES_OF_FAILURES}})
    return places, times


class FlinkRunner:
    """Runs jobs on Flink's embedded cluster, which starts with the first one and ends with ``close``.

    ``task_managers``: of one, all channels are local. ``cluster``: Flink's configuration of the cluster, beside its own.
    """

    def __init__(self, machine: JavaMachine, task_managers: int = 1, cluster: Mapping[str, str] | None = None) -> None:
        self._machine = machine
        self._settings = {"task_managers": task_managers, "configuration": dict(cluster or {})}
        self._bridge = machine.java.flowsim.conform.Bridge
        self._cluster = machine.java.flowsim.conform.Cluster
        self._side = FlinkSide(self._bridge, Values(), Numbers(), Keys())
        self._elapsed_ns = 0

    @staticmethod
    def start(cache: Path) -> FlinkRunner:
        """Starts Java with the interpreter and the builders of other packages, compiled into ``cache`` once.

        Raises FlinkMissing, and BadInput for a builder without a class.
        """
        sources = java_sources()
        classes = compiled(cache, (SOURCES, *dict.fromkeys(sources.values())))
        for name, folder in sources.items():
            if not classes.joinpath(*name.split(".")).with_suffix(".class").exists():
                raise BadInput(f"the Java files in {folder} have no class {name}, which is registered as a builder")
        return FlinkRunner(JavaMachine(classes))

    def close(self) -> None:
        """Ends Java, and with it the cluster, also while a job runs."""
        self._machine.close()

    def run(self, job: CommonJob, options: RunOptions, here: Simulated, snapshots: Path) -> Answer:
        """Runs a job on Flink; it writes snapshots to this folder. Raises Unsupported for a job that it cannot run.

        A job with a savepoint continues the last one, whose values are in the savepoint by their numbers.
        """
        if options.savepoint is None:
            self._side, self._elapsed_ns = FlinkSide(self._bridge, Values(), Numbers(), Keys()), 0
        # Sources go on where they were.
        self._elapsed_ns += here.ended_ns - START_NS
        side = self._side
        values, objects = side.values, side.objects
        graph = job.graph
        plan = Plan(graph, side, options.seed)
        data = plan.data()
        failures, failing = flink_failures(plan, options.failures)
        data["run"] = {
            "configuration": configuration(graph.settings, snapshots),
            "scripts": _numbered(played_sources(graph, options, self._elapsed_ns), values),
            "failures": failures,
            "pauses": [
                {
                    "node": node.id,
                    "subtask": pause.subtask,
                    "from_ns": START_NS + pause.from_ns,
                    "to_ns": START_NS + pause.to_ns,
                }
                for node in graph.nodes.values()
                for pause in sorted(node.pauses, key=lambda pause: pause.from_ns)
            ],
            "actions": [*flink_actions(here, options, snapshots), *failing],
            "ends": here.answer.status in ("finished", "failed", "canceled"),
            "until_ns": here.ended_ns + (0 if options.until_ns is not None else MARGIN_NS),
            "buffers": {} if "taskmanager.network.memory" in str(self._settings) else buffers(graph.settings),
            "savepoint": None if options.savepoint is None else options.savepoint.path,
            "cluster": self._settings,
        }
        python = _Python(values, objects)
        self._set_python(python)
        answer = _answer(self._called(json.dumps(data)), graph, values)
        if any(isinstance(action, StopJob) for action in options.actions):
            # A stop here takes no savepoint; on Flink every stop takes one.
            checkpoints = [each for each in answer.checkpoints if "savepoint of a stop" not in each]
            return replace(answer, checkpoints=checkpoints)
        return answer

    def _called(self, plan: str) -> Mapping[str, Any]:
        """Runs a plan; once more, on a new cluster, if it does not come to rest."""
        try:
            return self._ran(plan)
        except InvariantViolation as error:
            if "TimeoutException" not in str(error):
                raise
            self._cluster.close()
            return self._ran(plan)

    def _ran(self, plan: str) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = json.loads(self._cluster.run(plan))
        except Exception as error:  # One of py4j, which may be missing.
            lines = [line for line in str(error).splitlines() if not line.startswith("\tat ")]
            raise InvariantViolation(f"Flink did not run the job: {'; '.join(lines[:4])}") from error
        return answer

    def _set_python(self, python: _Python) -> None:
        field = self._machine.java.java.lang.Class.forName("flowsim.conform.Bridge").getDeclaredField("python")
        field.set(None, python)


class _Python:
    """The object that Java calls. The interface is ``Python.java``."""

    def __init__(self, values: Values, objects: Numbers) -> None:
        self._values = values
        self._objects = objects

    def call(self, number: int, what: str, record: int, timestamp: int, more: str) -> str:
        try:
            if number == 0:
                return _error_text(self._objects.get(record))
            return str(getattr(self._objects.get(number), what)(record, timestamp, more))
        except Exception as error:
            if os.environ.get("FLOWSIM_CONFORM_DEBUG"):
                import traceback

                traceback.print_exc()
            return f"!{self._objects.add(error)} {_error_text(error)}"

    class Java:
        implements: ClassVar = ["flowsim.conform.Python"]


def _error_text(error: object) -> str:
    return f"{type(error).__name__}: {error}"


def _numbered(scripts: Mapping[int, list[list[PlayedEntry]]], values: Values) -> dict[str, list[list[PlayedEntry]]]:
    """Gives the values of records numbers."""
    return {
        str(node): [
            [[*entry[:2], values.add(entry[2]), *entry[3:]] if entry[1] == "r" else entry for entry in script]
            for script in subtasks
        ]
        for node, subtasks in scripts.items()
    }


_STATUSES = {
    "FINISHED": "finished",
    "FAILED": "failed",
    "CANCELED": "canceled",
    "RUNNING": "running",
    "SUCCESS": "finished",
    "stopped": "running",
    "deadlocked": "running",
}


def compared_status(status: str) -> str:
    """Returns the status of a job in the words that both sides have in common."""
    return _STATUSES.get(status, status)


def _answer(answer: Mapping[str, Any], graph: StreamGraph, values: Values) -> Answer:
    nodes = {str(node.id): node for node in graph.nodes.values()}
    labels = labels_of(graph)
    seen: dict[str, list[SeenElement]] = {}
    commits: dict[str, tuple[str, ...]] = {}
    for place, events in answer["seen"].items():
        node, _, subtask = place.partition("/")
        if node in nodes:
            seen[f"{labels[int(node)]}/{subtask}"] = [_element(event, values, nodes[node]) for event in events]
        elif node == "commits":
            listed = (values.values(event.split(",")) for event in events)
            commits[nodes[subtask].name] = tuple(map(value_text, listed))
    return Answer(
        compared_status(answer["status"]),
        seen,
        answer.get("cause"),
        answer.get("task"),
        [
            f"{number} {_KINDS_IN_FLINK.get(kind, kind)}"
            for number, kind, status in (line.split("\t") for line in answer["checkpoints"])
            if status == "COMPLETED"
        ],
        commits,
        answer.get("snapshot"),
    )


def _element(event: str, values: Values, node: StreamNode) -> SeenElement:
    attempt, time_ns, kind, index, content, *rest = event.split(" ")
    place = int(attempt), int(time_ns)
    match kind:
        case "r":
            timestamp = None if rest[0] == "-" else int(rest[0])
            value = values.get(int(content))
            key = key_text(node, int(index), value)
            return SeenElement(*place, "record", int(index), value_text(value), timestamp, key)
        case "w":
            return SeenElement(*place, "watermark", int(index), content, None)
        case _:
            return SeenElement(*place, "status", int(index), content, None)
