"""Reads docs/flink_rules.md: its sections, their rules and invariants, and searches for them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput

_HEADING: Final = re.compile(r"^(##|###) (\d+)(\.[A-Z])?\.?(?: and (\d+\.[A-Z]))? (.+)$", re.M)
_RULE: Final = re.compile(r"(?:^- )?\*\*(?:Invariant )?(\d{1,2}\.\d{1,3}|I\d{1,2}\.[a-z])\.?\*\*\s+", re.M)
_BLOCK_END: Final = re.compile(r"\n\s*\n|\n#|\n\*\*Invariant|\Z")
_NUMBER: Final = re.compile(r"(?:I\d{1,2}\.[a-z]|\d{1,2}\.\d{1,3})")
_RANGE: Final = re.compile(r"(\d{1,2})\.(\d{1,3})-(\d{1,2})\.(\d{1,3})")
_SECTION: Final = re.compile(r"\d{1,2}(?:\.[A-Za-z])?")
_CLASSES: Final = re.compile(r"^Flink: (.+?\.)$", re.M | re.S)
_CLASS: Final = re.compile(r"`([\w.]+)`(?: \(([^)]*)\))?")
_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule or invariant: its number, such as ``8.11`` or ``I3.a``, the section, and the text as Markdown."""

    number: str
    section: str
    title: str
    """The title of the section."""
    text: str
    flink: tuple[str, ...]
    """The classes of Flink that do what the rule says; none for an invariant, and for rules about words."""


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter such as ``8``, or a part of it such as ``8.B``."""

    numbers: tuple[str, ...]
    title: str
    text: str
    """The whole section as Markdown, without its parts."""

    @property
    def number(self) -> str:
        return " and ".join(self.numbers)


class RulesPage:
    """The rules in the order of the page."""

    def __init__(self, text: str) -> None:
        self.sections: Final = list(_sections(text))
        self.rules: Final = [rule for section in self.sections for rule in _rules(section)]

    def found(self, query: str) -> tuple[list[Section], list[Rule]]:
        """Finds the sections and rules that a query names: a rule, a range, a section, or a text in a rule.

        Raises BadInput, with the most similar names, if nothing is found.
        """
        asked = query.strip()
        if bounds := _RANGE.fullmatch(asked):
            return [], self._between([int(part) for part in bounds.groups()], asked)
        if _NUMBER.fullmatch(asked):
            return [], [self._rule(asked)]
        if _SECTION.fullmatch(asked):
            sections = self._named(asked.upper())
            return sections, [rule for section in sections for rule in self.rules if rule.section == section.number]
        return [], self._containing(asked)

    def _rule(self, number: str) -> Rule:
        for rule in self.rules:
            if rule.number == number:
                return rule
        raise BadInput(f"there is no rule {number}{_nearest(number, [rule.number for rule in self.rules])}")

    def _between(self, bounds: Sequence[int], asked: str) -> list[Rule]:
        first, last = tuple(bounds[:2]), tuple(bounds[2:])
        rules = [rule for rule in self.rules if not rule.number.startswith("I")]
        in_range = [rule for rule in rules if first <= _order(rule.number) <= last]
        if not in_range:
            raise BadInput(
                f"there is no rule from {asked.replace('-', ' to ')}{_nearest(asked, [rule.number for rule in rules])}"
            )
        return in_range

    def _named(self, number: str) -> list[Section]:
        chapter = [each for each in self.sections if each.numbers[0].partition(".")[0] == number]
        sections = [each for each in self.sections if number in each.numbers] if "." in number else chapter
        if not sections:
            known = [name for section in self.sections for name in section.numbers]
            raise BadInput(f"there is no section {number}{_nearest(number, known)}")
        return sections

    def _containing(self, text: str) -> list[Rule]:
        phrase = " ".join(text.lower().split())
        containing = [rule for rule in self.rules if phrase and phrase in f"{rule.title} {rule.text}".lower()]
        if not containing:
            words = sorted({word for rule in self.rules for word in re.findall(r"[a-z][\w-]{2,}", rule.text.lower())})
            near = difflib.get_close_matches(phrase[:100], words, n=_NEAR, cutoff=0.6)
            hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
            raise BadInput(f"no rule contains {text!r}{hint}: flowsim rules lists the sections")
        return containing


def _sections(text: str) -> Iterator[Section]:
    for heading, end in _with_ends(_HEADING, text):
        _, chapter, part, second, title = heading.groups()
        numbers = (chapter + (part or ""), *((second,) if second else ()))
        yield Section(numbers, title, text[heading.end() : end].strip())


def _rules(section: Section) -> Iterator[Rule]:
    text = section.text
    line = _CLASSES.match(text)
    classes = _CLASS.findall(line[1]) if line else []
    for start, end in _with_ends(_RULE, text):
        block = _BLOCK_END.search(text, start.end())
        rule = text[start.end() : end if block is None else min(end, block.start())]
        flink = (
            () if start[1].startswith("I") else tuple(name for name, of in classes if not of or _is_of(start[1], of))
        )
        yield Rule(start[1], section.number, section.title, " ".join(rule.split()), flink)


def _is_of(number: str, rules: str) -> bool:
    """Whether a rule is one of those in a list such as ``5.15, 5.17-5.19``."""
    return any(
        _order(first) <= _order(number) <= _order(last or first)
        for first, _, last in (one.strip().partition("-") for one in rules.split(","))
    )


def _with_ends(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yields each match with its end: the start of the next match, or the end of the text."""
    matches = list(pattern.finditer(text))
    ends = [*(each.start() for each in matches[1:]), len(text)]
    return zip(matches, ends, strict=False)


def _order(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in number.split("."))


def _nearest(number: str, known: Iterable[str]) -> str:
    """Returns the rules with the closest numbers in the same chapter; otherwise the most similar rules."""
    chapter, _, last = number.partition("-")[0].partition(".")
    same = [each for each in known if each.partition(".")[0] == chapter]
    if not same:
        return (
            f"; the chapters are {', '.join(dict.fromkeys(each.partition('.')[0] for each in known if each[0] != 'I'))}"
        )
    if last.isdigit():
        same = sorted(same, key=lambda each: (abs(_order(each)[1] - int(last)), _order(each)))
    near = same[:_NEAR]
    return f" (nearest: {', '.join(near)})"
