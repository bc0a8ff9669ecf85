"""The outputs of operators. Flink: Output, Collector."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus


@mypyc_attr(allow_interpreted_subclasses=True)
class Output:
    """Takes the elements of an operator: the next operator of the chain, a writer, or both. Flink: Output.

    Timestamps are in ms, None for a record without.
    """

    __slots__ = ()

    @property
    def collector(self) -> Output:
        """What takes the records: the output itself, or its only consumer, which saves a call for each record."""
        return self

    def charge(self, value: object) -> Output:
        """Adds what a record costs to the clock of the task; returns what takes this record at no further cost."""
        return self

    def collect(self, value: object, timestamp: int | None) -> None:
        """Takes a record."""
        raise NotImplementedError

    def collect_side(self, tag: OutputTag, value: object, timestamp: int | None) -> None:
        """Takes a record of a side output."""
        raise NotImplementedError

    def emit_watermark(self, timestamp: int) -> None:
        """Takes a watermark."""
        raise NotImplementedError

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        """Takes a status."""
        raise NotImplementedError

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """Takes a latency marker."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class CountingOutput(Output):
    """An output that counts its records."""

    __slots__ = ("records_out",)

    def __init__(self) -> None:
        self.records_out: int = 0
        """The number of user records that were emitted to it (rules 5.9, 13.4)."""
