"""Output of commands: control characters of data are escaped on every way to a terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from flowsim.cli.output import PrintableConsole, PrintableStream, printable_output, raw
from flowsim.cli.tables import Column, show_table
from flowsim.errors import printable, printable_line
from tests.unit.cli.conftest import Flowsim

HOSTILE = "\x1b[31m\x9b\u202e"
ESCAPED = r"\u001b[31m\u009b\u202e"
SCENARIO = """\
flowsim: 1
name: hostile
settings: {record: full}
sources: {rows: {collection: {fields: {word: string}, rows: [["\\e[31m\\x9b\\u202e"]]}}}
sinks: {kept: {input: rows, collect: {}}, shown: {input: rows, print: {}}}
"""


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain text", "plain text"),
        ("an été\tand a line\n", "an été\tand a line\n"),
        (HOSTILE, ESCAPED),
        ("\x00\r\x7f\ud800\u2028", r"\u0000\u000d\u007f\ud800\u2028"),
    ],
)
def test_printable_text_escapes_control_characters_only(text: str, escaped: str) -> None:
    assert printable(text) == escaped


def test_printable_line_escapes_line_ends() -> None:
    assert printable_line("a\nb\tc") == r"a\nb\tc"


def test_escapes_are_valid_json() -> None:
    assert json.loads(printable(json.dumps([HOSTILE], ensure_ascii=False))) == [HOSTILE]


def test_console_escapes_texts_and_keeps_its_own_colours() -> None:
    written = io.StringIO()
    console = PrintableConsole(file=written, force_terminal=True, color_system="standard", width=80)
    console.print(HOSTILE, style="red", highlight=False)
    console.print(Text(HOSTILE, style="red"))
    line = f"\x1b[31m{ESCAPED}\x1b[0m\n"
    assert written.getvalue() == line * 2


def test_table_with_control_characters_keeps_its_columns() -> None:
    written = io.StringIO()
    show_table(Console(file=written, width=60), ["name"], [Column("rows")], [("\x1b\n", "1"), ("abc", "2")])
    assert [line.rstrip() for line in written.getvalue().splitlines()] == [
        "name      rows",
        "─" * 14,
        r"\u001b\n     1",
        "abc          2",
    ]


def test_standard_output_is_raw_again_after_a_command() -> None:
    with printable_output():
        assert isinstance(sys.stdout, PrintableStream)
        inner = raw(sys.stdout)
    assert sys.stdout is inner


def test_commands_escape_records(flowsim: Flowsim) -> None:
    Path("hostile.yaml").write_text(SCENARIO)
    run = flowsim("run", "hostile.yaml", "--out", "out")
    outputs = [run.out, run.err]
    outputs += [
        flowsim(*command).out for command in (("trace", "out"), ("metrics", "out"), ("run", "hostile.yaml", "--json"))
    ]
    assert [text for text in outputs if any(char in text for char in HOSTILE if not char.isprintable())] == []
    assert r"\x1b[31m" in run.out
