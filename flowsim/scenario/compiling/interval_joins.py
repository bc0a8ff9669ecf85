"""Compiles ``interval_join:``."""

from __future__ import annotations

from flowsim.datastream.common.time import Duration
from flowsim.datastream.output_tag import OutputTag
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext
from flowsim.scenario.compiling.inputs import stream_of
from flowsim.scenario.compiling.joins import selected
from flowsim.scenario.compiling.keys import two_keys
from flowsim.scenario.language.interval_join_function import SelectPairInInterval
from flowsim.scenario.models.joins import IntervalJoinModel
from flowsim.scenario.yaml_positions import Path


def compile_interval_join(
    context: CompileContext, path: Path, model: IntervalJoinModel, exchange: str | None, first: CompiledStream
) -> CompiledStream:
    """One record per pair that is near enough; raises Failed."""
    second = stream_of(context, (*path, "to"), model.to, exchange)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    select, schema = selected(context, path, dict(model.select), first.schema.beside(second.schema))
    left = first.stream.key_by(keys.first.function, keys.type)
    right = second.stream.key_by(keys.second.function, keys.type)
    lower, upper = Duration.of_millis(model.lower), Duration.of_millis(model.upper)
    between = context.attempt(path, lambda: left.interval_join(right).between(lower, upper))
    if model.lower_exclusive:
        between = between.lower_bound_exclusive()
    if model.upper_exclusive:
        between = between.upper_bound_exclusive()
    if model.late_left is not None:
        between = between.side_output_left_late_data(OutputTag(model.late_left))
    if model.late_right is not None:
        between = between.side_output_right_late_data(OutputTag(model.late_right))
    stream = context.attempt(path, lambda: between.process(SelectPairInInterval(select)))
    return CompiledStream(stream, schema)
