"""The compiled form of the core: when it is used, and when Python runs the source instead."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from flowsim import compiled_modules
from flowsim.compiled_modules import COMPILED, FOLDER, MANIFEST, PURE, execution_mode, install, source_digest
from flowsim.distribution import __version__

PACKAGE = Path(compiled_modules.__file__).parent
needs_compiled = pytest.mark.skipif(
    not (PACKAGE / FOLDER / MANIFEST).is_file(), reason="the core is not compiled: `make install` needs a C compiler"
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one module, and the manifest of its compiled form."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(compiled_modules, "_mode", [""])
    monkeypatch.delenv(PURE, raising=False)
    folder = tmp_path / "tiny"
    (folder / FOLDER).mkdir(parents=True)
    (folder / "one.py").write_text("ONE = 1\n")
    write_manifest(folder, EXTENSION_SUFFIXES[0])
    return folder


def write_manifest(package: Path, suffix: str) -> None:
    sources = {"tiny.one": source_digest(package.parent, "tiny.one")}
    (package / FOLDER / MANIFEST).write_text(json.dumps({"suffix": suffix, "sources": sources}))


def found(module: str) -> list[str | None]:
    """The files from which the added finders would load a module."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, compiled_modules.CompiledModules)]
    specs = [finder.find_spec(module) for finder in finders]
    return [spec.origin for spec in specs if spec is not None and spec.origin is not None and "tiny" in spec.origin]


def test_module_is_loaded_from_its_compiled_form(package: Path) -> None:
    install(package)
    assert execution_mode() == COMPILED
    assert found("tiny.one") == [str(package / FOLDER / f"tiny/one{EXTENSION_SUFFIXES[0]}")]
    assert found("tiny.two") == []


def test_package_without_compiled_form_runs_its_source(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(package / FOLDER)
    install(package)
    assert execution_mode() == "not compiled"
    assert found("tiny.one") == []
    assert capsys.readouterr().err == ""


def test_variable_selects_the_source(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, "1")
    install(package)
    assert execution_mode() == "FLOWSIM_PURE is set"
    assert found("tiny.one") == []


def test_form_for_another_python_is_ignored(package: Path) -> None:
    write_manifest(package, ".cpython-27-riscv.so")
    install(package)
    assert execution_mode() == "compiled for another Python (.cpython-27-riscv.so)"
    assert found("tiny.one") == []


@pytest.mark.parametrize("text", ["ONE = 2\n", None])
def test_changed_source_is_named_and_nothing_compiled_is_loaded(
    text: str | None, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (package / "one.py").unlink()
    if text is not None:
        (package / "one.py").write_text(text)
    install(package)
    assert execution_mode() == "tiny.one changed since it was compiled"
    assert found("tiny.one") == []
    assert capsys.readouterr().err == (
        "flowsim runs without its compiled modules: tiny.one changed since it was compiled. "
        "`make install` compiles it again.\n"
    )


def version_of(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What ``flowsim --version`` of the package in a folder answers."""
    environment = {name: value for name, value in os.environ.items() if name != PURE} | variables
    return subprocess.run(
        [sys.executable, "-P", "-m", "flowsim", "--version"],
        env=environment | {"PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )


@needs_compiled
def test_version_tells_which_form_runs() -> None:
    assert version_of(PACKAGE.parent).stdout == f"flowsim {__version__} (compiled)\n"
    pure = version_of(PACKAGE.parent, FLOWSIM_PURE="1")
    assert (pure.stdout, pure.stderr) == (f"flowsim {__version__} (pure Python: FLOWSIM_PURE is set)\n", "")


@needs_compiled
def test_edited_module_of_the_core_is_the_one_that_runs(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "flowsim", ignore=shutil.ignore_patterns("web", "assets", "__pycache__"))
    edited = tmp_path / "flowsim/units.py"
    edited.write_text(edited.read_text() + "\n# edited\n")
    run = version_of(tmp_path)
    reason = "flowsim.units changed since it was compiled"
    assert run.stdout == f"flowsim {__version__} (pure Python: {reason})\n"
    assert run.stderr == f"flowsim runs without its compiled modules: {reason}. `make install` compiles it again.\n"
