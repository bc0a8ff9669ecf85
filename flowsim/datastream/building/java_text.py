"""The text that Java prints for a value of a declared type."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal

from flowsim.connectors.file_system.sink import FileSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.sinks.sink import Sink
from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.values.durations import Instant
from flowsim.values.row import Row
from flowsim.values.types import LIST_KINDS, TypeInformation, TypeKind


def print_sink(identifier: str, declared: TypeInformation | None) -> PrintSink:
    """Returns the sink of ``print``; in a program for PyFlink it prints values of a declared type as Java does.

    Of Rows PyFlink prints the text of Python's values.
    """
    text = _text_of_type(declared) or str
    is_row = declared is not None and declared.kind is TypeKind.ROW and text is not str
    return PrintSink(identifier, text=_printed_row if is_row else text)


def _printed_row(value: object) -> str:
    return f"{value.get_row_kind()}[{','.join(map(str, value))}]" if isinstance(value, Row) else str(value)


def with_text_of_type(sink: Sink, declared: TypeInformation | None) -> Sink:
    """Returns a sink that writes the text of values as ``print`` prints it, if it writes text."""
    text = _text_of_type(declared)
    return sink.with_text(text) if text is not None and isinstance(sink, FileSink) else sink


def _text_of_type(declared: TypeInformation | None) -> Callable[[object], str] | None:
    """Returns Java's text of values of a declared type; None outside of programs for PyFlink, and without a type."""
    if declared is None or declared.kind is TypeKind.PICKLED_BYTE_ARRAY or not is_pyflink_way():
        return None
    return lambda value: java_text(value, declared)


def java_text(value: object, declared: TypeInformation) -> str:
    """Returns Java's ``toString`` of a value of a declared type.

    >>> from flowsim.values.types import Types
    >>> java_text(("hi", 1.0, None), Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.INT()]))
    '(hi,1.0,null)'
    """
    arguments = declared.arguments
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value, is_single=declared.kind is TypeKind.FLOAT)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}.{f'{value.microsecond:06}'.rstrip('0') or '0'}"
        case time():
            return f"{value:%H:%M:%S}"
        case Instant():
            return _instant_text(value)
        case Decimal() | date() | str() | int():
            return str(value)
        case tuple() if declared.kind is TypeKind.TUPLE and len(arguments) == len(value):
            return f"({','.join(map(java_text, value, arguments))})"
        case list() | tuple() if declared.kind in LIST_KINDS:
            return f"[{', '.join(java_text(item, arguments[0]) for item in value)}]"
        case dict() if declared.kind is TypeKind.MAP:
            pairs = (f"{java_text(key, arguments[0])}={java_text(item, arguments[1])}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case Row() if declared.kind is TypeKind.ROW and len(arguments) == len(value):
            return f"{value.get_row_kind()}[{', '.join(map(java_text, value, arguments))}]"
        case _:
            return str(value)


def _float_text(value: float, *, is_single: bool) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    digits = _shortest_single(value) if is_single else repr(value)
    sign, number, exponent = Decimal(digits).as_tuple()
    if not any(number):
        return "-0.0" if sign else "0.0"
    text = "".join(map(str, number)).rstrip("0")
    power = len(number) + int(exponent) - 1
    minus = "-" if sign else ""
    if -3 <= power < 7:
        if power < 0:
            return f"{minus}0.{'0' * (-power - 1)}{text}"
        return f"{minus}{text[: power + 1].ljust(power + 1, '0')}.{text[power + 1 :] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{power}"


def _shortest_single(value: float) -> str:
    """Returns the fewest digits that read back as the same float of single precision."""
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == struct.pack(">f", value):
            return text
    return f"{value:.9g}"


def _instant_text(value: Instant) -> str:
    at = datetime.fromordinal(719163 + value.seconds // 86400)
    seconds = value.seconds % 86400
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f"{value.nanos:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{at:%Y-%m-%d}T{clock}{'.' + digits if digits else ''}Z"
