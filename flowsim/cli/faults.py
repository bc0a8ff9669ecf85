"""``flowsim faults``: what can be broken on purpose."""

from __future__ import annotations

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json


@command
def faults(json_output: Json = False) -> Answer:
    """List the faults that a scenario can switch on, and the law that notices each."""
    from rich.console import Console
    from rich.table import Table

    from flowsim.cluster.faults import FAULT_KINDS

    kinds = FAULT_KINDS.values()
    document = [{"name": k.name, "site": k.site.value, "sentence": k.sentence, "law": k.law} for k in kinds]

    def show(console: Console) -> None:
        table = Table("fault", "breaks", "what happens", "law that notices")
        for kind in kinds:
            table.add_row(kind.name, kind.site.value, kind.sentence, kind.law or "-")
        console.print(table)

    return Answer(document, show)
