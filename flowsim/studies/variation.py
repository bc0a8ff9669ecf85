"""The variations of a study: keys of a scenario, the values of each, and all their combinations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from flowsim.errors import BadInput, ScenarioError
from flowsim.scenario.yaml.positions import YamlValue, read_document

MAX_COMBINATIONS: Final = 500


@dataclass(frozen=True, slots=True)
class Variation:
    """One key of the scenario, by its path as in ``--set``, and its values in order."""

    key: str
    values: tuple[YamlValue, ...]

    @classmethod
    def parse(cls, text: str, option: str = "--vary") -> Variation:
        """Reads a text such as ``operators.airline.async.capacity=1,4,16``; the values are YAML, split at commas.

        Raises BadInput, which names the option.
        """
        key, equals, listed = text.partition("=")
        if not equals or not key.strip() or not listed.strip():
            raise BadInput(f"{option} {text[:80]}: expected KEY=VALUE,VALUE,... such as settings.seed=1,2,3")
        try:
            values = read_document(f"[{listed}]", option).value
        except ScenarioError as error:
            raise BadInput(f"{option} {text[:80]}: the values are not a list of YAML values: {error}") from None
        assert isinstance(values, list)
        seen = [json.dumps(value, sort_keys=True) for value in values]
        twice = next((one for index, one in enumerate(seen) if one in seen[:index]), None)
        if twice is not None:
            raise BadInput(f"{option} {text[:80]}: the value {twice} is listed twice")
        return cls(key.strip(), tuple(values))

    @property
    def is_numeric(self) -> bool:
        """True if every value is a number, so that the variation can be the axis of a plot."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)


@dataclass(frozen=True, slots=True)
class Combination:
    """One value for every varied key; ``number`` counts from 1."""

    number: int
    values: Mapping[str, YamlValue]

    @property
    def overrides(self) -> tuple[str, ...]:
        """The overrides in the form of ``--set``; the values are JSON, which is also YAML."""
        return tuple(f"{key}={json.dumps(value)}" for key, value in self.values.items())

    @property
    def text(self) -> str:
        """The values for display: ``capacity=4, mode=ordered``."""
        names = short_names(list(self.values))
        return ", ".join(f"{names[key]}={value_text(value)}" for key, value in self.values.items())


def parse_variations(texts: Sequence[str]) -> tuple[Variation, ...]:
    """Reads all variations. Raises BadInput for a duplicate key, and for too many combinations."""
    variations = tuple(Variation.parse(text) for text in texts)
    keys = [variation.key for variation in variations]
    twice = next((key for index, key in enumerate(keys) if key in keys[:index]), None)
    if twice is not None:
        raise BadInput(f"--vary {twice}: given twice; put all its values in one list")
    count = math.prod(len(variation.values) for variation in variations)
    if count > MAX_COMBINATIONS:
        product_text = " x ".join(f"{len(variation.values)} ({variation.key})" for variation in variations)
        raise BadInput(
            f"--vary gives {product_text} = {count:,} combinations, and a study has at most {MAX_COMBINATIONS}: "
            "leave some values out, or make two studies of it"
        )
    return variations


def combinations_of(variations: Sequence[Variation]) -> Iterator[Combination]:
    """Returns all combinations; the value of the last key changes first."""
    keys = [variation.key for variation in variations]
    for number, values in enumerate(product(*(variation.values for variation in variations)), 1):
        yield Combination(number, dict(zip(keys, values, strict=True)))


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Returns the shortest distinct suffixes of dotted keys.

    >>> short_names(["operators.a.async.capacity", "operators.b.async.capacity", "settings.seed"])
    {'operators.a.async.capacity': 'a.async.capacity', 'operators.b.async.capacity': 'b.async.capacity', 'settings.seed': 'seed'}
    """

    def ending(key: str, parts: int) -> str:
        return ".".join(key.split(".")[-parts:])

    def shortest(key: str) -> str:
        for parts in range(1, key.count(".") + 2):
            if sum(ending(other, parts) == ending(key, parts) for other in keys) == 1:
                return ending(key, parts)
        return key

    return {key: shortest(key) for key in keys}


def value_text(value: YamlValue) -> str:
    """Returns a value as a user types it on the command line."""
    return value if isinstance(value, str) else json.dumps(value)
