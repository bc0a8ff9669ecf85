"""The headers of the pages of a Parquet file, which state how much memory the pages need before they are read.

The footer of a file states sizes, too, but nothing compares them with the pages: a page of a few bytes can decompress to
gigabytes. Flink has no equivalent; the format is Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_VARINTS: Final = (4, 5, 6)
_MAX_DEPTH: Final = 8
_LONGEST_VARINT: Final = 10

DATA_PAGE: Final = 0
DICTIONARY_PAGE: Final = 2
DATA_PAGE_V2: Final = 3
PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY = 0, 2, 8
_HEADERS: Final = {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}
"""The field of the page header with the header of its type."""
_ENCODINGS: Final = {DATA_PAGE: 2, DICTIONARY_PAGE: 2, DATA_PAGE_V2: 4}


class Page(NamedTuple):
    """One page: its type, its sizes, the number of its values and their encoding."""

    kind: int
    uncompressed_bytes: int
    compressed_bytes: int
    values: int
    encoding: int


def pages(content: bytes, start: int, size: int) -> Iterator[Page]:
    """The pages of a column chunk of ``size`` bytes from ``start``; raises ValueError for bytes that are no pages."""
    position, end = start, start + size
    if not 0 < start <= end <= len(content):
        raise ValueError("a column is outside of the file")
    while position < end:
        reader = _Reader(content, position, end)
        fields = reader.struct(0)
        kind, uncompressed, compressed = (_integer(fields, number) for number in (1, 2, 3))
        header = fields.get(_HEADERS.get(kind, -1))
        if not isinstance(header, dict) or uncompressed < 0 or compressed < 0:
            raise ValueError("a page has an unknown header")
        values = _integer(header, 1)
        if values < 0:
            raise ValueError("a page has an unknown number of values")
        yield Page(kind, uncompressed, compressed, values, _integer(header, _ENCODINGS[kind]))
        position = reader.position + compressed
    if position != end:
        raise ValueError("a page ends behind its column")


def _integer(fields: dict[int, object], number: int) -> int:
    value = fields.get(number)
    if type(value) is not int:
        raise ValueError("a page header is incomplete")
    return value


class _Reader:
    """Reads one struct of Thrift's compact protocol; skips what is not an integer or a struct."""

    __slots__ = ("_content", "_end", "position")

    def __init__(self, content: bytes, position: int, end: int) -> None:
        self._content = content
        self._end = end
        self.position = position

    def struct(self, depth: int) -> dict[int, object]:
        """The fields of a struct by their number."""
        if depth > _MAX_DEPTH:
            raise ValueError("a page header is nested too deeply")
        fields: dict[int, object] = {}
        number = 0
        while True:
            head = self._byte()
            kind, step = head & 0x0F, head >> 4
            if kind == _STOP:
                return fields
            number = number + step if step else self._zigzag()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> object:
        if kind in _VARINTS:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_BYTE, _TRUE, _FALSE):
            self._skip(1)
        elif kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4
            self._skip_values(self._varint() if count == 15 else count, (head & 0x0F,), depth)
        elif kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            self._skip_values(count, (kinds >> 4, kinds & 0x0F), depth)
        else:
            raise ValueError("a page header has a field of an unknown type")
        return None

    def _skip_values(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if depth > _MAX_DEPTH or count > self._end - self.position:
            raise ValueError("a page header has too long a list")
        for _ in range(count):
            for kind in kinds:
                self._value(kind, depth + 1)

    def _skip(self, size: int) -> None:
        self.position += size
        if self.position > self._end:
            raise ValueError("a page header ends behind its column")

    def _byte(self) -> int:
        position = self.position
        if position >= self._end:
            raise ValueError("a page header ends behind its column")
        self.position = position + 1
        return self._content[position]

    def _varint(self) -> int:
        value = shift = 0
        for _ in range(_LONGEST_VARINT):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise ValueError("a page header has a number that does not end")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
