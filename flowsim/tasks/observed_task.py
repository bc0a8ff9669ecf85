"""What a run observes of a task: its states, its figures and its clock. Flink: TaskMetricGroup (section 13)."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from flowsim.facts.kinds import LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.task_clock import TaskClock
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.task_state import TaskState
from flowsim.tasks.time_buckets import TimeBuckets


@mypyc_attr(allow_interpreted_subclasses=True)
class ObservedTask:
    """The state of a task and its figures, which it records once at its end."""

    chain: OperatorChain
    input: TaskInput

    def __init__(self, scheduler: Scheduler, clock: TaskClock, trace: TaskTrace | None) -> None:
        self.scheduler = scheduler
        self.clock = clock
        self.trace = trace
        self.state = TaskState.DEPLOYED
        self.times = TimeBuckets(clock)
        self.writers: Sequence[RecordWriter] = ()
        self.input_queue_peak = 0
        self.output_queue_peak = 0
        self.view_readers: list[CreditBasedSequenceNumberingViewReader] = []
        """The senders of the task's output, one per remote channel in use."""
        self._is_counted = False

    def _advance_clock(self) -> None:
        """Sets the task's clock to the current time: the task may be ended at any point of its batch."""
        self.clock.now_ns = max(self.clock.now_ns, self.scheduler.now_ns)

    def _trace_end(self) -> None:
        """Records the final figures, once."""
        if self._is_counted:
            return
        self._is_counted = True
        self.times.stop()
        self.chain.trace_counts()
        if self.trace is not None:
            times = self.times
            self.trace.task_times(
                times.busy_ns, times.idle_ns, times.soft_ns, times.hard_ns, self.input.records_in, self.records_out
            )

    @property
    def records_out(self) -> int:
        """Number of user records written to the network; a record for several outputs counts once (rule 13.4)."""
        return sum(wrapper.output.network_records_out for wrapper in self.chain.wrappers)

    @property
    def times_out_of_credit(self) -> int:
        """The number of times that data of the task's channels waited only for a credit."""
        return sum(reader.times_out_of_credit for reader in self.view_readers)

    @property
    def queued_input(self) -> int:
        """The number of buffers queued in the input channels of the task."""
        return self.input.queued_buffers

    def record_queue_peaks(self) -> None:
        """Records the highest queue lengths; called at the start of a batch."""
        self.input_queue_peak = max(self.input_queue_peak, self.input.queued_buffers)
        queued = sum(writer.partition.queued_buffers for writer in self.writers)
        self.output_queue_peak = max(self.output_queue_peak, queued)

    def trace_stop(self, mode: StopMode) -> None:
        """Records that a stop took effect in this task."""
        if self.trace is not None:
            event = LifeEvent.STOP_WITH_DRAIN if mode is StopMode.DRAIN else LifeEvent.STOP_NO_DRAIN
            self.trace.lifecycle(-1, event)

    def trace_deadlock(self) -> None:
        """Records that no task of the job can run."""
        if self.trace is not None and not self.state.is_terminal:
            self._advance_clock()
            self.trace.lifecycle(-1, LifeEvent.DEADLOCKED)

    def trace_livelock(self) -> None:
        """Records that the tasks of the job take turns without end."""
        if self.trace is not None and not self.state.is_terminal:
            self._advance_clock()
            self.trace.lifecycle(-1, LifeEvent.LIVELOCKED)

    def _set_state(self, state: TaskState, event: LifeEvent) -> None:
        self.state = state
        if self.trace is not None:
            self.trace.lifecycle(-1, event)
