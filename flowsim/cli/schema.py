"""``flowsim schema``: the scenario format for editors and other tools."""

from __future__ import annotations

import json

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json


@command
def schema(json_output: Json = False) -> Answer:
    """Print the JSON Schema of scenario files (with or without --json)."""
    from rich.console import Console

    from flowsim.scenario.models.scenario import json_schema

    document = json_schema()

    def show(console: Console) -> None:
        console.file.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    return Answer(document, show)
