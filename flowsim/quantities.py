"""Numbers with their nouns and units, as text."""

from __future__ import annotations

import re
from typing import Final

from flowsim.units import NS_PER_MS, NS_PER_SECOND

_SIZES: Final = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}
_SIZE: Final = re.compile(r"([0-9]{1,12}) ?(B|KiB|MiB)")


def size_bytes(text: str) -> int:
    """Returns the bytes of a size. Raises ValueError.

    >>> size_bytes("32 KiB")
    32768
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"expected a size such as '32 KiB', got {text[:40]!r}")
    return int(match.group(1)) * _SIZES[match.group(2)]


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """Returns a number of things; ``plural`` is the noun with an s, unless it is given.

    >>> count_text(1, "row"), count_text(2_000, "row"), count_text(0, "entry", "entries")
    ('1 row', '2,000 rows', '0 entries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def duration_text(ns: int) -> str:
    """Returns a duration for display.

    >>> duration_text(1_500_000), duration_text(90_000_000_000)
    ('1.5 ms', '1 min 30 s')
    """
    if ns >= 60 * NS_PER_SECOND:
        minutes, rest = divmod(ns // NS_PER_SECOND, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes} min {rest} s" if hours else f"{minutes} min {rest} s"
    for unit, size in (("s", NS_PER_SECOND), ("ms", NS_PER_MS), ("us", 1_000)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns} ns"


def rounded_duration_text(ns: float) -> str:
    """Returns a duration with three digits and a unit.

    >>> rounded_duration_text(1_234_567), rounded_duration_text(250_000_000), rounded_duration_text(0)
    ('1.23 ms', '250 ms', '0 ms')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{rounded_text(ns / size)} {unit}"
    return f"{ns:.0f} ns" if ns else "0 ms"


def rounded_text(number: float) -> str:
    """Returns a number with three digits, or with all digits before the decimal point.

    >>> rounded_text(3.14159), rounded_text(31.4159), rounded_text(31415.9)
    ('3.14', '31.4', '31,416')
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
