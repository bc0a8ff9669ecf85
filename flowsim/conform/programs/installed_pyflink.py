"""The Python with PyFlink 2.3.0: flowsim's own if it has it, else that of an environment in the user's cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from flowsim.conform.java_machine import FlinkMissing
from flowsim.conform.programs.child import ran
from flowsim.conform.saved_answers import FLINK_VERSION
from flowsim.errors import BadInput
from flowsim.validation.java import user_cache

PACKAGE: Final = "apache-flink"
NEWEST_PYTHON: Final = (3, 12)
"""The newest Python that PyFlink supports."""
_PATIENCE_S: Final = 3600


def python_of_pyflink() -> Path:
    """Returns the Python with PyFlink; it need not exist yet. Raises FlinkMissing without a Python that PyFlink supports."""
    with_pyflink = Path(sys.executable)
    try:
        if version(PACKAGE) == FLINK_VERSION:
            return with_pyflink
    except PackageNotFoundError:
        pass
    return _folder(_base()) / "bin" / "python"


def installed(python: Path, on_step: Callable[[str], None]) -> None:
    """Creates the environment of ``python`` if it does not exist. Raises FlinkMissing if pip cannot install PyFlink.

    ``on_step`` gets lines that pip prints.
    """
    if python.exists():
        return
    target = python.parents[1]
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix="pyflink-") as folder:
        made = Path(folder, "environment")
        pip = [str(made / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        try:
            for command in ([str(_base()), "-m", "venv", str(made)], [*pip, f"{PACKAGE}=={FLINK_VERSION}"]):
                ran(command, os.environ, Path(folder), _PATIENCE_S, " ".join(command[1:]), on_step)
        except BadInput as error:
            raise FlinkMissing(f"PyFlink cannot be installed: {error}") from None
        # Several processes may install at once: the first one wins.
        if not target.exists():
            made.rename(target)


def _base() -> Path:
    """Returns the Python of the environment: the running one, or an older one that is on the PATH."""
    if sys.version_info[:2] <= NEWEST_PYTHON:
        return Path(sys.executable)
    for minor in (12, 11, 10):
        if found := shutil.which(f"python3.{minor}"):
            return Path(found)
    raise FlinkMissing(
        f"PyFlink {FLINK_VERSION} needs a Python from 3.9 to 3.12, and flowsim runs on "
        f"{sys.version_info.major}.{sys.version_info.minor}: install Python 3.12, or run flowsim with it"
    )


def _folder(base: Path) -> Path:
    """Returns the environment for a Python; the environment of another version is another one."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    minor = base.name.removeprefix("python") if base != Path(sys.executable) else running
    return user_cache() / f"pyflink-{FLINK_VERSION}-python{minor}"
