"""Rules of the source that no linter checks: await, randomness, size of files and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "flowsim"

MAY_AWAIT = ("cluster", "play", "sim", "tasks")
"""The packages that run on an event loop; that of ``play`` is the server's."""
CORE = (
    "checkpoints", "distribution.py", "errors.py", "units.py", "values", "facts", "laws", "mailbox", "network", "operators",
    "state", "streamrecord", "timers", "watermark",
)  # fmt: skip
LONGEST_FILE = 400
LONGEST_FUNCTION = 60

# Path below flowsim/ -> why it may be longer.
LONGER_FILES: dict[str, str] = {}
# "path below flowsim/:qualified name" -> why it may be longer.
LONGER_FUNCTIONS: dict[str, str] = {}
# (module, what it imports inside a function) -> why it does not do so at its top.
LATE_IMPORTS = {
    ("testing/pytest_plugin.py", "flowsim.errors"): "every pytest run loads the plugin where flowsim is installed",
    ("testing/pytest_plugin.py", "flowsim.testing.bounds"): "the same",
    ("testing/pytest_plugin.py", "flowsim.testing.explained_lines"): "the same",
    ("testing/pytest_plugin.py", "flowsim.testing.pytest_reports"): "the same",
    ("testing/pytest_plugin.py", "flowsim.testing.schedule"): "the same",
    (
        "scenario/compiled.py",
        "flowsim.cluster.checkpoint_folders",
    ): "a job is described, checked and drawn without running",
    ("scenario/compiled.py", "flowsim.cluster.job_execution"): "the same",
    ("scenario/compiled.py", "flowsim.faults.faulty_components"): "the same",
    ("datastream/job_builder.py", "flowsim.cluster.checkpoint_folders"): "the same",
    ("datastream/job_builder.py", "flowsim.cluster.job_execution"): "the same",
    ("datastream/job_builder.py", "flowsim.datastream.common.job_client"): "the same, for its results",
    ("datastream/job_executor.py", "flowsim.cluster.mini_cluster"): "the same",
    ("datastream/job_executor.py", "flowsim.cluster.recorded_run"): "the same",
    ("connectors/files/parquet.py", "flowsim.connectors.files.parquet_file"): "pyarrow and numpy take 0.1 s",
    ("connectors/files/file_sources.py", "flowsim.connectors.files.parquet_file"): "the same",
    ("connectors/files/csv.py", "flowsim.connectors.files.csv_file"): "the same",
    ("connectors/lookup_table.py", "flowsim.connectors.files.csv_file"): "the same",
    (
        "recording/reader.py",
        "flowsim.recording.frames",
    ): "pyarrow.compute takes 0.05 s, and few commands make data frames",
    ("recording/memory.py", "flowsim.recording.frames"): "the same",
    ("cli/commands/run.py", "flowsim.explore.checked_run"): "imports every law, for --token only",
    ("cli/commands/run.py", "flowsim.cli.judged_run"): "imports every law and Spark's adapters, for --validate only",
    ("cli/commands/pyflink.py", "flowsim.cli.judged_program"): "the same",
    ("__main__.py", "flowsim.cli.main"): "signals are in hand before anything else is imported",
}


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@pytest.fixture(autouse=True, scope="module")
def syntax_is_forgotten() -> Iterator[None]:
    yield
    tree.cache_clear()


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"), filename=module)


def is_core(module: str) -> bool:
    return module.split("/")[0] in CORE


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        name = f"{prefix}.{child.name}".lstrip(".") if named else prefix  # type: ignore[attr-defined]
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield name, child
        yield from functions(child, name)


def test_modules_are_found() -> None:
    assert "facts/schema.py" in modules()


def test_modules_have_docstrings() -> None:
    """An empty ``__init__.py`` needs none."""
    assert [module for module in modules() if tree(module).body and not ast.get_docstring(tree(module))] == []


