"""``interval_join``: joins two streams by key and the distance of their timestamps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import Field, model_validator

from flowsim.datastream.common.time import Duration
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.streams.interval_join import ProcessJoinFunction
from flowsim.scenario.context import CompileContext, CompiledStream
from flowsim.scenario.features.inputs import Incoming, KeyedSecondInputModel, second_input, two_keys
from flowsim.scenario.types import Columns, Name, SignedDurationMs
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path


class IntervalJoinModel(KeyedSecondInputModel):
    """One record for each pair of equal keys within the interval: right is in [left + lower, left + upper]."""

    lower: Annotated[SignedDurationMs, FlinkNames("between", "lower_bound")] = Field(
        description="The smallest distance from left to right, such as `-1 h`."
    )
    upper: Annotated[SignedDurationMs, FlinkNames("upper_bound")] = Field(
        description="The largest distance from left to right."
    )
    lower_exclusive: Annotated[bool, FlinkNames("lower_bound_exclusive")] = Field(
        default=False, description="`true`: a pair at exactly the smallest distance is not joined."
    )
    upper_exclusive: Annotated[bool, FlinkNames("upper_bound_exclusive")] = Field(
        default=False, description="`true`: a pair at exactly the largest distance is not joined."
    )
    select: Columns = Field(description="Fields of the output, over `left.FIELD` and `right.FIELD`.")
    late_left: Annotated[Name | None, FlinkNames("side_output_left_late_data")] = Field(
        default=None,
        description="A side output for late records of the first input: read it as `OPERATOR.NAME`. Without it, late "
        "records are dropped.",
    )
    late_right: Annotated[Name | None, FlinkNames("side_output_right_late_data")] = Field(
        default=None,
        description="A side output for late records of the second input: read it as `OPERATOR.NAME`. Without it, "
        "late records are dropped.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> IntervalJoinModel:
        if self.lower > self.upper:
            raise ValueError("expected lower <= upper")
        if self.late_left is not None and self.late_left == self.late_right:
            raise ValueError("late_left and late_right need different names")
        return self

    def side_output_names(self) -> list[str]:
        """Returns the names of the late outputs of the first and of the second input."""
        return [tag for tag in (self.late_left, self.late_right) if tag is not None]


def compile_interval_join(
    context: CompileContext, path: Path, model: IntervalJoinModel, first: Incoming
) -> CompiledStream:
    """Adds an operator that emits one record per pair within the interval. Raises Failed."""
    second = second_input(context, path, model.to, first)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    select = context.record((*path, "select"), model.select, first.schema.beside(second.schema), keep=False)
    left = first.stream.key_by(keys.first.function, keys.type)
    right = second.stream.key_by(keys.second.function, keys.type)
    lower, upper = Duration.of_millis(model.lower), Duration.of_millis(model.upper)
    between = context.attempt(path, lambda: left.interval_join(right).between(lower, upper))
    if model.lower_exclusive:
        between = between.lower_bound_exclusive()
    if model.upper_exclusive:
        between = between.upper_bound_exclusive()
    late = {}
    if model.late_left is not None:
        between = between.side_output_left_late_data(OutputTag(model.late_left))
        late[model.late_left] = first.schema
    if model.late_right is not None:
        between = between.side_output_right_late_data(OutputTag(model.late_right))
        late[model.late_right] = second.schema
    stream = context.attempt(path, lambda: between.process(SelectPairInInterval(select.function)))
    return CompiledStream(stream, select.schema, late)


class SelectPairInInterval(ProcessJoinFunction):
    """Returns the selected fields of a pair."""

    def __init__(self, select: Callable[[Any], object]) -> None:
        self._select = select

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[object]:
        return (self._select(left + right),)
