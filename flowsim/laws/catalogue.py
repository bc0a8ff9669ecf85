"""All laws: every module of a family with a tuple ``LAWS`` adds its own.

Another package appends a folder to the ``__path__`` of a family, before this module is imported.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import flowsim.laws
from flowsim.laws.law import Law

FAMILIES: Final = ("channels", "event_time", "windows", "tasks", "network", "timers", "async_wait", "checkpoints")
"""The order of reports."""


def _laws() -> Iterator[Law]:
    for family in FAMILIES:
        package = import_module(f"{flowsim.laws.__name__}.{family}")
        for module in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
            yield from getattr(import_module(f"{package.__name__}.{module}"), "LAWS", ())


LAWS: Final[tuple[Law, ...]] = tuple(_laws())


def common_terms(law: Law) -> tuple[str, str]:
    """The title of a law's family, and the terms that it defines for its laws, in Markdown."""
    family = import_module(law.machine.__module__.rpartition(".")[0])
    title, _, terms = (inspect.getdoc(family) or "").partition("\n\n")
    return title.rstrip("."), terms
