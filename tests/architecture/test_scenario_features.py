"""Each feature of scenarios is in one place: a file, a field of the model, a row of the table (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, get_args

import grimp
import pytest
from pydantic import BaseModel

from flowsim.scenario import types
from flowsim.scenario.features.inputs import EdgeModel
from flowsim.scenario.features.sinks import SINK_KINDS, SinkModel
from flowsim.scenario.operators import OPERATOR_KINDS, OperatorModel
from flowsim.scenario.sources.sources import SOURCE_KINDS, SourceModel
from tests.architecture.test_source_rules import LATE_IMPORTS

PACKAGE = Path(__file__).parents[2] / "flowsim" / "scenario"
FEATURES = ("flowsim.scenario.features.", "flowsim.scenario.sources.")
OF_ALL_OPERATORS = {*EdgeModel.model_fields, "key_by", "window", "having", "max_parallelism", "chaining", "state_ttl"}
OF_ALL_SINKS = {*EdgeModel.model_fields, "chaining", "delivery"}
OF_ALL_SOURCES = {"parallelism", "watermarks", "legacy", "cost", "buffer_timeout", "chaining", "slot_sharing_group"}
ABOVE_FEATURES = {
    f"flowsim.scenario.{name}"
    for name in (
        "operators",
        "settings",
        "scenario_model",
        "json_schema",
        "loader",
        "graph_checks",
        "compiled",
        "compiler",
        "runner",
    )
}


def keys_of(model: type[BaseModel], apart_from: set[str]) -> list[str]:
    """The keys of a model in YAML, apart from some fields."""
    return sorted(field.alias or name for name, field in model.model_fields.items() if name not in apart_from)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


def field_models(model: type[BaseModel], key: str) -> list[type[BaseModel]]:
    (annotation,) = (field.annotation for name, field in model.model_fields.items() if key in (name, field.alias))
    return list(models_in(annotation))


def test_every_node_kind_has_one_field_and_one_row() -> None:
    assert keys_of(OperatorModel, OF_ALL_OPERATORS) == sorted(OPERATOR_KINDS)
    assert keys_of(SourceModel, OF_ALL_SOURCES) == sorted(SOURCE_KINDS)
    assert keys_of(SinkModel, OF_ALL_SINKS) == sorted(SINK_KINDS)


COMPILED_BY: Mapping[tuple[type[BaseModel], str], Any] = {
    **{(OperatorModel, kind): row.compile for kind, row in OPERATOR_KINDS.items()},
    **{(SourceModel, kind): compiled_by for kind, compiled_by in SOURCE_KINDS.items()},
}


def test_each_kind_has_its_own_compile_function() -> None:
    functions = list(COMPILED_BY.values())
    assert [kind for (_, kind), function in COMPILED_BY.items() if functions.count(function) > 1] == []


@pytest.mark.parametrize(("model", "kind"), COMPILED_BY, ids=lambda value: getattr(value, "__name__", value))
def test_model_and_compile_function_of_kind_share_a_file(model: type[BaseModel], kind: str) -> None:
    file = COMPILED_BY[model, kind].__module__
    assert file.startswith(FEATURES)
    assert {each.__module__ for each in field_models(model, kind)} <= {file, types.__name__}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Module to the modules of ``flowsim.scenario`` that it imports, type-only imports included."""
    graph = grimp.build_graph("flowsim", cache_dir=None)
    modules = graph.find_descendants("flowsim.scenario")
    return {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}


def test_features_import_neither_table_nor_whole_scenario(imports: dict[str, set[str]]) -> None:
    features = [module for module in imports if module.startswith(FEATURES)]
    assert len(features) > 20
    assert {
        module: sorted(imports[module] & ABOVE_FEATURES) for module in features if imports[module] & ABOVE_FEATURES
    } == {}


def test_scenario_modules_have_no_import_cycle(imports: dict[str, set[str]]) -> None:
    assert len(list(TopologicalSorter(imports).static_order())) == len(imports)  # a circle raises CycleError


def test_scenario_functions_import_nothing() -> None:
    """But for the imports that test_source_rules.py explains."""
    found = [
        f"{path.relative_to(PACKAGE)}:{inner.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for inner in ast.walk(function)
        if isinstance(inner, ast.Import)
        or (
            isinstance(inner, ast.ImportFrom)
            and (f"scenario/{path.relative_to(PACKAGE).as_posix()}", inner.module) not in LATE_IMPORTS
        )
    ]
    assert found == []
