"""Law committed-once: the output of completed checkpoints is committed, once, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flowsim.facts.kinds import (
    CheckpointStep,
    CommittableAction,
    Level,
    LifeEvent,
    RestartAction,
    SnapshotKind,
    StoredKind,
)
from flowsim.laws.checkpoints.needs import NOTIFYING, needs_checkpoints
from flowsim.laws.findings import Findings, FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row

ID: Final = "committed-once"
_SYNCHRONOUS: Final = (SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)
Step = tuple[int, int, int, int, int, int, int, int]
"""Time, action, task, seq, checkpoint, attempt, operator and committable."""


@dataclass(slots=True)
class Committables:
    """The steps of the committables of one task."""

    steps: list[Step] = field(default_factory=list)
    in_snapshot: list[tuple[int, int, int]] = field(default_factory=list)
    """Attempt, operator and number of each one that another run stored in the snapshot from which the job started."""
    running: set[int] = field(default_factory=set)
    """The attempts that were restored completely."""


class CommittablesOfTask(Machine):
    """The steps of the committables of one task, and those that wait in it to be committed."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._graph = graph
        self._task = task.task
        self._committed_by = _committing_operators(graph.operators_of(task.vertex))
        self._found = found[ID]
        self._facts = Committables()
        self._waiting: dict[tuple[int, int], list[Step]] = {}
        """By committing operator and committable: what this attempt prepared or restored, and has not committed."""
        self._due = NO_CHECKPOINT
        """The committables up to this checkpoint must be committed before the next step of the task."""

    @on_row("committables")
    def _step(self, seq: int, time_ns: int, action: int, checkpoint: int, operator: int, committable: int) -> None:
        self._found.examined += 1
        step = time_ns, action, self._task, seq, checkpoint, self.attempt, operator, committable
        self._facts.steps.append(step)
        if action == CommittableAction.PREPARED:
            self._check_due()
            if operator in self._committed_by:
                self._waiting.setdefault((self._committed_by[operator], committable), []).append(step)
        elif action == CommittableAction.RESTORED:
            self._waiting.setdefault((operator, committable), []).append(step)
        elif action in (CommittableAction.COMMITTED, CommittableAction.FAILED, CommittableAction.ABORTED):
            waiting = self._waiting.get((operator, committable))
            if waiting:
                del waiting[0]
            if action == CommittableAction.ABORTED:
                _broken(self._found, "aborted, but it waited to be committed", step)

    @on_row("checkpoint_steps")
    def _checkpoint_step(self, seq: int, step: int, checkpoint: int) -> None:
        self._check_due()
        if step == CheckpointStep.NOTIFY_COMPLETE:
            self._due = checkpoint

    @on_row("lifecycle", event=LifeEvent.RUNNING)
    def _run(self, seq: int, operator: int) -> None:
        if operator < 0:
            self._facts.running.add(self.attempt)
            # Rules 12.133, 12.137: a restore commits before the first record.
            self._due = self._graph.history.restored(self._task, self.attempt)
            self._check_due()

    @on_row("lifecycle", event=(LifeEvent.FAILED, LifeEvent.CANCELING, LifeEvent.CANCELED))
    def _break_off(self, seq: int, operator: int) -> None:
        if operator < 0:
            self._due = NO_CHECKPOINT

    @on_row("stored_state", kind=StoredKind.COMMITTABLE)
    def _restore(self, seq: int, operator: int, state: int) -> None:
        self._facts.in_snapshot.append((self.attempt, operator, state))

    def begin_attempt(self) -> None:
        self._waiting, self._due = {}, NO_CHECKPOINT

    def _check_due(self) -> None:
        """Of what was due, nothing may wait any more."""
        due, self._due = self._due, NO_CHECKPOINT
        if due == NO_CHECKPOINT:
            return
        for place, waiting in self._waiting.items():
            for step in [each for each in waiting if each[4] <= due]:
                _broken(self._found, "not committed when its checkpoint was notified, or restored", step)
            self._waiting[place] = [each for each in waiting if each[4] > due]

    def end(self, whole: bool) -> Committables:
        if whole and self.attempt == self._graph.last_attempt(self._task):
            self._check_due()
        return self._facts


