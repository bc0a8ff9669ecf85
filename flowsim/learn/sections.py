"""Sections of Markdown pages: those of a lesson, and those of docs/ that explain its run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from flowsim.distribution import shipped
from flowsim.errors import BadInput, did_you_mean

_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)\s]+)\)")
_RUN: Final = re.compile(r"^\$ flowsim run scenarios/(\w+)\.yaml", re.M)


def sections(text: str, levels: Sequence[int] = (2,)) -> dict[str, str]:
    """Returns the text below each heading of these levels, without lines that look like headings inside code blocks.

    >>> sections("# A\\n\\n## B\\n\\nb\\n\\n## C\\nc\\n")
    {'B': 'b', 'C': 'c'}
    """
    marks = tuple("#" * level + " " for level in levels)
    lines_of: dict[str, list[str]] = {}
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if line.startswith(marks) and not in_code:
            lines = lines_of.setdefault(line.lstrip("#").strip(), [])
        else:
            lines.append(line)
    return {heading: "\n".join(below).strip() for heading, below in lines_of.items()}


def without_links(text: str) -> str:
    """Returns Markdown without links to other files, whose paths are right only for a reader of the page.

    >>> without_links("[33](../../scenarios/33_aligned.yaml) and [limits.md](../limits.md#time)")
    '33 (`flowsim new 33_aligned`) and limits.md'
    """
    return _LINK.sub(lambda link: _plain(link[1], link[2].partition("#")[0]), text)


def _plain(text: str, target: str) -> str:
    name = PurePosixPath(target).name
    if not target or name in text:
        return text
    is_scenario = name.endswith(".yaml") and "scenarios" in PurePosixPath(target).parts
    where = f"`flowsim new {name.removesuffix('.yaml')}`" if is_scenario else name
    return f"{text} ({where})"


def scenarios_run_in(text: str) -> list[str]:
    """Returns the names of the scenarios whose runs a page shows.

    >>> scenarios_run_in("$ flowsim run scenarios/33_aligned.yaml --out out/aligned")
    ['33_aligned']
    """
    return list(dict.fromkeys(_RUN.findall(text)))


def anchor(heading: str) -> str:
    """Returns the anchor of a heading, as GitHub makes it.

    >>> anchor("What waits when the queue is full?")
    'what-waits-when-the-queue-is-full'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section_of(place: str) -> str:
    """Returns a section of a page below docs/ with its heading, such as ``finishing.md#summary``. Raises BadInput."""
    name, _, asked = place.partition("#")
    path = PurePosixPath(name)
    if path.suffix != ".md" or path.is_absolute() or ".." in path.parts or not asked:
        raise BadInput(f"expected a section of a page of docs/, such as finishing.md#summary, got {place!r}")
    page = shipped(f"docs/{path}")
    if not page.is_file():
        raise BadInput(f"this installation has no page docs/{path}")
    by_anchor = {anchor(heading): (heading, text) for heading, text in sections(page.read_text("utf-8")).items()}
    if asked not in by_anchor:
        raise BadInput(f"docs/{path} has no section {asked!r}{did_you_mean(asked, by_anchor)}")
    heading, text = by_anchor[asked]
    return f"## {heading}\n\n{text}\n"
