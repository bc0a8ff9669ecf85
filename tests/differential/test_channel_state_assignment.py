"""The in-flight data of a checkpoint, assigned to other subtasks beside TaskStateAssignment (rules 12.97 to 12.105).

Also which vertices are restored, and which start as new (rule 12.100).
"""

from __future__ import annotations

from random import Random

from flowsim.errors import BadInput
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    InflightDataGateOrPartitionRescalingDescriptor,
    InflightDataRescalingDescriptor,
)
from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.subtask_state_mapper import SubtaskStateMapper
from flowsim.state.redistribution.task_state_assignment import (
    AssignedChannelState,
    Exchange,
    TaskStateAssignment,
    channel_state_of_vertex,
)
from tests.support.flink.machine import Answers, Differential

MAX_PARALLELISM = 128
MOST_CHANNELS = 10
IDENTITIES = [
    ("ARBITRARY", "RANGE"),
    ("ARBITRARY", "RANGE"),
    ("ARBITRARY", "ROUND_ROBIN"),
    ("ROUND_ROBIN", "ARBITRARY"),
    ("RANGE", "RANGE"),
]
"""Mappers that give each subtask its own data if the parallelism stays."""
OTHERS = [("ARBITRARY", "FIRST"), ("ARBITRARY", "FULL"), ("FULL", "FIRST"), ("UNSUPPORTED", "UNSUPPORTED")]
"""With several exchanges, what Flink answers for these depends on the order of a table of identity hashes."""
Edge = tuple[int, int, str, str]


def write_script(random: Random) -> list[str]:
    """A graph, then in turn the parallelism and the data of a checkpoint, and the state of each new task."""
    has_one_edge = random.random() < 0.3
    parallelism = [random.randint(1, 5) for _ in range(2 if has_one_edge else random.randint(2, 4))]
    operators = [random.choice([1, 1, 2, 3]) for _ in parallelism]
    edges = [(0, 1, *random.choice(OTHERS))] if has_one_edge else write_edges(random, len(parallelism))
    vertices = ",".join(f"{number}:{count}" for number, count in zip(parallelism, operators, strict=True))
    script = [f"{vertices};{','.join(f'{a} {b} ALL_TO_ALL PIPELINED_BOUNDED {up} {down}' for a, b, up, down in edges)}"]
    for _ in range(random.randint(1, 3)):
        old = [each if random.random() < 0.4 else random.randint(1, 5) for each in parallelism]
        script += [f"old {vertex} {number}" for vertex, number in enumerate(old)]
        script += [f"state {vertex} {str(random.random() < 0.5).lower()}" for vertex, _ in enumerate(parallelism)]
        script += write_handles(random, old, operators, edges)
        if not has_one_edge and random.random() < 0.1:
            script += write_handles_inside_a_chain(random, operators, edges)
        script.append("assign")
        script += [f"task {vertex} {subtask}" for vertex, number in enumerate(parallelism) for subtask in range(number)]
    return script


def write_edges(random: Random, vertices: int) -> list[Edge]:
    """At most one between two vertices: of several, Flink takes the first one's mappings (docs/deviations.md)."""
    edges: list[Edge] = []
    for target in range(1, vertices):
        for source in random.sample(range(target), random.randint(1, target)):
            edges.append((source, target, *random.choice(IDENTITIES)))
    random.shuffle(edges)
    return edges


def write_handles(random: Random, old: list[int], operators: list[int], edges: list[Edge]) -> list[str]:
    handles = []
    for index, (source, target, _, _) in enumerate(edges):
        gate = sum(each[1] == target for each in edges[:index])
        partition = sum(each[0] == source for each in edges[:index])
        of_inputs, of_outputs = random.choices([0, 0.4, 1], k=2)
        for sender in range(old[source]):
            for receiver in range(old[target]):
                if random.random() < of_inputs:
                    handles.append(f"input {target} 0 {receiver} {gate} {sender}")
                if random.random() < of_outputs:
                    handles.append(f"output {source} {operators[source] - 1} {sender} {partition} {receiver}")
    random.shuffle(handles)
    return handles


def write_handles_inside_a_chain(random: Random, operators: list[int], edges: list[Edge]) -> list[str]:
    """Flink looks for it only in a task whose own exchanges have data: what is lost otherwise see docs/deviations.md."""
    source, target, _, _ = random.choice(edges)
    operator = random.randrange(operators[target])
    if random.random() < 0.5:
        return [f"input {target} 0 0 0 0", f"input {target} {operator} 0 0 0"]
    operator = random.randrange(operators[source])
    return [f"output {source} {operators[source] - 1} 0 0 0", f"output {source} {operator} 0 0 0"]


