"""Writes the mapping of a scenario as YAML: blocks for its sections, one line for each entry of a script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*|[0-9]+ (?:us|ms|s|h|KiB)")
_NOT_TEXT: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
_LONGEST: Final = 110
"""Characters of a value that is written in one line."""


def yaml_text(scenario: Mapping[str, object]) -> str:
    """Returns the scenario as YAML; equal mappings give equal texts.

    >>> print(yaml_text({"flowsim": 1, "sinks": {"out": {"input": "s0", "collect": {}}}}), end="")
    flowsim: 1
    sinks:
      out: {input: s0, collect: {}}
    """
    return "\n".join(line for key, value in scenario.items() for line in _lines(key, value, "", depth=0)) + "\n"


def _lines(key: str, value: object, indent: str, depth: int) -> Iterator[str]:
    flow = _flow(value)
    is_short = len(indent) + len(key) + len(flow) <= _LONGEST and (depth > 0 or not isinstance(value, Mapping))
    if not isinstance(value, Mapping | list) or not value or (is_short and key != "subtasks"):
        yield f"{indent}{key}: {flow}"
        return
    yield f"{indent}{key}:"
    deeper = indent + "  "
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _lines(str(name), each, deeper, depth + 1)
    else:
        for each in value:
            yield from _item(each, deeper)


def _item(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield f"{indent}- - {_flow(value[0])}"
        yield from (f"{indent}  - {_flow(each)}" for each in value[1:])
    else:
        yield f"{indent}- {_flow(value)}"


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(name)}: {_flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value)
