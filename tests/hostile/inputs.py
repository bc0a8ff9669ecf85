"""How the inputs of the corpus are made: functions that return the ``make`` of a case."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from flowsim.api import run_scenario
from tests.hostile.case import OUT, Call, Make

FILE = "s.yaml"
Text = str | bytes | Callable[[], str | bytes]
"""A text, or a function that builds a long one."""

SINK = "sinks: {kept: {input: %s, collect: {}}}\n"


def run(text: Text, *options: str, files: Mapping[str, Text] | None = None) -> Make:
    """``flowsim run`` of a scenario with this text; ``files`` are written beside it."""
    return _called(text, files, "run", FILE, "--out", OUT, *options)


def check(text: Text, *options: str, files: Mapping[str, Text] | None = None) -> Make:
    """``flowsim check`` of a scenario with this text."""
    return _called(text, files, "check", FILE, *options)


def api(text: Text, files: Mapping[str, Text] | None = None) -> Make:
    """``flowsim.run_scenario`` of a scenario with this text."""

    def make(folder: Path) -> Call:
        _write(folder, {FILE: text, **(files or {})})
        return lambda: run_scenario(folder / FILE, out=folder / OUT)

    return make


def command(*arguments: str, files: Mapping[str, Text] | None = None) -> Make:
    """``flowsim`` with these arguments."""

    def make(folder: Path) -> Call:
        _write(folder, files or {})
        return arguments

    return make


def _called(text: Text, files: Mapping[str, Text] | None, *arguments: str) -> Make:
    return command(*arguments, files={FILE: text, **(files or {})})


def _write(folder: Path, files: Mapping[str, Text]) -> None:
    for name, given in files.items():
        text = given() if callable(given) else given
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def scenario(operators: str = "", source: str | None = None, settings: str = "", stream: str = "rows") -> str:
    """A scenario with one source ``rows``, these operators, and a sink of ``stream``. Line 4 is the source."""
    source = source or "collection: {fields: {word: string, n: long}, rows: [[ab, 1], [c, 2]]}"
    blocks = f"operators:\n{operators}\n" if operators else ""
    return (
        f"flowsim: 1\nname: hostile\nsettings: {{{settings}}}\nsources: {{rows: {{{source}}}}}\n{blocks}{SINK % stream}"
    )


def records(fields: Mapping[str, str], *rows: list[object]) -> str:
    """A source of these records."""
    return f"collection: {{fields: {json.dumps(dict(fields))}, rows: {json.dumps(rows)}}}"


def steps(*expressions: str, word: str = "ab", settings: str = "") -> Callable[[], str]:
    """A scenario with a chain of maps; each sets ``b`` to an expression over word, n, x (a double) and b."""
    fields = {"word": "string", "n": "long", "x": "double", "b": "string"}

    def text() -> str:
        lines = []
        for index, expression in enumerate(expressions):
            reads = f"step{index - 1}" if index else "rows"
            lines.append(f"  step{index}: {{input: {reads}, map: {{add: {{b: {json.dumps(expression)}}}}}}}")
        source = records(fields, [word, 7, 0.5, word])
        return scenario("\n".join(lines), source, settings, f"step{len(expressions) - 1}")

    return text


def evaluated(*expressions: str, word: str = "ab") -> Make:
    """``flowsim run`` of ``steps``: the expressions fail at the record."""
    return run(steps(*expressions, word=word))


def compiled(expression: str) -> Make:
    """``flowsim run`` of one expression that is refused at load."""
    return run(steps(expression))
