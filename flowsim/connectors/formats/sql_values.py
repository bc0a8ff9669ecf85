"""Dates, times and exact numbers in text, as the formats of Flink have them. Java: java.sql.Date, Time, Timestamp."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from flowsim.values.types import TypeKind

_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ISO: Final[Mapping[TypeKind, re.Pattern[str]]] = {
    TypeKind.SQL_DATE: re.compile(_DATE, re.ASCII),
    TypeKind.SQL_TIME: re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII),
    TypeKind.SQL_TIMESTAMP: re.compile(f"{_DATE}T{_TIME}Z", re.ASCII),
}
"""Of JSON."""
_JDBC_DATE: Final = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_JDBC: Final[Mapping[TypeKind, re.Pattern[str]]] = {
    TypeKind.SQL_DATE: re.compile(_JDBC_DATE, re.ASCII),
    TypeKind.SQL_TIME: re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})", re.ASCII),
    TypeKind.SQL_TIMESTAMP: re.compile(_JDBC_DATE + r" +(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?", re.ASCII),
}
"""Of CSV: the texts of ``valueOf`` of the classes of ``java.sql``."""

PYTHON_TYPES: Final[Mapping[TypeKind, type]] = {
    TypeKind.BIG_INT: int,
    TypeKind.BIG_DEC: Decimal,
    TypeKind.SQL_DATE: date,
    TypeKind.SQL_TIME: time,
    TypeKind.SQL_TIMESTAMP: datetime,
}
"""The types that this module reads and writes, with the class of their values."""


NUMBERS: Final = (TypeKind.BIG_INT, TypeKind.BIG_DEC)
"""Those whose text may have blanks around it."""


def value_of(text: str, kind: TypeKind, *, is_iso: bool) -> object:
    """Returns the value of a text, or raises ValueError. ``is_iso``: as in JSON, otherwise as in CSV."""
    if kind is TypeKind.BIG_INT:
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ValueError(f"expected an integer, got {text!r:.40}")
        return int(text)
    if kind is TypeKind.BIG_DEC:
        try:
            number = Decimal(text.replace("_", "?"))
        except InvalidOperation:
            raise ValueError(f"expected a decimal number, got {text!r:.40}") from None
        if not number.is_finite():
            raise ValueError(f"expected a decimal number, got {text!r:.40}")
        return number
    match = (_ISO if is_iso else _JDBC)[kind].fullmatch(text)
    if match is None:
        raise ValueError(f"expected {kind.value}, got {text!r:.40}")
    parts = list(match.groups())
    days = [int(parts.pop(0)) for _ in range(3)] if kind is not TypeKind.SQL_TIME else []
    day = date(1, 1, 1)
    if days:
        # As in Java, the 30th of February is the 1st or 2nd of March in CSV.
        year, month, day_of_month = days
        lenient = not is_iso and 1 <= day_of_month <= 31
        day = date(year, month, 1) + timedelta(day_of_month - 1) if lenient else date(year, month, day_of_month)
    if kind is TypeKind.SQL_DATE:
        return day
    hour, minute, second = (int(part or 0) for part in parts[:3])
    fraction = (parts[3] or "") if len(parts) > 3 else ""
    if kind is TypeKind.SQL_TIME:
        if fraction.strip("0"):
            raise ValueError("Only a time in UTC timezone without milliseconds is supported yet.")
        return time(hour, minute, second)
    return datetime.combine(day, time(hour, minute, second, int(fraction[:6].ljust(6, "0"))))


_WRITERS: Final[Mapping[TypeKind, tuple[Callable[[str], str], Callable[[str], str]]]] = {
    TypeKind.SQL_DATE: (str, str),
    TypeKind.SQL_TIME: (lambda text: f"{text}Z", str),
    TypeKind.SQL_TIMESTAMP: (
        lambda text: f"{text}Z",
        lambda text: text.replace("T", " ") + ("" if "." in text else ".0"),
    ),
}


def text_of(value: object, kind: TypeKind, *, is_iso: bool) -> str:
    """Returns the text of a value of one of ``PYTHON_TYPES``."""
    if kind in NUMBERS:
        return str(value)
    assert isinstance(value, date | time)
    text = value.isoformat()
    if kind is TypeKind.SQL_TIME and not is_iso:
        text = text.partition(".")[0]
    if "." in text:
        text = text.rstrip("0")
    return _WRITERS[kind][0 if is_iso else 1](text)
