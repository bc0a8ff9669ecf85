"""Law restored-state: an attempt restores what was stored in its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import CheckpointAction, Level, LifeEvent, StoredAction, StoredKind
from flowsim.laws.checkpoints.needs import needs_restore, restored_checkpoints
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row
from flowsim.values.java_long import wrapped

ID: Final = "restored-state"
"""Judged by law committed-once."""
Name = tuple[int, int, int, int]
"""Operator, kind, state and key group."""
Content = tuple[int, int]
"""Number of entries and sum of their fingerprints."""
_NOTHING: Final[Content] = (0, 0)


class States:
    """What a task stored and restored."""

    def __init__(self) -> None:
        self.stored: dict[int, dict[Name, Content]] = {}
        """By checkpoint; of the snapshot of another run also."""
        self.of_all: dict[int, dict[Name, list[Content]]] = {}
        """By attempt: what the subtasks of the vertex stored with another parallelism in a snapshot of another run."""
        self.restored: dict[int, dict[Name, Content]] = {}
        """By attempt."""
        self.places: dict[int, int] = {}
        """By attempt the sequence number of its first restored state."""
        self.running: set[int] = set()
        """The attempts that were restored completely."""


class StatesOfTask(Machine):
    """Collects what one task stores in checkpoints that are restored later, and what it restores."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._examined = restored_checkpoints(graph)
        self._found = found[ID]
        self._states = States()

    @on_row("stored_state")
    def _stored(
        self, seq: int, checkpoint: int, action: int, operator: int, kind: int, state: int, key_group: int,
        entries: int, fingerprint_sum: int,
    ) -> None:  # fmt: skip
        if kind == StoredKind.COMMITTABLE:
            return
        states, name = self._states, (operator, kind, state, key_group)
        if action == StoredAction.RESTORED:
            self._found.examined += 1
            states.places.setdefault(self.attempt, seq)
            states.restored.setdefault(self.attempt, {})[name] = entries, fingerprint_sum
        elif action == StoredAction.IN_RESCALED_SNAPSHOT:
            states.of_all.setdefault(self.attempt, {}).setdefault(name, []).append((entries, fingerprint_sum))
        elif checkpoint in self._examined:
            states.stored.setdefault(checkpoint, {})[name] = entries, fingerprint_sum

    @on_row("lifecycle", event=LifeEvent.RUNNING)
    def _run(self, seq: int, operator: int) -> None:
        if operator < 0:
            self._states.running.add(self.attempt)

    def end(self, whole: bool) -> States:
        return self._states


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    states = {task: answer for task, answer in answers.items() if isinstance(answer, States)}
    for task in graph.tasks.values():
        of_task = states.get(task.task)
        if of_task is None:
            continue
        siblings = [states[each.task] for each in graph.tasks_of(task.vertex) if each.task in states]
        for attempt in range(graph.last_attempt(task.task) + 1):
            checkpoint = graph.history.restored(task.task, attempt)
            if checkpoint == NO_CHECKPOINT:
                continue
            is_described = checkpoint == graph.history.first_restored and graph.once(_is_described)
            rescaled = _rescaled(siblings) if is_described else {}
            if is_described or any(checkpoint in each.stored for each in siblings):
                operators = {name[0] for name in rescaled}
                _compare_attempt(task, attempt, checkpoint, operators, of_task, siblings, found)
                _compare_rescaled(task, attempt, checkpoint, rescaled, of_task, siblings, found)
            else:
                _compare_siblings(task, attempt, of_task, siblings, found)


def _is_described(graph: JobGraph) -> bool:
    """Whether the snapshot from which the job started says what its run stored."""
    restored = [event for event in graph.history.checkpoints if event.action == CheckpointAction.RESTORED]
    return bool(restored) and graph.history.first_restored != NO_CHECKPOINT and restored[0].tasks > 0


def _not_described(graph: JobGraph) -> str:
    if graph.history.first_restored == NO_CHECKPOINT or graph.once(_is_described):
        return ""
    return "the snapshot from which the job started does not say what its run stored"


def _rescaled(siblings: list[States]) -> dict[Name, list[Content]]:
    """What the attempts of subtask 0 recorded; each of them records the same."""
    return {name: contents for each in siblings for of_all in each.of_all.values() for name, contents in of_all.items()}


def _compare_attempt(
    task: Task, attempt: int, checkpoint: int, rescaled: set[int], of_task: States, siblings: list[States],
    found: Findings,
) -> None:  # fmt: skip
    """Compares the operators whose parallelism is that of the snapshot, so not those of ``rescaled``."""
    restored = {name: content for name, content in of_task.restored.get(attempt, {}).items() if name[0] not in rescaled}
    stored = of_task.stored.get(checkpoint, {})
    all_stored = [each.stored.get(checkpoint, {}) for each in siblings]
    names = {name for each in (restored, stored, *all_stored) for name in each if name in restored or name in stored
             or name[1] in (StoredKind.UNION_LIST, StoredKind.BROADCAST)}  # fmt: skip
    for name in sorted(names):
        is_there = name in restored
        if not is_there and attempt not in of_task.running:
            continue
        contents = [each[name] for each in all_stored if name in each]
        expected = stored.get(name, _NOTHING)
        if name[1] == StoredKind.UNION_LIST:
            expected = _total(contents)
        elif name[1] == StoredKind.BROADCAST and name not in stored and contents:
            expected = contents[task.subtask % len(contents)]
        _check(task, attempt, checkpoint, name, expected, restored.get(name, _NOTHING), of_task, found)


