"""The files of the project: locked versions, no index URLs, no paths of the machine."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import flowsim
from flowsim.distribution import DISTRIBUTION

REPOSITORY = Path(__file__).parents[2]
SHIPPED = (
    ".ci", ".dockerignore", ".github", ".gitignore", ".importlinter", ".pre-commit-config.yaml", "CHANGELOG.md",
    "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "README.md",
    "SECURITY.md", "build_scripts", "changelog.d", "docs", "flowsim", "mkdocs.yml", "pyproject.toml", "requirements.lock",
    "requirements-flink.lock", "scenarios", "tests",
)  # fmt: skip
BINARY = {".gz", ".parquet", ".pyc", ".png", ".so", ".pyd"}


def shipped_texts() -> Iterator[Path]:
    for name in SHIPPED:
        top = REPOSITORY / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and path.suffix not in BINARY:
                yield path


def project() -> dict[str, object]:
    table = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert isinstance(table, dict)
    return table


LOCKS = ("requirements.lock", "requirements-flink.lock")


def locked() -> dict[str, Requirement]:
    lines = [line for lock in LOCKS for line in (REPOSITORY / lock).read_text().splitlines()]
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


def wanted() -> list[Requirement]:
    table = project()
    dependencies, extras = table["dependencies"], table["optional-dependencies"]
    assert isinstance(dependencies, list)
    assert isinstance(extras, dict)
    lines = [*dependencies, *(line for extra in extras.values() for line in extra)]
    return [requirement for requirement in map(Requirement, lines) if requirement.name != DISTRIBUTION]


@pytest.mark.parametrize("requirement", wanted(), ids=str)
def test_dependency_is_locked_to_an_allowed_version(requirement: Requirement) -> None:
    pin = locked()[canonicalize_name(requirement.name)]
    (exact,) = pin.specifier
    assert exact.operator == "=="
    assert requirement.specifier.contains(exact.version)


def test_lock_and_project_files_name_no_index() -> None:
    for name in (*LOCKS, "pyproject.toml", "Makefile", ".ci/run"):
        text = (REPOSITORY / name).read_text()
        assert re.findall(r"--(?:extra-)?index-url|--find-links|--trusted-host|\bfile://|https?://", text) == [], name


def test_every_extra_named_by_an_error_exists() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    named = set()
    for path in sorted((REPOSITORY / "flowsim").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"(?:MissingExtra|install_command)\(\s*[\"'](\w+)[\"']", text))
    assert named
    assert named <= extras.keys()


def test_no_text_installs_the_unrelated_pypi_package() -> None:
    """On PyPI `flowsim` belongs to others; only the checkout, or the distribution's own name, may be installed."""
    wrong = re.compile(r"\bflowsim\[[\w,]+\]|pip install\s+(?:-\S+\s+)*['\"]?flowsim(?![\w-])")
    assert wrong.search("pip install 'flowsim[spark]'")
    assert wrong.search("pip install --quiet flowsim")
    assert wrong.search("pip install 'flowsim-flink[spark]'") is None
    for path in shipped_texts():
        if path != Path(__file__):
            assert wrong.search(path.read_text(encoding="utf-8")) is None, path.relative_to(REPOSITORY)
    assert project()["name"] == DISTRIBUTION


def test_no_page_installs_the_distribution_from_an_index() -> None:
    """No index has it: a checkout (`.`) or the file of a wheel is installed."""
    from_index = re.compile(r"pip install\s+(?:-\S+\s+)*['\"]?flowsim-flink")
    assert from_index.search("pip install\n'flowsim-flink[study]'")
    assert from_index.search("pip install './flowsim_flink-0.2.0-py3-none-any.whl[study]'") is None
    for path in shipped_texts():
        if path.suffix == ".md":
            assert from_index.search(path.read_text(encoding="utf-8")) is None, path.relative_to(REPOSITORY)


def test_lock_excludes_the_project() -> None:
    assert f"pip freeze --exclude {DISTRIBUTION} " in (REPOSITORY / "Makefile").read_text()


def test_package_version_has_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", flowsim.__version__)


def test_top_level_has_no_python_files() -> None:
    """Scripts that build distributions are in build_scripts."""
    assert sorted(path.name for path in REPOSITORY.iterdir() if path.suffix in (".py", ".ini")) == []


def test_no_file_names_a_path_of_this_machine() -> None:
    places = {str(REPOSITORY) + "/", str(Path.home()) + "/"}
    if REPOSITORY.parent not in (Path("/"), Path(tempfile.gettempdir()), Path("/tmp")):
        places.add(str(REPOSITORY.parent) + "/")
    for path in shipped_texts():
        text = path.read_text(encoding="utf-8")
        found = sorted(place for place in places if place in text)
        assert found == [], f"{path.relative_to(REPOSITORY)} names {found}"


def test_document_links_stay_inside_the_project() -> None:
    """A path that climbs must still end inside the checkout, where a clone has it too."""
    for path in shipped_texts():
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\((\.{1,2}/[^)#\s]*)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).resolve().is_relative_to(REPOSITORY), f"{path.name}: {target}"
            assert (path.parent / target).exists(), f"{path.name}: {target} does not exist"


def test_no_file_names_a_folder_beside_the_checkout() -> None:
    beside = re.compile(r"(?<![\w./])\.\./(?:\.\./)*" + "shared")
    for path in shipped_texts():
        assert beside.search(path.read_text(encoding="utf-8")) is None, path.relative_to(REPOSITORY)
