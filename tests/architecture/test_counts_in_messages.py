"""Numbers in messages agree with their nouns: "1 row", never "1 rows"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
PLURAL: Final = re.compile(
    r" (?:[a-z]+ )?(?:arguments|attempts|buffers|channels|checkpoints|columns|elements|entries|errors|facts|failures|fields"
    r"|files|inputs|keys|lines|mails|markers|names|operators|records|recordings|restarts|results|rows|runs|seeds|segments"
    r"|splits|steps|subtasks|tasks|timers|times|values|violations|windows)\b"
)
NEVER_ONE: Final = {
    ("cli/progress.py", "rate"): "a rate, records/s",
    ("cli/recorded_checkpoints.py", "number"): "1 is 'once'",
    ("scenario/language/translator.py", "most"): "follows a smaller number",
    ("scenario/slow_windows.py", "windows"): "warns of many windows",
    ("testing/pytest_plugin.py", "_FIXTURE"): "a name",
    ("trace/names.py", "len(matches)"): "several tasks match",
    ("validation/verdict.py", "n"): "shown from 2 on",
    ("why/event_time/held_watermark.py", "len(states)"): "1 is 'its only channel'",
    ("history/windows.py", "of_each"): "many windows",
    ("why/event_time/split_texts.py", "len(counted)"): "1 is 'the only split'",
    ("why/event_time/split_texts.py", "len(left)"): "several splits are idle",
    ("why/event_time/late_chain.py", "count"): "1 is 'its window'",
    ("why/records.py", "len(found)"): "several records match",
    ("why/waiting.py", "len(found)"): "several subtasks match",
    ("why/waits/state_texts.py", "len(names)"): "several operators are chained",
    ("why/waits/waits_in_element.py", "name"): "a name",
    ("scenario/expectations.py", "name"): "the kind of checkpoints",
}
"""Expressions before a plural in what commands print, and why they are not 1, or no number."""
PRINTING: Final = ("cli", "export", "history", "report", "scenario", "testing", "trace", "validation", "why")


def counts_before_plurals(source: str) -> Iterator[str]:
    """Yields the expressions of f-strings that a plural follows, such as ``n`` in ``f"{n} rows"``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                is_text = isinstance(text, ast.Constant) and PLURAL.match(str(text.value))
                if isinstance(value, ast.FormattedValue) and is_text:
                    yield ast.unparse(value.value)


def test_scan_finds_a_number_before_a_plural() -> None:
    assert list(counts_before_plurals('f"{n:,} rows"; f"{m} more tasks, {k} row"')) == ["n", "m"]


def test_numbers_in_messages_agree_with_their_nouns() -> None:
    found = {
        (path.relative_to(REPOSITORY / "flowsim").as_posix(), count)
        for package in PRINTING
        for path in (REPOSITORY / "flowsim" / package).rglob("*.py")
        for count in counts_before_plurals(path.read_text(encoding="utf-8"))
    }
    assert {one for one in found if not one[1].startswith("count_text(")} == set(NEVER_ONE)
