"""Expectations about results: the records that a collect sink must hold, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowsim.scenario.expectations import ExpectationOutcome
from flowsim.scenario.models.expect import ExpectModel

Records = Sequence[tuple[object, int | None]]


def judge_results(
    expect: ExpectModel, collected: Mapping[str, Records], cut_short: bool
) -> tuple[ExpectationOutcome, ...]:
    """One outcome per entry of ``expect.results``; ``collected`` has the records of each collect sink, timestamps too."""
    return tuple(_judge(sink, rows, collected[sink], cut_short) for sink, rows in expect.results.items())


def _judge(sink: str, rows: Sequence[Sequence[object]], records: Records, cut_short: bool) -> ExpectationOutcome:
    what = f"results of sink {sink}"
    wanted = [[_plain(cell) for cell in row] for row in rows]
    found = [[_plain(cell) for cell in value] if isinstance(value, tuple) else [_plain(value)] for value, _ in records]
    if cut_short:
        return ExpectationOutcome(what, _told(wanted), _told(found), None, "the run was cut short")
    if wanted == found:
        return ExpectationOutcome(what, _told(wanted), _told(found), True)
    at = next((i for i, (one, other) in enumerate(zip(wanted, found, strict=False)) if one != other), None)
    at = min(len(wanted), len(found)) if at is None else at
    expected = f"row {at} {wanted[at]}" if at < len(wanted) else f"{len(wanted)} rows"
    got = f"row {at} {found[at]}" if at < len(found) else f"{len(found)} rows"
    return ExpectationOutcome(what, expected, got, False)


def _plain(cell: object) -> object:
    """As YAML writes it: a tuple is a list there, and a whole double may be written as a whole number."""
    if isinstance(cell, tuple | list):
        return [_plain(item) for item in cell]
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _told(rows: Sequence[object]) -> str:
    return f"{len(rows)} rows"
