"""The subtasks of a source and its coordinator, without a cluster: each event is delivered when a test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder, OperatorEventLost
from flowsim.checkpoints.coordination.source_coordinator import SourceCoordinator
from flowsim.connectors.source import Source, enumerator_factory_of
from flowsim.errors import FlowsimError
from flowsim.network.completion import Completion
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_reader import AssignedReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, Value
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent
from flowsim.streamrecord.output import Output
from flowsim.testing.harness import ManualClock
from flowsim.values.encoding import decode_value, encode_value
from tests.support.checkpoints.virtual_time import DirectExecutor

NEVER = 1 << 62


class NoTimers:
    def current_processing_time_ms(self) -> int:
        return 0


class ListState:
    """One list state of one subtask."""

    def __init__(self, elements: Sequence[object] = ()) -> None:
        self.elements: tuple[object, ...] = tuple(elements)

    def get(self) -> tuple[object, ...]:
        return self.elements

    def update(self, elements: Sequence[object]) -> None:
        stored = decode_value(encode_value(tuple(elements)))
        assert isinstance(stored, tuple)
        self.elements = stored

    def add(self, element: object) -> None:
        self.update((*self.elements, element))


class OneListState:
    """The state store of an operator with one list state."""

    def __init__(self, elements: Sequence[object] = ()) -> None:
        self.state = ListState(elements)

    def get_list_state(self, name: str, mode: DistributionMode = DistributionMode.SPLIT_DISTRIBUTE) -> ListState:
        assert mode is DistributionMode.SPLIT_DISTRIBUTE
        return self.state


class Records(Output):
    """The records that a subtask has emitted; a restore takes back those after its checkpoint."""

    def __init__(self, records: Sequence[Value] = ()) -> None:
        self.records: list[Value] = list(records)

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.records.append(value)

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        raise AssertionError("a source has no side output here")

    def emit_watermark(self, timestamp: int) -> None: ...

    def emit_watermark_status(self, status: WatermarkStatus) -> None: ...

    def emit_latency_marker(self, marker: LatencyMarker) -> None: ...


class Subtask:
    """One attempt of one subtask, with the events in both directions."""

    def __init__(self, source: Source, index: int, parallelism: int, clock: ManualClock) -> None:
        self.name = f"source ({index + 1}/{parallelism})"
        self.clock = clock
        self.to_coordinator: deque[OperatorEvent] = deque()
        self.to_task: deque[tuple[OperatorEvent, Completion[None]]] = deque()
        self.output = Records()
        self.is_still_running = True
        self.status = DataInputStatus.MORE_AVAILABLE
        reader = source.create_reader()
        assert isinstance(reader, AssignedReader)
        self.operator = SourceOperator(reader, assigned_reader=reader)
        self.operator.setup(
            OperatorContext(
                operator_name="source", operator_index=0, task_name=self.name, subtask_index=index,
                parallelism=parallelism, max_parallelism=128, key_group_range=KeyGroupRange(0, 127), key_selector=None,
                key_type=None, clock=clock, processing_time=NoTimers(),  # type: ignore[arg-type]
                mailbox_executor=None,  # type: ignore[arg-type]
                random=Random(index), cost_ns=1000, trace=None, operator_id="source",
                send_to_coordinator=self.to_coordinator.append,
            ),
            self.output,
        )  # fmt: skip

    def open(self, splits: Sequence[object], checkpoint_id: int | None, records: Sequence[Value] = ()) -> None:
        self.store = OneListState(splits)
        self.output.records = list(records)
        self.operator.initialize_state(StateInitializationContext(self.store, restored_checkpoint_id=checkpoint_id))
        self.operator.open()

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        """A call of the coordinator's gateway."""
        confirmed: Completion[None] = Completion()
        self.to_task.append((event, confirmed))
        return confirmed

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        raise AssertionError("no event is lost while a task runs")

    def receive(self) -> None:
        """Delivers the next event to the task."""
        event, confirmed = self.to_task.popleft()
        self.operator.handle_operator_event(event)
        confirmed.complete(None)

    def poll(self, records: int) -> DataInputStatus:
        """Lets the reader emit up to this number of records."""
        if self.status is not DataInputStatus.END_OF_DATA:
            self.clock.batch_end_ns = self.clock.now_ns + 1000 * records
            self.status = self.operator.poll_next()
        return self.status

    def snapshot(self, checkpoint_id: int) -> tuple[object, ...]:
        """The trigger arrives after the events that were sent before it."""
        while self.to_task:
            self.receive()
        self.operator.snapshot_state(StateSnapshotContext(checkpoint_id, 0))
        self.to_coordinator.append(AcknowledgeCheckpointEvent(checkpoint_id))
        return self.store.state.get()

    def fail(self) -> None:
        self.is_still_running = False
        for _, confirmed in self.to_task:
            confirmed.complete_exceptionally(FlowsimError("the task has failed"))


@dataclass
class Checkpoint:
    """A checkpoint: the enumerator, then the readers, each with its records so far."""

    id: int
    coordinator: Completion[bytes | None] = field(default_factory=Completion)
    readers: dict[int, tuple[object, ...]] = field(default_factory=dict)
    records: dict[int, list[Value]] = field(default_factory=dict)


