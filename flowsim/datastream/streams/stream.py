"""A stream, and the settings of the operator that emits it. Flink: DataStream, SingleOutputStreamOperator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from flowsim.datastream.building import operator_factories as factories
from flowsim.datastream.building.declared_values import change_in_pyflink_way
from flowsim.datastream.building.network_settings import checked_exchange
from flowsim.datastream.building.operator_factories import AnyKeySelector, MakeOperator
from flowsim.datastream.building.transformation import Transformation, Upstream
from flowsim.datastream.execution_config import ExecutionConfig
from flowsim.datastream.job_builder import JobBuilder
from flowsim.datastream.slot_sharing_group import SlotSharingGroup
from flowsim.datastream.without_effect import warn_without_effect
from flowsim.errors import BadInput
from flowsim.graph.job_settings import JOB_SETTINGS
from flowsim.graph.operator_cost import OperatorCosts, RecordCost, RecordCosts
from flowsim.graph.stream_graph import ChainingStrategy, OperatorDescription, PartitionerSpec
from flowsim.not_simulated import missing_attribute
from flowsim.operators.stream_operator import KeySelector
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.values.durations import Duration
from flowsim.values.types import TypeInformation, TypeKind, Types

AnyCost = int | Duration | RecordCost | Sequence[RecordCost]
"""The cost of a record: ns, a Duration, or functions that compute it from the record."""
S = TypeVar("S", bound="Stream[Any]")
"""The class of the streams that operators return."""


class OperatorHandle:
    """Settings of one operator; every setter returns the handle itself."""

    def __init__(self, env: JobBuilder) -> None:
        self._env = env

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    def _operator(self, setting: str) -> Transformation:
        """Returns the operator that ``setting`` applies to."""
        raise NotImplementedError

    def get_name(self) -> str:
        """Returns the operator's name."""
        return self._operator("get_name").name

    def name(self, name: str) -> Self:
        """Sets the name of the operator in output and recordings."""
        if not isinstance(name, str) or not name:
            raise BadInput(f"operator {self.get_name()!r}: expected a name, got {name!r}")
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Gives the operator an id, unique in the job."""
        if not isinstance(uid, str) or not uid:
            raise BadInput(f"operator {self.get_name()!r}: expected a uid, got {uid!r}")
        self._operator("uid").uid = uid
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the number of subtasks, at most 32768 (rule 1.22)."""
        self._operator("set_parallelism").set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """flowsim's own: returns the number of subtasks of the operator."""
        return self._operator("get_parallelism").parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups, at most 32768; by default derived from the parallelism (rules 1.21, 1.22)."""
        operator = self._operator("set_max_parallelism")
        JOB_SETTINGS["max_parallelism"].check(max_parallelism, f"operator {operator.name!r}: max parallelism")
        operator.max_parallelism = max_parallelism
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Sets after how many ms a partly filled output buffer is sent; 0: at once, -1: never."""
        operator = self._operator("set_buffer_timeout")
        JOB_SETTINGS["buffer_timeout_ms"].check(timeout_millis, f"operator {operator.name!r}: buffer timeout")
        operator.buffer_timeout_ms = timeout_millis
        return self

    def disable_chaining(self) -> Self:
        """Chains the operator neither to its predecessor nor to its successor (rule 1.8)."""
        self._operator("disable_chaining").chaining = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Sets the operator's slot sharing group; operators of different groups are not chained (rule 1.24).

        Without it the operator is in the group of its inputs; if they are in different groups, or for a source, in the
        group ``default``. The resources of a SlotSharingGroup have no effect.
        """
        operator = self._operator("slot_sharing_group")
        group = slot_sharing_group
        name = group.name if isinstance(group, SlotSharingGroup) else group
        if not isinstance(name, str) or not name:
            raise BadInput(
                f"operator {operator.name!r}: slot_sharing_group: expected the name of a group or a SlotSharingGroup, got "
                f"{group!r:.60}"
            )
        operator.slot_sharing_group = name
        return self

    def set_description(self, description: str) -> Self:
        """Has no effect: in Flink the description is only shown in the plan and in the web UI."""
        self._operator("set_description")
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Warns that it has no effect: state is matched by ``uid``."""
        warn_without_effect("set_uid_hash", "state is matched by uid")
        return self

    def cost(self, cost: AnyCost | None = None, *, subtasks: Mapping[int, AnyCost] | None = None) -> Self:
        """flowsim's own: sets the virtual time that the operator spends per record.

        A cost is in ns or a Duration; 0 is allowed (D4). It can also be a function that computes the cost from the record,
        or a list of such functions, one for each input of the operator. ``subtasks`` gives single subtasks, by their index
        from 0, a cost of their own. Without ``cost`` the other subtasks have the default of the job. On the real clock
        costs take no time, and no function is called.
        """
        operator = self._operator("cost")
        what = f"operator {operator.name!r}: cost"
        if cost is None and not subtasks:
            raise BadInput(f"{what}: expected 0 ns or more, or a Duration, got {cost!r}")
        of_subtasks: dict[int, int | RecordCosts] = {}
        for subtask, of_subtask in ({} if subtasks is None else subtasks).items():
            if type(subtask) is not int or subtask < 0:
                raise BadInput(f"{what}: expected the index of a subtask, from 0, got {subtask!r}")
            of_subtasks[subtask] = _checked_cost(of_subtask, f"{what} of subtask {subtask}", operator)
        of_others = None if cost is None else _checked_cost(cost, what, operator)
        operator.cost_ns = of_others if isinstance(of_others, int) else None
        operator.costs = OperatorCosts(of_others if isinstance(of_others, tuple) else None, of_subtasks)
        return self


