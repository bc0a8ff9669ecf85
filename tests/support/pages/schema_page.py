"""The page of the JSON Schema of scenarios: a table of keys per object, with types, defaults and descriptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_HEAD: Final = """\
# Schema of scenarios

[scenario.schema.json](../docs/scenario.schema.json) is the JSON Schema of scenario files; `flowsim schema` prints it. An
editor with a YAML language server completes and checks a scenario that names it in its first line:

```yaml
# yaml-language-server: $schema=scenario.schema.json
```

The tables below are generated from the schema. [The reference of scenarios](../docs/scenario.md) explains the keys.
"""


def schema_page(schema: Schema) -> str:
    """The whole page, as Markdown."""
    objects = {"The file": schema, **schema["$defs"]}
    tables = [line for name, each in objects.items() if "properties" in each for line in _table(name, each)]
    return "\n".join([_HEAD, *tables])


def _table(name: str, schema: Schema) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    if "description" in schema:
        yield _text(schema["description"])
        yield ""
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    required = schema.get("required", ())
    for key, field in schema["properties"].items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else "*none*"
        default = "*required*" if key in required else default
        yield f"| `{key}` | {_type(field)} | {default} | {_text(field.get('description', ''))} |"
    yield ""


def _type(field: Schema) -> str:
    """The values that a field takes, in the terms of JSON; objects are links to their tables."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each) for each in field["anyOf"]))
    if isinstance(field.get("type"), list):
        return " or ".join(_type(_of_type(field, kind)) for kind in field["type"])
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field.get("enum", [field.get("const")]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    if field.get("type") == "object":
        (values,) = field.get("patternProperties", {"": field.get("additionalProperties") or {}}).values()
        return f"object of {_type(values)}"
    return str(field.get("type", "any value"))


def _of_type(field: Schema, kind: str) -> Schema:
    """The schema of the values of one JSON type, in the form that ``flowsim schema`` gives a choice by type."""
    chosen = [each["then"] for each in field.get("allOf", ()) if kind in each["if"]["type"]]
    return {
        **{key: value for key, value in field.items() if key != "allOf"},
        "type": kind,
        **(chosen[0] if chosen else {}),
    }


def _text(description: str) -> str:
    return " ".join(description.split()).replace("``", "`").replace("|", "\\|")
