"""Where an expected value and a found one differ: the smallest part of both that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from flowsim.errors import ValueNotAllowed
from flowsim.quantities import count_text
from flowsim.values.record_text import value_text

_MOST_CHARACTERS: Final = 300
"""Of a value in a message."""
_SHOWN_BEFORE: Final = 2
"""Number of equal values that a cut list shows before the first one that differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What was expected and what was found at one place of two values; ``place``: the keys and positions that lead to it."""

    expected: object
    found: object
    place: tuple[object, ...] = ()
    is_missing: bool = False
    """Nothing was found under the last key of ``place``."""
    names: tuple[str, str] = ("expected", "found")

    def lines(self) -> tuple[str, str]:
        """Both sides, one below the other; long lists are cut around the first difference."""
        at = first_difference(self.expected, self.found)
        where = f" {''.join(f'[{step!r}]' for step in self.place)}" if self.place else ""
        names = [f"{name}{where}:" for name in self.names]
        width = max(map(len, names))
        texts = (shown(self.expected, at), "nothing" if self.is_missing else shown(self.found, at))
        one, other = (f"{name:<{width}} {text}" for name, text in zip(names, texts, strict=True))
        return one, other


def difference_of(expected: object, found: object, names: tuple[str, str] = ("expected", "found")) -> Difference:
    """Descends to the first key of mappings, and the first position of lists of lists, whose values differ.

    >>> difference_of({"a": [1, 2], "b": [3, 4]}, {"a": [1, 2], "b": [4, 3]}).lines()
    ("expected ['b']: [3, 4]", "found ['b']:    [4, 3]")
    """
    place: tuple[object, ...] = ()
    while (step := _step(expected, found)) is not None:
        key, expected, found, is_missing = step
        place = (*place, key)
        if is_missing:
            return Difference(expected, found, place, True, names)
    return Difference(expected, found, place, False, names)


def _step(expected: object, found: object) -> tuple[object, object, object, bool] | None:
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and not isinstance(expected, Counter):
        missing = [key for key in expected if key not in found]
        if missing:
            return missing[0], expected[missing[0]], None, True
        differing = [key for key in expected if expected[key] != found[key]]
        return (differing[0], expected[differing[0]], found[differing[0]], False) if differing else None
    if isinstance(expected, list) and isinstance(found, list):
        at = first_difference(expected, found)
        if at is not None and at < len(expected) and at < len(found):
            one, other = expected[at], found[at]
            return (at, one, other, False) if isinstance(one, list) and isinstance(other, list) else None
    return None


def first_difference(expected: object, found: object) -> int | None:
    """The first position at which two lists or tuples differ; None for other values, or if neither differs."""
    if not (isinstance(expected, list | tuple) and isinstance(found, list | tuple)):
        return None
    pairs = zip(expected, found, strict=False)
    both = min(len(expected), len(found))
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), both)
    return None if at == len(expected) == len(found) else at


def shown(value: object, at: int | None = None) -> str:
    """A value on one line. ``at``: the position that a long list must show.

    >>> shown(list(range(100)), 50)
    '[..., 48, 49, 50, 51, 52, 53, 54, 55, ...] (100 values, from position 48)'
    """
    if isinstance(value, Set):
        kind = type(value).__name__
        return cut(f"{kind}({', '.join(sorted(map(repr, value)))})" if value else f"{kind}()")
    text = " ".join(repr(value).split("\n"))
    if len(text) <= _MOST_CHARACTERS or at is None or not isinstance(value, list | tuple):
        return cut(text)
    start = max(0, at - _SHOWN_BEFORE)
    some = value[start : start + 4 * _SHOWN_BEFORE]
    parts = ["..."] * (start > 0) + [cut(repr(one), 40) for one in some] + ["..."] * (start + len(some) < len(value))
    opened, closed = "[]" if isinstance(value, list) else "()"
    return f"{opened}{', '.join(parts)}{closed} ({count_text(len(value), 'value')}, from position {start:,})"


def cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else f"{text[:most]}..."


def texts_of(value: object) -> list[str] | None:
    """The values of a collection as a recording has them; None if it is none, or if a record cannot have such values."""
    if isinstance(value, Counter):
        value = list(value.elements())
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | Set):
        return None
    try:
        texts = [value_text(one) for one in value]
    except ValueNotAllowed:
        return None
    return sorted(texts) if isinstance(value, Set) else texts


def missing_text(expected: Iterable[str], found: Iterable[str]) -> str | None:
    """The first value that was expected more often than it was found."""
    left = Counter(found)
    for text in expected:
        if not left[text]:
            return text
        left[text] -= 1
    return None


def swapped_texts(expected: Sequence[str], found: Sequence[str]) -> tuple[str, str] | None:
    """The first value that should come earlier, and the one found in its place, if only the order differs.

    None unless each of both is there once: of equal records, none has a place of its own.
    """
    if Counter(expected) != Counter(found):
        return None
    pair = next(((one, other) for one, other in zip(expected, found, strict=True) if one != other), None)
    return pair if pair is not None and all(found.count(text) == 1 for text in pair) else None
