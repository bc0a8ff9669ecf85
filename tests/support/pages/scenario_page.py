"""The tables of keys in ``docs/scenario.md``, made of the models of the scenario format; ``make docs`` writes them.

The models have the keys, their types, bounds, defaults and texts. The page has everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic.fields import FieldInfo

from flowsim.scenario import operators, scenario_model, settings
from flowsim.scenario.features import (
    actions,
    alarms,
    async_answers,
    async_calls,
    async_latency,
    async_results,
    broadcast,
    checkpointing,
    connect,
    costs,
    expect,
    failures,
    faults,
    inputs,
    interval_joins,
    joins,
    maps,
    network,
    pauses,
    phases,
    sinks,
    state_ttl,
    triggers,
    windows,
)
from flowsim.scenario.sources import file_sources, generated_sources, scripted_sources, sources, watermarks
from flowsim.scenario.types import (
    FIELD_PATTERN,
    NAME_PATTERN,
    PLACE_PATTERN,
    PYTHON_PATTERN,
    STREAM_PATTERN,
    SUBTASKS_PATTERN,
    UNIT,
    FunctionModel,
    Strict,
    shown_default,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.keys import every_key
from flowsim.scenario.yaml.positions import path_text

Schema = Mapping[str, Any]

PAGE: Final = Path(__file__).parents[3] / "docs" / "scenario.md"
HEAD: Final = "| key | type | default | meaning |\n|---|---|---|---|\n"
FLINK_HEAD: Final = "| Flink | key |\n|---|---|\n"

SECTIONS: Final[dict[str, type[Strict]]] = {
    "The file": scenario_model.ScenarioModel,
    "Settings": settings.SettingsModel,
    "Sources": sources.SourceModel,
    "csv": file_sources.CsvModel,
    "parquet": file_sources.ParquetModel,
    "jsonl": file_sources.JsonLinesModel,
    "collection": scripted_sources.CollectionModel,
    "script": scripted_sources.ScriptModel,
    "entry": scripted_sources.ScriptEntryModel,
    "generator": generated_sources.GeneratorModel,
    "partitioned_generator": generated_sources.PartitionedGeneratorModel,
    "partition": generated_sources.PartitionModel,
    "pause": generated_sources.PauseModel,
    "burst": generated_sources.BurstModel,
    "generated field": generated_sources.GeneratedFieldModel,
    "sequence": generated_sources.SequenceModel,
    "uniform": generated_sources.UniformModel,
    "normal": generated_sources.NormalModel,
    "choice": generated_sources.ChoiceModel,
    "event_time": generated_sources.EventTimeModel,
    "python source": sources.PythonSourceModel,
    "watermarks": watermarks.WatermarksModel,
    "missing output": watermarks.MissingOutputModel,
    "alignment": watermarks.AlignmentModel,
    "Operators": operators.OperatorModel,
    "map": maps.MapModel,
    "flat_map": maps.FlatMapModel,
    "connect": connect.ConnectModel,
    "custom partition": inputs.CustomPartitionModel,
    "state_ttl": state_ttl.StateTtlModel,
    "cleanup_incrementally": state_ttl.IncrementalCleanupModel,
    "alarm": alarms.AlarmModel,
    "async": async_calls.AsyncModel,
    "latency": async_latency.LatencyModel,
    "uniform latency": async_latency.UniformLatencyModel,
    "normal latency": async_latency.NormalLatencyModel,
    "lognormal latency": async_latency.LognormalLatencyModel,
    "exponential latency": async_latency.ExponentialLatencyModel,
    "answer": async_answers.AnswerModel,
    "trace": async_latency.TraceLatencyModel,
    "spikes": async_latency.SpikesModel,
    "fails": async_calls.FailsModel,
    "silent": async_calls.SilentModel,
    "lookup": async_results.LookupModel,
    "timed out": async_results.TimedOutModel,
    "retry": async_calls.RetryModel,
    "fixed retry": async_calls.FixedRetryModel,
    "exponential retry": async_calls.ExponentialRetryModel,
    "join": joins.JoinModel,
    "co_group": joins.CoGroupModel,
    "interval_join": interval_joins.IntervalJoinModel,
    "broadcast": broadcast.BroadcastModel,
    "cost": costs.CostModel,
    "cost of a subtask": costs.RecordCostModel,
    "function": FunctionModel,
    "window": windows.WindowModel,
    "sliding": windows.SlidingModel,
    "gap": windows.GapModel,
    "count window": windows.CountWindowModel,
    "trigger": triggers.TriggerChoiceModel,
    "delta": triggers.DeltaModel,
    "timeout": triggers.TimeoutTriggerModel,
    "evictor": triggers.EvictorModel,
    "Sinks": sinks.SinkModel,
    "file sink": sinks.FileSinkModel,
    "SQLite sink": sinks.SqliteSinkModel,
    "PostgreSQL sink": sinks.PostgresSinkModel,
    "Actions": actions.ActionModel,
    "stop": actions.StopModel,
    "cancel": actions.CancelModel,
    "checkpoint": actions.CheckpointModel,
    "savepoint": actions.SavepointModel,
    "savepoint of a stop": actions.StopSavepointModel,
    "checkpointing": checkpointing.CheckpointingModel,
    "restart_strategy": checkpointing.RestartStrategyModel,
    "fixed_delay": checkpointing.FixedDelayModel,
    "failure_rate": checkpointing.FailureRateModel,
    "exponential_delay": checkpointing.ExponentialDelayModel,
    "Failures": failures.FailureModel,
    "fail_task": failures.FailTaskModel,
    "lose_task_manager": failures.LoseTaskManagerModel,
    "lose_job_manager": failures.LoseJobManagerModel,
    "fail_any_task": failures.FailAnyTaskModel,
    "Pauses": pauses.PauseOfTaskModel,
    "Phases": phases.PhaseModel,
    "link": network.LinkModel,
    "buffer_debloat": network.BufferDebloatModel,
    "adaptive_partitioner": network.AdaptivePartitionerModel,
    "Faults": faults.FaultModel,
    "Expect": expect.ExpectModel,
    "every_schedule": expect.RunExpectationsModel,
    "expected checkpoints": expect.ExpectedCheckpointsModel,
    "Facts": expect.FactsModel,
    "Recompute": expect.RecomputeModel,
}
"""The model whose keys the table below a heading lists."""

_TERMS: Final = {
    NAME_PATTERN: "name", FIELD_PATTERN: "field", STREAM_PATTERN: "stream", PLACE_PATTERN: "place", PYTHON_PATTERN: "python",
    SUBTASKS_PATTERN: "subtask",
}  # fmt: skip
_UNITS: Final = {
    "ns": "duration", "ms": "duration, *ms*", "timeout": "timeout", "bytes": "size", "expression": "expression",
}  # fmt: skip
_PLURALS: Final = {
    **{term: f"{term}s" for term in ("name", "stream", "place", "expression", "text", "value", "integer", "number")},
    "field": "field names",
    "boolean": "booleans",
    "value, or list of values": "values or lists of values",
}
_TYPE_NAMES: Final = ["boolean", "int", "long", "double", "string"]
_SCALARS: Final = {"boolean", "integer", "number", "text"}
_ENDLESS: Final = 2**31 - 1
"""A maximum from which on a number counts as unlimited for a reader."""


def scenario_page(page: str) -> str:
    """Returns the page with the tables of its sections made again."""
    for heading, model in SECTIONS.items():
        before, start, section = page.partition(f"# {heading}\n")
        rows = "".join(_row(model, key, field) for key, field in _keys(model))
        table = re.search(rf"{re.escape(HEAD)}(?:\|.*\n)*", section)
        assert table is not None, f"the section {heading} has no table of keys"
        page = before + start + section[: table.start()] + HEAD + rows + section[table.end() :]
    table = re.search(rf"{re.escape(FLINK_HEAD)}(?:\|.*\n)*", page)
    assert table is not None, "the page has no table of Flink's names"
    return page[: table.start()] + FLINK_HEAD + "".join(_flink_rows()) + page[table.end() :]


def _flink_rows() -> Iterator[str]:
    """Yields a row for each name that Flink has for a key, with the keys that have it."""
    keys: dict[str, list[str]] = {}
    for path, field in every_key(scenario_model.ScenarioModel):
        for each in field.metadata:
            for name, value in each.with_values() if isinstance(each, FlinkNames) and not each.note else ():
                keys.setdefault(name, []).append(f"`{path_text(path)}{': ' * bool(value)}{value}`")
    for name in sorted(keys, key=str.lower):
        yield f"| `{name}` | {', '.join(keys[name])} |\n"


def _keys(model: type[Strict]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        yield field.alias or name, field


def _row(model: type[Strict], key: str, field: FieldInfo) -> str:
    schema = _objects()[model.__name__]["properties"][key]
    text = (field.description or "").replace("|", "\\|")
    return f"| `{key}` | {_type(schema)} | {_default(field, schema)} | {text} |\n"


def _default(field: FieldInfo, schema: Schema) -> str:
    if field.is_required():
        return "*required*"
    if field.default_factory is not None:
        return "*empty*"
    if field.default is None:
        return "*none*"
    default = shown_default(field.default, schema.get(UNIT))
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _type(schema: Schema) -> str:
    """Returns the values that a key takes, in the terms of the page; a mapping with keys of its own is a link."""
    if UNIT in schema:
        signed = "- ?" in str(schema.get("pattern", schema.get("anyOf")))
        return _UNITS[schema[UNIT]] + (", or minus a duration" if signed else "")
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return _or(_type(each) for each in alternatives if each != {"type": "null"})
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return "type" if values == _TYPE_NAMES else ", ".join(f"`{str(value).lower()}`" for value in values)
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            return _mapping(schema)
        case "integer" | "number":
            return _number(schema)
        case "string":
            return _TERMS.get(schema.get("pattern", ""), "one character" if schema.get("maxLength") == 1 else "text")
    return str(schema.get("type", "any value"))


def _or(types: Iterable[str]) -> str:
    found = dict.fromkeys(types)
    if found.keys() >= _SCALARS:
        found = dict.fromkeys(["value", *(each for each in found if each not in _SCALARS)])
    *others, last = found
    return f"{', '.join(others)}, or {last}" if others else last


def _list(schema: Schema) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    item = _type(schema.get("items", {}))
    items = "lists of" + item.removeprefix("list of") if item.startswith("list of ") else _PLURALS.get(item, item)
    return f"list of two {items}" if least == most == 2 else f"list of {items}"


def _mapping(schema: Schema) -> str:
    patterns = schema.get("patternProperties")
    ((pattern, values),) = patterns.items() if patterns else [("", schema.get("additionalProperties") or {})]
    key, value = _TERMS.get(pattern, "text"), "any value" if values is True else _type(values)
    if value[0].isdigit():
        value = f"number from {value}"
    return "fields" if (key, value) == ("field", "type") else f"{key} to {value}"


def _number(schema: Schema) -> str:
    least, most, kind = schema.get("minimum"), schema.get("maximum"), schema["type"]
    if "exclusiveMinimum" in schema:
        return f"{kind} above {schema['exclusiveMinimum']:,}"
    if least is None or least <= -_ENDLESS:
        return str(kind)
    return f"{kind} from {least:,}" if most is None or most >= _ENDLESS else f"{least:,} to {most:,}"


def _link(model: str) -> str:
    heading = _headings().get(model)
    if heading is None:
        return "`{}`"
    text = heading.lower() if heading.istitle() else heading
    return f"[{text}](#{heading.lower().replace(' ', '-')})"


@cache
def _objects() -> dict[str, Schema]:
    schema = scenario_model.ScenarioModel.model_json_schema()
    return {"ScenarioModel": schema, **schema["$defs"]}


@cache
def _headings() -> dict[str, str]:
    return {model.__name__: heading for heading, model in SECTIONS.items()}


if __name__ == "__main__":
    PAGE.write_text(scenario_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
