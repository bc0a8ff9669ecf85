"""Law checkpoint-progress: every triggered checkpoint is completed or aborted, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import CheckpointAction, Level
from flowsim.laws.checkpoints.needs import needs_checkpoints
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.job_history import CheckpointEvent
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine

ID: Final = "checkpoint-progress"
_ENDS: Final = (CheckpointAction.COMPLETED, CheckpointAction.ABORTED)


class JobSide(Machine):
    """Examines no facts of tasks: the events of the job's side describe the job."""


class _Pending:
    """A checkpoint that was triggered and has not ended."""

    __slots__ = ("acknowledged", "event")

    def __init__(self, event: CheckpointEvent) -> None:
        self.event = event
        """The trigger, or the last acknowledgement."""
        self.acknowledged: set[int] = set()


def _examine(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    pending: dict[int, _Pending] = {}
    newest = 0
    for event in graph.history.checkpoints:
        wrong = ""
        checkpoint, action = event.checkpoint, event.action
        if action == CheckpointAction.TRIGGERED:
            wrong = "the id does not increase" if checkpoint <= newest else ""
            newest = max(newest, checkpoint)
            pending[checkpoint] = _Pending(event)
        elif action in (CheckpointAction.ACKNOWLEDGED, CheckpointAction.DECLINED, *_ENDS):
            trigger = pending.get(checkpoint)
            if trigger is None:
                wrong = "the checkpoint is not pending"
            elif action == CheckpointAction.ACKNOWLEDGED:
                wrong = "the task has acknowledged it before" if event.task_id in trigger.acknowledged else ""
                trigger.acknowledged.add(event.task_id)
                trigger.event = event
            elif action == CheckpointAction.COMPLETED and trigger.event.acknowledged != trigger.event.tasks:
                wrong = "completed before all tasks acknowledged it"
            if action in _ENDS:
                pending.pop(checkpoint, None)
        else:
            continue
        found.examined += 1
        if wrong:
            found.broken(wrong, (event.step,), **_shown(event))
    for trigger in pending.values() if whole else ():
        found.broken("neither completed nor aborted", (trigger.event.step,), **_shown(trigger.event))


def _shown(event: CheckpointEvent) -> dict[str, object]:
    return {
        "step": event.step, "time_ns": event.time_ns, "checkpoint": event.checkpoint,
        "action": CheckpointAction(event.action), "task": event.task_id, "tasks": event.tasks,
        "acknowledged": event.acknowledged,
    }  # fmt: skip


LAWS: Final = (
    Law(
        ID,
        "Every triggered checkpoint is completed when all its tasks have acknowledged it, or aborted; ids increase.",
        ("12.2", "12.3", "12.49", "12.50", "12.54"),
        Level.ELEMENTS,
        JobSide,
        needs_checkpoints,
        join=_examine,
        attempts=Attempts.ALL,
        counts="""\
- Not applicable: no row in `checkpoints`.
- Rows examined: TRIGGERED, ACKNOWLEDGED, DECLINED, COMPLETED and ABORTED rows of `checkpoints`. A checkpoint is
  *pending* from its TRIGGERED row to its next COMPLETED or ABORTED row. A row is a violation when
  - TRIGGERED: its id is not above those before;
  - the others: the checkpoint is not pending;
  - ACKNOWLEDGED: the same task has acknowledged the checkpoint before;
  - COMPLETED: `acknowledged` is not `tasks` in the last row of the checkpoint before it that is TRIGGERED or
    ACKNOWLEDGED.
- In a whole run, 1 for each checkpoint that is pending at the end.
""",
    ),
)  # fmt: skip