@dataclass(eq=False)
class Later:
    """What the enumerator does at a time."""

    when_ns: int
    action: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class CoordinatedSource:
    """A source whose enumerator assigns splits to ``parallelism`` subtasks; fails and recovers as the job would."""

    def __init__(self, source: Source, parallelism: int, restored: Checkpoint | None = None) -> None:
        factory = enumerator_factory_of(source)
        assert factory is not None
        self.source = source
        self.parallelism = parallelism
        self.clock = ManualClock(0)
        self.backlog: list[bool] = []
        self.later: list[Later] = []
        self.coordinator: SourceCoordinator[object] = SourceCoordinator("source", factory, parallelism, self)
        self.holder = OperatorCoordinatorHolder("source", self.coordinator, DirectExecutor())
        self.completed: Checkpoint | None = None
        self.pending: Checkpoint | None = None
        self.next_id = 1
        splits: Sequence[Sequence[object]] = [()] * parallelism
        if restored is not None:
            self.holder.reset_to_checkpoint(restored.id, restored.coordinator.result)
            # Rule 12.24, with one state.
            elements = [split for subtask in sorted(restored.readers) for split in restored.readers[subtask]]
            base, more = divmod(len(elements), parallelism)
            ends = [0]
            for index in range(parallelism):
                ends.append(ends[-1] + base + (index < more))
            splits = [elements[start:end] for start, end in pairwise(ends)]
        self.coordinator.start()
        self.subtasks: list[Subtask] = []
        for index in range(parallelism):
            subtask = Subtask(source, index, parallelism, self.clock)
            self.subtasks.append(subtask)
            self.holder.on_attempt_deployed(index, subtask)
            subtask.open(splits[index], None if restored is None else restored.id)
            self.holder.on_attempt_running(index, 0)

    @property
    def now_ns(self) -> int:
        return self.clock.now_ns

    def call_later(self, delay_ns: int, action: Callable[[], None]) -> Later:
        later = Later(self.clock.now_ns + delay_ns, action)
        self.later.append(later)
        return later

    def advance_to(self, now_ns: int) -> None:
        """Runs what the enumerator scheduled up to a time, then sets the clock to it."""
        while due := [each for each in self.later if each.when_ns <= now_ns and not each.is_cancelled]:
            first = min(due, key=lambda each: each.when_ns)
            self.later.remove(first)
            self.clock.now_ns = max(self.clock.now_ns, first.when_ns)
            first.action()
        self.clock.now_ns = max(self.clock.now_ns, now_ns)
        self.settle()

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None:
        self.backlog.append(is_processing_backlog)

    def deliver(self, index: int) -> None:
        """Delivers the next event of a subtask to the coordinator."""
        self.holder.handle_event_from_operator(index, 0, self.subtasks[index].to_coordinator.popleft())

    def trigger(self) -> None:
        """Starts a checkpoint: the coordinator takes its snapshot."""
        self.pending = Checkpoint(self.next_id)
        self.next_id += 1
        self.holder.checkpoint_coordinator(self.pending.id, self.pending.coordinator)

    def can_take_snapshot(self, index: int) -> bool:
        return self.pending is not None and self.pending.coordinator.is_done and index not in self.pending.readers

    def snapshot(self, index: int) -> None:
        """Takes the snapshot of one reader; after the last one the checkpoint is complete."""
        assert self.pending is not None
        self.pending.readers[index] = self.subtasks[index].snapshot(self.pending.id)
        self.pending.records[index] = list(self.subtasks[index].output.records)
        if len(self.pending.readers) == self.parallelism:
            self.completed, self.pending = self.pending, None
            self.holder.notify_checkpoint_complete(self.completed.id)

    def abort(self) -> None:
        if self.pending is not None:
            aborted, self.pending = self.pending, None
            self.holder.notify_checkpoint_aborted(aborted.id)

    def fail_region(self, index: int) -> None:
        """One subtask fails and restarts from the last complete checkpoint; the others go on (rule 12.112)."""
        self.subtasks[index].fail()
        self.holder.on_attempt_failed(index, 0, None)
        self.abort()
        restarted = self._redeploy(index)
        self.holder.subtask_reset(index, restarted, -1 if self.completed is None else self.completed.id)
        self._open(index)

    def fail_all(self) -> None:
        """All subtasks and the coordinator restart (rule 12.114)."""
        for index, subtask in enumerate(self.subtasks):
            subtask.fail()
            self.holder.on_attempt_failed(index, 0, None)
        self.abort()
        completed = self.completed
        if completed is None:
            self.holder.reset_to_checkpoint(-1, None)
        else:
            self.holder.reset_to_checkpoint(completed.id, completed.coordinator.result)
        for index in range(self.parallelism):
            self.holder.on_attempt_deployed(index, self._redeploy(index))
            self._open(index)

    def _redeploy(self, index: int) -> Subtask:
        self.subtasks[index] = Subtask(self.source, index, self.parallelism, self.clock)
        return self.subtasks[index]

    def _open(self, index: int) -> None:
        completed = self.completed
        if completed is None:
            self.subtasks[index].open((), None)
        else:
            self.subtasks[index].open(completed.readers[index], completed.id, completed.records[index])
        self.holder.on_attempt_running(index, 0)

    def settle(self) -> None:
        """Delivers all events."""
        while any(one.to_task or one.to_coordinator for one in self.subtasks):
            for index, one in enumerate(self.subtasks):
                if one.to_coordinator:
                    self.deliver(index)
                if one.to_task:
                    one.receive()

    def drain(self) -> None:
        """Runs without failures to the end of all readers."""
        self.abort()
        while True:
            self.settle()
            statuses = [one.poll(1000) for one in self.subtasks]
            if all(status is DataInputStatus.END_OF_DATA for status in statuses):
                return
            is_quiet = not any(one.to_task or one.to_coordinator for one in self.subtasks)
            if is_quiet and DataInputStatus.MORE_AVAILABLE not in statuses:
                wakes = [
                    one.operator.wake_time_ns for one in self.subtasks if one.status is not DataInputStatus.END_OF_DATA
                ]
                self.clock.now_ns = min(wake for wake in wakes if wake is not None)

    @property
    def records(self) -> list[Value]:
        """All records whose effect lasts."""
        return [value for one in self.subtasks for value in one.output.records]