class Played:
    """Ours under a script."""

    def __init__(self, description: str) -> None:
        vertices, edges = description.split(";")
        numbers = [tuple(map(int, vertex.split(":"))) for vertex in vertices.split(",")]
        self.parallelism = [parallelism for parallelism, _ in numbers]
        self.operators = [operators for _, operators in numbers]
        self.old = list(self.parallelism)
        self.has_state = [False] * len(self.parallelism)
        """Whether the operators of a vertex have state beside in-flight data."""
        self.inputs: dict[tuple[int, int, int], list[InputChannelStateHandle]] = {}
        self.outputs: dict[tuple[int, int, int], list[ResultSubpartitionStateHandle]] = {}
        self.handles = 0
        self.exchanges: list[Exchange] = []
        for edge in edges.split(","):
            source, target, _, _, upstream, downstream = edge.split(" ")
            partition = sum(each.source == int(source) for each in self.exchanges)
            gate = sum(each.target == int(target) for each in self.exchanges)
            mappers = SubtaskStateMapper(upstream), SubtaskStateMapper(downstream)
            self.exchanges.append(Exchange(int(source), partition, int(target), gate, *mappers))
        self.assigned: dict[int, list[AssignedChannelState]] = {}

    def answer(self, command: str) -> str:
        match command.split(" "):
            case ["old", vertex, parallelism]:
                self.old[int(vertex)] = int(parallelism)
            case ["state", vertex, has_state]:
                self.has_state[int(vertex)] = has_state == "true"
            case ["assign"]:
                return self.assign()
            case ["task", vertex, subtask]:
                return (
                    described(self.assigned[int(vertex)][int(subtask)]) if int(vertex) in self.assigned else "nothing"
                )
            case [side, *numbers]:
                self.store(side, *map(int, numbers))
        return ""

    def store(self, side: str, vertex: int, operator: int, subtask: int, part: int, channel: int) -> None:
        """``part``: the gate or partition."""
        key, name = (vertex, operator, subtask), str(self.handles)
        self.handles += 1
        if side == "input":
            info = InputChannelInfo(part, channel)
            self.inputs.setdefault(key, []).append(InputChannelStateHandle(name, subtask, info, (0,), 1))
        else:
            written = ResultSubpartitionInfo(part, channel)
            self.outputs.setdefault(key, []).append(ResultSubpartitionStateHandle(name, subtask, written, (0,), 1))

    def assign(self) -> str:
        self.assigned = {}
        try:
            states = {vertex: self.states(vertex) for vertex in range(len(self.parallelism))}
            vertices = {
                vertex: channel_state_of_vertex(of_vertex, tuple(of_vertex), self.parallelism[vertex])
                for vertex, of_vertex in states.items()
            }
            assignment = TaskStateAssignment(vertices, self.exchanges)
            assigned = {vertex: assignment.assign(vertex) for vertex in vertices}
            self.assigned = {
                vertex: tasks
                for vertex, tasks in assigned.items()
                if self.has_state[vertex] or assignment.has_channel_state(vertex)
            }
        except BadInput as refused:
            return str(refused).split("\n")[0]
        return ""

    def states(self, vertex: int) -> dict[str, OperatorState]:
        """Of the operators of a vertex, head first."""
        return {
            f"{vertex}.{operator}": OperatorState(
                f"{vertex}.{operator}",
                self.old[vertex],
                MAX_PARALLELISM,
                {
                    subtask: OperatorSubtaskState(
                        input_channels=tuple(self.inputs.get((vertex, operator, subtask), ())),
                        result_subpartitions=tuple(self.outputs.get((vertex, operator, subtask), ())),
                    )
                    for subtask in range(self.old[vertex])
                },
            )
            for operator in range(self.operators[vertex])
        }


def described(state: AssignedChannelState) -> str:
    handles = [" ".join(handle.stream for handle in side) for side in (state.inputs, state.outputs)]
    rescaling = [described_rescaling(each) for each in (state.input_rescaling, state.output_rescaling)]
    return " | ".join([*handles, *rescaling])


def described_rescaling(descriptor: InflightDataRescalingDescriptor) -> str:
    if not descriptor.is_rescaled:
        return "NO_RESCALE"
    return "; ".join(map(described_part, descriptor.gate_or_partition_descriptors))


def described_part(part: InflightDataGateOrPartitionRescalingDescriptor) -> str:
    old = part.old_subtask_indexes
    channels = [list(part.rescale_mappings.mapped_indexes(index)) for index in range(MOST_CHANNELS)] if old else []
    ambiguous = " ".join(map(str, sorted(part.ambiguous_subtask_indexes)))
    return f"{list(old)} {''.join(map(str, channels))} {ambiguous}"


def test_assigned_in_flight_data_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.ChannelStateAssignments

    def play(script: list[str]) -> Answers:
        played = Played(script[0])
        return real.run("\n".join(script)).split("\n"), ["", *(played.answer(command) for command in script[1:])]

    differential.run_scripts("TaskStateAssignment", write_script, play, examples=40)
