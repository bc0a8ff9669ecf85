"""Rules of the source that no linter checks: await, randomness, size of files and functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "flowsim"

MAY_AWAIT = ("cluster", "sim", "tasks")
CORE = (
    "distribution.py", "errors.py", "units.py", "values", "facts", "laws", "mailbox", "network", "operators", "state",
    "streamrecord", "timers", "watermark",
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
    ("testing/pytest_plugin.py", "flowsim.testing.schedule"): "the same",
    ("__main__.py", "flowsim.cli.main"): "signals are in hand before anything else is imported",
}


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


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


@pytest.mark.parametrize("module", modules())
def test_module_has_a_docstring(module: str) -> None:
    source = tree(module)
    if source.body:  # an empty __init__.py has nothing to say
        assert ast.get_docstring(source), f"flowsim/{module}: a module docstring is missing"


@pytest.mark.parametrize("module", modules())
def test_only_shell_modules_await(module: str) -> None:
    if module.split("/")[0] in MAY_AWAIT:
        return
    waits = (ast.Await, ast.AsyncFor, ast.AsyncWith)
    lines = [node.lineno for node in ast.walk(tree(module)) if isinstance(node, waits)]
    assert lines == [], f"flowsim/{module}: awaits in lines {lines}; only {', '.join(MAY_AWAIT)} may"


@pytest.mark.parametrize("module", [module for module in modules() if is_core(module)])
def test_core_module_takes_random_as_argument(module: str) -> None:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            assert all(name.name != "random" for name in node.names), f"flowsim/{module}:{node.lineno}: imports random"
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            assert [name.name for name in node.names] == ["Random"], (
                f"flowsim/{module}:{node.lineno}: only the type Random"
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "Random", f"flowsim/{module}:{node.lineno}: makes chance of its own"


@pytest.mark.parametrize("module", [module for module in modules() if is_core(module)])
def test_core_module_calls_neither_id_nor_hash(module: str) -> None:
    """Addresses and Python's salted hashes differ from process to process (D4)."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("id", "hash"):
            raise AssertionError(f"flowsim/{module}:{node.lineno}: {node.func.id}() must not decide anything")


@pytest.mark.parametrize("module", modules())
def test_file_is_not_too_long(module: str) -> None:
    lines = len((PACKAGE / module).read_text(encoding="utf-8").splitlines())
    if module in LONGER_FILES:
        assert lines > LONGEST_FILE, f"flowsim/{module} is short again: take it off LONGER_FILES"
    else:
        assert lines <= LONGEST_FILE, f"flowsim/{module}: {lines} lines, at most {LONGEST_FILE}: split it by idea"


@pytest.mark.parametrize("module", modules())
def test_functions_are_not_too_long(module: str) -> None:
    for name, node in functions(tree(module)):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if f"{module}:{name}" not in LONGER_FUNCTIONS:
            assert lines <= LONGEST_FUNCTION, f"flowsim/{module}:{node.lineno} {name}: {lines} lines"


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
