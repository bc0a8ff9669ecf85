"""Writes a Perfetto trace packet by packet: tracks, slices, instants with flows, and counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import TYPE_CHECKING, Final

from flowsim.errors import MissingExtra

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

_SEQUENCE: Final = 1
_GROUP: Final = 512
"""The number of packets that are written at once."""
_NO_VALUES: Final[Mapping[str, int]] = {}


@dataclass(slots=True)
class Track:
    """A row of the viewer; ``rank`` orders the children of a parent. ``unit``: of a counter, '' for slices."""

    uuid: int
    name: str
    parent: Track | None
    rank: int
    unit: str = ""
    is_written: bool = field(default=False, compare=False)


class PerfettoWriter:
    """One sequence of packets; names are interned. Equal calls give equal bytes.

    A track is described before its first event. Times are nanoseconds and may not decrease.
    """

    def __init__(self, file: BufferedIOBase) -> None:
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
        except ImportError:
            raise MissingExtra("perfetto", "export --perfetto") from None
        self._file = file
        self._protos = protos
        self._event_names: dict[str, int] = {}
        self._annotation_names: dict[str, int] = {}
        self._tracks = 0
        self._trace = protos.Trace()
        first = self._packet()
        first.first_packet_on_sequence = True
        first.sequence_flags = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED

    def flush(self) -> None:
        """Writes the packets so far; to be called after the last one."""
        self._file.write(self._trace.SerializeToString(deterministic=True))
        self._trace = self._protos.Trace()  # a cleared message keeps its memory

    def track(self, name: str, parent: Track | None, rank: int, unit: str = "") -> Track:
        self._tracks += 1
        return Track(self._tracks, name, parent, rank, unit)

    def begin(self, track: Track, time_ns: int, name: str) -> None:
        """Opens a slice inside the open slices of the track."""
        packet = self._event(track, time_ns, self._protos.TrackEvent.TYPE_SLICE_BEGIN)
        packet.track_event.name_iid = self._name(packet, name)

    def end(self, track: Track, time_ns: int) -> None:
        """Closes the innermost open slice of the track."""
        self._event(track, time_ns, self._protos.TrackEvent.TYPE_SLICE_END)

    def instant(
        self,
        track: Track,
        time_ns: int,
        name: str,
        values: Mapping[str, int] = _NO_VALUES,
        begins: int | None = None,
        ends: int | None = None,
    ) -> None:
        """Adds an event without duration; ``begins`` and ``ends`` are the ids of flows to later and from earlier events."""
        packet = self._event(track, time_ns, self._protos.TrackEvent.TYPE_INSTANT)
        event = packet.track_event
        event.name_iid = self._name(packet, name)
        if begins is not None:
            event.flow_ids.append(begins)
        if ends is not None:
            event.terminating_flow_ids.append(ends)
        for key, value in values.items():
            annotation = event.debug_annotations.add()
            annotation.name_iid = self._annotation_name(packet, key)
            annotation.int_value = value

    def counter(self, track: Track, time_ns: int, value: int) -> None:
        packet = self._event(track, time_ns, self._protos.TrackEvent.TYPE_COUNTER)
        packet.track_event.counter_value = value

    def describe(self, track: Track) -> None:
        """Writes the description of a track, and of its parents, unless they are written."""
        if track.is_written:
            return
        if track.parent is not None:
            self.describe(track.parent)
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = track.uuid
        descriptor.name = track.name
        if track.parent is not None:
            descriptor.parent_uuid = track.parent.uuid
        if track.unit:
            descriptor.counter.unit_name = track.unit
        descriptor.child_ordering = self._protos.TrackDescriptor.EXPLICIT
        descriptor.sibling_order_rank = track.rank
        descriptor.sibling_merge_behavior = self._protos.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        track.is_written = True

    def _packet(self) -> TracePacket:
        """The next packet of the trace; packets are written in groups."""
        if len(self._trace.packet) == _GROUP:
            self.flush()
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.sequence_flags = self._protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def _event(self, track: Track, time_ns: int, kind: int) -> TracePacket:
        if not track.is_written:
            self.describe(track)
        packet = self._packet()
        packet.timestamp = time_ns
        event = packet.track_event
        event.type = kind
        event.track_uuid = track.uuid
        return packet

    def _name(self, packet: TracePacket, name: str) -> int:
        number = self._event_names.get(name)
        if number is None:
            number = self._event_names[name] = len(self._event_names) + 1
            packet.interned_data.event_names.add(iid=number, name=name)
        return number

    def _annotation_name(self, packet: TracePacket, name: str) -> int:
        number = self._annotation_names.get(name)
        if number is None:
            number = self._annotation_names[name] = len(self._annotation_names) + 1
            packet.interned_data.debug_annotation_names.add(iid=number, name=name)
        return number