def _compare_rescaled(
    task: Task, attempt: int, checkpoint: int, stored: dict[Name, list[Content]], of_task: States,
    siblings: list[States], found: Findings,
) -> None:  # fmt: skip
    """Compares the operators with another parallelism than in the snapshot; ``stored``: what all subtasks stored."""
    operators = {name[0] for name in stored}
    restored = {name: content for name, content in of_task.restored.get(attempt, {}).items() if name[0] in operators}
    for name in sorted({*stored, *restored}):
        if name not in restored and attempt not in of_task.running:
            continue
        contents = stored.get(name, [])
        if name[1] == StoredKind.LIST:
            _compare_list(task, attempt, checkpoint, name, contents, of_task, siblings, found)
            continue
        expected = _total(contents)
        if name[1] == StoredKind.BROADCAST and contents:
            expected = contents[task.subtask % len(contents)]
        elif name[3] >= 0 and name[3] * task.parallelism // task.max_parallelism != task.subtask:
            expected = _NOTHING
        _check(task, attempt, checkpoint, name, expected, restored.get(name, _NOTHING), of_task, found)


def _compare_list(
    task: Task, attempt: int, checkpoint: int, name: Name, contents: list[Content], of_task: States,
    siblings: list[States], found: Findings,
) -> None:  # fmt: skip
    """Each subtask gets as many elements as the others, or one more; together they get all."""
    total = _total(contents)
    own = of_task.restored.get(attempt, {}).get(name, _NOTHING)
    fewest = total[0] // task.parallelism
    if not fewest <= own[0] <= fewest + (total[0] % task.parallelism > 0):
        _broken(
            "the elements of the list are not distributed evenly", task, attempt, name, of_task, found,
            checkpoint=checkpoint, expected={"entries": fewest}, found={"entries": own[0]},
        )  # fmt: skip
    if task.subtask == 0 and len(siblings) == task.parallelism and all(attempt in each.running for each in siblings):
        together = _total([each.restored.get(attempt, {}).get(name, _NOTHING) for each in siblings])
        _check(task, attempt, checkpoint, name, total, together, of_task, found)


def _total(contents: list[Content]) -> Content:
    return sum(rows for rows, _ in contents), wrapped(sum(total for _, total in contents))


def _compare_siblings(task: Task, attempt: int, of_task: States, siblings: list[States], found: Findings) -> None:
    """The snapshot is of another run and does not say what was stored: only the subtasks can be compared."""
    all_restored = [each.restored.get(attempt, {}) for each in siblings]
    for name, content in sorted(of_task.restored.get(attempt, {}).items()):
        others = [each[name] for each in all_restored if name in each]
        wrong = ""
        if name[3] >= 0 and len(others) > 1:
            wrong = "several subtasks restored the key group"
        elif name[1] in (StoredKind.UNION_LIST, StoredKind.BROADCAST) and any(other != content for other in others):
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
- What was stored is known of a checkpoint of this run (STORED rows), and of a snapshot of another run that says it
  (IN_SNAPSHOT and IN_RESCALED_SNAPSHOT rows; the first RESTORED row of `checkpoints` has a number of `tasks` above 0).
- The parallelism is the same (STORED and IN_SNAPSHOT rows): each subtask restores what it stored (rules 12.23, 12.24).
  Exceptions: a UNION_LIST is that of all subtasks together; a BROADCAST state that the subtask did not store is that of
  the subtask (index modulo n) among the n that did (rule 12.25).
- The parallelism is another one (IN_RESCALED_SNAPSHOT rows of the operator, recorded by subtask 0 for all old subtasks):
  a key group is restored by the subtask that owns it (rule 1.20), and by no other. Of a LIST each subtask restores the
  same number of elements, or one more, and if all tasks of the vertex have a RUNNING row, together they restore all
  (rule 12.24). A UNION_LIST is that of all old subtasks together, a BROADCAST that of the old subtask (index modulo n)
  among the n that stored one (rule 12.25).
- Otherwise the subtasks are compared with each other, and the reason of the outcome says so. A RESTORED row is a
  violation when another subtask restored the same key group, or when a UNION_LIST or BROADCAST differs between subtasks.
"""

LAWS: Final = (
    Law(
        ID,
        "What a task restores from a checkpoint is what was stored in it, redistributed to the subtasks.",
        ("12.23", "12.24", "12.25", "12.29", "12.119"),
        Level.ELEMENTS,
        StatesOfTask,
        needs_restore,
        unjudged=_not_described,
        join=_compare,
        attempts=Attempts.ALL,
        counts=_COUNTS,
    ),
)  # fmt: skip