def test_only_shell_modules_await() -> None:
    waits = (ast.Await, ast.AsyncFor, ast.AsyncWith)
    found = [
        f"flowsim/{module}:{node.lineno}"
        for module in modules()
        if module.split("/")[0] not in MAY_AWAIT
        for node in ast.walk(tree(module))
        if isinstance(node, waits)
    ]
    assert found == [], f"only {', '.join(MAY_AWAIT)} may await"


def core_nodes() -> Iterator[tuple[str, ast.AST]]:
    """Every node of the core with its place."""
    for module in filter(is_core, modules()):
        for node in ast.walk(tree(module)):
            yield f"flowsim/{module}:{getattr(node, 'lineno', 0)}", node


def is_call_of(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def test_core_modules_take_random_as_argument() -> None:
    """They may import the type Random, and make none."""
    found = [
        place
        for place, node in core_nodes()
        if (isinstance(node, ast.Import) and any(name.name == "random" for name in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "random" and [n.name for n in node.names] != ["Random"])
        or is_call_of(node, "Random")
    ]
    assert found == []


HASHES_FOR_DICTS = ("flowsim/timers/internal_timer.py",)
"""Keys of dicts that remember their hash; the order of a dict does not depend on it."""


def test_core_modules_call_neither_id_nor_hash() -> None:
    """Addresses and Python's salted hashes differ from process to process (D4)."""
    found = [place for place, node in core_nodes() if is_call_of(node, "id", "hash")]
    assert [place for place in found if place.rpartition(":")[0] not in HASHES_FOR_DICTS] == []


def test_files_are_not_too_long() -> None:
    lines = {module: len((PACKAGE / module).read_text(encoding="utf-8").splitlines()) for module in modules()}
    longer = {module: count for module, count in lines.items() if count > LONGEST_FILE}
    assert longer.keys() == LONGER_FILES.keys(), f"at most {LONGEST_FILE} lines: {longer}; split files by idea"


def test_functions_are_not_too_long() -> None:
    lines = {
        f"{module}:{name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules()
        for name, node in functions(tree(module))
    }
    longer = {name: count for name, count in lines.items() if count > LONGEST_FUNCTION}
    assert longer.keys() == LONGER_FUNCTIONS.keys(), f"at most {LONGEST_FUNCTION} lines: {longer}"


def late_imports(module: str) -> set[tuple[str, str]]:
    """What of flowsim a module imports inside its functions."""
    found = set()
    for _, function in functions(tree(module)):
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"flowsim/{module}:{node.lineno}: a relative import"
                found.add((module, node.module or ""))
            elif isinstance(node, ast.Import):
                found |= {(module, name.name) for name in node.names}
    return {(module, name) for module, name in found if name.split(".")[0] == "flowsim"}


def test_modules_import_flowsim_at_top_level() -> None:
    """Otherwise a circle of imports, or what a start costs, hides in a function; validation waits for Spark."""
    found = set().union(*(late_imports(module) for module in modules() if module.split("/")[0] != "validation"))
    assert found == set(LATE_IMPORTS)


def exports(package: str) -> set[str]:
    """``__all__`` of the package at this path below flowsim/."""
    for node in tree(f"{package}/__init__.py").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


PACKAGES = [module.removesuffix("/__init__.py") for module in modules() if module.endswith("/__init__.py")]
REEXPORTING = [package for package in PACKAGES if exports(package)]


@pytest.mark.parametrize("package", REEXPORTING)
def test_no_submodule_has_the_name_of_an_export(package: str) -> None:
    """Importing the submodule would put itself in place of the export: which one is meant depended on what came first."""
    submodules = {path.stem for path in (PACKAGE / package).iterdir() if path.suffix == ".py" or path.is_dir()}
    assert exports(package) & submodules == set(), f"flowsim/{package}: name the submodule otherwise"


def test_exporting_packages_are_known() -> None:
    assert {"datastream", "testing"} <= set(REEXPORTING)
