"""Commands that list laws and faults, and print the schema of scenarios."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from flowsim.cli.command import Answer, command
from flowsim.cli.judging import laws_that_begin_with
from flowsim.cli.options import Json
from flowsim.errors import BadInput, did_you_mean
from flowsim.faults.catalogue import FAULT_KINDS
from flowsim.laws.catalogue import LAWS, common_terms
from flowsim.laws.law import Law
from flowsim.scenario.json_schema import json_schema

OneLaw = Annotated[
    str | None,
    typer.Argument(metavar="[LAW]", help="Show only this law and what it counts.", autocompletion=laws_that_begin_with),
]


@command
def laws(law_id: OneLaw = None, json_output: Json = False) -> Answer:
    """List the laws: id, sentence, rules.

    With LAW, show this law and exactly what it examines and counts.
    """
    if law_id is not None:
        return _one_law(law_id)
    document = [_described(law) for law in LAWS]

    def show(console: Console) -> None:
        table = Table()
        for heading in ("law", "statement", "rules", "needs"):
            table.add_column(heading, no_wrap=heading in ("law", "needs"), overflow="fold")
        for law in LAWS:
            table.add_row(law.id, law.sentence, ", ".join(law.rules), law.level.name.lower())
        console.print(table)

    return Answer(document, show)


def _described(law: Law) -> dict[str, object]:
    return {"id": law.id, "sentence": law.sentence, "rules": list(law.rules), "level": law.level.name.lower()}


def _one_law(law_id: str) -> Answer:
    law = next((law for law in LAWS if law.id == law_id), None)
    if law is None:
        raise BadInput(f"unknown law {law_id!r}{did_you_mean(law_id, [law.id for law in LAWS])}")

    title, terms = common_terms(law)

    def show(console: Console) -> None:
        common = f"\n\n## {title}: terms\n\n{terms}" if terms else ""
        rules = ", ".join(law.rules)
        console.print(Markdown(f"# {law.id}\n\n{law.sentence}\n\nRules {rules}\n\n{law.counts}{common}"))

    return Answer(_described(law) | {"reads": law.reads, "counts": law.counts, "terms": terms}, show)


@command
def faults(json_output: Json = False) -> Answer:
    """List the faults that a scenario can switch on, and the law that detects each fault."""
    kinds = FAULT_KINDS.values()
    document = [{"name": k.name, "site": k.component.value, "sentence": k.sentence, "law": k.law} for k in kinds]

    def show(console: Console) -> None:
        table = Table()
        for heading in ("fault", "breaks", "what happens", "detected by"):
            table.add_column(heading, no_wrap=heading == "fault", overflow="fold")
        for kind in kinds:
            table.add_row(kind.name, kind.component.value, kind.sentence, kind.law or "-")
        console.print(table)

    return Answer(document, show)


@command
def schema(json_output: Json = False) -> Answer:
    """Print the JSON Schema of scenario files (with or without --json)."""
    document = json_schema()

    def show(console: Console) -> None:
        console.file.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    return Answer(document, show)
