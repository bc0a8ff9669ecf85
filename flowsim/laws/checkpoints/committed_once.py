"""Law committed-once: the output of completed checkpoints is committed, once, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import CommittableAction, Level, RestartAction, SnapshotKind
from flowsim.laws.checkpoints.needs import NOTIFYING, needs_checkpoints
from flowsim.laws.evidence import named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Attempts, Findings, FoundByLaw, Law
from flowsim.laws.slices import Slice

ID: Final = "committed-once"
_PREPARED, _COMMITTED = int(CommittableAction.PREPARED), int(CommittableAction.COMMITTED)
_RESTORED, _FAILED = int(CommittableAction.RESTORED), int(CommittableAction.FAILED)
_SYNCHRONOUS: Final = (int(SnapshotKind.SUSPEND), int(SnapshotKind.TERMINATE))
Step = tuple[int, int, int, int, int, int, int, int]
"""Time, action, task, seq, checkpoint, attempt, operator and committable."""


class CommittablesOfTask:
    """The steps of the committables of one task."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._steps: list[Step] = []

    def feed(self, facts: Slice) -> None:
        columns = ("time_ns", "action", "task", "seq", "checkpoint", "operator", "committable")
        rows = facts.of("committables").tuples(columns)
        self._found.examined += len(rows)
        self._steps += [(*row[:5], facts.attempt, *row[5:]) for row in rows]

    def end(self, whole: bool) -> list[Step] | None:
        return self._steps or None


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> CommittablesOfTask:
    return CommittablesOfTask(found[ID])


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
    steps = [step for answer in answers.values() if isinstance(answer, list) for step in answer]
    for step in sorted(steps, key=_order):
        time_ns, action, task, _, checkpoint, _, operator, number = step
        place = number, graph.tasks[task].vertex, operator
        if action == _PREPARED:
            prepared.setdefault(number, []).append(step)
        elif action == _RESTORED:
            restored[place] += 1
        elif action in (_COMMITTED, _FAILED):
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
    has_committer = any(operator.kind == "committer" for operator in graph.operators)
    return needs_checkpoints(graph) or ("" if has_committer else "the job has no sink with a committer")


def _order(step: Step) -> tuple[int, bool, Step]:
    """By time; a committable is restored or prepared before it is committed at the same time."""
    return step[0], step[1] not in (_PREPARED, _RESTORED), step


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
        ("12.30", "12.31", "12.32", "12.51", "12.94", "12.133", "12.135"),
        Level.ELEMENTS,
        {"committables": ("time_ns", "action", "checkpoint", "operator", "committable")},
        _make,
        _applies,
        join=_examine,
        attempts=Attempts.ALL,
        counts="""\
- Not applicable: no row in `checkpoints`, or no operator of kind `committer`.
- Rows examined: rows of `committables`, in the order of `time_ns`; at the same time PREPARED and RESTORED rows first.
- A COMMITTED or FAILED row is a violation when
  - no checkpoint with this or a higher id, whose type is not SAVEPOINT, is completed at its `time_ns`, and its id is
    above that of the snapshot from which the job started (rules 12.31, 12.51), unless the operator has
    `params.commits_at_end_of_input` (rule 12.32);
  - there are not more PREPARED and RESTORED rows than COMMITTED and FAILED rows of the committable before it, per
    committing operator: a restore commits again what may have been committed before (rule 12.135).
- In a whole run, 1 for each committable that is prepared and never COMMITTED or FAILED, if its checkpoint is completed
  before the next attempt of the task, or the last attempt of the task prepared it (rule 12.94). Not counted: what was
  prepared for a checkpoint after the completed savepoint (type SUSPEND or TERMINATE) with which the job was stopped.
""",
    ),
)  # fmt: skip
