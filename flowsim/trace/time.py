"""Times of a run for display: time since its start, exact to the nanosecond."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from flowsim.errors import BadInput
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS, duration_ns

_MOMENT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([a-z]+)")
_FIRST_DATE_MS: Final = 31_536_000_000
"""The start of 1971 in ms: smaller timestamps are not shown as dates, because most examples count from 0."""
_LAST_DATE_MS: Final = 253_402_300_799_999
_NS_PER_S: Final = 1000 * NS_PER_MS
_MS_PER_MIN: Final = 60_000
_UNITS: Final = ((_NS_PER_S, "s"), (NS_PER_MS, "ms"), (1_000, "us"), (1, "ns"))


def moment_ns(option: str, text: str | None) -> int | None:
    """Converts an option such as ``--from 1.5s`` to nanoseconds since the start; raises BadInput."""
    if text is None:
        return None
    if text.strip() == "0":
        return 0
    match = _MOMENT.fullmatch(text.strip())
    try:
        unit_ns = duration_ns(f"1 {match.group(2)}") if match is not None else 0
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from None
    if match is None:
        raise BadInput(
            f"{option}: expected a time since the start of the run such as '1.5 s' or '20ms', got {text[:40]!r}"
        )
    ns = Decimal(match.group(1)) * unit_ns
    if ns != int(ns):
        raise BadInput(f"{option}: expected whole nanoseconds, got {text[:40]!r}")
    return int(ns)


def moment_text(ns: int) -> str:
    """Returns a time as short as it can be, exact to the nanosecond, in a form that ``--from`` and ``--to`` accept.

    >>> moment_text(7_000_000), moment_text(1_234_567), moment_text(12_300), moment_text(10_000_000_000), moment_text(0)
    ('7 ms', '1.234567 ms', '12.3 us', '10 s', '0 ms')
    """
    size, unit = next(((size, unit) for size, unit in _UNITS if abs(ns) >= size), (NS_PER_MS, "ms"))
    whole, rest = divmod(abs(ns), size)
    digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else ""
    return f"{'-' if ns < 0 else ''}{whole}{'.' if digits else ''}{digits} {unit}"


def aligned_moment_text(ns: int) -> str:
    """Returns a time with all its digits, for lines whose times are read one below the other.

    >>> aligned_moment_text(1_234_567), aligned_moment_text(61_000_000_000)
    ('1.234567 ms', '61.000000000 s')
    """
    size, digits, unit = (NS_PER_MS, 6, "ms") if abs(ns) < _NS_PER_S else (_NS_PER_S, 9, "s")
    whole, rest = divmod(abs(ns), size)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:0{digits}d} {unit}"


def event_time(timestamp: int) -> str:
    """Returns a timestamp's number, and its UTC time if it is a date; special values in words (rule 0.4).

    >>> event_time(1_249), event_time(1_357_016_400_000)
    ('1,249 ms', '1357016400000 = 2013-01-01 05:00')
    """
    if timestamp == NO_TIMESTAMP:
        return "none"
    if timestamp == MAX_WATERMARK:
        return "MAX (end of event time)"
    utc = utc_text(timestamp)
    return f"{timestamp} = {utc}" if utc else f"{timestamp:,} ms"


def utc_text(timestamp: int) -> str:
    """Returns event time as a UTC date and time, up to the last part that is not 0; '' outside 1971 to 9999.

    >>> utc_text(1_357_016_400_000), utc_text(1_357_016_401_500), utc_text(7)
    ('2013-01-01 05:00', '2013-01-01 05:00:01.500', '')
    """
    if not _FIRST_DATE_MS <= timestamp <= _LAST_DATE_MS:
        return ""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)
    precision = "milliseconds" if timestamp % 1000 else "seconds" if timestamp % 60_000 else "minutes"
    return at.replace(tzinfo=None).isoformat(" ", precision)


def span_text(ms: int) -> str:
    """Returns a length of event time in ms, and from one minute on also in larger units.

    >>> span_text(5), span_text(1_800_000)
    ('5 ms', '1,800,000 ms (30 min 0 s)')
    """
    return f"{ms:,} ms" if ms < _MS_PER_MIN else f"{ms:,} ms ({duration_text(ms * NS_PER_MS)})"
