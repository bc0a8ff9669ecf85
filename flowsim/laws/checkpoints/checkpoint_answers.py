"""Laws checkpoint-answers and checkpoint-notifications: the steps of checkpoints in one task."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import CheckpointStep, Level
from flowsim.laws.checkpoints.needs import NOTIFYING, alignments, needs_checkpoints
from flowsim.laws.findings import Findings, FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row

ANSWERS: Final = "checkpoint-answers"
NOTIFICATIONS: Final = "checkpoint-notifications"
_ORDER: Final = (
    CheckpointStep.BARRIER_SENT,
    CheckpointStep.SYNC_START,
    CheckpointStep.SYNC_END,
    CheckpointStep.ASYNC_END,
    CheckpointStep.ACKNOWLEDGE,
)
_DECLINE: Final = CheckpointStep.DECLINE


class StepsOfTask(Machine):
    """The steps of one attempt of a task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._completed = graph.once(_completed)
        """The time of completion, by id."""
        self._answers = found[ANSWERS]
        self._notifications = found[NOTIFICATIONS]
        self._steps: dict[int, int] = {}
        """By checkpoint the index of its last step in the order, -1: it was declined."""
        self._aborted: set[int] = set()
        """Of these the task was notified: its asynchronous part ends, and its inputs decline it again (rule 12.71)."""
        self._newest = -1
        self._restored = -1

    @on_row("checkpoint_steps", step=(*_ORDER, CheckpointStep.DECLINE))
    def _answer(self, seq: int, time_ns: int, checkpoint: int, step: int) -> None:
        self._answers.examined += 1
        self._report(self._answers, self._wrong_answer(checkpoint, step), seq, time_ns, checkpoint, step)

    @on_row("checkpoint_steps", step=CheckpointStep.NOTIFY_COMPLETE)
    def _complete(self, seq: int, time_ns: int, checkpoint: int, step: int) -> None:
        self._notifications.examined += 1
        self._report(self._notifications, self._wrong_completion(checkpoint, time_ns), seq, time_ns, checkpoint, step)

    @on_row("checkpoint_steps", step=CheckpointStep.NOTIFY_ABORTED)
    def _abort(self, seq: int, time_ns: int, checkpoint: int, step: int) -> None:
        self._notifications.examined += 1
        self._aborted.add(checkpoint)
        completed = self._completed.get(checkpoint)
        wrong = "the checkpoint was completed" if completed is not None and completed <= time_ns else ""
        self._report(self._notifications, wrong, seq, time_ns, checkpoint, step)

    @on_row("checkpoint_steps", step=CheckpointStep.RESTORE)
    def _restore(self, seq: int, checkpoint: int) -> None:
        self._restored = checkpoint

    def _report(self, found: Findings, wrong: str, seq: int, time_ns: int, checkpoint: int, step: int) -> None:
        if wrong:
            found.broken(
                wrong, (self._task, seq), task=self._task, seq=seq, time_ns=time_ns, checkpoint=checkpoint,
                step=named(CheckpointStep, step),
            )  # fmt: skip

    def _wrong_answer(self, checkpoint: int, step: int) -> str:
        last = self._steps.get(checkpoint)
        if last == -1:
            if step == _DECLINE and checkpoint in self._aborted:
                return ""
            return "a step after the task declined the checkpoint"
        if step == _DECLINE:
            self._steps[checkpoint] = -1
            return "declined after it was acknowledged" if last == len(_ORDER) - 1 else ""
        place = _ORDER.index(step)
        self._steps[checkpoint] = max(place, -1 if last is None else last)
        if place != (0 if last is None else last + 1):
            return "a step of the checkpoint is missing or repeated before it"
        return ""

    def _wrong_completion(self, checkpoint: int, time_ns: int) -> str:
        newest, self._newest = self._newest, max(self._newest, checkpoint)
        completed = self._completed.get(checkpoint)
        if completed is None or completed > time_ns:
            return "the checkpoint was not completed"
        if checkpoint <= newest:
            return "a notification of this or of a newer checkpoint was before it"
        return "the task was restored from this or a newer checkpoint" if checkpoint <= self._restored else ""


def _completed(graph: JobGraph) -> dict[int, int]:
    events = graph.history.completed.values()
    completed = {event.checkpoint: event.time_ns for event in events if event.type in NOTIFYING}
    # Rule 12.4: with an abort, a task that starts without state learns of the snapshot from which the others were restored.
    return {graph.history.first_restored: 0, **completed}


def _needs_notifications(graph: JobGraph) -> str:
    completed = graph.history.completed
    if all(number in completed and completed[number].type not in NOTIFYING for number in alignments(graph)):
        return needs_checkpoints(graph) or "all snapshots are completed savepoints, which notify no task"
    return ""


LAWS: Final = (
    Law(
        ANSWERS,
        "A task takes the steps of a checkpoint in order, and acknowledges or declines it at most once.",
        ("12.5", "12.6", "12.7", "12.71"),
        Level.ELEMENTS,
        StepsOfTask,
        needs_checkpoints,
        counts="""\
- Not applicable: no row in `checkpoints`.
- Rows examined: rows of `checkpoint_steps` with the steps BARRIER_SENT, SYNC_START, SYNC_END, ASYNC_END, ACKNOWLEDGE and
  DECLINE, for each attempt and checkpoint.
- A row is a violation when it is not the next one of this order. DECLINE may follow each of the others but ACKNOWLEDGE
  (rules 12.7, 12.71), and nothing follows it but another DECLINE if a NOTIFY_ABORTED row is before that: the inputs may
  still wait for barriers of a checkpoint whose asynchronous part has ended.
""",
    ),
    Law(
        NOTIFICATIONS,
        "A task is notified of completed checkpoints only, in increasing order, at most once each, and not of those that "
        "it was restored from.",
        ("12.4", "12.50", "12.51", "12.54"),
        Level.ELEMENTS,
        StepsOfTask,
        _needs_notifications,
        counts="""\
- Not applicable: no row in `checkpoints`, or only completed savepoints (rule 12.51).
- Rows examined: NOTIFY_COMPLETE and NOTIFY_ABORTED rows of `checkpoint_steps`.
- A NOTIFY_COMPLETE row is a violation when
  - the checkpoint is not completed at its `time_ns`, or its type is SAVEPOINT (rule 12.51), and it is not the snapshot
    from which the job started: a task without state learns of that one with the first abort (rule 12.4);
  - its id is not above the id of each NOTIFY_COMPLETE row before it in the same attempt;
  - its id is not above the id of the RESTORE row of the attempt (rule 12.4).
- A NOTIFY_ABORTED row is a violation when the checkpoint is completed at its `time_ns`.
""",
    ),
)  # fmt: skip
