"""The wheel and the sdist: built once, inspected, and run from an empty directory."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

import flowsim
from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.distribution import DISTRIBUTION, __version__

REPOSITORY = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.release]


@dataclass(frozen=True)
class Distributions:
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Built as a packager does: the sdist from the tree, the wheel from the sdist; nothing is fetched."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(REPOSITORY)]
    run = subprocess.run(command, cwd=out, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return Distributions(wheel, sdist)


@pytest.fixture(scope="module")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*command, str(distributions.wheel)], capture_output=True, text=True, timeout=240, check=True)
    return target


def run_in(folder: Path, installed: Path, *arguments: str) -> str:
    """Runs Python with the installed package before the checkout's own; answers what it printed."""
    environment = os.environ | {"PYTHONPATH": str(installed)}
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


SOURCES_OF_THE_VIEWER = "flowsim/report/web/"
COMPILED_CORE = "flowsim/_compiled/"


def files_of_the_package() -> set[str]:
    """Every file below flowsim/ that is source, typing mark or data, but for the sources of the viewer of reports."""
    paths = (path for path in (REPOSITORY / "flowsim").rglob("*") if path.is_file())
    names = {path.relative_to(REPOSITORY).as_posix() for path in paths if "__pycache__" not in path.parts}
    return {name for name in names if not name.startswith((SOURCES_OF_THE_VIEWER, COMPILED_CORE))}


FLIGHTS = "scenarios/data/nyc_flights_2013.csv.gz"
LARGEST_WHEEL = 5_000_000


def files_that_commands_read() -> set[str]:
    """The rules, the lessons and the pages that they show or name, the JSON Schema, the scenarios without the flights."""
    below = (path for path in (REPOSITORY / "scenarios").rglob("*") if path.is_file())
    scenarios = {path.relative_to(REPOSITORY).as_posix() for path in below if "__pycache__" not in path.parts}
    names = ("flink_rules.md", "scenario.md", "scenario.schema.json", "finishing.md", "async_designs.md")
    pages = {f"docs/{name}" for name in names}
    folders = [REPOSITORY / "docs" / name for name in ("lessons", "tutorial")]
    pages |= {path.relative_to(REPOSITORY).as_posix() for folder in folders for path in folder.glob("*.md")}
    return pages | scenarios - {FLIGHTS}


