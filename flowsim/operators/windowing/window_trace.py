"""What a window operator reports (tables ``window_intake``, ``window_fire``, ``late_drop``)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.window import Window
from flowsim.operators.windowing.window_contents import Pane, TracedContents, TracedPane
from flowsim.timers.key_facts import KeyFacts
from flowsim.units import NO_TIMESTAMP
from flowsim.values import fingerprint

Intake = Callable[[Value, int | None, Value, object, int], None]
"""Value, timestamp, key, ``state_key`` of the key, current watermark."""


class WindowTrace:
    """Stamps the facts of one window operator with its index and the current key's names."""

    __slots__ = ("_trace", "_operator", "_key_facts", "_contents", "intake")

    intake: Intake
    """A record came, and nothing is decided about it yet; its fingerprint counts until the next one comes."""

    def __init__(self, trace: TaskTrace, operator: int, key_facts: KeyFacts, contents: TracedContents) -> None:
        self._trace = trace
        self._operator = operator
        self._key_facts = key_facts
        self._contents = contents
        self.intake = self._make_intake()

    def _make_intake(self) -> Intake:
        """A closure, since it is called for every record."""
        trace, operator, contents = self._trace, self._operator, self._contents
        window_intake, known, learn = trace.window_intake, self._key_facts.known, self._key_facts.of

        def intake(value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int) -> None:
            key_hash, key_number = known.get(key_id) or learn(key, key_id)
            is_as_decoded = operator == 0 and value is trace.seen_value
            number = trace.seen_fingerprint if is_as_decoded else fingerprint(timestamp, value)
            contents.fingerprint = number
            at = NO_TIMESTAMP if timestamp is None else timestamp
            window_intake(operator, key_hash, key_number, at, number, watermark, 0)

        return intake

    def fire(
        self, window: Window, pane: Pane, key: Value, key_id: object, watermark: int, result: WindowResult,
        cause: FireCause, at: int | None,
    ) -> None:  # fmt: skip
        """The contents of a pane go to the window function."""
        assert isinstance(pane, TracedPane)
        key_hash, key_number = self._key_facts.of(key, key_id)
        self._trace.window_fire(
            self._operator, key_hash, key_number, window.start, window.end, watermark,
            pane.rows, pane.fingerprint_sum, pane.fingerprint_xor, result, cause, _at(at),
        )  # fmt: skip

    def late(self, timestamp: int | None, key: Value, key_id: object, watermark: int, side: bool) -> None:
        """The record taken in last was late."""
        key_hash, key_number = self._key_facts.of(key, key_id)
        number = self._contents.fingerprint
        self._trace.late_drop(self._operator, key_hash, key_number, _at(timestamp), number, watermark, side)


def _at(timestamp: int | None) -> int:
    return NO_TIMESTAMP if timestamp is None else timestamp
