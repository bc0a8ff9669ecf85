"""Public names of a package that are imported on their first use, so that ``flowsim --help`` and pytest start quickly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, module_of: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns ``__getattr__`` and ``__dir__`` of a package whose names have their home in the modules of ``module_of``.

    >>> get, names = lazy_names("flowsim", {"JobFailed": "flowsim.errors"})
    >>> get("JobFailed"), "JobFailed" in names()
    (<class 'flowsim.errors.JobFailed'>, True)
    """
    names = vars(sys.modules[package])

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        names[name] = getattr(import_module(module_of[name]), name)
        return names[name]

    return get, lambda: sorted({*names, *module_of})
