"""The option ``--topic`` of commands that run a program for PyFlink."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flowsim.connectors.kafka.topic_files import moved
from flowsim.connectors.kafka.topics import Topics
from flowsim.errors import BadInput

Topic = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="NAME=FILE",
        help="The records of a Kafka topic, from one or more files; FILE@10/s appends 10 a second while the job runs.",
    ),
]


def topics_of(options: Sequence[str], folder: Path | None = None) -> Topics:
    """Returns the topics of NAME=FILE; ``folder``: where the files are, if they were moved. Raises BadInput."""
    files: dict[str, list[str]] = {}
    for option in options:
        name, equals, file = option.partition("=")
        if not equals or not file:
            raise BadInput(f"--topic: expected NAME=FILE, such as orders=orders.jsonl, got {option!r}")
        files.setdefault(name, []).append(file if folder is None else moved(file, lambda path: folder / path.name))
    return Topics(files)
