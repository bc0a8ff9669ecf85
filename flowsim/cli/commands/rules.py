"""``flowsim rules``: the rules of Flink that the laws, traces and comments cite."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json
from flowsim.distribution import shipped
from flowsim.laws.catalogue import LAWS
from flowsim.learn.sections import without_links
from flowsim.trace.rules_page import Rule, RulesPage, Section


def _page() -> RulesPage:
    return RulesPage(shipped("docs/flink_rules.md").read_text(encoding="utf-8"))


def _completed(incomplete: str) -> list[tuple[str, str]]:
    """Returns the sections and rules whose numbers begin with ``incomplete``."""
    page = _page()
    sections = [(number, section.title) for section in page.sections for number in section.numbers]
    rules = [(rule.number, rule.text[:60]) for rule in page.rules]
    return [each for each in (*sections, *rules) if each[0].startswith(incomplete)]


Queries = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RULE|RANGE|SECTION|TEXT]...",
        help="What to print: 8.11, 8.9-8.11, I3.a, 8, 8.B, or a text that the rules contain.",
        autocompletion=_completed,
        show_default=False,
    ),
]


@command
def rules(queries: Queries = None, json_output: Json = False) -> Answer:
    """Print rules of Flink by number, section or text. Without arguments: list the sections."""
    page = _page()
    if not queries:
        return _sections(page)
    sections: list[Section] = []
    queried: list[Rule] = []
    for query in queries:
        named, rules_of_query = page.found(query)
        sections += named
        queried += rules_of_query
    whole = list(dict.fromkeys(sections))
    single = [rule for rule in dict.fromkeys(queried) if rule.section not in {section.number for section in whole}]
    document = {
        "sections": [{"section": each.number, "title": each.title, "text": each.text} for each in whole],
        "rules": [_described(rule) for rule in dict.fromkeys(queried)],
    }

    def show(console: Console) -> None:
        for section in whole:
            console.print(f"{section.number} {section.title}", style="bold")
            console.print(Padding(Markdown(without_links(section.text)), (0, 0, 1, 2)))
        for rule in single:
            flink = f"; Flink: {', '.join(rule.flink)}" if rule.flink else ""
            checked = f"; checked by {', '.join(laws)}" if (laws := laws_of(rule)) else ""
            console.print(f"{rule.number} ({rule.section} {rule.title}{flink}{checked})", style="bold", soft_wrap=True)
            console.print(Padding(Markdown(without_links(rule.text)), (0, 0, 0, 2)))

    return Answer(document, show)


def laws_of(rule: Rule) -> list[str]:
    """Returns the laws that check a rule."""
    return [law.id for law in LAWS if rule.number in law.rules]


def _described(rule: Rule) -> dict[str, Any]:
    described = {"rule": rule.number, "section": rule.section, "title": rule.title, "text": rule.text}
    return {**described, "flink": list(rule.flink), "laws": laws_of(rule)}


def _sections(page: RulesPage) -> Answer:
    numbers = {
        each.number: [rule.number for rule in page.rules if rule.section == each.number] for each in page.sections
    }
    document = [{"section": each.number, "title": each.title, "rules": numbers[each.number]} for each in page.sections]

    def show(console: Console) -> None:
        table = Table()
        for heading in ("section", "title", "rules"):
            table.add_column(heading, no_wrap=heading == "section", overflow="fold")
        for section in page.sections:
            ordinary = [number for number in numbers[section.number] if not number.startswith("I")]
            others = [number for number in numbers[section.number] if number.startswith("I")]
            ends = [f"{ordinary[0]} to {ordinary[-1]}"] if len(ordinary) > 1 else ordinary
            table.add_row(section.number, section.title, ", ".join([*ends, *others]))
        console.print(table)

    return Answer(document, show)
