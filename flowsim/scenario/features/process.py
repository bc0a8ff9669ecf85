"""``process``: a user-defined process function, with or without a key, with or without windows."""

from __future__ import annotations

from flowsim.datastream import functions as api
from flowsim.scenario.context import CompileContext, CompiledStream, emitted_by
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.features.window_functions import windowed
from flowsim.scenario.types import FunctionModel, needs_fields
from flowsim.scenario.yaml.positions import Path


def check_process(model: FunctionModel, has_key: bool) -> None:
    """Raises ValueError for a function without declared outputs."""
    needs_fields("python", model.fields)


def compile_process(context: CompileContext, path: Path, model: FunctionModel, incoming: Incoming) -> CompiledStream:
    """Compiles ``process``: returns the output stream of the function for records or windows; raises Failed."""
    at, is_keyed = (*path, "python"), incoming.key is not None
    kind: type[object]
    if incoming.window is not None:
        kind = api.ProcessWindowFunction if is_keyed else api.ProcessAllWindowFunction
        function = context.instance(at, model.python, kind)
        cut = windowed(context, path, incoming)
        return emitted_by(model, context.attempt(at, lambda: cut.process(function)))  # type: ignore[arg-type]
    kind = api.KeyedProcessFunction if is_keyed else api.ProcessFunction
    function = context.instance(at, model.python, kind)
    stream = incoming.stream
    return emitted_by(model, context.attempt(at, lambda: stream.process(function)))  # type: ignore[arg-type]
