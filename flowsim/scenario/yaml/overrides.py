"""``--set key=value``: changes one value of a scenario before validation; the changed value is validated too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from flowsim.errors import ScenarioError, SourcePosition, did_you_mean
from flowsim.scenario.yaml.positions import Path, PositionedDocument, YamlValue, path_text, read_document

MAX_OVERRIDE_CHARS = 10_000
_WITH_NAMES = ("sources", "operators", "sinks")
"""The sections whose keys are names of the author: an override changes one of them, it does not add one."""


def apply_overrides(document: PositionedDocument, overrides: Sequence[str]) -> None:
    """Applies overrides such as ``settings.seed=7`` in order; the value is YAML. Raises ScenarioError."""
    for text in overrides:
        _apply(document, text)


def _apply(document: PositionedDocument, text: str) -> None:
    file = f"--set {text if len(text) <= 60 else text[:57] + '...'}"
    where = SourcePosition(file, 1, 1)
    key, equals, source = text.partition("=")
    if not equals or not key.strip() or len(text) > MAX_OVERRIDE_CHARS:
        raise ScenarioError("expected key=value, such as settings.seed=7", where)
    value = read_document(source, file) if source.strip() else None
    if value is None:
        replace_value(document, key.strip(), None, where, {}, {})
        return
    shift = len(key) + 1
    inner = [
        {path: SourcePosition(file, place.line, place.column + shift) for path, place in places.items()}
        for places in (value.values, value.keys)
    ]
    replace_value(document, key.strip(), value.value, where, *inner)


def replace_value(
    document: PositionedDocument,
    key: str,
    value: YamlValue,
    where: SourcePosition,
    values: Mapping[Path, SourcePosition],
    keys: Mapping[Path, SourcePosition],
) -> None:
    """Replaces the value of a dotted key. Raises ScenarioError at ``where``, the position of the key.

    ``values`` and ``keys`` are the positions inside the new value.
    """
    path = _path(key, where)
    _put(document.value, path, value, where)
    for known in [known for known in document.values if known[: len(path)] == path]:
        del document.values[known]
    for length in range(1, len(path)):
        document.values.setdefault(path[:length], where)
    document.values[path] = document.keys[path] = where
    document.values.update({path + inner: place for inner, place in values.items()})
    document.keys.update({path + inner: place for inner, place in keys.items()})


def _path(key: str, where: SourcePosition) -> Path:
    parts: list[str | int] = []
    for part in re.sub(r"\[([0-9]{1,6})\]", r".\1", key).split("."):
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", part):
            raise ScenarioError(f"expected a dotted key such as operators.hourly.parallelism, got {key[:60]!r}", where)
        parts.append(int(part) if part.isdigit() and len(part) < 7 else part)
    return tuple(parts)


def _put(root: YamlValue, path: Path, value: YamlValue, where: SourcePosition) -> None:
    here: YamlValue = root
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(here, list):
            if not isinstance(part, int) or part >= len(here):
                name = path_text(path[:depth])
                raise ScenarioError(f"{name} is a list of {len(here)}: expected an index below that, got {part}", where)
            if last:
                here[part] = value
            here = here[part]
        elif isinstance(here, dict):
            key = str(part)
            if last:
                here[key] = value
            elif key not in here:
                if depth == 1 and path[0] in _WITH_NAMES:
                    raise ScenarioError(f"{path_text(path[:depth])} has no {key!r}{did_you_mean(key, here)}", where)
                here[key] = {}
            here = here[key]
        else:
            raise ScenarioError(f"{path_text(path[:depth])} is a single value, it has no key {part!r}", where)
