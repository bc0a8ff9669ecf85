"""The operators of one task and their life cycle. Flink: OperatorChain, StreamOperatorWrapper (4.2, 4.12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.facts.kinds import LifeEvent
from flowsim.facts.tracer import TaskTrace
from flowsim.failure_location import OperatorCall
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.stream_operator import OperatorInput, StreamOperator
from flowsim.streamrecord.events import StopMode
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
    ) -> None:
        """``charge``: adds the costs of records if they differ; ``nominal_cost_ns`` is 0 then."""
        self.operator = operator
        self.name = name
        self.index = index
        self.output = output
        self.executor = executor
        self.processing_time = processing_time
        self.nominal_cost_ns = nominal_cost_ns
        self.charge = charge
        self.is_open = False

    def charged(self, operator_input: OperatorInput, index: int = 0) -> OperatorInput:
        """Returns an input of the operator, which adds the costs of its records if they differ."""
        return operator_input if self.charge is None else ChargedInput(operator_input, self.charge, index)


class OperatorChain:
    """The operators of a task, head first. Flink: RegularOperatorChain.

    They are opened and closed tail to head, and finished head to tail (I4.e).

    In a chain with branches every operator comes before its consumers, and the last branch before the other branches.
    """

    __slots__ = ("wrappers", "_trace")

    def __init__(self, wrappers: Sequence[OperatorWrapper], trace: TaskTrace | None) -> None:
        self.wrappers = tuple(wrappers)
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

    @property
    def cost_ns(self) -> int:
        """The nominal cost in ns of a record that passes the whole chain, without costs that depend on the record."""
        return sum(wrapper.nominal_cost_ns for wrapper in self.wrappers)

    def scale_costs(self, numerator: int, denominator: int) -> None:
        """Sets the cost of records to this share of their nominal cost."""
        for wrapper in self.wrappers:
            wrapper.operator.set_cost_ns(wrapper.nominal_cost_ns * numerator // denominator)
            if wrapper.charge is not None:
                wrapper.charge.scale(numerator, denominator)

    def set_costs(self, cost_ns: int) -> None:
        """Sets the same cost for every operator."""
        for wrapper in self.wrappers:
            wrapper.operator.set_cost_ns(cost_ns)

    def open(self, initialize_state: Callable[[int], None] | None = None) -> None:
        """Opens the operators; ``initialize_state`` gives each one, by its place, its restored state before (12.92)."""
        for place in range(len(self.wrappers) - 1, -1, -1):
            wrapper = self.wrappers[place]
            if initialize_state is not None:
                initialize_state(place)
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
