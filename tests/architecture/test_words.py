"""Words that readers of flowsim do not understand at first reading, by area of the repository."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.pages.notebooks import NOTEBOOKS

ROOT: Final = Path(__file__).parents[2]

INSTEAD: Final = {
    "told": "reported, passed, recorded",
    "nobody": "name the component",
    "somebody": "name the component",
    "whoever": "name the component",
    "anybody": "name the component",
    "wishes": "requests",
    "foretold": "predicted",
    "foretell": "predict",
    "dear": "expensive",
    "came of": "the result",
    "comes of": "the result",
    "came round": "the timer fired",
    "comes round": "the timer fires",
    "mend": "fix",
    "mends": "fixes",
    "mended": "fixed",
    "story": "trace, history",
    "stories": "traces",
    "door": "method, entry point",
    "doors": "methods",
    "bench": "harness, benchmark",
    "beat": "interval, timer",
    "beats": "intervals",
    "deaf": "ignores its input",
    "diary": "log",
    "in hand": "in progress",
    "sees to": "handles",
    "speaks of": "describes",
    "speaks": "emits",
    "held against": "compared with",
    "wrong books": "the counters do not balance",
}
"""Each word with what to write instead. Targets of make and folders named after ``bench`` stay."""

_KEPT: Final = re.compile(
    r"make bench\S*|\bbench(?:-judge)?:|tests/benchmarks\S*|\bbench\w*\.py\b|test_bench\w*|bench-judge"
)
_WORDS: Final = re.compile(rf"\b(?:{'|'.join(re.escape(word) for word in INSTEAD)})\b", re.IGNORECASE)

Texts = Iterator[tuple[str, str]]
"""Pairs of a place (path:line) and a text."""
Nodes = tuple[ast.AST, ...]
"""All nodes of a syntax tree, the outer ones first."""


@cache
def _python(folder: str) -> tuple[tuple[str, str, Nodes], ...]:
    """Path, source and syntax of each module."""
    return tuple(_parsed(folder))


@pytest.fixture(autouse=True, scope="module")
def syntax_is_forgotten() -> Iterator[None]:
    """Millions of nodes, which would slow the garbage collector in all later tests of this process."""
    yield
    _python.cache_clear()


def _parsed(folder: str) -> Iterator[tuple[str, str, Nodes]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path != Path(__file__):
            source = path.read_text(encoding="utf-8")
            yield path.relative_to(ROOT).as_posix(), source, tuple(ast.walk(ast.parse(source)))


def _docstrings(nodes: Nodes) -> list[ast.Constant]:
    """Docstrings, those of attributes included: every statement that is only a text."""
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def _literals(nodes: Nodes) -> Iterator[ast.Constant]:
    documentation = set(map(id, _docstrings(nodes)))
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages() -> Texts:
    """What users see at run time: all texts in the package that are no docstrings."""
    for path, _, nodes in _python("flowsim"):
        for node in _literals(nodes):
            yield f"{path}:{node.lineno}", str(node.value)


def docstrings() -> Texts:
    """Docstrings and comments of the package."""
    for path, source, nodes in _python("flowsim"):
        for node in _docstrings(nodes):
            yield f"{path}:{node.lineno}", str(node.value)
        for line, comment in _comments(source):
            yield f"{path}:{line}", comment


def _words(name: str) -> str:
    """The words of a name, split at underscores and camel case."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name))


def identifiers() -> Texts:
    """Names that the package defines: of modules, classes, functions, arguments, variables and attributes."""
    for path, _, nodes in _python("flowsim"):
        yield f"{path}:1", _words(_KEPT.sub("", Path(path).name).removesuffix(".py"))
        for node in nodes:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    yield f"{path}:{node.lineno}", _words(name)
                case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    yield f"{path}:{node.lineno}", _words(name)


def docs() -> Texts:
    """README, the documents in the root folder, and docs/ with its notebooks."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *NOTEBOOKS]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT).as_posix()}:{number}", line


def scenarios() -> Texts:
    for path in sorted((ROOT / "scenarios").glob("*.yaml")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT).as_posix()}:{number}", line


def suite() -> Texts:
    """Docstrings, comments and names of modules, functions and classes of the tests."""
    for path, source, nodes in _python("tests"):
        yield f"{path}:1", _words(_KEPT.sub("", Path(path).name).removesuffix(".py"))
        for node in _docstrings(nodes):
            yield f"{path}:{node.lineno}", str(node.value)
        for line, comment in _comments(source):
            yield f"{path}:{line}", comment
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield f"{path}:{node.lineno}", _words(node.name)


AREAS: Final[dict[str, Callable[[], Texts]]] = {
    "messages": messages,
    "docstrings": docstrings,
    "identifiers": identifiers,
    "docs": docs,
    "scenarios": scenarios,
    "tests": suite,
}
EXCEPTIONS: Final[dict[str, str]] = {}
"""Path (without line) to the reason why it keeps a word."""


def refused(texts: Texts) -> list[str]:
    found = []
    for place, text in texts:
        if place.rpartition(":")[0] in EXCEPTIONS:
            continue
        for match in _WORDS.finditer(_KEPT.sub("", text)):
            word = " ".join(match.group().lower().split())
            found.append(f"{place}: {word!r}: write {INSTEAD[word]}")
    return found


@pytest.mark.parametrize("area", AREAS)
def test_area_has_texts_without_refused_words(area: str) -> None:
    texts = list(AREAS[area]())
    assert len(texts) > 100
    found = refused(iter(texts))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", INSTEAD)
def test_word_is_refused(word: str) -> None:
    assert refused(iter([("here:1", f"A task {word.upper()} it.")])) == [f"here:1: {word!r}: write {INSTEAD[word]}"]


@pytest.mark.parametrize("text", ["make bench", "run `make bench-judge`", "tests/benchmarks/bench.py", "benchmarks"])
def test_name_of_a_benchmark_is_accepted(text: str) -> None:
    assert refused(iter([("here:1", text)])) == []


@pytest.mark.parametrize("name", ["_NOT_IN_STORY", "NotInStory", "not_in_story", "JSONStory", "storyOfOne"])
def test_identifier_with_refused_word_is_refused(name: str) -> None:
    assert refused(iter([("here:1", _words(name))])) == [f"here:1: 'story': write {INSTEAD['story']}"]
