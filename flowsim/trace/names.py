"""The names of the numbers in facts: tasks, operators, channels, edges, pools and keys."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from flowsim.errors import BadInput, printable_line, reason_text
from flowsim.facts.checkpoint_tables import CHECKPOINTS
from flowsim.facts.kinds import AlignmentType, CheckpointAction, SnapshotKind
from flowsim.graph.alignment import (
    AlignedReason,
    AlignmentSettings,
    Exchange,
    ForcedAlignment,
    checkpoint_alignment,
    forced_alignment,
)
from flowsim.history.job_events import checkpoint_events, job_fact_out_of_range
from flowsim.history.splits import split_names
from flowsim.laws.job_graph import without_adaptive
from flowsim.laws.job_history import CheckpointEvent
from flowsim.trace.record_values import RecordValues

if TYPE_CHECKING:
    from flowsim.recording.manifest import RecordedReason
    from flowsim.recording.reader import Recording

Row = tuple[int | str, ...]

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class Names:
    """The description tables of a recording, by id; an unknown id is shown as a number."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._tasks = {int(row[0]): row for row in recording.static_rows("tasks")}
        self._operators = {(int(row[0]), int(row[1])): str(row[2]) for row in recording.static_rows("operators")}
        self._kinds = {(int(row[0]), int(row[1])): str(row[3]) for row in recording.static_rows("operators")}
        self._splits = {
            (int(row[0]), int(row[1])): _splits_of(str(row[4])) for row in recording.static_rows("operators")
        }
        self._edges = {int(row[0]): row for row in recording.static_rows("edges")}
        self._pools = {int(row[0]): row for row in recording.static_rows("pools")}
        self._channels = {int(row[0]): row for row in recording.static_rows("channels")}
        self._values = RecordValues(recording)
        # Facts of one record follow each other: to keep the last values makes the trace of a large run about 5 % faster.
        self._text_of_value = lru_cache(maxsize=1_024)(self._values.text)
        self.on_real_clock: bool = recording.manifest.run.clock == "real"

    @property
    def tasks(self) -> dict[int, str]:
        """All tasks, by id."""
        return {task: str(row[3]) for task, row in self._tasks.items()}

    @property
    def channels(self) -> Sequence[int]:
        return list(self._channels)

    @cached_property
    def reasons(self) -> dict[int, RecordedReason]:
        """The causes of failures, by their numbers; empty if the run was killed."""
        return {each.failure: each for each in self.recording.manifest.failures}

    def reason(self, failure: int) -> str:
        """Describes the cause of a failure: operator, record and error; '' if it is not recorded."""
        reason = self.reasons.get(failure)
        if reason is None:
            return ""
        return printable_line(reason_text(reason.operator, reason.record, reason.cause))

    def task(self, task: int) -> str:
        row = self._tasks.get(task)
        return f"task {task}" if row is None else str(row[3])

    def short_task(self, task: int) -> str:
        """Names a task by the first operator of its chain: ``Source: lines (1/2)``."""
        return self._short_tasks.get(task) or f"task {task}"

    @cached_property
    def _short_tasks(self) -> dict[int, str]:
        # A trace names a task in every line, so the names are made once.
        ends = {task: str(row[3]).rpartition(" (") for task, row in self._tasks.items()}
        return {
            task: f"{self.vertex(int(self._tasks[task][1]))}{bracket}{subtask}"
            for task, (_, bracket, subtask) in ends.items()
        }

    def vertex_of(self, task: int) -> int:
        """Returns the job vertex of a task; raises KeyError for an unknown task."""
        return int(self._tasks[task][1])

    def operator(self, task: int, operator: int) -> str:
        """Names an operator of a task's chain; -1 is the task itself."""
        if operator < 0:
            return "the task"
        row = self._tasks.get(task)
        return (
            f"operator {operator}"
            if row is None
            else self._operators.get((int(row[1]), operator), f"operator {operator}")
        )

    def splits(self, task: int, operator: int) -> list[str]:
        """Returns the names of the splits of a source in one subtask, by their index; empty if it declares none."""
        row = self._tasks.get(task)
        given = [] if row is None else self._splits.get((int(row[1]), operator), [])
        return given[int(row[2])] if row is not None and int(row[2]) < len(given) else []

    def split(self, task: int, operator: int, split: int) -> str:
        """Names a split by its index in the subtask: ``split "p0"``, or ``split 0`` if the source declares no names."""
        names = self.splits(task, operator)
        known = 0 <= split < len(names)
        return printable_line(f"split {json.dumps(names[split], ensure_ascii=False) if known else split}")

    def vertex(self, vertex: int) -> str:
        """Names a job vertex by its head operator."""
        return self._operators.get((vertex, 0), f"vertex {vertex}")

    def channel(self, channel: int) -> str:
        """Names both ends and the number of a channel, e.g. ``map (1/2) -> window (2/2) #3``."""
        row = self._channels.get(channel)
        return f"#{channel}" if row is None else f"{self.task(int(row[2]))} -> {self.task(int(row[4]))} #{channel}"

    def target(self, channel: int) -> str:
        """Names the receiving end of a channel, for facts of the sender: ``window (2/2) #3``."""
        row = self._channels.get(channel)
        return f"#{channel}" if row is None else f"{self.short_task(int(row[4]))} #{channel}"

    def source(self, channel: int) -> str:
        """Names the sending end of a channel, for facts of the receiver."""
        row = self._channels.get(channel)
        return f"#{channel}" if row is None else f"{self.short_task(int(row[2]))} #{channel}"

    def end_of(self, task: int, channel: int) -> str:
        """Names the end of a channel that is not at ``task``."""
        row = self._channels.get(channel)
        return self.source(channel) if row is not None and row[4] == task else self.target(channel)

    def edge(self, edge: int) -> str:
        row = self._edges.get(edge)
        return f"edge {edge}" if row is None else f"{self.vertex(int(row[1]))} -> {self.vertex(int(row[3]))}"

    @property
    def exchanges(self) -> int:
        """The number of exchanges between tasks."""
        return len(self._edges)

    @cached_property
    def alignment_settings(self) -> AlignmentSettings | None:
        """The settings of barriers; None for a job without checkpoints."""
        return AlignmentSettings.recorded(self.recording.manifest.run.settings)

    @cached_property
    def forced(self) -> dict[int, ForcedAlignment]:
        """The exchanges that support no unaligned checkpoints, with the reasons, by their edges (rule 12.19)."""
        by_target: dict[int, list[Exchange]] = {}
        for row in self._edges.values():
            by_target.setdefault(int(row[3]), []).append(self._exchange(row))
        forced = [forced_alignment(each, inputs) for inputs in by_target.values() for each in inputs]
        return {each.exchange.edge: each for each in forced if each is not None}

    @cached_property
    def unaligned_checkpoints(self) -> frozenset[int]:
        """The checkpoints whose barriers overtake data from their trigger on, or after their timeout (rule 12.47)."""
        checkpoints = set()
        for epoch in range(len(self.recording.epochs)):
            for event in checkpoint_events(self.recording, epoch):
                if event.action == CheckpointAction.TRIGGERED and self._is_unaligned(event):
                    checkpoints.add(event.checkpoint)
        return frozenset(checkpoints)

    def _is_unaligned(self, event: CheckpointEvent) -> bool:
        try:
            alignment, kind = AlignmentType(event.alignment), SnapshotKind(event.type)
        except ValueError:
            raise job_fact_out_of_range(self.recording, CHECKPOINTS.name, event.step) from None
        of_all = checkpoint_alignment(alignment, kind, self.alignment_settings)
        return of_all is None or of_all.reason is AlignedReason.TIMEOUT

    def forced_barrier(self, channel: int, checkpoint: int) -> ForcedAlignment | None:
        """Returns why an exchange aligns the barrier of an unaligned checkpoint; None if it does not (rule 12.19)."""
        row = self._channels.get(channel)
        forced = None if row is None else self.forced.get(int(row[1]))
        return forced if forced is not None and checkpoint in self.unaligned_checkpoints else None

    def _exchange(self, row: Row) -> Exchange:
        kind = self._kinds.get((int(row[1]), int(row[2])))
        return Exchange(int(row[0]), self.edge(int(row[0])), without_adaptive(str(row[5])), kind == "committer")

    def is_keyed(self, channel: int) -> bool:
        row = self._channels.get(channel)
        edge = None if row is None else self._edges.get(int(row[1]))
        return edge is not None and edge[5] == "HASH"

    def pool(self, pool: int) -> str:
        """Names a pool, with its number: ``the output pool to window`` or ``the input pool from map``."""
        row = self._pools.get(pool)
        edge = None if row is None else self._edges.get(int(row[3]))
        if row is None or edge is None:
            return f"pool {pool}"
        if row[4] == 0:
            return f"output pool {pool} (to {self.vertex(int(edge[3]))})"
        return f"input pool {pool} (from {self.vertex(int(edge[1]))})"

    def key(self, key: int) -> str:
        """Returns a key as JSON; '' if the stream has no keys."""
        return self._keys.get(key, f"#{key}") if key else ""

    def has_value(self, fingerprint: int) -> bool:
        """Whether the value of a record was stored."""
        return self._values.place(fingerprint) is not None

    def value(self, fingerprint: int) -> str:
        """Returns the value of a record as JSON; '' if it was not stored."""
        return self._text_of_value(fingerprint) or ""

    def state(self, task: int, operator: int, state: int) -> tuple[str, str]:
        """Returns the name and kind of an operator's state."""
        return self._states.get((task, operator, state), (f"state {state}", ""))

    @cached_property
    def _states(self) -> dict[tuple[int, int, int], tuple[str, str]]:
        rows = self.recording.static_rows("states")
        return {(int(row[0]), int(row[1]), int(row[2])): (str(row[3]), str(row[4])) for row in rows}

    @cached_property
    def _keys(self) -> dict[int, str]:
        return {int(row[1]): str(row[4]) for row in self.recording.static_rows("keys")}

    def find_tasks(self, text: str) -> list[int]:
        """Finds a task by its id, its name, also as the trace prints it, or a unique part of the name; or all subtasks of
        an operator or chain.

        Raises BadInput.
        """
        tasks = self.tasks
        if _NUMBER.fullmatch(text) and int(text) in tasks:
            return [int(text)]
        subtasks = [task for task, name in tasks.items() if text in _operators(name)]
        if subtasks:
            return subtasks
        matches = [task for task, name in tasks.items() if text in (name, self.short_task(task))] or [
            task for task, name in tasks.items() if text.lower() in name.lower()
        ]
        if len(matches) == 1:
            return matches
        listed = "\n".join(f"  {task}  {tasks[task]}" for task in matches or tasks)
        if matches:
            raise BadInput(
                f"--task {text!r} matches {len(matches)} tasks; give the number or name of a task, or the whole name of an "
                f"operator:\n{listed}"
            )
        raise BadInput(f"--task {text!r}: no task has that number or name; there are:\n{listed}")


def _operators(task_name: str) -> list[str]:
    """Returns the names of a task's chain and operators in Flink; for sources and sinks also the scenario's names."""
    chain = task_name.rpartition(" (")[0]
    named = chain.split(" -> ")
    return [chain, *named, *(name.partition(": ")[2] for name in named if name.startswith(("Source: ", "Sink: ")))]


def _splits_of(params: str) -> list[list[str]]:
    """Returns the names of the splits of each subtask, from the parameters of a source."""
    try:
        given = json.loads(params or "{}")
    except (ValueError, RecursionError):
        return []
    return split_names(given) if isinstance(given, dict) else []
