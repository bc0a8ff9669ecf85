"""The documentation agrees with the code: names, rules, keys of scenarios, links."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsim.laws.catalogue import LAWS
from flowsim.scenario.language.functions import FUNCTIONS
from flowsim.scenario.program_settings import ProgramSettingsModel
from flowsim.scenario.types import Strict
from flowsim.trace.rules_page import RulesPage
from tests.support.pages.scenario_page import PAGE, SECTIONS, scenario_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
PYTHON = sorted((ROOT / "flowsim").rglob("*.py"))

# Links and headings.

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_page_resolves(page: Path) -> None:
    dead = []
    for target in LINK.findall(page.read_text()):
        path, _, anchor = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert dead == []


def test_every_page_is_reachable_from_readme() -> None:
    seen: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [(page.parent / target.partition("#")[0]).resolve() for target in LINK.findall(page.read_text())]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in seen] == []


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    pages = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    assert [name[:4] for name in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    for name in pages:
        text = (DOCS / "decisions" / name).read_text()
        assert text.startswith(f"# {name[:4]} "), name
        assert re.findall(r"^## (.+)$", text, re.M) == ["Context", "Decision", "Consequences"], name
    listed = re.findall(r"\((\d{4}-[\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text())
    assert listed == pages


# docs/flink_map.md

CLAUSE = re.compile(r"(?:Py)?Flink:\s+(?=[A-Z]|the [A-Z])(.*?)(?:;|\.(?=\s|$)|\s\(|$)", re.S)
CLASS_NAME = re.compile(r"(?<![\w`])[A-Z]\w*(?:\.[A-Z]\w*)*(?![\w-])")
MAP_ROW = re.compile(r"^\| `([\w.]+)` \| (.+) \|$", re.M)


def flink_names(docstring: str | None) -> set[str]:
    """Simple names of the Flink classes that a docstring says it mirrors."""
    clauses = CLAUSE.findall(docstring or "")
    return {name.rpartition(".")[2] for clause in clauses for name in CLASS_NAME.findall(clause)}


def mirrors() -> Iterator[tuple[str, str, set[str]]]:
    """(module, class or '', Flink's names) of every docstring that names some."""
    for path in PYTHON:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text())
        if names := flink_names(ast.get_docstring(tree)):
            yield module, "", names
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (names := flink_names(ast.get_docstring(node))):
                yield module, node.name, names


def flink_map() -> dict[str, list[str]]:
    rows = MAP_ROW.findall((DOCS / "flink_map.md").read_text())
    assert len({key for key, _ in rows}) == len(rows)
    return {f"flowsim.{key}": re.findall(r"`([\w.]+)`", names) for key, names in rows}


def test_every_class_with_flink_docstring_is_in_map() -> None:
    rows = flink_map()
    missing = []
    for module, name, names in mirrors():
        key = f"{module}.{name}" if name else module
        mapped = {full.rpartition(".")[2] for row, fulls in rows.items() if row.startswith(module) for full in fulls}
        if (name and key not in rows) or not names <= mapped:
            missing.append(f"{key}: {', '.join(sorted(names))}")
    assert missing == []


def test_every_map_row_names_existing_code_with_flink_docstring() -> None:
    said: dict[str, set[str]] = {}
    for module, name, names in mirrors():
        said.setdefault(f"{module}.{name}" if name else module, set()).update(names)
    wrong = []
    for key, fulls in flink_map().items():
        module, _, last = key.rpartition(".")
        if last[0].isupper():
            assert hasattr(importlib.import_module(module), last), key
        else:
            importlib.import_module(key)
        extra = {full.rpartition(".")[2] for full in fulls} - said.get(key, set())
        if extra or not all(re.match(r"(org\.apache\.flink|java|pyflink)\.", full) for full in fulls):
            wrong.append(f"{key}: {', '.join(sorted(extra))}")
    assert wrong == []


# docs/flink_rules.md

NUMBER = r"\d{1,2}\.\d{1,3}"
CITED = re.compile(rf"(?i)\brules?\s+({NUMBER}(?:\s*(?:,|and|to|-|or)\s*(?:and\s+)?{NUMBER})*)")
INVARIANT = re.compile(r"\bI\d{1,2}\.[a-g]\b")
SECTION = re.compile(r"(?i)\bsections?\s+(\d{1,2}(?:\.[A-F])?)\b")