def test_wheel_has_exactly_the_package_and_the_files_that_commands_read(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        same = {
            name for name in files_that_commands_read() if wheel.read(f"flowsim/shipped/{name}") == content_of(name)
        }
    assert {"flowsim/py.typed", "flowsim/conform/java/flowsim/conform/Interpreter.java"} <= names
    assert names == files_of_the_package() | {f"flowsim/shipped/{name}" for name in files_that_commands_read()}
    assert same == files_that_commands_read()
    assert distributions.wheel.stat().st_size < LARGEST_WHEEL


@pytest.mark.skipif(execution_mode() != COMPILED, reason="the core is not compiled: `make install` needs a C compiler")
def test_wheel_with_compiled_core_is_for_this_platform_and_runs_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(REPOSITORY)]
    environment = os.environ | {"FLOWSIM_COMPILE": "1"}
    subprocess.run(command, env=environment, capture_output=True, timeout=240, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert next(sys_tags()) in parse_wheel_filename(wheel.name)[3]
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(target)
    assert run_in(tmp_path, target, "-m", "flowsim", "--version") == f"flowsim {__version__} (compiled)\n"
    program = "import flowsim.streamrecord.codec as one; print(one.__file__)"
    assert run_in(tmp_path, target, "-c", program).startswith(str(target / "flowsim/_compiled/flowsim/streamrecord"))


def content_of(name: str) -> bytes:
    return (REPOSITORY / name).read_bytes()


def test_editable_installation_has_no_copies_of_the_files_that_commands_read(tmp_path: Path) -> None:
    program = f"from hatchling.build import build_editable; print(build_editable({str(tmp_path)!r}))"
    wheel = tmp_path / run_in(REPOSITORY, REPOSITORY, "-c", program).split()[-1]
    with zipfile.ZipFile(wheel) as editable:
        assert [name for name in editable.namelist() if "shipped" in name] == []


def test_wheel_has_the_licence(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        (licence,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
        assert wheel.read(licence) == (REPOSITORY / "LICENSE").read_bytes()


def test_sdist_has_files_for_building_and_testing(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert files_of_the_package() <= names
    assert {name for name in names if "node_modules" in name} == set()
    wanted = {
        "flowsim/report/web/package-lock.json", "flowsim/report/web/src/main.tsx",
        "CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "README.md", "pyproject.toml",
        "requirements.lock", ".ci/run", ".github/pull_request_template.md", ".importlinter", "changelog.d/README.md",
        "build_scripts/compile_core.ini", "build_scripts/compile_core.py", "build_scripts/hatch_build.py",
        "scenarios/data/nyc_flights_2013.csv.gz", "scenarios/data/README.md", "tests/conftest.py",
        "tests/architecture/test_distributions.py",
    }  # fmt: skip
    assert wanted - names == set()
    assert any(name.startswith("docs/") for name in names)


def test_wheel_prints_rules_copies_scenarios_that_run_and_has_lessons(installed: Path, tmp_path: Path) -> None:
    assert "The valve" in run_in(tmp_path, installed, "-m", "flowsim", "rules", "8.11")
    listed = json.loads(run_in(tmp_path, installed, "-m", "flowsim", "scenarios", "--json"))
    assert len(listed) == len(list((REPOSITORY / "scenarios").glob("*.yaml")))
    assert {name for each in listed for name in each["missing"]} == {FLIGHTS.removeprefix("scenarios/")}
    run_in(tmp_path, installed, "-m", "flowsim", "scenarios", "02", "--copy")
    run_in(tmp_path, installed, "-m", "flowsim", "run", "02_wordcount_inline.yaml")
    assert "answer   dropped: 1" in run_in(tmp_path, installed, "-m", "flowsim", "learn", "06", "--verify")
    copied = {path.name for path in tmp_path.iterdir()}
    assert copied == {"02_wordcount_inline.yaml", "scenario.schema.json", "out"}


def test_package_imports_from_empty_directory(installed: Path, tmp_path: Path) -> None:
    found = run_in(tmp_path, installed, "-c", "import flowsim; print(flowsim.__file__, flowsim.__version__)")
    assert found.split() == [str(installed / "flowsim" / "__init__.py"), flowsim.__version__]


def test_command_prints_help_from_empty_directory(installed: Path, tmp_path: Path) -> None:
    text = run_in(tmp_path, installed, "-m", "flowsim", "--help")
    assert "Usage" in text
    assert list(tmp_path.iterdir()) == []


def test_console_script_is_installed(installed: Path) -> None:
    script = installed / "bin" / ("flowsim.exe" if sys.platform == "win32" else "flowsim")
    assert script.is_file()
    assert shutil.which("flowsim", path=str(script.parent)) == str(script)


WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
from flowsim.errors import MissingExtra
try:
    import flowsim.testing.strategies
except MissingExtra as error:
    print(str(error).partition("install it with  ")[2])
"""


@pytest.fixture(scope="module")
def environment_of_the_wheel(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh virtual environment: the wheel in it, and all that it depends on through a .pth file."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*command, str(distributions.wheel)], capture_output=True, text=True, timeout=240, check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def output_of(python: Path, folder: Path, path: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        [str(python), *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def pip(python: Path, folder: Path, command: str) -> str:
    """What pip would do for a command that a message names, without the index and without doing it."""
    words = shlex.split(command)
    assert words[:2] == ["pip", "install"]
    offline = ["install", "--dry-run", "--no-index", "--no-build-isolation", *words[2:]]
    return output_of(Path(sys.executable), folder, "", "-m", "pip", "--python", str(python), *offline)


def test_wheel_metadata_has_the_distribution_name(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        lines = wheel.read(metadata).decode().splitlines()
    assert f"Name: {DISTRIBUTION}" in lines
    assert "Provides-Extra: spark" in lines
    assert [line for line in lines if line.startswith("Requires-Dist: flowsim[")] == []


def test_install_command_for_missing_extra_works_for_wheel(
    environment_of_the_wheel: Path, distributions: Distributions, tmp_path: Path
) -> None:
    command = output_of(environment_of_the_wheel, tmp_path, "", "-c", WITHOUT_HYPOTHESIS).strip()
    assert command == f"pip install '{distributions.wheel}[testing]'"
    done = pip(environment_of_the_wheel, tmp_path, command)
    assert f"Processing {distributions.wheel}" in done
    assert "Requirement already satisfied: hypothesis" in done


def test_install_command_for_missing_extra_works_after_the_wheel_file_is_gone(
    environment_of_the_wheel: Path, distributions: Distributions, tmp_path: Path
) -> None:
    aside = distributions.wheel.rename(tmp_path / "aside")
    try:
        command = output_of(environment_of_the_wheel, tmp_path, "", "-c", WITHOUT_HYPOTHESIS).strip()
        assert command == f"pip install '{DISTRIBUTION}[testing]'"
        done = pip(environment_of_the_wheel, tmp_path, command)
    finally:
        aside.rename(distributions.wheel)
    assert f"Requirement already satisfied: {DISTRIBUTION}[testing]" in done
    assert "Requirement already satisfied: hypothesis" in done


def test_install_command_for_missing_extra_works_for_checkout(tmp_path: Path) -> None:
    command = output_of(Path(sys.executable), tmp_path, str(REPOSITORY), "-c", WITHOUT_HYPOTHESIS).strip()
    assert command == f"pip install -e {shlex.quote(f'{REPOSITORY}[testing]')}"
    done = pip(Path(sys.executable), tmp_path, command)
    assert "Requirement already satisfied: hypothesis" in done
    assert f"Would install {DISTRIBUTION}-{flowsim.__version__}" in done.replace("_", "-")
