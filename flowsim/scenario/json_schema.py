"""The scenario format as a JSON Schema for editors: docs/scenario.schema.json.

pydantic writes an ``anyOf`` for a key that takes several kinds of values, or no value. For a mistake inside one of the
kinds, a validator of an ``anyOf`` reports that no kind fits. Here the JSON type of the value selects the kind, so the
validator reports the mistake itself. Defaults are shown as a scenario writes them, with their unit.
"""

from __future__ import annotations

import re
from typing import Any, Final

from flowsim.scenario.scenario_model import scenario_model
from flowsim.scenario.types import UNIT, shown_default

Schema = dict[str, Any]

_BY_TYPE: Final = {
    "string": ("pattern", "patternErrorMessage", "minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum"),
    "number": ("minimum", "maximum", "exclusiveMinimum"),
    "array": ("items", "minItems", "maxItems"),
    "object": (
        "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
    ),
}  # fmt: skip
"""The keywords that apply only to values of one type, so that they need no condition."""

_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""A link in a description: docs/scenario.md shows it, an editor shows its text only."""

_UNIT_WORDS: Final = {
    "ns": "duration",
    "ms": "duration in whole ms",
    "timeout": "duration in whole ms, or never",
    "bytes": "size in bytes",
    "expression": "expression",
}


def json_schema() -> Schema:
    """Returns the scenario format as a JSON Schema (draft 2020-12)."""
    schema = scenario_model().model_json_schema(mode="validation")
    definitions = {name: _model(each) for name, each in schema.pop("$defs").items()}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "flowsim scenario"}
    return {**head, **_model(schema), "$defs": definitions}


def _model(schema: Schema) -> Schema:
    """Returns the schema of one model."""
    keys = {key: _property(each) for key, each in schema.get("properties", {}).items()}
    made = {**schema, **({"properties": keys} if keys else {})}
    if "oneOf" in made:
        # With an unknown key, that key is the only mistake that a validator reports.
        made["if"] = {"type": "object", "propertyNames": {"enum": list(keys)}}
        made["then"] = _one_of_keys([key for each in made.pop("oneOf") for key in each["required"]])
    return made


def _one_of_keys(keys: list[str]) -> Schema:
    """Returns the schema that requires exactly one of the keys.

    The first key that is present refuses the other keys, each at its own position.
    """
    some = {"anyOf": [{"required": [key]} for key in keys]}
    others = [
        {"if": {"required": [key]}, "then": {"properties": dict.fromkeys(keys[index:], False)}}
        for index, key in enumerate(keys[:-1], start=1)
    ]
    # No mapping equals a text: validators print the text, editors print the message.
    expected = f"one of {', '.join(keys)}"
    missing = {"if": {"not": some}, "then": {"const": expected, "errorMessage": f"expected {expected}"}}
    return {"allOf": [missing, *others]}


def _property(schema: Schema) -> Schema:
    """Returns the schema of one key, with unit and default in its description. A key without a value is refused."""
    default = schema.pop("default", None)
    described = _value(schema, nullable=False)
    if "description" in described:
        described["description"] = _LINK.sub(r"\1", described["description"])
    unit = described.pop(UNIT, None)
    notes = [] if unit is None else [_UNIT_WORDS[unit]]
    if default is not None:
        described["default"] = shown_default(default, unit)
        notes.append(f"default {_yaml(described['default'])}")
    if notes and "description" in described:
        described["description"] = f"{described['description'].removesuffix('.')} ({'; '.join(notes)})."
    return described


def _value(schema: Schema, nullable: bool = True) -> Schema:
    """Returns the schema of a value.

    The schema has no ``anyOf`` where the type of the value selects one of the alternatives.
    """
    made = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _without_unit(_value(made[key]))
    if "patternProperties" in made:
        made["patternProperties"] = {k: _without_unit(_value(v)) for k, v in made["patternProperties"].items()}
        made.setdefault("additionalProperties", False)
    alternatives = made.pop("anyOf", None) or made.pop("oneOf", None)
    if alternatives is None:
        return made
    values = [_value(each) for each in alternatives if nullable or each != {"type": "null"}]
    if any(each.get("type") == "number" for each in values):
        values = [each for each in values if each.get("type") != "integer"]
    return {**(values[0] if len(values) == 1 else _selected_by_type(values)), **made}


def _selected_by_type(alternatives: list[Schema]) -> Schema:
    types = [_types(each) for each in alternatives]
    every = list(dict.fromkeys(kind for kinds in types for kind in kinds))
    if len(every) < sum(map(len, types)):
        return {"anyOf": [_without_unit(each) for each in alternatives]}
    made: Schema = {"type": every}
    conditions: list[Schema] = []
    suggested: list[Any] = []
    for kinds, each in zip(types, alternatives, strict=True):
        plain = {keyword for kind in kinds for keyword in _BY_TYPE.get(kind, ())}
        suggested += [*each.get("enum", ()), *each.get("examples", ())]
        made |= {keyword: value for keyword, value in each.items() if keyword in plain or keyword == UNIT}
        rest = {key: value for key, value in each.items() if key not in {*plain, UNIT, "type", "examples"}}
        if "allOf" in rest:
            conditions += rest.pop("allOf")
        if rest:
            conditions.append({"if": {"type": kinds[0] if len(kinds) == 1 else kinds}, "then": rest})
    return made | ({"allOf": conditions} if conditions else {}) | ({"examples": suggested} if suggested else {})


def _types(schema: Schema) -> list[str]:
    """Returns the JSON types of the values that a schema accepts."""
    if "$ref" in schema:
        return ["object"]
    if "type" in schema:
        return [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
    names = {str: "string", bool: "boolean", int: "integer"}
    return list(dict.fromkeys(names[type(value)] for value in schema.get("enum", [schema.get("const")])))


def _without_unit(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != UNIT}


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
