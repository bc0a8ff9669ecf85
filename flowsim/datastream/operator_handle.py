"""What can be set on an operator once it stands in the job. Flink: SingleOutputStreamOperator, DataStreamSink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from flowsim.datastream.transformation import Transformation, positive
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import ChainingStrategy
from flowsim.state.key_group_range import UPPER_BOUND_MAX_PARALLELISM
from flowsim.values.durations import Duration

if TYPE_CHECKING:
    from flowsim.datastream.environment import StreamExecutionEnvironment


class OperatorHandle:
    """Settings of one operator; every setter answers the handle itself."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env

    def _operator(self, setting: str) -> Transformation:
        """The operator that ``setting`` is about."""
        raise NotImplementedError

    def get_name(self) -> str:
        """The operator's name."""
        return self._operator("get_name").name

    def name(self, name: str) -> Self:
        """Names the operator, for people and recordings."""
        if not isinstance(name, str) or not name:
            raise BadInput(f"operator {self.get_name()!r}: expected a name, got {name!r}")
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Gives the operator an identity of its own, unique in the job."""
        if not isinstance(uid, str) or not uid:
            raise BadInput(f"operator {self.get_name()!r}: expected a uid, got {uid!r}")
        self._operator("uid").uid = uid
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Number of subtasks, at most 32768 (rule 1.22)."""
        self._operator("set_parallelism").set_parallelism(parallelism)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Number of key groups, at most 32768; derived from the parallelism when it is not set (rules 1.21, 1.22)."""
        operator = self._operator("set_max_parallelism")
        operator.max_parallelism = checked_max_parallelism(
            max_parallelism, f"operator {operator.name!r}: max parallelism"
        )
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """After how many ms a partly filled output buffer is sent; 0 at once, -1 never."""
        operator = self._operator("set_buffer_timeout")
        operator.buffer_timeout_ms = checked_buffer_timeout(timeout_millis, f"operator {operator.name!r}")
        return self

    def disable_chaining(self) -> Self:
        """Chains the operator with none before and none after it (rule 1.8)."""
        self._operator("disable_chaining").chaining = ChainingStrategy.NEVER
        return self

    def cost(self, cost: int | Duration) -> Self:
        """flowsim's own: the virtual time that one record costs here, in ns or as a Duration; 0 is allowed (D4)."""
        operator = self._operator("cost")
        nanos = cost.nanos if isinstance(cost, Duration) else cost
        if type(nanos) is not int or nanos < 0:
            raise BadInput(f"operator {operator.name!r}: cost: expected 0 ns or more, or a Duration, got {cost!r}")
        operator.cost_ns = nanos
        return self


def checked_max_parallelism(max_parallelism: int, what: str) -> int:
    """``max_parallelism`` when it is in range (rule 1.22); raises BadInput naming ``what`` otherwise."""
    if positive(max_parallelism, what) > UPPER_BOUND_MAX_PARALLELISM:
        raise BadInput(f"{what}: expected at most {UPPER_BOUND_MAX_PARALLELISM}, got {max_parallelism}")
    return max_parallelism


def checked_buffer_timeout(timeout_millis: int, what: str) -> int:
    """``timeout_millis`` when it is -1 or more; raises BadInput naming ``what`` otherwise."""
    if type(timeout_millis) is not int or timeout_millis < -1:
        raise BadInput(f"{what}: buffer timeout: expected -1 (never), 0 (at once) or ms, got {timeout_millis!r}")
    return timeout_millis
