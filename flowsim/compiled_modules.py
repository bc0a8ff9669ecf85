"""Loads the compiled form of the core's modules, which mypyc makes from the same source (``build_scripts/compile_core.py``).

The compiled form is optional: without it, or if a module changed since, Python runs the source.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

PURE: Final = "FLOWSIM_PURE"
"""The environment variable that turns the compiled modules off: ``FLOWSIM_PURE=1``."""

FOLDER: Final = "_compiled"
"""The folder of the compiled modules, inside the package."""

MANIFEST: Final = "manifest.json"
"""Lists the compiled modules: ``{"suffix": file suffix, "sources": {module: SHA-256 of its source}}``."""

LIBRARY: Final = "flowsim_core"
"""The name of the library with the code of all compiled modules; each module's own file only refers to it."""

COMPILED: Final = "compiled"
_NOT_COMPILED: Final = "not compiled"

_mode = [_NOT_COMPILED]
"""What ``install`` returned last."""


def execution_mode() -> str:
    """Returns "compiled" if the core's modules run compiled, else why Python runs their source."""
    return _mode[0]


class CompiledModules:
    """Finds the compiled modules; an entry of ``sys.meta_path``."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """``files``: the extension of each module, by the module's full name."""
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a compiled module; None for any other module."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_file_location(fullname, file, loader=ExtensionFileLoader(fullname, str(file)))


def install(package: Path) -> None:
    """Makes Python load the compiled modules of the package, if there are any and all are up to date.

    If a source changed, a notice on standard error names it: the compiled modules call each other directly, so all of
    them are ignored.
    """
    _mode[0] = _installed(package)


def _installed(package: Path) -> str:
    folder = package / FOLDER
    if not (folder / MANIFEST).is_file():
        return _NOT_COMPILED
    if os.environ.get(PURE, "0") not in ("", "0"):
        return f"{PURE} is set"
    suffix, sources = read_manifest(folder)
    if suffix not in EXTENSION_SUFFIXES:
        return f"compiled for another Python ({suffix})"
    changed = changed_sources(package, sources)
    if changed:
        reason = f"{changed[0]} changed since it was compiled"
        sys.stderr.write(f"flowsim runs without its compiled modules: {reason}. `make install` compiles it again.\n")
        return reason
    files = {name: folder / f"{name.replace('.', '/')}{suffix}" for name in sources}
    library = f"{LIBRARY}__mypyc"
    sys.meta_path.insert(0, CompiledModules({**files, library: folder / f"{library}{suffix}"}))
    return COMPILED


def read_manifest(folder: Path) -> tuple[str, dict[str, str]]:
    """Returns the file suffix of the compiled modules and the SHA-256 of each module's source."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest["suffix"], manifest["sources"]


def changed_sources(package: Path, sources: Mapping[str, str]) -> list[str]:
    """Returns the modules whose source is not the compiled one."""
    return [name for name, digest in sources.items() if source_digest(package.parent, name) != digest]


def source_digest(root: Path, module: str) -> str:
    """Returns the SHA-256 of a module's source; empty if the module does not exist."""
    try:
        return sha256((root / f"{module.replace('.', '/')}.py").read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
