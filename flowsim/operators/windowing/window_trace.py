"""What a window operator reports (tables ``window_intake``, ``window_fire``, ``window_merge``, ``late_drop``)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.window_contents import Account
from flowsim.operators.windowing.windows import Window
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import NO_TIMESTAMP
from flowsim.values import fingerprint


class Intake(Protocol):
    """Records that a record came, with what an extractor gave as its gap, in ms."""

    def __call__(
        self, value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int, gap: int = 0
    ) -> None: ...


class Accounts(Protocol):
    """What keeps the accounts of the contents."""

    fingerprint: int
    """Of the record being taken in."""


class WindowTrace:
    """Stamps the facts of one window operator with its index and the current key's names."""

    __slots__ = ("_trace", "_operator", "_key_facts", "_contents", "intake")

    intake: Intake
    """A record came, and nothing is decided about it yet; its fingerprint counts until the next one comes."""

    def __init__(self, trace: TaskTrace, operator: int, key_facts: KeyFacts, contents: Accounts) -> None:
        self._trace = trace
        self._operator = operator
        self._key_facts = key_facts
        self._contents = contents
        self.intake = self._make_intake()

    def _make_intake(self) -> Intake:
        """A closure, since it is called for every record."""
        trace, operator, contents = self._trace, self._operator, self._contents
        window_intake, known, learn = trace.window_intake, self._key_facts.known, self._key_facts.of

        def intake(
            value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int, gap: int = 0
        ) -> None:
            key_hash, key_number = known.get(key_id) or learn(key, key_id)
            is_as_decoded = operator == 0 and value is trace.seen_value
            number = trace.seen_fingerprint if is_as_decoded else fingerprint(timestamp, value)
            contents.fingerprint = number
            at = NO_TIMESTAMP if timestamp is None else timestamp
            window_intake(operator, key_hash, key_number, at, number, watermark, gap)

        return intake

    def fire(
        self,
        window: Window,
        account: Account,
        key: Value,
        key_id: object,
        watermark: int,
        result: WindowResult,
        cause: FireCause,
        at: int | None,
    ) -> None:
        """A trigger spoke about contents: they go to the window function, or are purged, or both."""
        key_hash, key_number = self._key_facts.of(key, key_id)
        self._trace.window_fire(
            self._operator,
            key_hash,
            key_number,
            window.start,
            window.end,
            watermark,
            *account,
            result,
            cause,
            _at(at),
        )

    def merge(self, merged: Collection[Window], into: Window, key: Value, key_id: object, watermark: int) -> None:
        """These windows became part of that one."""
        key_hash, key_number = self._key_facts.of(key, key_id)
        for window in merged:
            absorbed, whole = (window.start, window.end), (into.start, into.end)
            self._trace.window_merge(self._operator, key_hash, key_number, absorbed, whole, watermark)

    def late(self, timestamp: int | None, key: Value, key_id: object, watermark: int, side: bool) -> None:
        """The record taken in last was late."""
        key_hash, key_number = self._key_facts.of(key, key_id)
        number = self._contents.fingerprint
        self._trace.late_drop(self._operator, key_hash, key_number, _at(timestamp), number, watermark, side)


def _at(timestamp: int | None) -> int:
    return NO_TIMESTAMP if timestamp is None else timestamp
