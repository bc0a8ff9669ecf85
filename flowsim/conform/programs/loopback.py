"""The jars of PyFlink with one more: servers for the workers of Python that listen on the loopback interface only."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from flowsim.conform.java_machine import compiled
from flowsim.validation.java import user_cache

_SOURCES: Final = Path(__file__).parent / "java"
_HOME: Final = "import pyflink; print(next(iter(pyflink.__path__)))"


def home_of_flink(python: Path) -> Path:
    """Returns the folder of PyFlink, which has the jars of Flink."""
    run = subprocess.run([str(python), "-P", "-c", _HOME], capture_output=True, text=True, check=True)
    return Path(run.stdout.strip())


def classes_on_loopback(home: Path) -> Path:
    """Returns the folder of the compiled class. Raises FlinkMissing without a compiler."""
    return compiled(user_cache() / "conform", (_SOURCES,), [str(each) for each in home.glob("opt/flink-python-*.jar")])


def link_library(folder: Path, home: Path, classes: Path) -> None:
    """Fills a folder with the jars of Flink, and a jar with the class, which comes before that in the jar of PyFlink."""
    folder.mkdir()
    for jar in (home / "lib").glob("*.jar"):
        (folder / jar.name).symlink_to(jar)
    with ZipFile(folder / "loopback.jar", "w") as jar_of_class:
        for file in classes.rglob("*.class"):
            jar_of_class.write(file, file.relative_to(classes))
