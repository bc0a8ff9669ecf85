"""Deliberate faults stay in ``flowsim.faults``: the classes that they break do not refer to them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from flowsim.faults.catalogue import FAULT_KINDS

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


@pytest.mark.parametrize("module", [name for name in modules() if name.split("/")[0] not in MAY_NAME_FAULTS])
def test_product_module_has_no_fault_flag(module: str) -> None:
    lines = [number for number, line in enumerate(source(module).splitlines(), 1) if FAULT.search(line)]
    if module in OTHER_FAULTS:
        assert lines, f"flowsim/{module} no longer has the word: take it off OTHER_FAULTS"
    else:
        assert lines == [], f"flowsim/{module}: lines {lines} know of faults, which belong into flowsim/faults"


@pytest.mark.parametrize("module", modules())
def test_module_assigns_no_class_and_makes_none_at_run_time(module: str) -> None:
    for node in ast.walk(ast.parse(source(module))):
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            assert not isinstance(node.ctx, ast.Store), f"flowsim/{module}:{node.lineno}: assigns __class__"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
            assert len(node.args) == 1, f"flowsim/{module}:{node.lineno}: makes a class with type()"


def test_every_fault_kind_is_implemented_by_name() -> None:
    named = {
        node.value
        for path in (PACKAGE / "faults").glob("*.py")
        if path.name != "catalogue.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(FAULT_KINDS) - named == set()
