"""The transformations of a job and the graph made from them. Flink: Transformation, StreamGraphGenerator, JSONGenerator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flowsim.errors import BadInput
from flowsim.graph.batch_execution import in_runtime_mode
from flowsim.graph.job_settings import JOB_SETTINGS, JobSettings
from flowsim.graph.operator_cost import OperatorCosts
from flowsim.graph.stream_graph import (
    DEFAULT_SLOT_SHARING_GROUP,
    ChainingStrategy,
    OperatorDescription,
    PartitionerSpec,
    RestoreCheck,
    RunCheck,
    StreamEdge,
    StreamGraph,
    StreamNode,
    TwoPhaseCommit,
)
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.sources.split_enumerator import EnumeratorFactory
from flowsim.operators.stream_operator import KeySelector, StreamOperator
from flowsim.state.state_ttl_config import StateTtlConfig


@dataclass(frozen=True, slots=True)
class Upstream:
    """One input edge of an operator: its upstream operator, partitioner, side output, input index and exchange."""

    transformation: Transformation
    partitioner: PartitionerSpec | None = None
    side_output: str | None = None
    exchange: ResultPartitionType | None = None
    input_index: int = 0


@dataclass(slots=True, eq=False)
class Transformation:
    """One operator as the user declared it in the job."""

    id: int
    name: str
    make: Callable[[str], StreamOperator]
    """Creates the operator of one subtask; the argument is the operator's final name."""
    description: OperatorDescription
    parallelism: int
    inputs: tuple[Upstream, ...] = ()
    is_source: bool = False
    source: object = None
    is_legacy_source: bool = False
    yields: bool = False
    max_parallelism: int | None = None
    required_parallelism: int | None = None
    """The only parallelism that the operator may have; None allows any parallelism."""
    required_because: str = ""
    needs_cost: bool = False
    """True for a source that never ends or waits: at cost 0, virtual time does not advance."""
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    slot_sharing_group: str | None = None
    """None: the group of the inputs (rule 1.24)."""
    key_selector: KeySelector | None = None
    key_type: str | None = None
    key_selectors: tuple[KeySelector | None, ...] = ()
    """One selector per input, if the operator has several inputs."""
    cost_ns: int | None = None
    costs: OperatorCosts = field(default_factory=OperatorCosts)
    buffer_timeout_ms: int | None = None
    state_ttl: StateTtlConfig | None = None
    """The time to live of the function's keyed states that have none of their own."""
    uid: str | None = None
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    """The global parameters of the job, for the functions of the operator."""
    change: Callable[[object], object] | None = None
    """What the declared type of the output makes of each value, in a program for PyFlink."""
    enumerator_factory: EnumeratorFactory[object] | None = None
    """The enumerator of a source whose splits are assigned while the job runs."""
    two_phase_commit: TwoPhaseCommit | None = None
    check_run: RunCheck | None = None
    check_restore: RestoreCheck | None = None
    """Raises BadInput if the operator cannot run, on this clock."""

    def set_parallelism(self, parallelism: int) -> None:
        JOB_SETTINGS["parallelism"].check(parallelism, f"operator {self.name!r}: parallelism")
        if self.required_parallelism is not None and parallelism != self.required_parallelism:
            raise BadInput(
                f"operator {self.name!r}: parallelism must be {self.required_parallelism}, got {parallelism}: "
                f"{self.required_because}"
            )
        self.parallelism = parallelism


def generate(name: str, settings: JobSettings, operators: Iterable[Transformation]) -> StreamGraph:
    """Generates the graph of these operators and all their upstream operators, in the order of their declaration.

    Raises BadInput for an empty job, a repeated uid, a forward edge between unequal parallelisms (rule 1.2), fewer key
    groups than subtasks (rule 1.22), costs of subtasks that do not exist, an endless source without pace at cost 0 (D4), and
    BATCH mode with an unbounded source.
    """
    used = _with_inputs(operators)
    if not used:
        raise BadInput("the job has no operators: add one after a source, for example a sink")
    _check_uids(used)
    graph = StreamGraph(name, settings)
    for operator in used:
        node = _node(operator, settings.max_parallelism, _slot_sharing_group(graph, operator))
        if node.max_parallelism is not None and node.max_parallelism < node.parallelism:
            raise BadInput(
                f"operator {operator.name!r}: parallelism {node.parallelism} exceeds max parallelism {node.max_parallelism}"
            )
        _check_cost(operator, settings)
        graph.add_node(node)
    for operator in used:
        for upstream in operator.inputs:
            edge = StreamEdge(
                upstream.transformation.id,
                operator.id,
                upstream.partitioner,
                upstream.side_output,
                upstream.input_index,
                exchange=upstream.exchange,
            )
            try:
                graph.add_edge(edge)
            except ValueError as error:
                raise BadInput(f"operator {operator.name!r}: {error}") from None
    return in_runtime_mode(graph)