def _committing_operators(operators: list[Operator]) -> dict[int, int]:
    """By operator that prepares committables, the operator of the same task that commits them."""
    own = {each.operator: each.operator for each in operators if _has_transactions(each)}
    return own | {each.input_operator: each.operator for each in operators if each.kind == "committer"}


def _has_transactions(operator: Operator) -> bool:
    """Whether the operator is a sink that commits itself (rule 12.137)."""
    return operator.kind == "sink" and operator.params.get("sink") == "two_phase_commit"


def _examine(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    completed = {
        event.checkpoint: event.time_ns for event in graph.history.completed.values() if event.type in NOTIFYING
    }
    restored_id = graph.history.first_restored
    at_end = {
        (each.vertex, each.operator) for each in graph.operators if each.params.get("commits_at_end_of_input") is True
    }
    prepared: dict[int, list[Step]] = {}
    restored: Counter[tuple[int, int, int]] = Counter()
    ended: Counter[tuple[int, int, int]] = Counter()
    tasks = {task: answer for task, answer in answers.items() if isinstance(answer, Committables)}
    steps = [step for of_task in tasks.values() for step in of_task.steps]
    _examine_restored(graph, tasks, found)
    for step in sorted(steps, key=_order):
        time_ns, action, task, _, checkpoint, _, operator, number = step
        place = number, graph.tasks[task].vertex, operator
        if action == CommittableAction.PREPARED:
            prepared.setdefault(number, []).append(step)
        elif action == CommittableAction.RESTORED:
            restored[place] += 1
        elif action in (CommittableAction.COMMITTED, CommittableAction.FAILED):
            ended[place] += 1
            is_completed = (
                checkpoint <= restored_id
                or place[1:] in at_end
                or any(each >= checkpoint and done_ns <= time_ns for each, done_ns in completed.items())
            )
            if not is_completed:
                _broken(found, "committed before its checkpoint was completed", step)
            elif ended[place] > len(prepared.get(number, ())) + restored[place]:
                _broken(found, "committed again, but it was neither prepared nor restored since", step)
    stopped = min((each for each, event in graph.history.completed.items() if event.type in _SYNCHRONOUS), default=None)
    all_ended = {number for number, _, _ in ended}
    for number, of_number in prepared.items() if whole else ():
        _, _, task, _, checkpoint, attempt, _, _ = of_number[-1]
        if stopped is not None and checkpoint > stopped:
            continue
        if number not in all_ended and (
            attempt == graph.last_attempt(task) or _completed_in(graph, checkpoint, task, attempt)
        ):
            _broken(found, "never committed, but its checkpoint was completed", of_number[-1])


def _examine_restored(graph: JobGraph, tasks: Mapping[int, Committables], found: Findings) -> None:
    """What waits in the snapshot of another run waits again in the tasks that were restored from it."""
    for vertex in sorted({graph.tasks[task].vertex for task in tasks}):
        siblings = {task.task: tasks[task.task] for task in graph.tasks_of(vertex) if task.task in tasks}
        for attempt in sorted({each[0] for of_task in siblings.values() for each in of_task.in_snapshot}):
            if not all(attempt in of_task.running for of_task in siblings.values()):
                continue
            stored = Counter(each[1:] for of_task in siblings.values() for each in of_task.in_snapshot
                             if each[0] == attempt)  # fmt: skip
            restored = Counter((step[6], step[7]) for of_task in siblings.values() for step in of_task.steps
                               if step[5] == attempt and step[1] == CommittableAction.RESTORED)  # fmt: skip
            for operator, number in sorted((stored - restored).elements()):
                task = min(siblings)
                found.broken(
                    "a committable of the snapshot was not restored", (task, -1, operator, number), task=task,
                    attempt=attempt, operator=operator, committable=number,
                )  # fmt: skip


def _completed_in(graph: JobGraph, checkpoint: int, task: int, attempt: int) -> bool:
    """Whether a checkpoint was completed before the next attempt of the task."""
    event = graph.history.completed.get(checkpoint)
    if event is None or event.type not in NOTIFYING:
        return False
    restarts = [
        each.step
        for each in graph.history.restarts
        if each.action == RestartAction.RESTART and each.task_id == task and each.attempt > attempt
    ]
    return event.step < min(restarts, default=event.step)


def _applies(graph: JobGraph) -> str:
    commits = any(operator.kind == "committer" or _has_transactions(operator) for operator in graph.operators)
    return needs_checkpoints(graph) or ("" if commits else "the job has no sink with a committer or transactions")


def _order(step: Step) -> tuple[int, bool, Step]:
    """By time; a committable is restored or prepared before it is committed at the same time."""
    return step[0], step[1] not in (CommittableAction.PREPARED, CommittableAction.RESTORED), step


def _broken(found: Findings, what: str, step: Step) -> None:
    time_ns, action, task, seq, checkpoint, attempt, _, number = step
    found.broken(
        what, (task, seq), task=task, seq=seq, time_ns=time_ns, checkpoint=checkpoint, attempt=attempt, committable=number,
        action=named(CommittableAction, action),
    )  # fmt: skip


LAWS: Final = (
    Law(
        ID,
        "A committable is committed after its checkpoint is completed, once, and again only after a restore; none of a "
        "completed checkpoint is lost.",
        ("12.30", "12.31", "12.32", "12.51", "12.94", "12.133", "12.135", "12.137"),
        Level.ELEMENTS,
        CommittablesOfTask,
        _applies,
        join=_examine,
        attempts=Attempts.ALL,
        counts="""\
- A transaction of a sink with `params.sink` `two_phase_commit` is a committable, which this operator prepares and
  commits itself (rule 12.137).
- Not applicable: no row in `checkpoints`, or neither an operator of kind `committer` nor such a sink.
- Rows examined: rows of `committables`, in the order of `time_ns`; at the same time PREPARED and RESTORED rows first.
- A COMMITTED or FAILED row is a violation when
  - no checkpoint with this or a higher id, whose type is not SAVEPOINT, is completed at its `time_ns`, and its id is
    above that of the snapshot from which the job started (rules 12.31, 12.51), unless the operator has
    `params.commits_at_end_of_input` (rule 12.32);
  - there are not more PREPARED and RESTORED rows than COMMITTED and FAILED rows of the committable before it, per
    committing operator: a restore commits again what may have been committed before (rule 12.135).
- A committable *waits* in a task from its RESTORED row to its next COMMITTED, FAILED or ABORTED row of the same attempt
  and operator; and from its PREPARED row, if the operator that commits it is in the same chain. It is a violation when
  - it has an ABORTED row: only transactions that were not pre-committed are aborted (rule 12.137);
  - it waits at the RUNNING row of an attempt that was restored from its checkpoint or a later one (rule 12.133);
  - its checkpoint is at most that of a NOTIFY_COMPLETE row of `checkpoint_steps`, and it waits at the next row of this
    table or the next PREPARED row of the task, or at the end of a whole run (rules 12.31, 12.137). This is not counted
    if a FAILED, CANCELING or CANCELED row of the task in `lifecycle` comes before.
- A committable that another run stored in the snapshot from which the job started (rows of `stored_state` of kind
  COMMITTABLE) has a RESTORED row in a task of its vertex and operator, in each attempt in which all tasks of the vertex
  have a RUNNING row in `lifecycle`; otherwise it is a violation.
- In a whole run, 1 for each committable that is prepared and never COMMITTED or FAILED, if its checkpoint is completed
  before the next attempt of the task, or the last attempt of the task prepared it (rule 12.94). Not counted: what was
  prepared for a checkpoint after the completed savepoint (type SUSPEND or TERMINATE) with which the job was stopped.
""",
    ),
)  # fmt: skip
