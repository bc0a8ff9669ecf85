"""The parts of laws that can be switched off one at a time: handlers of facts, and violations.

Of laws that examine row after row; the others have a second definition in ``tests.support.oracle``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

import flowsim.laws
from flowsim.laws.catalogue import LAWS
from flowsim.laws.findings import Findings
from tests.support.law_mutants.table import Key

FOLDER: Final = Path(flowsim.laws.__file__).parent
OF_ROWS: Final = ("tasks", "network", "async_wait", "checkpoints")
"""Families of laws without a second definition."""
OTHERS: Final = ("channels.end", "windows.joins", "windows.unmatched")
"""Modules of other families, for laws without a second definition."""
_SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_REPORTS: Final = ("_broken", "broken", "_refuse")
"""Beginnings of the names of methods that only report."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A handler that does nothing when it is switched off, or a violation that is not reported.

    ``lines`` are those of the statement: a case that runs none of them cannot see the difference.
    """

    module: str
    function: str
    """Qualified name; empty for a text of the module."""
    what: str
    """The text of the violation, or the statement of the handler."""
    place: tuple[int, int]
    """Line and column of what is replaced."""
    lines: range

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.module.replace('.', '/')}.py"


@cache
def all_switches() -> dict[Key, Switch]:
    """All parts of these laws; parts of one function with equal texts are numbered."""
    found: dict[Key, Switch] = {}
    for module in _modules():
        for switch in _switches(module):
            names = chain([switch.what], (f"{switch.what} ({number})" for number in count(2)))
            key = next(key for what in names if (key := (module, switch.function, what)) not in found)
            found[key] = switch
    return found


def _modules() -> list[str]:
    families = (f"{family}.{path.stem}" for family in OF_ROWS for path in sorted((FOLDER / family).glob("[!_]*.py")))
    return [*families, *OTHERS]


def _switches(module: str) -> list[Switch]:
    """All that can be switched off in a module."""
    tree = ast.parse((FOLDER / f"{module.replace('.', '/')}.py").read_text())
    found = [
        Switch(module, "", text, (node.lineno, node.col_offset), range(0))
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Dict)
        for node, text in _texts(statement.value)
    ]
    for name, function in _functions(tree, ""):
        found += _handlers(module, name, function)
        if not _is_reason(module, name):
            found += _violations(module, name, function)
    return found


def _functions(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _is_reason(module: str, name: str) -> bool:
    """Whether a function explains why a law does not apply, or is not judged."""
    if name == "_named":  # Lists what laws joins and window-joins do not judge.
        return True
    live = getattr(import_module(f"{flowsim.laws.__name__}.{module}"), name, None)
    return live is not None and any(live in (law.applies, law.unjudged) for law in LAWS)


def _handlers(module: str, name: str, function: ast.FunctionDef) -> Iterator[Switch]:
    """A method without result that does not only report; of ``feed``, also each compound statement."""
    if "." not in name or function.name.startswith(("__", *_REPORTS)):
        return
    if function.name == "feed":
        for statement in function.body:
            if isinstance(statement, ast.For | ast.If) and not any(
                isinstance(one, ast.Return) for one in statement.body
            ):
                head = ast.unparse(statement).splitlines()[0].removesuffix(":")
                yield Switch(module, name, head, (statement.lineno, statement.col_offset), _lines(statement.body[0]))
    if isinstance(function.returns, ast.Constant) and function.returns.value is None:
        body = [one for one in function.body if not _is_docstring(one)]
        if body:
            yield Switch(module, name, "all", (function.lineno, function.col_offset), _lines(body[0]))


def _violations(module: str, name: str, function: ast.FunctionDef) -> Iterator[Switch]:
    for statement in ast.walk(function):
        if isinstance(statement, _SIMPLE) and not _is_docstring(statement):
            for node, text in _texts(statement):
                yield Switch(module, name, text, (node.lineno, node.col_offset), _lines(statement))
        elif isinstance(statement, ast.For):
            for node, text in _texts(statement.iter):
                yield Switch(
                    module,
                    name,
                    text,
                    (node.lineno, node.col_offset),
                    range(statement.lineno, statement.body[0].lineno),
                )


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _texts(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The sentences in a statement: texts with a space."""
    if isinstance(node, ast.JoinedStr):
        constant = "".join(str(one.value) for one in node.values if isinstance(one, ast.Constant))
        if " " in constant.strip():
            yield node, ast.unparse(node)[2:-1]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if " " in node.value.strip():
            yield node, node.value
    elif not isinstance(node, ast.Slice | ast.Subscript):
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


class _Off(ast.NodeTransformer):
    """Replaces one node of a module: a text by an empty one; a statement or a function's body gets the condition False.

    So the function has the same free variables.
    """

    def __init__(self, place: tuple[int, int]) -> None:
        self._place = place
        self.is_done = False

    def visit(self, node: ast.AST) -> ast.AST:
        if not self.is_done and (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)) == self._place:
            replaced: ast.AST | None = None
            if isinstance(node, ast.Constant | ast.JoinedStr):
                replaced = ast.Constant("")
            elif isinstance(node, ast.For | ast.If):
                replaced = ast.If(ast.Constant(False), [node], [])
            elif isinstance(node, ast.FunctionDef):
                node.body = [ast.If(ast.Constant(False), node.body, [])]
                replaced = node
            if replaced is not None:
                self.is_done = True
                return ast.fix_missing_locations(ast.copy_location(replaced, node))
        return self.generic_visit(node)


@contextmanager
def switched_off(switch: Switch) -> Iterator[None]:
    """Switches a part of a law off: its function gets other code, and a violation with an empty text is not counted."""
    report = Findings.broken
    dropped = switch.what if not switch.function else None

    def broken(self: Findings, what: str, at: tuple[int, ...], **where: object) -> None:
        if what and (dropped is None or dropped not in what):
            report(self, what, at, **where)

    Findings.broken = broken  # type: ignore[method-assign]
    live = _function(import_module(f"{flowsim.laws.__name__}.{switch.module}"), switch.function)
    code = live.__code__ if live is not None else None
    try:
        if live is not None:
            live.__code__ = _code_without(switch)
        yield
    finally:
        Findings.broken = report  # type: ignore[method-assign]
        if live is not None and code is not None:
            live.__code__ = code


def _function(module: ModuleType, name: str) -> FunctionType | None:
    if not name:
        return None
    found: object = module
    for part in name.split("."):
        found = vars(found)[part]
    found = getattr(found, "__func__", getattr(found, "fget", found))
    assert isinstance(found, FunctionType), name
    return found


@cache
def _code_without(switch: Switch) -> CodeType:
    path = switch.path
    off, tree = _Off(switch.place), ast.parse(path.read_text())
    off.visit(tree)
    code: CodeType = compile(tree, str(path), "exec", dont_inherit=True)
    assert off.is_done, switch
    for name in switch.function.split("."):
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return code
