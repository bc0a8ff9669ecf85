"""Workflows, commit hooks and the Dockerfile: their formats are valid, and they do what the documentation states.

Workflows and images cannot run here. A workflow is checked with the schema of workflows, its scripts with the syntax
of bash, and the Dockerfile with the rules of hadolint.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(name: str) -> dict[str, Any]:
    loaded = YAML(typ="safe").load(ROOT / ".github" / "workflows" / f"{name}.yml")
    assert isinstance(loaded, dict)
    return loaded


def with_tools() -> dict[str, str]:
    """The variables of this process, with the commands of this environment first in the path."""
    return {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in workflow(path.stem)["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_satisfies_the_workflow_schema(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_of_workflow_are_valid_bash(path: Path) -> None:
    scripts = [step["run"] for step in steps(path) if "run" in step]
    assert scripts
    for script in scripts:
        plain = re.sub(r"\$\{\{.*?\}\}", "value", script)
        run = subprocess.run(["bash", "-n"], input=plain, capture_output=True, text=True, timeout=10, check=False)
        assert run.returncode == 0, f"{script}\n{run.stderr}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_pins_actions_and_has_read_permission(path: Path) -> None:
    """Rights to write are given to single jobs."""
    assert workflow(path.stem)["permissions"] == {"contents": "read"}
    actions = [step["uses"] for step in steps(path) if "uses" in step]
    assert [action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+)*", action)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_expressions_of_workflow_name_existing_values(path: Path) -> None:
    contexts = {"github", "matrix", "steps", "runner"}
    for job in workflow(path.stem)["jobs"].values():
        ids = {step["id"] for step in job["steps"] if "id" in step}
        matrix = job.get("strategy", {}).get("matrix", {})
        for expression in re.findall(r"\$\{\{\s*([\w.-]+)\s*\}\}", str(job)):
            context, name = expression.split(".")[:2]
            assert context in contexts, expression
            assert context != "steps" or name in ids, expression
            assert context != "matrix" or name in matrix, expression


def test_ci_runs_the_ci_script_on_every_classified_python() -> None:
    job = workflow("ci")["jobs"]["test"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    versions = [found[1] for line in classifiers if (found := re.fullmatch(r"Programming .* :: (3\.\d+)", line))]
    assert job["strategy"]["matrix"]["python"] == versions
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_release_tools_are_locked() -> None:
    (pattern,) = re.findall(r"grep -E '([^']+)' requirements.lock", str(workflow("release")).replace("\\'", "'"))
    locked = (ROOT / "requirements.lock").read_text().splitlines()
    names = {line.partition("==")[0] for line in locked if re.search(pattern, line)}
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert names == {"build", *(re.match(r"\w+", line)[0] for line in required)}  # type: ignore[index]


# The image.


def test_dockerfile_passes_hadolint() -> None:
    run = subprocess.run(
        ["hadolint", "Dockerfile"], cwd=ROOT, env=with_tools(), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_image_copies_exactly_the_context() -> None:
    context = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?:--chown=\S+ )?(?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    sources = {source for line in copied for source in line.split()}
    assert sources == context
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_image_runs_command_as_unprivileged_user() -> None:
    last = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER 1000$", last, re.M)
    assert re.search(r'^ENTRYPOINT \["flowsim"\]$', last, re.M)


# The hooks, run in a repository of their own, with the tools of this environment.

BAD = {
    "flowsim/example.py": ("import os\ndef f( x:int)->str:\n    return x\n", {"ruff", "ruff-format", "mypy"}),
    "README.md": ("What you recieve.\n", {"codespell"}),
    ".github/workflows/ci.yml": ("name: CI\n'on': push\njobs: {test: {steps: []}}\n", {"workflows"}),
    "Dockerfile": ("FROM python:latest\nRUN cd /tmp\n", {"dockerfile"}),
}
GOOD = {
    "flowsim/example.py": "def f(x: int) -> str:\n    return str(x)\n",
    "README.md": "What you receive.\n",
    ".github/workflows/ci.yml": "name: CI\n'on': push\njobs: {test: {runs-on: ubuntu-24.04, steps: [{run: make}]}}\n",
    "Dockerfile": "FROM python:3.12-slim\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the hooks of the project."""
    folder = tmp_path_factory.mktemp("repository")
    for name in (".pre-commit-config.yaml", "pyproject.toml", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    (folder / ".venv").symlink_to(sys.prefix)
    if (ROOT / ".mypy_cache").is_dir():  # mypy reads the types of the standard library for 10 s without it
        shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, timeout=30, check=True)
    return folder


def failed_hooks(repository: Path, files: dict[str, str]) -> set[str]:
    """Ids of the hooks that fail for these files."""
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    subprocess.run(["git", "add", *files], cwd=repository, timeout=30, check=True)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository / ".pre-commit"), "PYTHONPATH": ""}
    command = [sys.executable, "-m", "pre_commit", "run", "--verbose", "--color", "never", "--files", *files]
    run = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    found = re.findall(r"\.+(Passed|Failed)\n- hook id: (\S+)$", run.stdout, re.M)
    hooks = YAML(typ="safe").load(repository / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook for _, hook in found} == {hook["id"] for hook in hooks}, run.stdout + run.stderr
    return {hook for result, hook in found if result == "Failed"}


@pytest.mark.slow
def test_every_hook_refuses_its_invalid_file(repository: Path) -> None:
    """No hook checks two of these files, so that one run shows which refuse theirs."""
    expected = [hooks for _, hooks in BAD.values()]
    assert failed_hooks(repository, {name: text for name, (text, _) in BAD.items()}) == set().union(*expected)
    assert len(set().union(*expected)) == sum(map(len, expected))


@pytest.mark.slow
def test_hooks_accept_valid_files(repository: Path) -> None:
    assert failed_hooks(repository, GOOD) == set()
