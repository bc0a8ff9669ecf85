"""Reads a Perfetto trace as its viewer does: packets in order, names by number, slices as a stack per track."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

Path = tuple[str, ...]
"""The names of a track and its parents, the outermost first."""


@dataclass
class ReadTrace:
    """The tracks by their names, with what each of them shows."""

    tracks: dict[Path, Any] = field(default_factory=dict)
    slices: dict[Path, list[tuple[str, int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Name, begin, end, depth; in the order of their ends."""
    instants: dict[Path, list[tuple[int, str, dict[str, int]]]] = field(default_factory=lambda: defaultdict(list))
    counters: dict[Path, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    flows: set[tuple[tuple[Path, int, str], tuple[Path, int, str]]] = field(default_factory=set)
    """From and to: track, time and name of an instant."""
    open_slices: int = 0
    open_flows: int = 0


def read_trace(data: bytes) -> ReadTrace:
    trace, found = Trace.FromString(data), ReadTrace()
    names: dict[int, str] = {}
    keys: dict[int, str] = {}
    paths: dict[int, Path] = {}
    stacks: dict[Path, list[tuple[str, int]]] = defaultdict(list)
    begun: dict[int, tuple[Path, int, str]] = {}
    last_ns = 0
    assert trace.packet[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        names |= {each.iid: each.name for each in packet.interned_data.event_names}
        keys |= {each.iid: each.name for each in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            path = (*paths.get(track.parent_uuid, ()), track.name)
            assert track.uuid not in paths
            assert path not in found.tracks
            paths[track.uuid] = path
            found.tracks[path] = track
        if not packet.HasField("track_event"):
            continue
        event, path = packet.track_event, paths[packet.track_event.track_uuid]
        if event.type != TrackEvent.TYPE_SLICE_END or packet.timestamp > last_ns:
            assert packet.timestamp >= last_ns
            last_ns = packet.timestamp
        match event.type:
            case TrackEvent.TYPE_SLICE_BEGIN:
                stacks[path].append((names[event.name_iid], packet.timestamp))
            case TrackEvent.TYPE_SLICE_END:
                name, start = stacks[path].pop()
                found.slices[path].append((name, start, packet.timestamp, len(stacks[path])))
            case TrackEvent.TYPE_COUNTER:
                found.counters[path].append((packet.timestamp, event.counter_value))
            case TrackEvent.TYPE_INSTANT:
                place = path, packet.timestamp, names[event.name_iid]
                values = {keys[each.name_iid]: each.int_value for each in event.debug_annotations}
                found.instants[path].append((packet.timestamp, place[2], values))
                for flow in event.flow_ids:
                    assert flow not in begun
                    begun[flow] = place
                for flow in event.terminating_flow_ids:
                    found.flows.add((begun.pop(flow), place))
    found.open_slices = sum(map(len, stacks.values()))
    found.open_flows = len(begun)
    return found