def _with_inputs(operators: Iterable[Transformation]) -> list[Transformation]:
    by_id: dict[int, Transformation] = {}
    todo = list(operators)
    while todo:
        operator = todo.pop()
        if operator.id not in by_id:
            by_id[operator.id] = operator
            todo.extend(upstream.transformation for upstream in operator.inputs)
    return [by_id[number] for number in sorted(by_id)]


def _slot_sharing_group(graph: StreamGraph, one: Transformation) -> str:
    """Returns the operator's own group, else that of its inputs if it is the same for all (rule 1.24)."""
    if one.slot_sharing_group is not None:
        return one.slot_sharing_group
    groups = {graph.nodes[upstream.transformation.id].slot_sharing_group for upstream in one.inputs}
    return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP


def _node(one: Transformation, max_parallelism: int | None, slot_sharing_group: str) -> StreamNode:
    return StreamNode(
        id=one.id,
        name=one.name,
        operator_factory=lambda: one.make(one.name),
        description=one.description,
        parallelism=one.parallelism,
        max_parallelism=one.max_parallelism if one.max_parallelism is not None else max_parallelism,
        is_source=one.is_source,
        source=one.source,
        is_legacy_source=one.is_legacy_source,
        yields=one.yields,
        chaining=one.chaining,
        slot_sharing_group=slot_sharing_group,
        key_selector=one.key_selector,
        key_type=one.key_type,
        key_selectors=one.key_selectors,
        cost_ns=one.cost_ns,
        costs=one.costs,
        buffer_timeout_ms=one.buffer_timeout_ms,
        state_ttl=one.state_ttl,
        job_parameters=one.job_parameters,
        change=one.change,
        uid=one.uid,
        enumerator_factory=one.enumerator_factory,
        two_phase_commit=one.two_phase_commit,
        check_run=one.check_run,
        check_restore=one.check_restore,
    )


def _check_cost(one: Transformation, settings: JobSettings) -> None:
    unknown = one.costs.unknown_subtask(one.parallelism)
    if unknown is not None:
        raise BadInput(
            f"operator {one.name!r}: cost: there is no subtask {unknown}: the parallelism is {one.parallelism}, and the first "
            "subtask is 0"
        )
    constant_ns = settings.cost_ns if one.cost_ns is None else one.cost_ns
    if one.needs_cost and not one.costs.are_positive(one.parallelism, constant_ns):
        raise BadInput(f"operator {one.name!r}: an endless source needs a pace or a cost above 0")


def _check_uids(used: list[Transformation]) -> None:
    owners: dict[str, str] = {}
    for operator in used:
        if operator.uid is None:
            continue
        if operator.uid in owners:
            raise BadInput(
                f"operator {operator.name!r}: uid {operator.uid!r} is already used by operator {owners[operator.uid]!r}"
            )
        owners[operator.uid] = operator.name


def positive(number: int, what: str) -> int:
    """Returns ``number`` if it is an int >= 1; otherwise raises BadInput naming ``what``."""
    if type(number) is not int or number < 1:
        raise BadInput(f"{what}: expected an integer >= 1, got {number!r}")
    return number


def execution_plan(graph: StreamGraph) -> str:
    """Returns the nodes with their predecessors and ship strategies, in the JSON form of Flink's plan."""
    nodes = []
    for node in graph.nodes.values():
        entry: dict[str, object] = {
            "id": node.id,
            "type": node.name,
            "pact": _pact(node.is_source, node.description.kind),
            "contents": node.name,
            "parallelism": node.parallelism,
        }
        incoming = [edge for edge in graph.edges if edge.target_id == node.id]
        if incoming:
            entry["predecessors"] = [
                {"id": edge.source_id, "ship_strategy": _ship_strategy(graph, edge), "side": "second"}
                for edge in incoming
            ]
        nodes.append(entry)
    return json.dumps({"nodes": nodes}, indent=2)


def _pact(is_source: bool, kind: str) -> str:
    if is_source:
        return "Data Source"
    return "Data Sink" if kind == "sink" else "Operator"


def _ship_strategy(graph: StreamGraph, edge: StreamEdge) -> str:
    """Returns the name of the edge's partitioner; rule 1.1 applies if no partitioner was set."""
    if edge.partitioner is not None:
        return edge.partitioner.name
    equal = graph.nodes[edge.source_id].parallelism == graph.nodes[edge.target_id].parallelism
    return "FORWARD" if equal else "REBALANCE"
