"""Law restored-timers: the timers of a snapshot wait again after a restore, and fire once."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import CheckpointStep, ElementKind, Level, LifeEvent, TimeDomain, TimerAction
from flowsim.laws.checkpoints.needs import needs_restore, restored_checkpoints
from flowsim.laws.findings import Findings, FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Slice
from flowsim.laws.timers.timers import KeyedTask, Restored, keyed_vertices, needs_keyed_edges
from flowsim.units import MAX_WATERMARK

ID: Final = "restored-timers"
_TIMER: Final = ("operator", "service", "domain", "timestamp", "key", "window_start", "window_end")
Timer = Restored
"""As ``_TIMER``."""


class TimersOfTask(Machine):
    """The waiting timers of one task over all its attempts."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._graph = graph
        self._task = task.task
        self._is_keyed = task.vertex in graph.once(keyed_vertices)
        self._wanted = restored_checkpoints(graph)
        self._found = found[ID]
        self._is_known = graph.history.restored(task.task, 0) == NO_CHECKPOINT
        """False: the timers come from a snapshot of another run."""
        self._waiting: dict[Timer, int] = {}
        """With the sequence numbers of their registrations."""
        self._too_late: set[Timer] = set()
        """Those of them that were registered after the end of event time: no later watermark fires them."""
        self._snapshots: dict[int, dict[Timer, int]] = {}
        self._is_finished = False
        self._inputs = task.inputs
        self._ended: set[int] = set()
        """The inputs whose event time has ended: a stream that is idle at its end has no last watermark (rule 5.8)."""
        self._keys: list[Slice] = []
        """The descriptions of keys, which a task records once for all attempts."""
        self._replay: KeyedTask | None = None
        """The conditions of law timers in an attempt that started with the timers of a snapshot."""
        self._replayed = Findings()

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> TimersOfTask | None:
        return cls(graph, task, found) if graph.last_attempt(task.task) or _starts_restored(graph) else None

    @reads(KeyedTask)
    def _feed_replay(self, facts: Slice) -> None:
        if facts.has("keys"):
            self._keys.append(Slice(facts.task, {"keys": facts.of("keys")}))
        if self._replay is not None:
            self._replay.feed(facts)

    @on_row("timers")
    def _timer(
        self, seq: int, action: int, operator: int, service: int, domain: int, timestamp: int, key: int,
        window_start: int, window_end: int, watermark: int,
    ) -> None:  # fmt: skip
        self._found.examined += 1
        timer = operator, service, domain, timestamp, key, window_start, window_end
        if action == TimerAction.REGISTER:
            if timer in self._waiting and self._replay is None:
                self._broken("a timer is registered, but it waits already", seq, action, timer)
            self._waiting[timer] = seq
            if watermark == MAX_WATERMARK:
                self._too_late.add(timer)
        elif self._waiting.pop(timer, None) is None and self._is_known and self._replay is None:
            self._broken("a timer that does not wait is fired or deleted", seq, action, timer)

    @on_row("checkpoint_steps", step=CheckpointStep.SYNC_START)
    def _snapshot(self, seq: int, checkpoint: int) -> None:
        if checkpoint in self._wanted and self._is_known:
            self._snapshots[checkpoint] = dict(self._waiting)

    @on_row("lifecycle", event=LifeEvent.FINISH)
    def _finish(self, seq: int) -> None:
        self._found.examined += self._is_keyed
        self._is_finished = True

    @on_row("task_watermark", kind=ElementKind.WATERMARK)
    def _watermark(self, seq: int, input: int, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self._ended.add(input)

    def begin_attempt(self) -> None:
        self._end_replay(whole=False)
        checkpoint = self._graph.history.restored(self._task, self.attempt)
        self._is_known = checkpoint == NO_CHECKPOINT or checkpoint in self._snapshots
        self._waiting = dict(self._snapshots.get(checkpoint, {}))
        self._too_late = set()
        self._is_finished = False
        self._ended = set()
        if checkpoint in self._snapshots and self._is_keyed:
            self._replay = KeyedTask(self._graph, self._graph.tasks[self._task], FoundByLaw(timers=self._replayed))
            for keys in self._keys:
                self._replay.feed(keys)
            self._replay.restore(self._waiting)

    def _end_replay(self, whole: bool) -> None:
        if self._replay is not None:
            self._replay.end(whole)
            self._replayed.examined = 0  # The same rows as before.
            self._found.add(self._replayed)
            self._replayed = Findings()

    def _broken(self, what: str, seq: int, action: int, timer: Timer) -> None:
        self._found.broken(
            what, (self._task, seq), task=self._task, attempt=self.attempt, seq=seq, action=named(TimerAction, action),
            **dict(zip(_TIMER, timer, strict=True)),
        )  # fmt: skip

    def end(self, whole: bool) -> None:
        """After the end of event time no timer of event time is left."""
        replay = self._replay
        self._end_replay(whole)
        if not whole or not self._is_finished or not self.attempt or len(self._ended) < self._inputs:
            return
        left = self._waiting if replay is None else replay.waiting(TimeDomain.EVENT_TIME)
        for timer in left:
            if timer[2] == TimeDomain.EVENT_TIME and timer[3] < MAX_WATERMARK and timer not in self._too_late:
                self._broken(
                    "a timer did not fire after the restore", self._waiting.get(timer, -1), TimerAction.REGISTER, timer
                )


def _starts_restored(graph: JobGraph) -> bool:
    return graph.history.first_restored != NO_CHECKPOINT


def _applies(graph: JobGraph) -> str:
    return needs_keyed_edges(graph) or needs_restore(graph)


LAWS: Final = (
    Law(
        ID,
        "The timers that wait in a snapshot wait again after a restore. Each fires once, in time and in order: none is lost, "
        "none fires twice.",
        ("9.1", "9.4", "9.10", "9.15", "9.16", "12.120"),
        Level.FULL,
        TimersOfTask,
        _applies,
        attempts=Attempts.ALL,
        counts="""\
- Not applicable: no edge with partitioner HASH, or no attempt was restored.
- Rows examined: rows of `timers` of tasks with several attempts, or of all tasks if the job started from a snapshot; in
  those with a keyed input also FINISH rows of `lifecycle`.
- A timer of an operator is its (service, domain, timestamp, key, window_start, window_end). It *waits* from its REGISTER
  row to its next DELETE or FIRE row of the same attempt. An attempt begins with the timers that waited in the cut of its
  checkpoint, without one with none; they are not known if the snapshot is of another run, or of an attempt whose timers
  were not known.
- A row is a violation when it is a REGISTER of a timer that waits, or a DELETE or FIRE of a timer that does not wait.
- In an attempt of a task with a keyed input that began with the timers of a cut, all conditions of law timers are those of
  this law: its timers of both time domains fire in time, in order and under their keys, and no due timer is left. Its
  watermarks begin at `MIN` (rule 9.16), and the timers of the cut count as registered before its first row.
- In a whole run, 1 for each timer of event time below MAX_WATERMARK that waits at the end of a restored task with a
  FINISH row in `lifecycle`, if each of its inputs has a WATERMARK of `MAX` in `task_watermark` (a stream that is idle at its
  end has none, rule 5.8), and if no REGISTER row of it in that attempt has the `watermark` `MAX`.
""",
    ),
)  # fmt: skip
