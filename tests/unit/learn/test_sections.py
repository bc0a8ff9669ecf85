"""Sections of pages are found by their anchors."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.learn.sections import section_of, sections


def test_heading_inside_a_code_block_begins_no_section() -> None:
    assert sections("## A\n\n```sh\n## no heading\n```\n\n## B\n") == {"A": "```sh\n## no heading\n```", "B": ""}


def test_section_is_read_with_its_heading() -> None:
    text = section_of("tutorial/03_event_time.md#which-records-are-dropped-as-late")
    assert text.startswith("## Which records are dropped as late?\n\nA record behind the watermark")
    assert text.endswith("The operator drops it.\n")


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("tutorial/03_event_time.md", "expected a section of a page of docs/"),
        ("/etc/passwd.md#a", "expected a section of a page of docs/"),
        ("tutorial/99.md#a", "this installation has no page docs/tutorial/99.md"),
        ("finishing.md#x", "docs/finishing.md has no section 'x'"),
    ],
)
def test_section_that_is_not_there_is_refused(place: str, error: str) -> None:
    with pytest.raises(BadInput) as refused:
        section_of(place)
    assert str(refused.value).startswith(error)
