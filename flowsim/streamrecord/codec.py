"""Elements as bytes of a channel, and back (rule 0.3, architecture decision D5). Flink: StreamElementSerializer.

An element is one msgpack array; its length gives the kind:

=  ===========================================================  ==================
2  ``(timestamp or nil, value)``                                record
1  ``(timestamp,)``                                             watermark
3  ``(2, status, 0)``                                           watermark status
4  ``(3, marked_time_ms, operator_id, subtask_index)``          latency marker
=  ===========================================================  ==================

Elements follow each other without separator and may be cut anywhere. Flink writes a length before each element and
flowsim does not, so a watermark costs 2 to 10 bytes of buffer instead of 13.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, Protocol

import msgpack
import msgspec
from mypy_extensions import mypyc_attr

from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.values.encoding import decode_extension, encode_into

Element = tuple[object, ...]
"""A decoded element; its length gives the kind."""

WATERMARK_LENGTH: Final = 1
RECORD_LENGTH: Final = 2
STATUS_LENGTH: Final = 3
LATENCY_MARKER_LENGTH: Final = 4

_STATUS_KIND: Final = 2
_LATENCY_MARKER_KIND: Final = 3

_encoder: Final = msgspec.msgpack.Encoder()
_encode: Final = _encoder.encode
_append: Final = _encoder.encode_into

encode_record_into: Final = encode_into
"""Appends a record: ``(buffer, timestamp, value)``; raises ValueNotAllowed and leaves the buffer unchanged."""


def encode_watermark(timestamp: int) -> bytes:
    """Returns the bytes of a watermark of ``timestamp`` ms."""
    return _encode((timestamp,))


def encode_status_into(buffer: bytearray, status: WatermarkStatus) -> None:
    """Appends a watermark status."""
    _append((_STATUS_KIND, int(status), 0), buffer, -1)


def encode_latency_marker_into(buffer: bytearray, marker: LatencyMarker) -> None:
    """Appends a latency marker."""
    _append((_LATENCY_MARKER_KIND, marker.marked_time_ms, marker.operator_id, marker.subtask_index), buffer, -1)


def latency_marker(element: Element) -> LatencyMarker:
    """Converts an element of length 4 to a latency marker."""
    _, marked_time_ms, operator_id, subtask_index = element
    if not (isinstance(marked_time_ms, int) and isinstance(operator_id, int) and isinstance(subtask_index, int)):
        raise TypeError(f"not a latency marker: {element!r:.80}")
    return LatencyMarker(marked_time_ms, operator_id, subtask_index)


class Recyclable(Protocol):
    """A buffer with bytes."""

    def recycle(self) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class ElementDecoder:
    """Decodes the bytes of one channel after the other; one decoder serves a whole gate.

    Call ``feed`` with a slice, iterate over its complete elements, call ``take_tail`` and store the tail for the
    channel. Prepend the tail to the channel's next slice. Iteration may stop anywhere and continue later. The buffer of
    a slice is recycled once the slice is decoded: before its last element is yielded if that ends with the slice, else
    by ``take_tail``. Flink: SpillingAdaptiveSpanningRecordDeserializer.

    The unpacker itself iterates, so an element runs no Python code of flowsim. But the unpacker does not know where a
    cut element began; so it gets the last ``TRACKED_BYTES`` of a slice separately, and its position is read after each
    element there.
    """

    __slots__ = ("_slice", "_buffer", "_unpacker", "_elements", "_begin", "_end", "_tracked")

    TRACKED_BYTES = 1024

    _slice: memoryview
    _unpacker: msgpack.Unpacker
    """The unpacker of one slice. Its internal buffers are large, so that an idle gate has no unpacker; one that decoded a
    slice completely is used for the next slice of any gate.
    """
    _elements: Iterator[Element]

    def __init__(self) -> None:
        self._buffer: Recyclable | None = None
        self._clear()

    def feed(self, encoded: bytes | bytearray | memoryview, buffer: Recyclable | None = None) -> None:
        """Adds bytes of the current channel, in ``buffer``; they must not change before ``take_tail``."""
        if len(self._slice):
            encoded = self.take_tail() + encoded
        self._slice = memoryview(encoded)
        self._buffer = buffer
        self._unpacker = _SPARE.pop() if _SPARE else _unpacker()
        self._begin: int = self._unpacker.tell()
        self._tracked = False
        self._elements = chain.from_iterable(self._parts())

    def __iter__(self) -> Iterator[Element]:
        """Iterates over the remaining complete elements, each a tuple."""
        return self._elements

    @property
    def is_consumed(self) -> bool:
        """True if all bytes are decoded."""
        return not len(self._slice)

    @property
    def unconsumed(self) -> bytes:
        """The bytes after the last returned element."""
        position = self._position()
        return bytes(self._slice[position:])

    def take_tail(self) -> bytes:
        """Returns the bytes after the last returned element and empties the decoder."""
        tail = self.unconsumed
        self._clear()
        return tail

    def _clear(self) -> None:
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            buffer.recycle()
        self._slice = memoryview(b"")
        self._unpacker = _IDLE
        self._begin = 0
        self._elements = iter(())
        self._end: int | None = 0
        self._tracked = True

    def _parts(self) -> Iterator[Iterator[Element]]:
        untracked = len(self._slice) - self.TRACKED_BYTES
        if untracked > 0:
            self._unpacker.feed(self._slice[:untracked])
            yield self._unpacker
            self._end = None
        else:
            untracked = 0
            self._end = 0
        self._tracked = True
        self._unpacker.feed(self._slice[untracked:])
        yield self._tracked_part()

    def _tracked_part(self) -> Iterator[Element]:
        unpacker, begin, size = self._unpacker, self._begin, len(self._slice)
        for element in unpacker:
            end = self._end = unpacker.tell() - begin
            if end == size:
                self._clear()
                if not _SPARE and size <= _SPARE_BYTES:
                    _SPARE.append(unpacker)
                yield element
                return
            yield element

    def _position(self) -> int:
        """Returns the position in the slice after the last returned element."""
        if not self._tracked:
            # Iteration has not passed a cut element yet, so the unpacker's position is at the end of an element.
            behind: int = self._unpacker.tell() - self._begin
            return behind
        return self._end if self._end is not None else self._search()

    def _search(self) -> int:
        """Finds the position by skipping through the slice again: the cut element exceeds the tracked bytes."""
        unpacker = _unpacker()
        unpacker.feed(self._slice)
        end = 0
        while True:
            try:
                unpacker.skip()
            except msgpack.OutOfData:
                return end
            end = unpacker.tell()


class CutElement:
    """The beginning of a long element that spans several slices of a channel.

    The unpacker keeps its place in the element, so that the cost of a slice does not grow with the bytes before it.
    """

    __slots__ = ("_unpacker", "_fed", "_slices")

    LONG_BYTES: Final = 1 << 16
    """A shorter beginning is kept as bytes, and is decoded again with the next slice."""

    def __init__(self, tail: bytes) -> None:
        self._unpacker = _unpacker()
        self._fed = 0
        self._slices: list[bytes] = []
        self.complete(tail)

    @property
    def unconsumed(self) -> bytes:
        """The bytes of the element so far."""
        return b"".join(self._slices)

    def complete(self, encoded: bytes | bytearray | memoryview) -> tuple[Element, int] | None:
        """Adds the next slice; returns the element and its end in the slice, or None if it does not end there."""
        self._unpacker.feed(encoded)
        try:
            element: Element = self._unpacker.unpack()
        except msgpack.OutOfData:
            self._fed += len(encoded)
            self._slices.append(bytes(encoded))
            return None
        return element, self._unpacker.tell() - self._fed


def _unpacker() -> msgpack.Unpacker:
    return msgpack.Unpacker(
        use_list=False, strict_map_key=False, raw=False, ext_hook=decode_extension, max_buffer_size=0, read_size=1024
    )


_IDLE: Final = _unpacker()
"""The unpacker of decoders without bytes: an unpacker takes 40 KB, and in a large job most decoders are empty."""

_SPARE: Final[list[msgpack.Unpacker]] = []
"""At most one unpacker that has no bytes: to create one costs as much as to decode three elements."""
_SPARE_BYTES: Final = 1 << 16
"""An unpacker that decoded a larger slice has a larger buffer, too, and is not kept."""
