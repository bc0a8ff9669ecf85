"""``flowsim laws``: what recordings are judged by."""

from __future__ import annotations

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json


@command
def laws(json_output: Json = False) -> Answer:
    """List the laws: id, sentence, rules."""
    from rich.console import Console
    from rich.table import Table

    from flowsim.laws.catalogue import LAWS

    document = [
        {"id": law.id, "sentence": law.sentence, "rules": list(law.rules), "level": law.level.name.lower()}
        for law in LAWS
    ]

    def show(console: Console) -> None:
        table = Table("law", "what it says", "rules", "needs")
        for law in LAWS:
            table.add_row(law.id, law.sentence, ", ".join(law.rules), law.level.name.lower())
        console.print(table)

    return Answer(document, show)
