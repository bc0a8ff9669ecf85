"""The interface between an operator and its task. Flink: StreamOperator, StreamOperatorFactory.

Records are two arguments, ``(value, timestamp)``, timestamp in ms or None; there is no object per record. Everything
here is synchronous: an operator that must wait calls its ``MailboxExecutor`` (D3) and never awaits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MailOptions
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.latency_stats import LatencyStats
from flowsim.operators.operator_components import OperatorComponents
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.state.snapshots.stored_streams import KeyedStateStream, TimerStream
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.streamrecord.elements import LatencyMarker, StreamElement, WatermarkStatus
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.streamrecord.output import Output
from flowsim.task_clock import TaskClock
from flowsim.timers.internal_timer_service import CancellationContext
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.idleness import PausableRelativeClock


class DataInputStatus(Enum):
    """The result of polling an input. Flink: DataInputStatus."""

    MORE_AVAILABLE = "more available"
    NOTHING_AVAILABLE = "nothing available"
    """More data follows; the task waits for the input to become available."""
    END_OF_RECOVERY = "end of recovery"
    STOPPED = "stopped"
    """No more data, and event time is not flushed (NO_DRAIN)."""
    END_OF_DATA = "end of data"
    """No more data, and event time is flushed (DRAIN)."""
    END_OF_INPUT = "end of input"
    """No more data and no more events."""


def checked_timestamp(timestamp: object, what: str) -> int:
    """Returns ``timestamp`` if it is a 64-bit integer (ms); otherwise raises BadInput that names ``what``.

    >>> checked_timestamp(5, "timer")
    5
    """
    if type(timestamp) is int and NO_TIMESTAMP <= timestamp <= MAX_WATERMARK:
        return timestamp
    raise BadInput(
        f"{what}: expected whole milliseconds of 64 bits, got {timestamp!r:.60} ({type(timestamp).__name__})"
    )


Value = object
"""A value of the closed value set of ``flowsim.values``."""

KeySelector = Callable[[Value], Value]


@mypyc_attr(allow_interpreted_subclasses=True)
class OperatorInput:
    """One input of an operator, called by its task. Flink: Input."""

    __slots__ = ()

    def process_element(self, value: Value, timestamp: int | None) -> None:
        """Processes one user record."""
        raise NotImplementedError

    def process_watermark(self, timestamp: int) -> None:
        """Advances event time to ``timestamp`` ms."""
        raise NotImplementedError

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Processes a status."""
        raise NotImplementedError

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Processes a latency marker."""
        raise NotImplementedError


class MailboxExecutor(Protocol):
    """The methods of a task's mailbox for operators. Flink: MailboxExecutor (rules 3.20-3.23)."""

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None: ...

    def yield_(self) -> None: ...

    def try_yield(self) -> bool: ...

    def should_interrupt(self) -> bool:
        """True if a mail waits; first lets the cost of the work so far pass (rule 3.23)."""


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass
class OperatorContext:
    """Everything that a task provides to its operators. Flink: StreamOperatorParameters and RuntimeContext."""

    operator_name: str
    operator_index: int
    task_name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    key_group_range: KeyGroupRange
    key_selector: KeySelector | None
    """The key selector of the first input."""
    key_type: str | None
    """Name of the declared type of the key (``values.Types``); None: each key's value decides its type."""
    clock: TaskClock
    processing_time: ProcessingTimeService
    mailbox_executor: MailboxExecutor
    random: Random
    """The operator's own random stream, from the run's seed, vertex, operator and subtask."""
    cost_ns: int
    """Virtual cost of one record in ns; ``process_element`` adds it to ``clock.now_ns`` first."""
    trace: TaskTrace | None
    components: OperatorComponents = field(default_factory=OperatorComponents)
    """Creates components of the operator during set-up."""
    key_selectors: tuple[KeySelector | None, ...] = ()
    """The key selectors of all inputs, for an operator with several inputs."""
    vertex_id: int = -1
    """The id of the job vertex, which identifies a source's latency markers."""
    cancellation: CancellationContext = field(default_factory=CancellationContext)
    """The cancellation of the task: timers do not fire after it."""
    interruptible_timers: bool = False
    """True if the job allows timers to yield to mails (rule 9.18); the operator must allow it too."""
    async_calls: AsyncCalls | None = None
    """Starts asynchronous calls; None without a task."""
    fail_externally: Callable[[Callable[[], None]], None] | None = None
    """Fails the task from outside of its loop, at any time.

    The task calls the argument, which raises the error. Flink: Environment.
    """
    object_reuse: bool = False
    """True if records are passed on without copies (rule 5.10): an operator that keeps a record must copy it."""
    operator_id: str = ""
    """What state in a checkpoint belongs to (rule 12.121)."""
    uid_or_position: str = ""
    """The operator's uid, or a text of its position in the graph, for random numbers."""
    run_seed: int = 0
    """The seed of the run, for random numbers that do not depend on the subtask."""
    run_started_ns: int = 0
    """The time of ``clock`` at the start of the run, before all attempts."""
    send_to_coordinator: Callable[[OperatorEvent], None] | None = None
    """Sends an event to the coordinator of the operator; None: the job has no coordinators."""
    is_batch: bool = False
    """True in BATCH mode: keyed inputs are sorted, and no watermark comes before the end."""
    is_checkpointing_enabled: bool = False
    """True if the job takes periodic checkpoints (rule 12.146)."""
    attempt_number: int = 0
    """The number of earlier attempts of the subtask."""
    state_ttl: StateTtlConfig | None = None
    """The time to live of the function's keyed states that have none of their own."""
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    """The global parameters of the job."""


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamOperator(OperatorInput):
    """Base of all operators: one input, one main output. Flink: AbstractStreamOperator, OneInputStreamOperator.

    Life cycle (section 4): ``setup`` -> ``open`` (tail to head) -> elements -> ``end_input`` (drain only) -> ``finish``
    (head to tail) -> ``close`` (tail to head). ``records_in`` counts user records (rule 7.20); outputs count what is
    emitted.

    An operator with several inputs returns them in ``inputs``; ``end_input_of`` is called at the end of each input. Its
    own ``process_watermark`` gets the combined watermark of the inputs (``operator_inputs``).
    """

    __slots__ = ("ctx", "output", "collector", "clock", "cost_ns", "records_in", "records_dropped", "latency_stats")

    ctx: OperatorContext
    output: Output
    collector: Output
    """Takes the records of the main output."""
    clock: TaskClock

    is_source: bool = False
    """True if the operator reads a source instead of an input."""

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        """Initializes the operator; called once, before ``open``."""
        self.ctx = ctx
        self.output = output
        self.collector = output.collector
        self.clock = ctx.clock
        self.cost_ns: int = ctx.cost_ns
        self.records_in: int = 0
        self.records_dropped: int = 0
        self.latency_stats: LatencyStats = LatencyStats()

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        """The inputs that the task feeds, by input index; known after ``setup``."""
        return (self,)

    @property
    def input_selectable(self) -> InputSelectable | None:
        """The selection among several inputs; None: all inputs are read in turn (rule 7.24)."""
        return self if isinstance(self, InputSelectable) else None

    @property
    def input_activity_clock(self) -> PausableRelativeClock | None:
        """The clock for idleness; the task pauses it while back-pressured (rule 8.4)."""
        return None

    def set_cost_ns(self, cost_ns: int) -> None:
        """Sets the cost of a record in the new batch: the nominal cost, scaled by the scheduling policy (D4)."""
        self.cost_ns = cost_ns

    def open(self) -> None:
        """Called before the first element."""

    def end_key(self) -> None:
        """Called in BATCH mode after the last record of each key of sorted inputs."""

    def process_watermark(self, timestamp: int) -> None:
        """Advances event time to ``timestamp`` ms: fires due timers, then forwards the watermark (rule 8.15)."""
        self.output.emit_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Forwards the status at once (rule 8.15)."""
        self.output.emit_watermark_status(status)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Measures and forwards a marker; records in progress do not delay it (rule 8.20)."""
        self.report_latency(marker)
        self.output.emit_latency_marker(marker)

    def report_latency(self, marker: LatencyMarker) -> None:
        """Counts the latency of a marker."""
        ctx = self.ctx
        took_ms = self.latency_stats.report_latency(marker, ctx.processing_time.current_processing_time_ms())
        if ctx.trace is not None:
            ctx.trace.latency(
                ctx.operator_index, marker.operator_id, marker.subtask_index, marker.marked_time_ms, took_ms
            )

    def end_input(self) -> None:
        """Called when no more elements will come; drain only (rule 4.11)."""

    def end_input_of(self, input_id: int) -> None:
        """Called when no more elements will come on one of several inputs, counted from 1; drain only (rule 7.27).

        Flink: BoundedMultiInput.
        """

    def finish(self) -> None:
        """Emits the last results (rule 4.12)."""

    @property
    def user_function(self) -> object:
        """The function of the user, which may have state of its own; None without one. Flink: AbstractUdfStreamOperator."""
        life = getattr(self, "_life", None)
        return None if life is None else life.function

    @property
    def keyed_states(self) -> KeyedStateStore | None:
        """The keyed states of the user's function; None if the stream has no keys."""
        return None

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Declares the operator's states, and reads restored ones; called before ``open``, in jobs with checkpoints."""

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Called before the barrier leaves; records that are emitted now precede it (rule 12.6)."""

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        """Brings the operator's states up to date; they are copied after it. An exception fails the task (rule 12.7)."""

    def snapshot_keyed_state(self) -> tuple[KeyedStateStream | None, TimerStream | None]:
        """Returns consistent copies of the keyed state and of the timers; None where the operator has none."""
        return None, None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called when all tasks have stored the checkpoint; may never come for one of them (rule 12.4)."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Called when a checkpoint was aborted."""

    def handle_operator_event(self, event: OperatorEvent) -> None:
        """Handles an event of the operator's coordinator. Raises BadInput if the operator has none."""
        raise BadInput(f"operator {self.ctx.operator_name} has no coordinator: unexpected {type(event).__name__}")

    def held_elements(self) -> Sequence[StreamElement]:
        """Returns the elements that the operator holds now; most operators hold none."""
        return ()

    def retain_results(self) -> None:
        """Called when the run is stopped on purpose before its end: a sink keeps the results written so far."""

    def close(self) -> None:
        """Releases resources; called exactly once, also after a failure."""
