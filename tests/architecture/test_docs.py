"""The documentation says what the code says: names, rules, keys of scenarios, links."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML

from flowsim.laws.catalogue import LAWS
from flowsim.scenario.language.functions import FUNCTIONS
from flowsim.scenario.models import actions as schema_actions
from flowsim.scenario.models import alarms as schema_alarms
from flowsim.scenario.models import async_calls as schema_async
from flowsim.scenario.models import functions as schema_functions
from flowsim.scenario.models import joins as schema_joins
from flowsim.scenario.models import network as schema_network
from flowsim.scenario.models import operators as schema_operators
from flowsim.scenario.models import scenario as schema
from flowsim.scenario.models import sources as schema_sources
from flowsim.scenario.models import windows as schema_windows
from flowsim.scenario.models.types import Strict

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
PYTHON = sorted((ROOT / "flowsim").rglob("*.py"))

# Links and headings.

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    dead = []
    for target in LINK.findall(page.read_text()):
        path, _, anchor = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert dead == []


def test_every_page_can_be_reached_from_the_readme() -> None:
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
        assert all(f"**{part}**" in text for part in ("In the way.", "Decided.", "What it costs.")), name
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


def test_every_class_that_names_its_flink_class_is_in_the_map() -> None:
    rows = flink_map()
    missing = []
    for module, name, names in mirrors():
        key = f"{module}.{name}" if name else module
        mapped = {full.rpartition(".")[2] for row, fulls in rows.items() if row.startswith(module) for full in fulls}
        if (name and key not in rows) or not names <= mapped:
            missing.append(f"{key}: {', '.join(sorted(names))}")
    assert missing == []


def test_every_row_of_the_map_names_what_exists_and_says_so_itself() -> None:
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

NUMBER = r"\d{1,2}\.\d{1,2}"
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


def test_every_rule_that_code_or_tests_cite_is_stated() -> None:
    known = stated()
    files = [path for folder in ("flowsim", "tests", "scenarios") for path in sorted((ROOT / folder).rglob("*.py"))]
    files += sorted((ROOT / "scenarios").glob("*.yaml")) + PAGES
    unknown = {
        str(path.relative_to(ROOT)): sorted(citations(path.read_text()) - known)
        for path in files
        if path != Path(__file__) and citations(path.read_text()) - known
    }
    assert unknown == {}


def test_every_rule_that_a_law_rests_on_is_stated() -> None:
    assert {law.id: [rule for rule in law.rules if rule not in stated()] for law in LAWS} == {
        law.id: [] for law in LAWS
    }


def test_every_section_that_code_refers_to_is_there() -> None:
    headings = re.findall(r"^#+ (\d+(?:\.[A-F])?)(?: and (\d+\.[A-F]))?", (DOCS / "flink_rules.md").read_text(), re.M)
    known = {number.rstrip(".") for pair in headings for number in pair if number}
    cited = {number for path in PYTHON for number in SECTION.findall(path.read_text())}
    assert sorted(cited - known) == []


def test_rules_stand_in_order_and_once() -> None:
    numbers = re.findall(rf"^- \*\*({NUMBER})\*\* ", (DOCS / "flink_rules.md").read_text(), re.M)
    assert numbers == sorted(set(numbers), key=lambda number: tuple(map(int, number.split("."))))


# docs/scenario.md

SECTIONS: dict[str, list[type[Strict]]] = {
    "The file": [schema.ScenarioModel],
    "Settings": [schema.SettingsModel],
    "Sources": [schema_sources.SourceModel],
    "csv": [schema_sources.CsvModel],
    "parquet": [schema_sources.ParquetModel],
    "jsonl": [schema_sources.JsonLinesModel],
    "collection": [schema_sources.CollectionModel],
    "script": [schema_sources.ScriptModel],
    "entry": [schema_sources.ScriptEntryModel],
    "generator": [schema_sources.GeneratorModel],
    "generated field": [schema_sources.GeneratedFieldModel],
    "sequence": [schema_sources.SequenceModel],
    "uniform": [schema_sources.UniformModel],
    "normal": [schema_sources.NormalModel],
    "choice": [schema_sources.ChoiceModel],
    "event_time": [schema_sources.EventTimeModel],
    "python source": [schema_sources.PythonSourceModel],
    "watermarks": [schema_sources.WatermarksModel],
    "alignment": [schema_sources.AlignmentModel],
    "Operators": [schema_operators.OperatorModel],
    "map": [schema_operators.MapModel],
    "flat_map": [schema_operators.FlatMapModel],
    "connect": [schema_operators.ConnectModel],
    "custom partition": [schema_operators.CustomPartitionModel],
    "alarm": [schema_alarms.AlarmModel],
    "async": [schema_async.AsyncModel],
    "latency": [schema_async.LatencyModel],
    "uniform latency": [schema_async.UniformLatencyModel],
    "normal latency": [schema_async.NormalLatencyModel],
    "lognormal latency": [schema_async.LognormalLatencyModel],
    "exponential latency": [schema_async.ExponentialLatencyModel],
    "trace": [schema_async.TraceLatencyModel],
    "spikes": [schema_async.SpikesModel],
    "fails": [schema_async.FailsModel],
    "silent": [schema_async.SilentModel],
    "lookup": [schema_async.LookupModel],
    "timed out": [schema_async.TimedOutModel],
    "retry": [schema_async.RetryModel],
    "fixed retry": [schema_async.FixedRetryModel],
    "exponential retry": [schema_async.ExponentialRetryModel],
    "join": [schema_joins.JoinModel],
    "co_group": [schema_joins.CoGroupModel],
    "interval_join": [schema_joins.IntervalJoinModel],
    "broadcast": [schema_joins.BroadcastModel],
    "function": [schema_functions.FunctionModel],
    "window": [schema_windows.WindowModel],
    "sliding": [schema_windows.SlidingModel],
    "gap": [schema_windows.GapModel],
    "count window": [schema_windows.CountWindowModel],
    "trigger": [schema_windows.TriggerChoiceModel],
    "delta": [schema_windows.DeltaModel],
    "timeout": [schema_windows.TimeoutTriggerModel],
    "evictor": [schema_windows.EvictorModel],
    "Sinks": [schema_operators.SinkModel],
    "file sink": [schema_operators.FileSinkModel],
    "Actions": [schema_actions.ActionModel],
    "stop": [schema_actions.StopModel],
    "cancel": [schema_actions.CancelModel],
    "snapshot": [schema_actions.SnapshotModel],
    "link": [schema_network.LinkModel],
    "buffer_debloat": [schema_network.BufferDebloatModel],
    "Faults": [schema.FaultModel],
    "Expect": [schema.ExpectModel],
    "Recompute": [schema.RecomputeModel],
}


def keys_of(heading: str) -> dict[str, tuple[str, str]]:
    """Key to (default, meaning) of the table under a heading of docs/scenario.md."""
    text = (DOCS / "scenario.md").read_text()
    section = re.split(r"^##+ ", text.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", section, re.M)
    return {key: (default, meaning) for key, _, default, meaning in rows}


def parsed(field: FieldInfo, default: str) -> object:
    """What the format reads where a user writes the default that the page names."""
    yaml = YAML(typ="safe")
    adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
    return adapter.validate_python(yaml.load(default.strip("`")) if default != "`,`" else ",")


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_of_a_scenario_is_documented_with_its_default(heading: str) -> None:
    documented = keys_of(heading)
    (model,) = SECTIONS[heading]
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    assert sorted(documented) == sorted(fields)
    for key, field in fields.items():
        default, meaning = documented[key]
        assert meaning.strip(), key
        if field.is_required():
            assert default == "*required*", key
        elif field.default_factory is not None:
            assert default == "*empty*", key
        elif field.default is None:
            assert default == "*none*", key
        else:
            assert parsed(field, default) == field.default, key


BASES = ["EdgeModel", "FilesModel", "KeyedSecondInputModel", "PlainWindowModel", "SecondInputModel"]
"""What others inherit their keys from."""


def test_every_model_of_the_format_has_its_section() -> None:
    modules = (
        schema, schema_actions, schema_alarms, schema_async, schema_functions, schema_joins, schema_network, schema_operators,
        schema_sources, schema_windows,
    )  # fmt: skip
    models = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Strict) and kind.model_fields
    }
    documented = {model for models in SECTIONS.values() for model in models}
    assert sorted(model.__name__ for model in models - documented) == BASES


def test_every_function_of_expressions_is_listed() -> None:
    text = (DOCS / "scenario.md").read_text().split("no calls but these:", 1)[1]
    assert re.findall(r"`(\w+)`", text.split("\n\n", 2)[1]) == list(FUNCTIONS)
