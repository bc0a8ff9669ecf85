"""The task that runs an operator chain. Flink: StreamTask (section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from typing import ClassVar, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import EndlessTimers, InvariantViolation
from flowsim.facts.kinds import ActionKind, LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.network.writers.record_writer_delegate import NonRecordWriter, RecordWriterDelegate, record_writer_delegate
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, StreamOperator
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import StopMode
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.task_clock import TaskClock
from flowsim.tasks.actor import Actor
from flowsim.tasks.async_calls import TaskAsyncCalls
from flowsim.tasks.batches import BatchBudget, Batches
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.observed_task import ObservedTask
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.operator_deployment import OperatorDeployment
from flowsim.tasks.operator_events import OperatorEvents
from flowsim.tasks.processing_time import OperatorProcessingTimeService, TaskTimers, create_processing_time_service
from flowsim.tasks.task_state import TaskState
from flowsim.timers.internal_timer_service import CancellationContext


class TaskComponents(Protocol):
    """Creates the components of a task; a Protocol, because tasks do not import the cluster."""

    def create_mailbox(
        self, on_put: Callable[[], None], trace: TaskTrace | None, is_mailbox_thread: Callable[[], bool]
    ) -> TaskMailbox: ...

    def create_batches(self, task: StreamTask) -> Batches: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamTask(ObservedTask):
    """Runs one operator chain: a mailbox loop in an actor's greenlet. Flink: StreamTask.

    Life cycle: restore (opens the operators), invoke (the loop, the remaining mails, closing the operators), the end of
    its partitions (4.A to 4.C); after a failure or cancellation ``_clean_up`` runs (4.E). The task waits only in
    ``Batches``.
    """

    measures_busy_time: ClassVar[bool] = True
    """True if the task's busy time, outside waits for input and output, is meaningful (rule 13.1)."""

    def __init__(
        self,
        task_id: int,
        name: str,
        scheduler: Scheduler,
        budget: BatchBudget,
        trace: TaskTrace | None,
        clock: TaskClock,
        components: TaskComponents,
    ) -> None:
        super().__init__(scheduler, clock, trace)
        self.id = task_id
        self.name = name
        self._full = trace.full if trace is not None else None
        self.timers = TaskTimers(scheduler, clock, task_id)
        self.async_calls = TaskAsyncCalls(self.timers, self.fail_externally)
        self.actor = Actor(task_id, name, scheduler, self._run)
        self.outbox = Outbox()
        self.operator_events = OperatorEvents(name, self.outbox)
        self.mailbox = components.create_mailbox(self._on_mail, self._full, self._is_inside)
        self.budget = budget
        self._components = components
        self.batches = self._create_batches()
        self.mailbox_processor = self.batches.processor = MailboxProcessor(
            self._process_input,
            self.mailbox,
            self.batches.wait_for_mail,
            self.batches.end_if_due,
            self._full,
            self.end_inside_action,
        )
        self.cancellation = CancellationContext()
        self._output: RecordWriterDelegate = NonRecordWriter()
        self.failure: BaseException | None = None
        self.end_of_data: StopMode | None = None
        """How the task's data ended. None before the end, and if the inputs stopped without a stop mode (rule 4.22)."""
        self.checkpoints: TaskCheckpoints | None = None
        """None: the job takes no checkpoints."""
        self.is_running = False
        """True from the end of the restore until the mailbox is drained (rules 4.17, 12.70)."""
        self._fails_externally = False

    def wire(self, chain: OperatorChain, task_input: TaskInput, writers: Sequence[RecordWriter]) -> None:
        """Sets operators, input and outputs; called once, before ``invoke``."""
        self.chain = self.batches.chain = chain
        self.input = task_input
        self.writers = chain.writers = tuple(writers)
        self._output = record_writer_delegate([writer.partition for writer in writers])
        for writer in self.writers:
            writer.partition.pool.availability_listener = self
        activity = chain.input_activity_clocks
        self.times.soft.pausing = self.times.hard.pausing = activity

    def enable_checkpoints(
        self, checkpointing: TaskCheckpointing, gates: Sequence[Sequence[SingleInputGate]] = ()
    ) -> None:
        """Lets the task take checkpoints; called once, after ``wire``. ``gates``: those of each input."""
        self.checkpoints = TaskCheckpoints(self, checkpointing, gates)
        if checkpointing.settings.waits_for_final_checkpoint:
            for writer in self.writers:
                writer.partition.await_all_data_processed()

    def _set_state(self, state: TaskState, event: LifeEvent) -> None:
        super()._set_state(state, event)
        if self.checkpoints is not None:
            self.checkpoints.gateway.update_task_execution_state(state)

    def create_source_input(self, source: StreamOperator) -> TaskInput:
        """Creates the input of a task whose head is a source."""
        raise InvariantViolation(f"{self.name} is not a task for a source")

    def _create_batches(self) -> Batches:
        """Creates the batches of the mailbox loop."""
        return self._components.create_batches(self)

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors of the task, in the order in which they are ended."""
        return (self.actor,)

    @property
    def waiting_for(self) -> str:
        """The text of what the task waits for, shown in the wait-for report of a deadlock."""
        return self.batches.waiting_for

    def create_operator_context(self, operator: OperatorDeployment) -> OperatorContext:
        """Creates the context of an operator of this task."""
        return operator.create_context(
            self.clock, self.trace, self.cancellation, self.async_calls, self.fail_externally, self.operator_events.send
        )

    def _run(self) -> None:
        """Runs the life cycle of the task, as the body of the actor."""
        try:
            self.batches.begin()
            self._restore()
            self._invoke()
            self._finish_partitions()
        except BaseException as error:
            failure = self.failure = self.actor.failure_of(error)
            self._clean_up(TaskState.FAILED if isinstance(failure, Exception) else TaskState.CANCELED)
            if failure is error:
                raise
            raise failure from error

    def _restore(self) -> None:
        """Opens the operators, tail first, before the task is RUNNING (rule 4.2)."""
        self._set_state(TaskState.INITIALIZING, LifeEvent.INITIALIZING)
        self.mailbox_processor.action(ActionKind.LIFE_CYCLE, self._initialize_and_open)
        if self.checkpoints is not None and self.checkpoints.recovery is not None:
            self.checkpoints.recovery.recover_inputs(self.mailbox_processor.suspend)
            self.mailbox_processor.run_mailbox_loop()
        self.is_running = True
        self._set_state(TaskState.RUNNING, LifeEvent.RUNNING)
        self.times.start()

    def _initialize_and_open(self) -> None:
        if self.checkpoints is not None:
            if self.checkpoints.recovery is not None:
                self.checkpoints.recovery.recover_outputs()
            self.checkpoints.on_restore()
        self.chain.initialize_state_and_open_operators()

    def _invoke(self) -> None:
        """Runs the mailbox loop and the steps after the loop (rules 4.4, 4.17)."""
        self.mailbox_processor.run_mailbox_loop()
        if self.checkpoints is not None:
            self._await_final_checkpoint(self.checkpoints)
        for wrapper in self.chain.wrappers:
            wrapper.processing_time.quiesce()
        self.mailbox_processor.prepare_close()
        self.mailbox_processor.drain()
        self.is_running = False
        for writer in self.writers:
            writer.flush_all()
        if self.checkpoints is not None and self.checkpoints.checkpoints_after_tasks_finish:
            self.batches.wait_for_checkpoints(self.checkpoints)
        if self.end_of_data is not StopMode.DRAIN:
            # Without drain the sinks were not finished; in Flink the savepoint of the stop commits their data.
            self.chain.retain_results()
        self.mailbox_processor.action(ActionKind.LIFE_CYCLE, self.chain.close)
        self._trace_end()
        self.input.close()
        self.async_calls.close()
        self.mailbox_processor.close()
        if self.checkpoints is not None:
            self.checkpoints.close()

    def _await_final_checkpoint(self, checkpoints: TaskCheckpoints) -> None:
        """Runs mails until the consumers have all records and the final checkpoint is complete (rule 4.15)."""
        self.batches.waiting_for = "its last checkpoint"
        checkpoints.when_may_end(self.mailbox_processor.all_actions_completed)
        self.mailbox_processor.run_mailbox_loop()

    def _finish_partitions(self) -> None:
        """Finishes the output partitions, after all other resources of the task were closed (rule 4.18)."""
        self.mailbox_processor.action(ActionKind.LIFE_CYCLE, self._end_partitions)
        self.batches.spend_and_publish()
        self._set_state(TaskState.FINISHED, LifeEvent.FINISHED)
        for writer in self.writers:
            # Unused memory returns to the task manager now, the rest when it is read (rules 5.37, 5.45).
            writer.partition.close()

    def _end_partitions(self) -> None:
        for writer in self.writers:
            writer.finish()

    def stop(self, mode: StopMode) -> None:
        """Stops the task with the job; tasks with network inputs notice the stop from their input (rule 4.20)."""

    def cancel(self) -> None:
        """Cancels the task. It ends at its wait point, or before it starts if it had no turn (rule 4.23)."""
        self.cancellation.is_cancelled = True
        if self.state is TaskState.DEPLOYED:
            self._advance_clock()
            self._set_state(TaskState.CANCELED, LifeEvent.CANCELED)
        elif not self.state.is_terminal:
            self._advance_clock()
            self._set_state(TaskState.CANCELING, LifeEvent.CANCELING)

    def _clean_up(self, state: TaskState) -> None:
        """Closes timers, input, operators, outputs and mailbox without finishing them (rules 4.24, 4.26)."""
        self.outbox.sealed = False
        self.is_running = False
        self._advance_clock()
        if isinstance(self.failure, EndlessTimers):
            self.trace_livelock()
        if self.checkpoints is not None:
            self.checkpoints.close()
        for wrapper in self.chain.wrappers:
            wrapper.processing_time.quiesce()
        errors: list[BaseException] = []
        steps = (
            self.input.close,
            self.chain.close,
            self._release_partitions,
            self.async_calls.close,
            self.mailbox_processor.close,
        )
        for step in steps:
            try:
                step()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                errors.append(error)
        self._trace_end()
        self._set_state(state, LifeEvent.FAILED if state is TaskState.FAILED else LifeEvent.CANCELED)
        if errors and self.failure is not None:
            self.failure.add_note(f"closing {self.name} failed too: {errors[0]!r}")

    def _release_partitions(self) -> None:
        for writer in self.writers:
            writer.partition.release()

    # The default action (4.B).

    def _process_input(self) -> None:
        clock = self.clock
        clock.batch_end_ns = 0 if self.mailbox.has_mail or not self._output_available else self.timers.batch_limit_ns
        status = self.input.emit_next()
        if status is DataInputStatus.MORE_AVAILABLE:
            if self._output_available:
                return
        elif status is DataInputStatus.END_OF_DATA:
            self._end_data(StopMode.DRAIN)
            return
        elif status is DataInputStatus.STOPPED:
            self._end_data(StopMode.NO_DRAIN)
            return
        elif status is DataInputStatus.END_OF_INPUT:
            self.mailbox_processor.suspend_default_action()
            self.mailbox_processor.suspend()
            return
        self._suspend_until_progress()

    @property
    def _output_available(self) -> bool:
        return self._output.available

    def _suspend_until_progress(self) -> None:
        """Waits; blocked output is back pressure even when the input is empty too (rule 4.6)."""
        full = [writer for writer in self.writers if not writer.available]
        if full:
            suspension = self.mailbox_processor.suspend_default_action(self.times.soft)
            self._output.when_available(suspension.resume)
            channels = ", ".join(f"channels {writer.first_channel}.." for writer in full)
            self.batches.waiting_for = f"a free output buffer of {channels}"
        elif not self.input.is_available:
            suspension = self.mailbox_processor.suspend_default_action(self.times.idle)
            self.input.when_available(suspension.resume)
            self.batches.waiting_for = self.input.waits_for

    def _end_data(self, mode: StopMode) -> None:
        """Ends the data of the task (rules 4.9, 4.10)."""
        self.end_of_data = mode
        if mode is StopMode.DRAIN:
            self.input.end_of_input_with_drain(self.chain)
        self.chain.finish(mode)
        for writer in self.writers:
            writer.notify_end_of_data(mode)
        if self.checkpoints is not None:
            self.checkpoints.on_end_of_data(is_drained=mode is StopMode.DRAIN)

    def trigger_checkpoint(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Enqueues the trigger of a checkpoint. Raises MailboxClosedException if the task ends."""
        if self.checkpoints is not None:
            self.checkpoints.trigger_checkpoint(meta_data, options)

    def dispatch_operator_event(self, operator_id: str, event: OperatorEvent) -> None:
        """Enqueues an event of an operator's coordinator. Raises MailboxClosedException if the task ends."""
        wrapper = next(each for each in self.chain.wrappers if each.operator.ctx.operator_id == operator_id)
        wrapper.executor.execute(lambda: wrapper.operator.handle_operator_event(event), type(event).__name__)

    def mailbox_executor(self, priority: int) -> MailboxExecutor:
        """Returns the executor of mails with this priority."""
        return self.mailbox_processor.executor(priority)

    def wake(self) -> None:
        """Lets the task look again at what it waits for."""
        self.actor.wake()

    @property
    def is_inside(self) -> bool:
        """True while the task itself runs, so that its clock is the time."""
        return self._is_inside()

    def fail_externally(self, fail: Callable[[], None]) -> None:
        """Fails the task with the error that the first ``fail`` raises, also while it pauses or waits inside an element.

        Flink: Environment.failExternally.
        """
        if self._fails_externally:
            return  # These mails are urgent, so the last one would come first.
        self._fails_externally = True
        with suppress(MailboxClosedException):
            self.mailbox_processor.send_control_mail(fail, "failed externally")
        self.working.fail_in_pause(fail)

    def create_processing_time(self, operator_index: int, executor: MailboxExecutor) -> OperatorProcessingTimeService:
        """Creates the processing time of one operator; its timers are mails of the operator's executor."""
        return create_processing_time_service(self.timers, executor)

    @property
    def working(self) -> Batches:
        """The batches of the actor that works for the task now."""
        return self.batches

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Waits for a buffer; a partition calls it if a record needs a buffer beyond the overdraft (rule 5.42)."""
        self.working.wait_for_buffer(pool)

    def on_pool_unavailable(self) -> None:
        """Called when an output is full: the task stops emitting after the current element (rule 4.8)."""
        self.clock.interrupt()

    @property
    def operators_inside_element(self) -> Set[int]:
        """The operators that are inside an element while a mail runs: none (rules 3.25, 11.21)."""
        return frozenset()

    def end_inside_action(self) -> None:
        """Lets the cost of the work so far pass, in an action that then checks for waiting mails (rule 3.23)."""
        self.working.end_inside_action()

    def _is_inside(self) -> bool:
        """Returns True if the task itself is running, False in code that publishing calls."""
        return self.outbox.sealed and self.actor.is_inside()

    def _on_mail(self) -> None:
        self.clock.interrupt()
        self.actor.wake()

    def __repr__(self) -> str:
        return f"StreamTask({self.name}, {self.state.value})"
