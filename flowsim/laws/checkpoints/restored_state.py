"""Law restored-state: an attempt restores what was stored in its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import Level, LifeEvent, StoredAction, StoredKind
from flowsim.laws.checkpoints.needs import needs_restore, restored_checkpoints
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts, Findings, FoundByLaw, Law
from flowsim.laws.slices import Slice
from flowsim.values.java_long import wrapped

ID: Final = "restored-state"
_STORED: Final = int(StoredAction.STORED)
_RUNNING: Final = int(LifeEvent.RUNNING)
_UNION, _BROADCAST = int(StoredKind.UNION_LIST), int(StoredKind.BROADCAST)
Name = tuple[int, int, int, int]
"""Operator, kind, state and key group."""
Content = tuple[int, int]
"""Number of entries and sum of their fingerprints."""
_NOTHING: Final[Content] = (0, 0)


class States:
    """What a task stored and restored."""

    def __init__(self) -> None:
        self.stored: dict[int, dict[Name, Content]] = {}
        """By checkpoint."""
        self.restored: dict[int, dict[Name, Content]] = {}
        """By attempt."""
        self.places: dict[int, int] = {}
        """By attempt the sequence number of its first restored state."""
        self.running: set[int] = set()
        """The attempts that were restored completely."""


class StatesOfTask:
    """Collects what one task stores in checkpoints that are restored later, and what it restores."""

    def __init__(self, wanted: frozenset[int], found: Findings) -> None:
        self._wanted = wanted
        self._found = found
        self._states = States()

    def feed(self, facts: Slice) -> None:
        states, attempt = self._states, facts.attempt
        columns = (
            "seq",
            "checkpoint",
            "action",
            "operator",
            "kind",
            "state",
            "key_group",
            "entries",
            "fingerprint_sum",
        )
        for seq, checkpoint, action, *name, entries, total in facts.of("stored_state").tuples(columns):
            place = name[0], name[1], name[2], name[3]
            if action != _STORED:
                self._found.examined += 1
                states.places.setdefault(attempt, seq)
                states.restored.setdefault(attempt, {})[place] = entries, total
            elif checkpoint in self._wanted:
                states.stored.setdefault(checkpoint, {})[place] = entries, total
        for operator, event in facts.of("lifecycle").tuples(("operator", "event")):
            if operator < 0 and event == _RUNNING:
                states.running.add(attempt)

    def end(self, whole: bool) -> States:
        return self._states


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> StatesOfTask:
    return StatesOfTask(restored_checkpoints(graph), found[ID])


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    states = {task: answer for task, answer in answers.items() if isinstance(answer, States)}
    for task in graph.tasks.values():
        of_task = states.get(task.task)
        if of_task is None:
            continue
        siblings = [states[each.task] for each in graph.tasks_of(task.vertex) if each.task in states]
        for attempt in range(graph.last_attempt(task.task) + 1):
            checkpoint = graph.history.restored(task.task, attempt)
            if checkpoint != NO_CHECKPOINT and any(checkpoint in each.stored for each in siblings):
                _compare_attempt(task, attempt, checkpoint, of_task, siblings, found)
            elif checkpoint != NO_CHECKPOINT:
                _compare_rescaled(task, attempt, of_task, siblings, found)


def _compare_attempt(
    task: Task, attempt: int, checkpoint: int, of_task: States, siblings: list[States], found: Findings
) -> None:
    """The checkpoint is one of this run, so the parallelism is the same."""
    restored = of_task.restored.get(attempt, {})
    stored = of_task.stored.get(checkpoint, {})
    all_stored = [each.stored.get(checkpoint, {}) for each in siblings]
    names = {name for each in (restored, stored, *all_stored) for name in each if name in restored or name in stored
             or name[1] in (_UNION, _BROADCAST)}  # fmt: skip
    for name in sorted(names):
        is_there = name in restored
        if not is_there and attempt not in of_task.running:
            continue
        contents = [each[name] for each in all_stored if name in each]
        expected = stored.get(name, _NOTHING)
        if name[1] == _UNION:
            expected = sum(rows for rows, _ in contents), wrapped(sum(total for _, total in contents))
        elif name[1] == _BROADCAST and name not in stored and contents:
            expected = contents[task.subtask % len(contents)]
        _check(task, attempt, checkpoint, name, expected, restored.get(name, _NOTHING), of_task, found)


def _compare_rescaled(task: Task, attempt: int, of_task: States, siblings: list[States], found: Findings) -> None:
    """The snapshot is of another run: only what the subtasks restored can be compared with each other."""
    all_restored = [each.restored.get(attempt, {}) for each in siblings]
    for name, content in sorted(of_task.restored.get(attempt, {}).items()):
        others = [each[name] for each in all_restored if name in each]
        wrong = ""
        if name[3] >= 0 and len(others) > 1:
            wrong = "several subtasks restored the key group"
        elif name[1] in (_UNION, _BROADCAST) and any(other != content for other in others):
            wrong = "subtasks restored different contents"
        if wrong:
            _broken(wrong, task, attempt, name, of_task, found, found_entries=content[0])


def _check(
    task: Task, attempt: int, checkpoint: int, name: Name, expected: Content, restored: Content, states: States,
    found: Findings,
) -> None:  # fmt: skip
    if restored != expected:
        what = "the restored state is not the stored state"
        _broken(
            what, task, attempt, name, states, found, checkpoint=checkpoint,
            expected={"entries": expected[0], "fingerprint_sum": expected[1]},
            found={"entries": restored[0], "fingerprint_sum": restored[1]},
        )  # fmt: skip


def _broken(
    what: str, task: Task, attempt: int, name: Name, states: States, findings: Findings, **values: object
) -> None:
    operator, kind, state, key_group = name
    at = (task.task, states.places.get(attempt, 0), *name)
    where = {"task": task.task, "attempt": attempt, "operator": operator, "kind": StoredKind(kind), "state": state,
             "key_group": key_group}  # fmt: skip
    findings.broken(what, at, **{**where, **values})


_COUNTS: Final = """\
- Not applicable: no attempt was restored. Rows examined: RESTORED rows of `stored_state`.
- Contents are compared as `entries` and `fingerprint_sum`, per operator, kind, state and key group. A missing row is a
  content without entries. Of an attempt without RUNNING row in `lifecycle`, only the rows that it has are compared.
- The checkpoint is one of this run (it has STORED rows in the vertex): the parallelism is the same, so each subtask
  restores what it stored (rules 12.23, 12.24). Exceptions: a UNION_LIST is that of all subtasks together; a BROADCAST
  state that the subtask did not store is that of the subtask (index modulo n) among the n that did (rule 12.25).
- The snapshot is of another run: what was stored is not known, and the subtasks are compared with each other. A RESTORED
  row is a violation when another subtask restored the same key group, or when a UNION_LIST or BROADCAST differs between
  subtasks. (A LIST is redistributed only if the parallelism changes, and the earlier one is not known.)
"""

LAWS: Final = (
    Law(
        ID,
        "What a task restores from a checkpoint is what was stored in it, redistributed to the subtasks.",
        ("12.23", "12.24", "12.25", "12.29", "12.119"),
        Level.ELEMENTS,
        {
            "stored_state": (
                "operator", "checkpoint", "action", "kind", "state", "key_group", "entries", "fingerprint_sum",
            ),
            "lifecycle": ("operator", "event"),
        },
        _make,
        needs_restore,
        join=_compare,
        attempts=Attempts.ALL,
        counts=_COUNTS,
    ),
)  # fmt: skip
