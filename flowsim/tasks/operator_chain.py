"""The operators of one task and their life cycle. Flink: OperatorChain, StreamOperatorWrapper (4.2, 4.12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flowsim.facts.kinds import LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.failure_location import OperatorCall
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.stream_operator import OperatorInput, StreamOperator
from flowsim.streamrecord.events import Event, StopMode
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.checkpointing.stream_operator_state_handler import (
    OperatorSnapshotFutures,
    StreamOperatorStateHandler,
    initialize_without_checkpoints,
)
from flowsim.tasks.operator_outputs import OperatorOutput
from flowsim.tasks.processing_time import OperatorProcessingTimeService
from flowsim.tasks.record_charge import ChargedInput, RecordCharge
from flowsim.watermark.idleness import PausableRelativeClock


class OperatorWrapper:
    """One operator, with the objects that the chain needs to finish the operator. Flink: StreamOperatorWrapper."""

    __slots__ = (
        "operator",
        "name",
        "index",
        "output",
        "executor",
        "processing_time",
        "is_open",
        "nominal_cost_ns",
        "charge",
        "observe",
        "state_handler",
    )

    def __init__(
        self,
        operator: StreamOperator,
        name: str,
        index: int,
        output: OperatorOutput,
        executor: MailboxExecutor,
        processing_time: OperatorProcessingTimeService,
        nominal_cost_ns: int,
        charge: RecordCharge | None = None,
        observe: Callable[[OperatorInput, int], OperatorInput] | None = None,
    ) -> None:
        """``charge``: adds pauses, and the costs of records if they differ; ``nominal_cost_ns`` is 0 then.

        ``observe``: returns what stands before an input of the operator, by its index; None: nothing.
        """
        self.operator = operator
        self.name = name
        self.index = index
        self.output = output
        self.executor = executor
        self.processing_time = processing_time
        self.nominal_cost_ns = nominal_cost_ns
        self.charge = charge
        self.observe = observe
        self.state_handler: StreamOperatorStateHandler | None = None
        """None: the job takes no checkpoints."""
        self.is_open = False

    def charged(self, operator_input: OperatorInput, index: int = 0) -> OperatorInput:
        """Returns an input of the operator, which adds the costs of its records if they differ."""
        charged = operator_input if self.charge is None else ChargedInput(operator_input, self.charge, index)
        return charged if self.observe is None else self.observe(charged, index)


class OperatorChain:
    """The operators of a task, head first. Flink: RegularOperatorChain.

    They are opened and closed tail to head, and finished head to tail (I4.e).

    In a chain with branches every operator comes before its consumers, and the last branch before the other branches.
    """

    __slots__ = ("wrappers", "writers", "cost_ns", "_costs", "_trace")

    is_task_deployed_as_finished = False
    """True if the task was restored as finished, and its operators do not run (rule 12.100)."""

    def __init__(self, wrappers: Sequence[OperatorWrapper], trace: TaskTrace | None) -> None:
        self.wrappers = tuple(wrappers)
        self.writers: Sequence[RecordWriter] = ()
        """The outputs of the task, set when the task is wired."""
        self.cost_ns: Final = sum(wrapper.nominal_cost_ns for wrapper in self.wrappers)
        """The nominal cost in ns of a record that passes the whole chain, without costs that depend on the record."""
        self._costs: object = None
        """What the last call set as the costs of the operators: most batches have the costs of the batch before."""
        self._trace = trace

    @property
    def head(self) -> StreamOperator:
        return self.wrappers[0].operator

    def input_of_head(self, index: int) -> OperatorInput:
        """Returns an input of the head, which the task feeds."""
        return self.wrappers[0].charged(self.head.inputs[index], index)

    @property
    def input_selectable(self) -> InputSelectable | None:
        """The selection among the inputs of the head; None: all are read in turn (rule 7.24)."""
        return self.head.input_selectable

    @property
    def input_activity_clocks(self) -> list[PausableRelativeClock]:
        """The clocks that measure the idleness of the operators."""
        clocks = (wrapper.operator.input_activity_clock for wrapper in self.wrappers)
        return [clock for clock in clocks if clock is not None]

    def scale_costs(self, numerator: int, denominator: int) -> None:
        """Sets the cost of records to this share of their nominal cost."""
        if (costs := (numerator, denominator)) == self._costs:
            return
        self._costs = costs
        for wrapper in self.wrappers:
            wrapper.operator.set_cost_ns(wrapper.nominal_cost_ns * numerator // denominator)
            if wrapper.charge is not None:
                wrapper.charge.scale(numerator, denominator)

    def set_costs(self, cost_ns: int) -> None:
        """Sets the same cost for every operator."""
        if cost_ns == self._costs:
            return
        self._costs = cost_ns
        for wrapper in self.wrappers:
            wrapper.operator.set_cost_ns(cost_ns)

    def initialize_state_and_open_operators(self) -> None:
        """Gives each operator its restored state, then opens it (rule 12.92)."""
        for wrapper in reversed(self.wrappers):
            if wrapper.state_handler is None:
                initialize_without_checkpoints(wrapper.operator, wrapper.name)
            else:
                wrapper.state_handler.initialize_state()
            wrapper.is_open = True
            with OperatorCall(wrapper.name):
                wrapper.operator.open()
            self._life(wrapper, LifeEvent.OPEN)

    def end_input_of_head(self) -> None:
        """Ends the input of the head: the input of a network task ended with drain (rule 4.11)."""
        self._end_input(self.wrappers[0])

    def end_input_of_head_of(self, input_id: int) -> None:
        """Ends one of several inputs of the head, counted from 1, with drain (rule 7.27)."""
        head = self.wrappers[0]
        with OperatorCall(head.name):
            head.operator.end_input_of(input_id)
        self._life(head, LifeEvent.END_INPUT)

    def finish(self, mode: StopMode) -> None:
        """Finishes each operator, with mails of the operator's priority (rules 4.12, 4.13).

        Each operator ends its input, quiesces its timers and finishes.
        """
        for wrapper in self.wrappers:
            if wrapper.index > 0 and mode is StopMode.DRAIN:
                self._end_input(wrapper)
            wrapper.processing_time.quiesce()
            self._run_last_mails(wrapper, mode)

    def _run_last_mails(self, wrapper: OperatorWrapper, mode: StopMode) -> None:
        """Runs the mails that ``finish`` enqueued before the mail that ends the operator."""
        executor, finished = wrapper.executor, False

        def end() -> None:
            nonlocal finished
            finished = True

        def send_finished() -> None:
            executor.execute(end, f"finished {wrapper.name}")

        def finish() -> None:
            wrapper.operator.finish()
            self._life(wrapper, LifeEvent.FINISH)
            send_finished()

        if mode is StopMode.DRAIN:
            executor.execute(finish, f"finish {wrapper.name}")
        else:
            send_finished()
        while not finished:
            while executor.try_yield():
                """Runs every mail of the operator and of the operators after it."""

    # Checkpoints.

    def enable_checkpoints(self, checkpointing: TaskCheckpointing) -> None:
        """Gives each operator its state handler; called once, in a job with checkpoints."""
        streams, restore = checkpointing.streams, checkpointing.restore
        for wrapper in self.wrappers:
            wrapper.state_handler = StreamOperatorStateHandler(
                wrapper.operator, wrapper.name, streams, restore, checkpointing.settings.sync_latency_ns
            )

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Prepares the operators, head to tail; a closed one is skipped (rule 12.65)."""
        for wrapper in self.wrappers:
            if wrapper.is_open:
                with OperatorCall(wrapper.name):
                    wrapper.operator.prepare_snapshot_pre_barrier(checkpoint_id)

    def broadcast_event(self, event: Event, *, is_priority: bool) -> None:
        """Sends an event to all subpartitions of all outputs."""
        for writer in self.writers:
            writer.broadcast_event(event, is_priority)

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        """Lets queued barriers overtake the data before them (rule 12.90)."""
        for writer in self.writers:
            writer.partition.aligned_barrier_timeout(checkpoint_id)

    def abort_checkpoint(self, checkpoint_id: int) -> None:
        """Fails the stored output of the checkpoint (rule 12.71)."""
        for writer in self.writers:
            writer.partition.abort_checkpoint(checkpoint_id)

    def snapshot_state(self, meta_data: CheckpointMetaData, snapshots: dict[str, OperatorSnapshotFutures]) -> None:
        """Adds the snapshots of all operators, tail to head, to ``snapshots``, which has the first ones if one fails."""
        for wrapper in reversed(self.wrappers):
            if wrapper.is_open and wrapper.state_handler is not None:
                snapshots[wrapper.operator.ctx.operator_id] = wrapper.state_handler.snapshot_state(
                    meta_data.checkpoint_id, meta_data.timestamp_ms
                )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Notifies the operators, tail to head, except closed ones (rule 12.69). Raises the first error after that."""
        self._notify(
            [wrapper.state_handler for wrapper in self.wrappers if wrapper.is_open],
            lambda handler: handler.notify_checkpoint_complete(checkpoint_id),
        )

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Notifies the operators, tail to head, also closed ones (rule 12.69). Raises the first error after that."""
        self._notify(
            [wrapper.state_handler for wrapper in self.wrappers],
            lambda handler: handler.notify_checkpoint_aborted(checkpoint_id),
        )

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Does nothing: no operator of flowsim uses it."""

    def _notify(
        self,
        handlers: Sequence[StreamOperatorStateHandler | None],
        notify: Callable[[StreamOperatorStateHandler], None],
    ) -> None:
        first_error: Exception | None = None
        for handler in reversed(handlers):
            try:
                if handler is not None:
                    notify(handler)
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def retain_results(self) -> None:
        """Makes the sinks keep the written results, because the run is stopped on purpose."""
        for wrapper in self.wrappers:
            if wrapper.is_open:
                wrapper.operator.retain_results()

    def close(self) -> None:
        """Closes each operator once, tail to head. Raises the first error after all operators were closed."""
        errors: list[BaseException] = []
        for wrapper in reversed(self.wrappers):
            if not wrapper.is_open:
                continue
            wrapper.is_open = False
            wrapper.processing_time.quiesce()
            try:
                with OperatorCall(wrapper.name):
                    wrapper.operator.close()
            except BaseException as error:
                errors.append(error)
            self._life(wrapper, LifeEvent.CLOSE)
        if errors:
            raise errors[0]

    def _end_input(self, wrapper: OperatorWrapper) -> None:
        with OperatorCall(wrapper.name):
            wrapper.operator.end_input()
        self._life(wrapper, LifeEvent.END_INPUT)

    def trace_counts(self) -> None:
        """Records the final counters of every operator."""
        if self._trace is None:
            return
        for wrapper in self.wrappers:
            operator, output = wrapper.operator, wrapper.output
            self._trace.operator_counts(
                wrapper.index, operator.records_in, output.records_out, output.side_records, operator.records_dropped
            )

    def _life(self, wrapper: OperatorWrapper, event: LifeEvent) -> None:
        if self._trace is not None:
            self._trace.lifecycle(wrapper.index, event)
