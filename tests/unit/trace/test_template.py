"""Templates of sentences: fields, alternatives and guards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim import BadInput, open_recording, run_scenario
from flowsim.facts.kinds import BufferKind, BufferSide, MailAction
from flowsim.facts.schema import TABLES
from flowsim.trace.compiled_template import CompiledTemplates
from flowsim.trace.fields import FORMATS, FORMATS_OF_ROWS
from flowsim.trace.names import Names
from flowsim.trace.sentences import SENTENCES, sentence
from flowsim.trace.template import Alternative, Choice, Field, Guard, parsed

VIEWER = Path(__file__).parents[3] / "flowsim/report/web/src/model/sentences.ts"
MAILS = TABLES["mails"]

TINY = """\
flowsim: 1
name: tiny
sources: {numbers: {generator: {count: 3, fields: {n: {sequence: {}}}}}}
sinks: {kept: {input: numbers, collect: {}}}
"""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    out = tmp_path_factory.mktemp("tiny")
    run_scenario(TINY, out=out)
    return Names(open_recording(out))


def filled(names: Names, template: str, **columns: int) -> str:
    row = tuple(columns.get(name, 0) for name in MAILS.names)
    return CompiledTemplates(MAILS, {}).compiled(parsed(template, MAILS))(names, row)


def test_template_is_parsed_to_text_fields_and_choices() -> None:
    assert parsed("runs {mail:count mail}[action=RUN? of {task}|urgent?]", MAILS) == (
        "runs ",
        Field("mail", "count", "mail"),
        Choice((
            Alternative(Guard("action", "=", MailAction.RUN), (" of ", Field("task", "task", ""))),
            Alternative(Guard("urgent", "!=", 0), ()),
        )),
    )  # fmt: skip


@pytest.mark.parametrize("template", ["a [b", "a ]", "a [b|c", "{mail", "{mail:count x", "a | b", "{}"])
def test_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="template"):
        parsed(template, MAILS)


@pytest.mark.parametrize(
    ("template", "columns", "text"),
    [
        ("{mail:,} of {priority}", {"mail": 1234, "priority": -1}, "1,234 of -1"),
        ("{mail:count entry/entries}", {"mail": 2}, "2 entries"),
        ("[urgent?urgent|calm] 100 %", {"urgent": 1}, "urgent 100 %"),
        ("[urgent?urgent|calm] 100 %", {}, "calm 100 %"),
        ("[priority>=0?of {priority}]", {"priority": -1}, ""),
        ("[mail<priority?below]", {"mail": 1, "priority": 2}, "below"),
        ("[priority=-1?task|priority=7?seven|other]", {"priority": 7}, "seven"),
        ("[priority=-1?task|priority=7?seven|other]", {"priority": 8}, "other"),
        ("[action=RUN?runs|puts]", {"action": MailAction.RUN}, "runs"),
        ("[a {mail:key}|no key]", {}, "no key"),
        ("[outer[ {mail:key}]]", {}, "outer"),
    ],
)
def test_first_alternative_that_applies_is_written(
    names: Names, template: str, columns: dict[str, int], text: str
) -> None:
    assert filled(names, template, **columns) == text


def test_known_columns_decide_choices_alike(names: Names) -> None:
    template = parsed("[action=RUN?runs|urgent?urgent|puts] {mail}", MAILS)
    for action in MailAction:
        for urgent in (0, 1):
            row = (0, 0, 0, action, 5, 0, urgent)
            by_row = CompiledTemplates(MAILS, {}).compiled(template)(names, row)
            assert CompiledTemplates(MAILS, {"action": action}).compiled(template)(names, row) == by_row


def test_number_outside_of_its_enum_is_refused(names: Names) -> None:
    row = (4, 0, 0, 0, BufferSide.SENT, 0, 99, 0, 0, 0, 1)
    with pytest.raises(BadInput, match=r"buffers.*out of range"):
        sentence(names, "buffers", row)
    assert sentence(names, "buffers", (*row[:6], BufferKind.DATA, *row[7:])).text.startswith("sends buffer 0 (0 bytes)")


@pytest.mark.parametrize("table", SENTENCES)
def test_every_template_compiles(table: str) -> None:
    of_fact = SENTENCES[table]
    for text, rules in [(of_fact.text, of_fact.rules), *of_fact.phrases.values()]:
        for template in (text.replace("{phrase}", ""), rules):
            CompiledTemplates(TABLES[table], {}).compiled(parsed(template, TABLES[table]))


def test_viewer_has_the_formats_of_the_facts_of_tasks() -> None:
    source = VIEWER.read_text(encoding="utf-8").partition("const FORMATS")[2]
    of_viewer = {quoted or name for quoted, name in re.findall(r'^  (?:"(.)"|(\w+)): \(', source, re.MULTILINE)}

    of_job = {"task", "channel", "cause"}
    assert {*FORMATS, *FORMATS_OF_ROWS} - of_job == of_viewer - {"phrase"}


@pytest.mark.parametrize("template", ["{mail:cuont mail}", "{urgnet}"])
def test_format_or_column_that_does_not_exist_is_refused(template: str) -> None:
    with pytest.raises(KeyError):
        CompiledTemplates(MAILS, {}).compiled(parsed(template, MAILS))
