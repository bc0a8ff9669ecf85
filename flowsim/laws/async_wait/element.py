"""What the laws of async operators keep of one element."""

from __future__ import annotations


class Element:
    """What happened to one element of an async operator so far; sequence numbers are -1 for what has not happened."""

    __slots__ = (
        "calls", "emitted", "fingerprint", "kind", "outcome", "put", "put_ns", "rank", "retries", "rows", "timed_out",
        "timestamp",
    )  # fmt: skip

    def __init__(self) -> None:
        self.put = -1
        """Sequence number of its PUT; ``put_ns``, ``kind`` and ``timestamp`` are of the same row."""
        self.put_ns = self.kind = self.timestamp = 0
        self.rank = 0
        """Its place in the order of emissions: an element of a lower rank must be emitted before."""
        self.outcome = -1
        """Sequence number of its first outcome; ``rows`` and ``fingerprint`` are of the same row."""
        self.rows = self.fingerprint = 0
        self.timed_out = False
        self.calls = 0
        self.retries: set[int] | None = None
        """The attempts after which it waited for a retry; None for none."""
        self.emitted = False
