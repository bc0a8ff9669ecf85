"""Imports ``pyflink`` and its submodules from flowsim: the modules of PyFlink, with the names that they have there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TypeVar

from flowsim.datastream.pyflink_way import pyflink_way
from flowsim.errors import did_you_mean
from flowsim.not_simulated import dropped, feature_of_module
from flowsim.pyflink.data_types import ColumnTypes
from flowsim.pyflink.layout import DEFINING_MODULES, MODULES, TYPE_VARIABLES, VERSION, home_of
from flowsim.pyflink.refused_name import RefusedName

_PACKAGE = "pyflink"


class PyFlinkFinder:
    """Finds and creates the modules of PyFlink. It is first on ``sys.meta_path``, before any installed ``pyflink``.

    A name that flowsim does not have is a ``RefusedName``. A module of a feature that is not simulated has any name.
    """

    def __init__(self) -> None:
        self._type_variables: dict[str, object] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the place of a module of PyFlink, None for other modules. Raises ModuleNotFoundError."""
        package, _, module = fullname.partition(".")
        if package != _PACKAGE:
            return None
        if module and module not in MODULES and module != "version" and feature_of_module(module) is None:
            raise ModuleNotFoundError(
                f"PyFlink {VERSION} has no module {fullname!r}{did_you_mean(module, MODULES)}", name=fullname
            )
        is_leaf = module == "version" or (module in MODULES and not _is_package(module))
        return ModuleSpec(fullname, self, is_package=not is_leaf)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leaves the creation of the empty module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Fills a module with its names."""
        name = module.__name__.removeprefix(_PACKAGE).removeprefix(".")
        content = vars(module)
        if name in ("", "version"):
            content |= {"__version__": VERSION, "__all__": ["__version__"]}
            if not name:
                # Programs look for the files of PyFlink below its folder.
                module.__file__ = __file__
        elif name not in MODULES:
            content["__getattr__"] = _any_name(name)
        else:
            content |= {each: self._value(name, each) for each in MODULES[name].names}
            content["__all__"] = list(MODULES[name].exported)
            content["__getattr__"] = self._imported_names(name)

    def _value(self, module: str, name: str) -> object:
        """Returns what flowsim has under a name of a module."""
        if name in TYPE_VARIABLES:
            return self._type_variables.setdefault(name, TypeVar(name))
        defining = DEFINING_MODULES.get(name, (module,))
        for home in dict.fromkeys(map(home_of, (module, *defining))):
            if _exists(home) and hasattr(import_module(home), name):
                return getattr(import_module(home), name)
        return RefusedName(defining[0], name)

    def _imported_names(self, module: str) -> Callable[[str], object]:
        """Returns ``__getattr__`` of a module: PyFlink's also have the names of the API that they import themselves."""

        def get(name: str) -> object:
            message = None if name in DEFINING_MODULES else dropped(f"{_PACKAGE}.{module}.{name}", name)
            if message is not None:
                # No AttributeError: an import replaces its message.
                raise ImportError(message, name=f"{_PACKAGE}.{module}")
            if _is_package(module) or name not in DEFINING_MODULES:
                raise AttributeError(f"module '{_PACKAGE}.{module}' of PyFlink {VERSION} has no {name!r}")
            return self._value(module, name)

        return get


def _is_package(module: str) -> bool:
    return any(each.startswith(f"{module}.") for each in MODULES)


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _any_name(module: str) -> Callable[[str], object]:
    """Returns ``__getattr__`` of a module of a feature that is not simulated."""

    def get(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "DataTypes" and module in ("table", "table.types"):
            return ColumnTypes(module, name)
        return RefusedName(module, name)

    return get


@contextmanager
def pyflink_imports() -> Iterator[None]:
    """Lets ``import pyflink`` import flowsim's modules meanwhile, even if a ``pyflink`` is installed or imported.

    Jobs that are built meanwhile behave as PyFlink where the Python API does not.
    """
    replaced = _take_out()
    finder = PyFlinkFinder()
    sys.meta_path.insert(0, finder)
    try:
        with pyflink_way():
            yield
    finally:
        sys.meta_path.remove(finder)
        _take_out()
        sys.modules.update(replaced)


def _take_out() -> dict[str, ModuleType]:
    """Removes the imported modules of ``pyflink`` and returns them."""
    names = [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
