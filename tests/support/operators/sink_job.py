"""The writers and committers of one sink, driven step by step: barriers, notifications, crashes and restores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from flowsim.connectors.sinks.committer_operators import CommitterOperator
from flowsim.connectors.sinks.sink import SupportsCommitter
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.testing.harness import CollectingOutput, OneInputOperatorHarness

State = dict[str, tuple[object, ...]]
"""The list states of one operator subtask, by name."""


class ListState:
    def __init__(self, elements: tuple[object, ...]) -> None:
        self.elements = elements

    def get(self) -> tuple[object, ...]:
        return self.elements

    def add(self, element: object) -> None:
        self.elements += (element,)

    def update(self, elements: list[object] | tuple[object, ...]) -> None:
        self.elements = tuple(elements)


class StateStore:
    """The list states of one operator subtask."""

    def __init__(self, restored: State) -> None:
        self._restored = restored
        self._states: dict[str, ListState] = {}

    def get_list_state(self, name: str, mode: DistributionMode = DistributionMode.SPLIT_DISTRIBUTE) -> ListState:
        return self._states.setdefault(name, ListState(self._restored.get(name, ())))

    def snapshot(self) -> State:
        return {name: state.get() for name, state in self._states.items()}


class ToOperator(CollectingOutput):
    """Passes records to the next operator of the chain."""

    def __init__(self, operator: StreamOperator) -> None:
        super().__init__()
        self._operator = operator

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._operator.process_element(value, timestamp)


@dataclass
class Snapshot:
    """The states of a checkpoint: per subtask, those of the writer and of the committer."""

    checkpoint_id: int
    subtasks: list[tuple[State, State]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """The number of values that each subtask had written; of a ``ReplayedInput``."""


class SinkSubtask:
    """One attempt of one subtask: a writer and the committer after it."""

    def __init__(self, sink: SupportsCommitter, context: OperatorContext, restored: tuple[int, State, State] | None):
        self.writer = SinkWriterOperator(sink)  # type: ignore[arg-type]
        self.committer = CommitterOperator(sink.create_committer)
        self.committer.setup(context, CollectingOutput())
        self.writer.setup(context, ToOperator(self.committer))
        checkpoint_id, writer_state, committer_state = (None, {}, {}) if restored is None else restored
        self._stores = [StateStore(writer_state), StateStore(committer_state)]
        for operator, store in zip((self.committer, self.writer), reversed(self._stores), strict=True):
            operator.initialize_state(StateInitializationContext(store, None, checkpoint_id))
            operator.open()

    def write(self, *values: Value) -> None:
        for value in values:
            self.writer.process_element(value, None)

    def pre_barrier(self, checkpoint_id: int) -> None:
        self.writer.prepare_snapshot_pre_barrier(checkpoint_id)

    def snapshot(self, checkpoint_id: int) -> tuple[State, State]:
        for operator in (self.committer, self.writer):
            operator.snapshot_state(StateSnapshotContext(checkpoint_id, 0))
        writer, committer = (store.snapshot() for store in self._stores)
        return writer, committer

    def complete(self, checkpoint_id: int) -> None:
        for operator in (self.committer, self.writer):
            operator.notify_checkpoint_complete(checkpoint_id)

    def end_input(self) -> None:
        self.writer.end_input()
        self.writer.finish()
        self.committer.end_input()
        self.committer.finish()

    def close(self) -> None:
        self.committer.close()
        self.writer.close()


class SinkJob:
    """All subtasks of a sink; a crash closes them, and the next attempt restores the last completed checkpoint."""

    def __init__(
        self, sink: Callable[[], SupportsCommitter], parallelism: int = 1, recorder: MemoryRecorder | None = None
    ) -> None:
        """``sink`` is called once per attempt, so that attempts share no memory unless it returns the same object."""
        self._sink = sink
        self._recorder = recorder
        self.parallelism = parallelism
        self.attempt = 0
        self.completed: Snapshot | None = None
        self.subtasks = self._start()

    def checkpoint(self, checkpoint_id: int, *, notify: bool = True) -> None:
        """Takes a checkpoint that completes; without ``notify`` no subtask hears of it."""
        self.completed = self.snapshot(checkpoint_id)
        if notify:
            self.notify(checkpoint_id)

    def snapshot(self, checkpoint_id: int) -> Snapshot:
        """Takes the snapshots of a checkpoint, which does not complete."""
        taken = Snapshot(checkpoint_id)
        for subtask in self.subtasks:
            subtask.pre_barrier(checkpoint_id)
            taken.subtasks.append(subtask.snapshot(checkpoint_id))
        return taken

    def notify(self, checkpoint_id: int) -> None:
        for subtask in self.subtasks:
            subtask.complete(checkpoint_id)

    def fail(self, parallelism: int | None = None) -> None:
        """Ends the attempt, and starts the next one from the last completed checkpoint, perhaps rescaled."""
        self.close()
        self.attempt += 1
        self.parallelism = parallelism or self.parallelism
        self.subtasks = self._start()

    def finish(self, checkpoint_id: int) -> None:
        """Ends the input; the final checkpoint completes (rule 12.94)."""
        for subtask in self.subtasks:
            subtask.end_input()
        self.checkpoint(checkpoint_id)
        self.close()

    def close(self) -> None:
        for subtask in self.subtasks:
            subtask.close()

    def _start(self) -> list[SinkSubtask]:
        sink = self._sink()
        return [SinkSubtask(sink, self._context(index), self._restored(index)) for index in range(self.parallelism)]

    def _restored(self, index: int) -> tuple[int, State, State] | None:
        if self.completed is None:
            return None
        old = self.completed.subtasks
        mine = [index] if len(old) == self.parallelism else range(index, len(old), self.parallelism)
        writer, committer = ({}, {}) if not mine else (_merged([old[i][which] for i in mine]) for which in (0, 1))
        return self.completed.checkpoint_id, writer, committer

    def _context(self, index: int) -> OperatorContext:
        recorder = self._recorder
        harness = OneInputOperatorHarness(
            StreamOperator(),
            subtask_index=index,
            parallelism=self.parallelism,
            trace=None if recorder is None else lambda clock: TaskTrace(index, clock, recorder),
        )
        harness.context.operator_name = "sink"
        harness.context.is_checkpointing_enabled = True
        harness.context.attempt_number = self.attempt
        return harness.context


def _merged(states: list[State]) -> State:
    names = dict.fromkeys(name for state in states for name in state)
    return {name: tuple(element for state in states for element in state.get(name, ())) for name in names}


class Crash(Exception):
    """The attempt ends at this step."""


class ReplayedInput:
    """Writes fixed values to a sink with a checkpoint after every second one; a crash goes back to the last checkpoint.

    ``aborted``: checkpoints that do not complete. ``after_step`` is called after each step, before a crash.
    """

    def __init__(
        self,
        sink: Callable[[], SupportsCommitter],
        values: Sequence[Sequence[Value]],
        aborted: Collection[int] = (),
        after_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._values = values
        self._aborted = aborted
        self._after_step = after_step
        self._next_id = 1
        self.steps = 0
        self._crashes: Collection[int] = ()
        self.job = SinkJob(sink, len(values))

    def run(self, crashes: Collection[int] = ()) -> int:
        """Runs to the end, with a crash after each of these steps, counted from 1; returns the number of steps."""
        self._crashes = crashes
        while True:
            try:
                self._run_attempt()
                return self.steps
            except Crash:
                self.job.fail()

    def _run_attempt(self) -> None:
        job = self.job
        positions = list(job.completed.positions) if job.completed is not None else [0] * len(self._values)
        while any(position < len(values) for position, values in zip(positions, self._values, strict=True)):
            for index, subtask in enumerate(job.subtasks):
                for value in self._values[index][positions[index] : positions[index] + 2]:
                    subtask.write(value)
                    positions[index] += 1
                    self._step()
            self._checkpoint(positions)
        for subtask in job.subtasks:
            subtask.end_input()
            self._step()
        # The job ends with a checkpoint that completes (rule 12.94).
        while not self._checkpoint(positions):
            pass
        job.close()

    def _checkpoint(self, positions: list[int]) -> bool:
        job, taken = self.job, Snapshot(self._next_id, positions=list(positions))
        self._next_id += 1
        for subtask in job.subtasks:
            subtask.pre_barrier(taken.checkpoint_id)
            self._step()
            taken.subtasks.append(subtask.snapshot(taken.checkpoint_id))
            self._step()
        if taken.checkpoint_id in self._aborted:
            return False
        job.completed = taken
        self._step()
        for subtask in job.subtasks:
            subtask.complete(taken.checkpoint_id)
            self._step()
        return True

    def _step(self) -> None:
        self.steps += 1
        self._after_step()
        if self.steps in self._crashes:
            raise Crash
