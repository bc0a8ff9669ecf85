"""The components of a run with faults: a subtask that a fault names gets faulty components."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from flowsim.cluster.components import Components, SubtaskComponents
from flowsim.cluster.job_execution import RunOptions
from flowsim.errors import BadInput
from flowsim.faults.catalogue import FAULT_KINDS, Component, Fault, FaultKind
from flowsim.faults.channels import CreditLosingQueue, FaultyDeserializer, FaultyElements, LostCredits
from flowsim.faults.event_time import IdleValveWithoutMaximum, LateKeepingLifetime, MaximumWatermarkValve
from flowsim.faults.fault_checks import check_faults, subtasks_with_fault
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import ChainedOperator
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue, Transport
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.operators.operator_components import OperatorComponents
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.windowing.aligned_window_operator import without_shortcuts
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.stream_task import StreamTask
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve, ValveOutput


def with_faults(options: RunOptions, faults: Iterable[Fault]) -> RunOptions:
    """Returns the options of a run with these faults.

    A violated invariant is then a failure of the job, not a bug of flowsim.
    """
    chosen = tuple(faults)
    if not chosen:
        return options
    components = components_with_faults(fault.fault for fault in chosen)
    return replace(options, components=components(chosen), on_invariant_violation="fail_job")


def components_with_faults(names: Iterable[str]) -> type[FaultyComponents]:
    """Returns the class of components that puts all of these kinds of faults into a run.

    Raises BadInput if they were registered with classes of which none extends all the others.
    """
    of_name = {name: _COMPONENTS.get(name, FaultyComponents) for name in names}
    for components in of_name.values():
        if all(issubclass(components, other) for other in of_name.values()):
            return components
    raise BadInput(f"a run cannot have these faults at the same time: {', '.join(of_name)}")


def register_faults(components: type[FaultyComponents], kinds: Iterable[FaultKind]) -> None:
    """Adds kinds of faults, which ``components`` puts into a run, to those that runs and scenarios can name.

    Raises ValueError if another kind has the same name.
    """
    for kind in kinds:
        if FAULT_KINDS.setdefault(kind.name, kind) != kind:
            raise ValueError(f"there is another fault {kind.name!r}")
        _COMPONENTS[kind.name] = components


class FaultyOperatorComponents(OperatorComponents):
    """Creates the components of an operator with these faults; no fault of flowsim itself breaks one."""

    __slots__ = ("faults",)

    def __init__(self, faults: Collection[str]) -> None:
        self.faults: frozenset[str] = frozenset(faults)


class FaultySubtaskComponents(SubtaskComponents):
    """Creates the task of a subtask and the task's components, with these faults.

    If two faults replace the same component and cannot be combined, the last of ``faults`` applies.
    """

    __slots__ = ("faults", "run", "_elements")

    def __init__(self, subtask: Subtask, faults: Sequence[Fault], run: FaultyComponents) -> None:
        super().__init__(subtask)
        self.faults: Mapping[Component, Sequence[Fault]] = {
            component: _of(faults, component) for component in Component
        }
        self.run: FaultyComponents = run
        self._elements: FaultyElements | None = None
        """The fault state that all inputs of the task share."""

    def names(self, component: Component) -> list[str]:
        """Returns the faults of the subtask that break such a component."""
        return [fault.fault for fault in self.faults[component]]

    # Its operators.

    def _operator_faults(self, chained: ChainedOperator) -> list[str]:
        faults = self.faults[Component.OPERATOR]
        return [fault.fault for fault in faults if fault.operator is None or fault.operator == chained.node.name]

    def create_operator(self, chained: ChainedOperator) -> StreamOperator:
        operator, faults = super().create_operator(chained), self._operator_faults(chained)
        return self.run.break_operator(operator, faults) if faults else operator

    def create_operator_components(self, chained: ChainedOperator) -> OperatorComponents:
        faults = self._operator_faults(chained)
        return self.run.of_operator(faults) if faults else super().create_operator_components(chained)

    # Its input.

    def create_elements(self) -> FaultyElements | None:
        """Returns the fault state that all inputs of the task share, or None if they read every element as it is."""
        faults = self.faults[Component.CHANNEL]
        return FaultyElements(faults) if faults else None

    def create_network_input(
        self, task: StreamTask, chain: OperatorChain, gates: Sequence[Sequence[SingleInputGate]]
    ) -> TaskInput:
        self._elements = self.create_elements()
        return super().create_network_input(task, chain, gates)

    def create_deserializer(self) -> RecordDeserializer:
        return super().create_deserializer() if self._elements is None else FaultyDeserializer(self._elements)

    def create_valve(self, channels: int, output: ValveOutput) -> StatusWatermarkValve:
        if "valve_takes_maximum" in self.names(Component.VALVE):
            return MaximumWatermarkValve(channels, output)
        if "idle_valve_not_flushed" in self.names(Component.VALVE):
            return IdleValveWithoutMaximum(channels, output)
        return super().create_valve(channels, output)

    # Its outputs.

    def create_partition_request_queue(self, transport: Transport, outbox: Outbox) -> PartitionRequestQueue:
        return CreditLosingQueue(transport, outbox, self.faults[Component.READER], self.run.lost_credits)


class FaultyComponents(Components):
    """Creates faulty components where the faults of a run apply, and correct components elsewhere.

    A subclass has further kinds of faults, for which it overrides methods of these classes; ``register_faults``
    registers them.
    """

    __slots__ = ("faults", "lost_credits")

    of_subtask: ClassVar[type[FaultySubtaskComponents]] = FaultySubtaskComponents
    of_operator: ClassVar[type[FaultyOperatorComponents]] = FaultyOperatorComponents

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        self.lost_credits: LostCredits = LostCredits(self.faults)

    def of_subtasks(self, execution: ExecutionGraph) -> list[SubtaskComponents]:
        """Returns one factory per subtask. Raises BadInput for unknown faults, operators, subtasks and channels."""
        check_faults(self.faults, execution)
        needed = components_with_faults(fault.fault for fault in self.faults)
        if not isinstance(self, needed):
            raise BadInput(f"faults of {needed.__name__} are not faults of {type(self).__name__}")
        self.lost_credits = LostCredits(self.faults)
        return [self._of_subtask(subtask) for subtask in execution.subtasks]

    def _of_subtask(self, subtask: Subtask) -> SubtaskComponents:
        faults = [fault for fault in self.faults if subtasks_with_fault(fault, [subtask])]
        return self.of_subtask(subtask, faults, self) if faults else SubtaskComponents(subtask)

    @classmethod
    def break_operator(cls, operator: StreamOperator, faults: Collection[str]) -> StreamOperator:
        """Returns the operator, or a replacement, with the faults that apply to it; call it before the set-up."""
        if "late_row_kept" in faults and isinstance(operator, WindowOperator):
            operator = without_shortcuts(operator)
            lifetime = operator.lifetime
            operator.lifetime = LateKeepingLifetime(lifetime.is_event_time, lifetime.allowed_lateness_ms)
        return operator


_COMPONENTS: Final[dict[str, type[FaultyComponents]]] = {}
"""Name of a registered kind -> what puts it into a run."""


def _of(faults: Iterable[Fault], component: Component) -> list[Fault]:
    return [fault for fault in faults if FAULT_KINDS[fault.fault].component is component]
