"""The JSON Schema of scenarios: what an editor shows for a key, and what it reports for a mistake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from flowsim.errors import ScenarioError
from flowsim.scenario.json_schema import json_schema
from flowsim.scenario.loader import load_text
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.types import Strict
from flowsim.scenario.yaml.positions import read_document

ROOT = Path(__file__).parents[3]
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
OBJECTS: dict[str, dict[str, Any]] = {"ScenarioModel": SCHEMA, **SCHEMA["$defs"]}


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, schema in OBJECTS.items():
        for key, described in schema.get("properties", {}).items():
            yield name, key, described


def models(base: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for model in base.__subclasses__():
        yield model
        yield from models(model)


def mistakes(text: str) -> list[tuple[str, str]]:
    """Path and message of every error that a validator of the schema reports."""
    found = VALIDATOR.iter_errors(read_document(text, "s.yaml").value)
    return [(".".join(map(str, error.absolute_path)), error.message) for error in found]


def test_published_schema_is_current() -> None:
    published = json.loads((ROOT / "docs" / "scenario.schema.json").read_text(encoding="utf-8"))
    assert published == SCHEMA, "write it again: make docs"


def test_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_property_has_a_description_of_several_words() -> None:
    texts = {f"{name}.{key}": described.get("description", "") for name, key, described in properties()}
    assert len(texts) > 250
    assert [key for key, text in texts.items() if len(text.split()) < 3 or not text.endswith(".")] == []


def test_description_names_unit_and_default() -> None:
    settings = OBJECTS["SettingsModel"]["properties"]
    assert settings["cost"]["description"].endswith("in one operator (duration; default 1 us).")
    assert settings["auto_watermark_interval"]["description"].endswith("(duration in whole ms; default 200 ms).")
    assert settings["segment_size"]["description"].endswith("(size in bytes; default 32 KiB).")
    assert settings["operator_chaining"]["description"].endswith("(default true).")


@pytest.mark.parametrize("model", [ScenarioModel, *models()], ids=lambda model: model.__name__)
def test_default_in_the_schema_is_read_as_the_default_of_the_model(model: type[Strict]) -> None:
    for name, field in model.model_fields.items():
        described = OBJECTS.get(model.__name__, {}).get("properties", {}).get(field.alias or name, {})
        if "default" in described:
            adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
            assert adapter.validate_python(described["default"]) == field.default, name
            with_definitions = {"$defs": SCHEMA["$defs"], **described}
            assert Draft202012Validator(with_definitions).is_valid(described["default"]), name


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenario_is_valid_under_the_schema_that_it_names(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=../docs/scenario.schema.json\n# Teaches ")
    assert (path.parent / "../docs/scenario.schema.json").resolve() == ROOT / "docs" / "scenario.schema.json"
    assert mistakes(text) == []


SCENARIO = """\
flowsim: 1
name: w
sources: {s: {collection: {fields: {k: string, n: long}, rows: [[a, 1]]}}}
operators:
  o: {input: s, key_by: k, window: WINDOW, aggregate: {n: count()}}
