"""Durations and times with PyFlink's names. Flink: Duration, Time."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration in whole nanoseconds. PyFlink: Duration.

    >>> Duration.of_seconds(2).to_millis()
    2000
    """

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        return Duration(days * 86_400_000 * NS_PER_MS)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        return Duration(hours * 3_600_000 * NS_PER_MS)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        return Duration(minutes * 60_000 * NS_PER_MS)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        return Duration(seconds * 1_000 * NS_PER_MS)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        return Duration(millis * NS_PER_MS)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        return Duration(nanos)

    def to_millis(self) -> int:
        """Returns whole milliseconds, rounded down as by Java's ``Duration.toMillis``."""
        return self.nanos // NS_PER_MS


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A time: seconds since 1970 (UTC) and nanoseconds of the second. PyFlink: Instant.

    >>> Instant.of_epoch_milli(-1)
    Instant(seconds=-1, nanos=999000000)
    """

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Returns whole milliseconds since 1970, rounded down as in Java."""
        return self.seconds * 1_000 + self.nanos // NS_PER_MS

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        seconds, millis = divmod(epoch_milli, 1_000)
        return Instant(seconds, millis * NS_PER_MS)


@dataclass(frozen=True, slots=True, order=True, init=False)
class Time:
    """A duration in milliseconds: an older class that windows also accept. PyFlink: Time."""

    millis: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "millis", milliseconds)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        return Time(seconds * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        return Time(days * 86_400_000)

    def to_milliseconds(self) -> int:
        return self.millis


Length = Duration | Time


def millis_of(length: Length, what: str) -> int:
    """Returns the milliseconds of a Duration or Time; raises TypeError that names ``what`` for any other type."""
    if isinstance(length, Duration):
        return length.to_millis()
    if isinstance(length, Time):
        return length.millis
    raise TypeError(f"{what}: expected a Duration or a Time such as Duration.of_seconds(5), got {length!r}")
