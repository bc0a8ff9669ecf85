"""``--set`` of ``flowsim watch``: overrides, and keys with several values, of which the page chooses one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowsim.errors import BadInput, ScenarioError
from flowsim.scenario.yaml.positions import read_document
from flowsim.studies.variation import Variation, short_names, value_text


@dataclass(frozen=True, slots=True)
class Settings:
    """The options ``--set`` in order: the text of an override, or a key with at least two values."""

    parts: tuple[str | Variation, ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Settings:
        """Reads options such as ``settings.parallelism=1,2,4``. Raises BadInput.

        Values are split at commas as YAML splits a list: not inside of quotes, brackets and braces. A text that is no such
        list is an override as it is.
        """
        settings = cls(tuple(Variation.parse(text, "--set") if _has_several(text) else text for text in texts))
        keys = [choice.key for choice in settings.choices]
        twice = next((key for index, key in enumerate(keys) if key in keys[:index]), None)
        if twice is not None:
            raise BadInput(f"--set {twice}: given twice with several values; put all its values in one list")
        return settings

    @property
    def choices(self) -> list[Variation]:
        """The keys with several values."""
        return [part for part in self.parts if isinstance(part, Variation)]

    def overrides(self, chosen: Sequence[int]) -> tuple[str, ...]:
        """Returns the overrides of a run; ``chosen``: the index of the value of each choice."""
        index = iter(chosen)
        return tuple(part if isinstance(part, str) else _override(part, next(index)) for part in self.parts)

    def names(self) -> list[str]:
        """Returns the shortest distinct name of each choice."""
        short = short_names([choice.key for choice in self.choices])
        return [short[choice.key] for choice in self.choices]

    def text(self, chosen: Sequence[int]) -> str:
        """Returns the chosen values for display: ``parallelism=2, seed=7``."""
        values = [value_text(choice.values[index]) for choice, index in zip(self.choices, chosen, strict=True)]
        return ", ".join(f"{name}={value}" for name, value in zip(self.names(), values, strict=True))

    def data(self, chosen: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the choices as JSON values, for the page."""
        return [
            {"name": name, "key": choice.key, "values": [value_text(value) for value in choice.values], "chosen": index}
            for name, choice, index in zip(self.names(), self.choices, chosen, strict=True)
        ]


def _has_several(text: str) -> bool:
    _, _, listed = text.partition("=")
    try:
        values = read_document(f"[{listed}]", "--set").value
    except ScenarioError:
        return False
    return isinstance(values, list) and len(values) > 1


def _override(choice: Variation, index: int) -> str:
    """Returns the override for one value; JSON is also YAML."""
    return f"{choice.key}={json.dumps(choice.values[index])}"
