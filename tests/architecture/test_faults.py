"""Deliberate faults stay in ``flowsim.faults``: the classes that they break do not refer to them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support import faults

PACKAGE = Path(__file__).parents[2] / "flowsim"

# What runs or uses a job with faults, and may therefore name them.
MAY_NAME_FAULTS = ("api.py", "cli", "faults", "scenario", "simulation.py", "studies", "testing")
# Path below flowsim/ -> why the word occurs in it.
OTHER_FAULTS = {"connectors/files/csv_diagnosis.py": "what is wrong with a CSV file"}

FAULT = re.compile(r"(?<!de)fault", re.IGNORECASE)


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def source(module: str) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


def test_product_modules_have_no_fault_flags() -> None:
    found = {
        module: [number for number, line in enumerate(source(module).splitlines(), 1) if FAULT.search(line)]
        for module in modules()
        if module.split("/")[0] not in MAY_NAME_FAULTS
    }
    knowing = {module: lines for module, lines in found.items() if lines}
    assert knowing.keys() == OTHER_FAULTS.keys(), f"know of faults, which belong into flowsim/faults: {knowing}"


def test_modules_assign_no_class_and_make_none_at_run_time() -> None:
    found = [
        f"flowsim/{module}:{node.lineno}"
        for module in modules()
        for node in ast.walk(ast.parse(source(module)))
        if (isinstance(node, ast.Attribute) and node.attr == "__class__" and isinstance(node.ctx, ast.Store))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "type"
            and len(node.args) != 1
        )
    ]
    assert found == []


def test_every_fault_kind_is_implemented_by_name() -> None:
    named = {
        node.value
        for folder in (PACKAGE / "faults", Path(faults.__file__).parent)
        for path in folder.glob("*.py")
        if path.name not in ("catalogue.py", "kinds.py", "checkpoint_kinds.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(faults.FAULT_KINDS) - named == set()