def _checked_cost(cost: AnyCost, what: str, operator: Transformation) -> int | RecordCosts:
    """Returns the ns of a constant cost, otherwise its functions. Raises BadInput naming ``what``."""
    if callable(cost):
        return (cost,)
    if isinstance(cost, list | tuple) and cost and all(map(callable, cost)):
        inputs = 1 + max((upstream.input_index for upstream in operator.inputs), default=0)
        if len(cost) != inputs:
            raise BadInput(f"{what}: expected a function for each input ({inputs}), got {len(cost)}")
        return tuple(cost)
    nanos = cost.nanos if isinstance(cost, Duration) else cost
    if type(nanos) is not int or nanos < 0:
        raise BadInput(f"{what}: expected 0 ns or more, or a Duration, got {cost!r}")
    return nanos


class Stream(OperatorHandle, ABC, Generic[S]):
    """The common part of all kinds of streams between operators. Flink: DataStream.

    ``S`` is the class of the streams that its operators return.
    """

    def __init__(
        self,
        env: JobBuilder,
        upstreams: tuple[Upstream, ...],
        output_type: TypeInformation | None = None,
    ) -> None:
        super().__init__(env)
        self._upstreams = upstreams
        self._output_type = output_type

    def _operator(self, setting: str) -> Transformation:
        first = self._upstreams[0]
        plain = first.partitioner is None and first.side_output is None and first.exchange is None
        if len(self._upstreams) > 1 or not plain:
            raise BadInput(
                f"{setting} applies to one operator, but this stream comes from {self._described()}: call it "
                "directly after that operator"
            )
        return first.transformation

    def _described(self) -> str:
        texts = []
        for upstream in self._upstreams:
            text = repr(upstream.transformation.name)
            if upstream.side_output is not None:
                text += f" (side output {upstream.side_output!r})"
            if upstream.partitioner is not None:
                text += f" by {upstream.partitioner.name}"
            if upstream.exchange is not None:
                text += f" by a {upstream.exchange} exchange"
            texts.append(text)
        return " and ".join(texts)

    def as_input(self, index: int) -> tuple[Upstream, ...]:
        """Returns the edges of this stream to input ``index`` of an operator with several inputs."""
        return tuple(replace(upstream, input_index=index) for upstream in self._upstreams)

    @property
    def key(self) -> tuple[KeySelector | None, str | None]:
        """The key selector and the declared type name of the key; None if the stream is not keyed."""
        return None, None

    def get_type(self) -> TypeInformation | None:
        """Returns the declared type of the records, or None."""
        return self._output_type

    def get_execution_config(self) -> ExecutionConfig:
        return self._env.get_config()

    def project(self, *field_indexes: int) -> S:
        """Selects fields of tuples by their indexes, in the given order. PyFlink: project, for streams of type TUPLE."""
        declared = self._output_type
        count = None if declared is None or declared.kind is not TypeKind.TUPLE else len(declared.arguments)
        for index in field_indexes:
            if type(index) is not int or index < 0 or (count is not None and index >= count):
                raise BadInput(f"project: expected indexes of fields of {declared}, got {index!r}")
        if not field_indexes:
            raise BadInput("project: expected at least one index of a field")
        types = (
            None if count is None or declared is None else Types.TUPLE([declared.arguments[i] for i in field_indexes])
        )
        make = factories.map_operator(lambda value: tuple(value[index] for index in field_indexes))
        return self.add_operator("Projection", "map", make, types)

    def get_execution_environment(self) -> JobBuilder:
        """Returns the environment in which the stream was created."""
        return self._env

    def force_non_parallel(self) -> Self:
        """Fixes the parallelism of the operator at 1."""
        operator = self._operator("force_non_parallel")
        operator.set_parallelism(1)
        operator.required_parallelism = 1
        operator.required_because = "force_non_parallel was called"
        return self

    def start_new_chain(self) -> Self:
        """Starts a new chain at this operator; later operators may be chained to it (rule 1.8)."""
        self._operator("start_new_chain").chaining = ChainingStrategy.HEAD
        return self

    def state_ttl(self, ttl_config: StateTtlConfig) -> Self:
        """flowsim's own: lets the keyed states of the operator's function expire, unless they have a TTL of their own.

        Also the state of a keyed ``reduce``, ``sum``, ``min``, ``max``, ``min_by`` or ``max_by``, which never expires in
        Flink. Raises BadInput for an operator without a key.
        """
        operator = self._operator("state_ttl")
        if not isinstance(ttl_config, StateTtlConfig):
            raise BadInput(f"operator {operator.name!r}: state_ttl: expected a StateTtlConfig, got {ttl_config!r:.60}")
        if operator.key_selector is None and not any(operator.key_selectors):
            raise BadInput(f"operator {operator.name!r}: state_ttl: needs a keyed stream: put key_by(...) before it")
        operator.state_ttl = ttl_config if ttl_config.is_enabled() else None
        return self

    @abstractmethod
    def behind(self, upstreams: tuple[Upstream, ...], output_type: TypeInformation | None) -> S:
        """Creates a stream of the output of ``upstreams``."""

    @abstractmethod
    def key_by(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> Stream[S]:
        """Partitions by key. ``key_type`` decides the key's Java hash; without it the value's type decides (rule 1.23)."""

    def add_operator(
        self,
        name: str,
        kind: str,
        make: MakeOperator,
        output_type: TypeInformation | None = None,
        params: Mapping[str, object] | None = None,
        yields: bool = False,
    ) -> S:
        """Adds an operator of ``kind`` that reads this stream.

        ``yields``: the operator may yield to mails (rule 1.10).
        """
        added = self._add(name, OperatorDescription(kind, params or {}), make)
        added.yields = yields
        added.change = change_in_pyflink_way(output_type)
        return self.behind((Upstream(added),), output_type)

    def _add(self, name: str, description: OperatorDescription, make: MakeOperator) -> Transformation:
        """Adds an operator to this stream; all methods that add an operator call this method."""
        return self._env.add_operator(name, description, make, self._upstreams)

    def union(self, *streams: Stream[S]) -> S:
        """Merges these streams, in any order of records. A stream united with itself gives each record twice."""
        upstreams = list(self._upstreams)
        for stream in streams:
            if not isinstance(stream, Stream):
                raise TypeError(f"union: expected streams, got {stream!r}")
            if stream._env is not self._env:
                raise BadInput("union: the streams belong to different environments")
            upstreams.extend(stream._upstreams)
        return self.behind(tuple(upstreams), self._output_type)

    def get_parallelism(self) -> int:
        """flowsim's own: returns the parallelism of the operator that emits the stream.

        For a union, returns the parallelism of the first stream.
        """
        return self._upstreams[0].transformation.parallelism

    def exchange(self, mode: str) -> Self:
        """flowsim's own: sets how the next operator receives records, for any partitioner (rules 1.3, 5.43).

        ``mode`` is ``pipelined_bounded`` (the default), ``pipelined`` or ``blocking``. With ``blocking`` the next
        operator starts when all records are written, and is not chained (rule 1.7). Call ``exchange`` before or after
        ``key_by``.
        """
        checked = checked_exchange(mode, "exchange")
        changed = copy(self)
        changed._upstreams = tuple(replace(upstream, exchange=checked) for upstream in self._upstreams)
        return changed

    def _partitioned(self, partitioner: PartitionerSpec) -> tuple[Upstream, ...]:
        return tuple(replace(upstream, partitioner=partitioner) for upstream in self._upstreams)


def add_inputs(
    name: str,
    description: OperatorDescription,
    make: MakeOperator,
    streams: Sequence[Stream[S]],
    output_type: TypeInformation | None = None,
) -> S:
    """Adds an operator with one input per stream; raises BadInput if the streams cannot be combined.

    Flink: TwoInputTransformation, KeyedMultipleInputTransformation.
    """
    env = streams[0].get_execution_environment()
    if any(stream.get_execution_environment() is not env for stream in streams):
        raise BadInput(f"{name}: the streams belong to different environments")
    keys = [stream.key for stream in streams]
    if all(selector is not None for selector, _ in keys) and len({key_type for _, key_type in keys}) > 1:
        raise BadInput(f"{name}: the inputs are keyed by different types, expected the same key_type for all")
    upstreams = [upstream for index, stream in enumerate(streams) for upstream in stream.as_input(index)]
    added = env.add_operator(name, description, make, tuple(upstreams))
    added.change = change_in_pyflink_way(output_type)
    added.key_selectors = tuple(selector for selector, _ in keys)
    if None not in added.key_selectors:
        added.key_selector, added.key_type = keys[0]
    return streams[0].behind((Upstream(added),), output_type)
