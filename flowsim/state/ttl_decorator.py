"""Decides when a value has expired, and what a read returns. Flink: AbstractTtlDecorator, TtlUtils."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from flowsim.state.state_ttl_config import StateTtlConfig, TtlStateVisibility, TtlUpdateType

_MAX_LONG: Final = 2**63 - 1


class TtlValue(NamedTuple):
    """A value and the time of its last update, in ms. Flink: TtlValue."""

    user_value: object
    last_access_timestamp: int


Clean = Callable[[object], object]
"""A function that returns the content of a cell without expired values: the same object if none expired, None if all
did."""


class TtlDecorator:
    """The time-to-live rules of one state. Flink: AbstractTtlDecorator."""

    __slots__ = ("_now", "_ttl_ms", "accessed", "return_expired", "update_on_read")

    accessed: Callable[[], None]
    """A function that is called at every user access."""

    def __init__(self, config: StateTtlConfig, now_ms: Callable[[], int], accessed: Callable[[], None]) -> None:
        self._now = now_ms
        self._ttl_ms = config.ttl_ms
        self.update_on_read: bool = config.get_update_type() is TtlUpdateType.OnReadAndWrite
        self.return_expired: bool = config.get_state_visibility() is TtlStateVisibility.ReturnExpiredIfNotCleanedUp
        self.accessed = accessed

    def wrap(self, value: object) -> TtlValue:
        """Returns the value with the current time."""
        return TtlValue(value, self._now())

    def expired(self, value: TtlValue) -> bool:
        """Returns True if the last update was longer ago than the time to live."""
        touched = value.last_access_timestamp
        # As in Java, which must not overflow: a value with a very long time to live never expires.
        lives = min(_MAX_LONG - touched, self._ttl_ms) if touched > 0 else self._ttl_ms
        return touched + lives <= self._now()

    def unexpired(self, value: TtlValue | None) -> object:
        """Returns the user's value, None if it must not be visible."""
        if value is None or (not self.return_expired and self.expired(value)):
            return None
        return value.user_value

    def read(
        self, value: TtlValue | None, update: Callable[[TtlValue], None], clear: Callable[[], object]
    ) -> TtlValue | None:
        """Reads a value: removes it if expired, updates it if reads count.

        Returns None if the value must not be visible.
        """
        if value is None:
            return None
        if self.expired(value):
            clear()
            return value if self.return_expired else None
        if self.update_on_read:
            update(self.wrap(value.user_value))
        return value
