"""Sends flowsim's worker modules to Spark's workers, which then need only Python, numpy and pyarrow."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED: Final = (
    "__init__.py",
    "compiled_modules.py",
    "distribution.py",
    "errors.py",
    "named_pipe.py",
    "quantities.py",
    "garbage_collection.py",
    "lazy_names.py",
    "limits.py",
    "units.py",
    "facts",
    "values",
    "recording",
    "laws",
    "validation",
)
_ARCHIVE: Final = "flowsim_judge.zip"
_shipped: dict[int, SparkSession] = {}
"""The sessions that have the modules, by identity."""


def ship_flowsim(session: SparkSession) -> None:
    """Adds the modules to the session, once; works with a classic session and Spark Connect."""
    if _shipped.get(id(session)) is not session:
        session.addArtifacts(str(_archive()), pyfile=True)
        _shipped[id(session)] = session


@cache
def _archive() -> Path:
    """Returns the archive, which executors may fetch during the lifetime of this process."""
    folder = Path(tempfile.mkdtemp(prefix="flowsim-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _write(folder / _ARCHIVE)
    return folder / _ARCHIVE


def _write(archive: Path) -> None:
    package = Path(__file__).parents[1]
    with zipfile.ZipFile(archive, "w") as file:
        for name in _NEEDED:
            given = package / name
            for path in sorted(given.rglob("*.py")) if given.is_dir() else [given]:
                file.write(path, Path(package.name) / path.relative_to(package))