sinks: {out: {input: o, collect: {}}}
"""
KINDS = "one of tumbling, sliding, session, global_window, count"

UNKNOWN = "Additional properties are not allowed ('{}' was unexpected)"
WINDOWS: dict[str, tuple[str, str, str]] = {
    # window: place and message of a validator, end of the command's message
    "{tumblin: 1 s}": (
        "",
        UNKNOWN.format("tumblin"),
        "window.tumblin: unknown key 'tumblin' (did you mean 'tumbling'?)",
    ),
    "{tumbling: 1 s, slide: 1 s}": (
        "",
        UNKNOWN.format("slide"),
        "window.slide: unknown key 'slide' (did you mean 'sliding'?)",
    ),
    "{session: {gap: n, gapp: n}}": (
        ".session",
        UNKNOWN.format("gapp"),
        "window.session.gapp: unknown key 'gapp' (did you mean 'gap'?)",
    ),
    "{global_window: true, trigger: {coun: 3}}": (
        ".trigger",
        UNKNOWN.format("coun"),
        "window.trigger.coun: unknown key 'coun' (did you mean 'count'?)",
    ),
    "{global_window: true, trigger: {purging: {timeout: {of: {coun: 1}, after: 1 s}}}}": (
        ".trigger.purging.timeout.of",
        UNKNOWN.format("coun"),
        "window.trigger.purging.timeout.of.coun: unknown key 'coun' (did you mean 'count'?)",
    ),
    "{count: {size: 3, slide: 1, slid: 2}}": (
        ".count",
        UNKNOWN.format("slid"),
        "window.count.slid: unknown key 'slid' (did you mean 'slide'?)",
    ),
    "{tumbling: 1 s, evictor: {cont: 3}}": (
        ".evictor",
        UNKNOWN.format("cont"),
        "window.evictor.cont: unknown key 'cont' (did you mean 'count'?)",
    ),
    "{sliding: {size: 1 s}}": (
        ".sliding",
        "'slide' is a required property",
        "window.sliding: the key 'slide' is missing",
    ),
    "{tumbling: 1 s, session: 1 s}": (
        "",
        "False schema does not allow '1 s'",
        f"window: expected {KINDS}, got tumbling and session",
    ),
    "{late_output: x}": ("", f"'{KINDS}' was expected", f"window: expected {KINDS}, got none of them"),
    "{tumbling: 5}": (
        ".tumbling",
        "5 is not of type 'string'",
        "window.tumbling: expected a duration such as '100 ms', got 5",
    ),
    "{session: 5}": (
        ".session",
        "5 is not of type 'string', 'object'",
        "window.session: expected a duration such as '100 ms', got 5",
    ),
    "{global_window: false}": (".global_window", "True was expected", "window.global_window: expected true, got false"),
    "{global_window: true, trigger: contt}": (
        ".trigger",
        "'contt' is not one of ['event_time', 'processing_time', 'never', 'end_of_stream']",
        "window.trigger: expected 'event_time', 'processing_time', 'never' or 'end_of_stream' or a mapping, got 'contt'",
    ),
    "5": ("", "5 is not of type 'object'", "window: expected a mapping, got 5"),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_mistake_in_a_window_is_reported_once_at_its_place(window: str) -> None:
    place, message, command = WINDOWS[window]
    text = SCENARIO.replace("WINDOW", window)
    assert mistakes(text) == [(f"operators.o.window{place}", message)]
    with pytest.raises(ScenarioError) as error:
        load_text(text, "s.yaml", Path())
    assert [line.partition(" operators.o.")[2] for line in str(error.value).splitlines()] == [command]


def choices() -> dict[str, list[str]]:
    """The objects that need exactly one of some keys, with those keys."""
    found = {}
    for name, schema in OBJECTS.items():
        if "then" in schema:
            missing = schema["then"]["allOf"][0]["if"]["not"]["anyOf"]
            found[name] = [key for each in missing for key in each["required"]]
    return found


def test_object_with_exactly_one_of_some_keys_has_that_condition() -> None:
    stated = {name for name, schema in OBJECTS.items() if "exactly one of" in schema.get("description", "")}
    assert stated <= set(choices())
    assert len(choices()) > 15


@pytest.mark.parametrize("name", choices())
def test_none_and_two_of_the_keys_of_a_choice_are_refused(name: str) -> None:
    keys = choices()[name]
    condition = Draft202012Validator({"if": OBJECTS[name]["if"], "then": OBJECTS[name]["then"]})
    assert [error.message for error in condition.iter_errors({})] == [f"'one of {', '.join(keys)}' was expected"]
    assert all(condition.is_valid({key: 1}) for key in keys)
    assert not condition.is_valid({keys[0]: 1, keys[-1]: 2})
    assert condition.is_valid({"unknown": 1}), "the unknown key alone is reported"
