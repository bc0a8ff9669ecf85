"""``python: package.module:function``: somebody's code, loaded only when the caller said that it may run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flowsim.errors import BadInput


def load_function(reference: str, folder: Path, *, allow_python: bool) -> object:
    """The object that a reference names; modules beside the scenario are found first. Raises BadInput."""
    if not allow_python:
        raise BadInput(f"{reference} is Python code and runs only with --allow-python")
    module_name, _, name = reference.partition(":")
    try:
        with _importing_from(folder):
            module = importlib.import_module(module_name)
    except Exception as error:
        raise BadInput(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    found: object = getattr(module, name, None)
    if not callable(found):
        raise BadInput(f"module {module_name!r} has no function or class {name!r}")
    return found


def instance_of(found: object, kind: type[object], reference: str) -> object:
    """An instance when the reference names a class, else the function itself."""
    if not isinstance(found, type):
        return found
    if not issubclass(found, kind):
        raise BadInput(f"{reference}: expected a function or a {kind.__name__}, got the class {found.__name__}")
    try:
        made: object = found()
    except Exception as error:
        raise BadInput(f"{reference}: cannot be made: {type(error).__name__}: {error}") from error
    return made


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    path = str(folder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
