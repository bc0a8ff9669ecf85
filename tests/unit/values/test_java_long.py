"""Java's longs wrap around, and its remainder has the sign of the dividend."""

from __future__ import annotations

from flowsim.values.java_long import remainder, wrapped


def test_sums_and_differences_wrap_around() -> None:
    least, greatest = -(2**63), 2**63 - 1
    assert [wrapped(greatest + 1), wrapped(least - 1), wrapped(least), wrapped(greatest)] == [
        least, greatest, least, greatest,
    ]  # fmt: skip
    assert wrapped(least - greatest) == 1
    assert wrapped(greatest - least) == -1


def test_remainder_has_sign_of_dividend() -> None:
    assert [remainder(7, 5), remainder(-7, 5), remainder(7, -5), remainder(-7, -5)] == [2, -2, 2, -2]
    assert remainder(-10, 5) == 0
