"""The corpus: hostile inputs in groups, a module of this package each."""

from __future__ import annotations

import importlib
import pkgutil
from math import ceil
from typing import Final

from tests.hostile.case import Case

QUICK_CASES: Final = 10
"""The most cases of a group that run without ``--hostile``."""


def corpus() -> dict[str, list[Case]]:
    """The cases by their group, in the order of the names of the groups."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: list(importlib.import_module(f"{__name__}.{name}").CASES) for name in names}


def quick(cases: list[Case]) -> list[Case]:
    """A selection of a group, spread over its table."""
    return cases[:: ceil(len(cases) / QUICK_CASES)]