def citations(text: str) -> set[str]:
    """Rule numbers and invariants that a text cites, ranges spelled out.

    >>> sorted(citations("rules 8.9-8.11 and rule 10.2, I3.a"))
    ['10.2', '8.10', '8.11', '8.9', 'I3.a']
    """
    found = set(INVARIANT.findall(text))
    for cited in CITED.findall(re.sub(r"\s+#?\s*", " ", text)):
        pieces = re.findall(rf"({NUMBER})|(to|-)", cited)
        for index, (number, _) in enumerate(pieces):
            if number:
                found.add(number)
            else:
                first, last = pieces[index - 1][0].split("."), pieces[index + 1][0].split(".")
                found |= {f"{first[0]}.{minor}" for minor in range(int(first[1]), int(last[1]) + 1)}
    return found


def stated() -> set[str]:
    text = (DOCS / "flink_rules.md").read_text()
    return set(re.findall(rf"^- \*\*({NUMBER}|I\d+\.\w)\*\* ", text, re.M)) | set(
        re.findall(r"\*\*(?:Invariant )?(I\d+\.[a-g])\.?\*\*", text)
    )


def test_every_cited_rule_exists() -> None:
    known = stated()
    files = [path for folder in ("flowsim", "tests", "scenarios") for path in sorted((ROOT / folder).rglob("*.py"))]
    files += sorted((ROOT / "scenarios").glob("*.yaml")) + PAGES
    unknown = {
        str(path.relative_to(ROOT)): sorted(citations(path.read_text()) - known)
        for path in files
        if path != Path(__file__) and citations(path.read_text()) - known
    }
    assert unknown == {}


def test_every_rule_of_a_law_exists() -> None:
    assert {law.id: [rule for rule in law.rules if rule not in stated()] for law in LAWS} == {
        law.id: [] for law in LAWS
    }


def test_every_cited_section_exists() -> None:
    headings = re.findall(r"^#+ (\d+(?:\.[A-F])?)(?: and (\d+\.[A-F]))?", (DOCS / "flink_rules.md").read_text(), re.M)
    known = {number.rstrip(".") for pair in headings for number in pair if number}
    cited = {number for path in PYTHON for number in SECTION.findall(path.read_text())}
    assert sorted(cited - known) == []


def test_every_rule_of_a_component_names_classes_of_the_map() -> None:
    known = {full for fulls in flink_map().values() for full in fulls}
    rules = [rule for rule in RulesPage((DOCS / "flink_rules.md").read_text()).rules if not rule.number.startswith("I")]

    assert [rule.number for rule in rules if not rule.flink and not rule.number.startswith("0.")] == []
    named = {name for rule in rules for name in rule.flink}
    assert {name for name in named if not any(full.endswith(f".{name}") for full in known)} == set()


def test_rules_are_ordered_and_unique() -> None:
    numbers = re.findall(rf"^- \*\*({NUMBER})\*\* ", (DOCS / "flink_rules.md").read_text(), re.M)
    assert numbers == sorted(set(numbers), key=lambda number: tuple(map(int, number.split("."))))


# docs/scenario.md


def test_tables_of_scenario_keys_are_those_of_the_models() -> None:
    page = PAGE.read_text()
    assert page == scenario_page(page), "write them again: make docs"


BASES = [
    "EdgeModel", "FilesModel", "KeyedSecondInputModel", "MeasureModel", "PlainSettingsModel", "PlainWindowModel",
    "SecondInputModel", "SelectionModel",
]  # fmt: skip
"""What others inherit their keys from."""


def all_models(base: type[Strict]) -> Iterator[type[Strict]]:
    for model in base.__subclasses__():
        if not any(of.__name__ == model.__name__ for of in model.__subclasses__()):  # keys_of adds keys in a subclass
            yield model
        yield from all_models(model)


def test_every_scenario_model_has_a_section() -> None:
    known = all_models(Strict)
    models = {kind for kind in known if kind.model_fields and kind.__module__.startswith("flowsim.scenario.")}
    # Those that other packages extend at run time are no names of a module.
    models = {kind for kind in models if getattr(sys.modules[kind.__module__], kind.__name__, None) is kind}
    # What --set can change of a program is no part of a scenario.
    models -= {*SECTIONS.values(), ProgramSettingsModel}
    assert sorted(model.__name__ for model in models) == BASES


def test_every_expression_function_is_listed() -> None:
    text = (DOCS / "scenario.md").read_text().split("no calls but these:", 1)[1]
    assert re.findall(r"`(\w+)`", text.split("\n\n", 2)[1]) == list(FUNCTIONS)
