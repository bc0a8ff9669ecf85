"""The limits: their values, how the caller changes them, and the page that lists them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from flowsim.errors import BadInput
from flowsim.limits import DEFAULT_LIMITS, Limits, limits_of
from flowsim.scenario.language import expressions, translator
from flowsim.scenario.yaml import positions
from flowsim.values import closed_set

PAGE: Final = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
FIXED: Final = {
    "Nested levels of a scenario": positions.MAX_DEPTH,
    "Characters of a key": positions.MAX_KEY_CHARS,
    "Characters of an expression": expressions.MAX_SOURCE_CHARS,
    "Parts of an expression": translator.MAX_NODES,
    "Nested levels of an expression": translator.MAX_DEPTH,
    "Nested levels of a record": closed_set.MAX_DEPTH,
}
"""The rows of the second table of the page, and the constants that they describe."""


def shown(name: str, value: int) -> str:
    if name.endswith("_bytes"):
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if value % size == 0:
                return f"{value // size} {unit}"
    if name == "virtual_time":
        return f"{value // 86_400_000:,} d"
    return f"{value:,}"


def test_page_lists_every_limit_with_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.M)
    assert rows == [
        (each.name, shown(each.name, getattr(DEFAULT_LIMITS, each.name)), each.metadata["meaning"])
        for each in fields(Limits)
    ]


def test_page_lists_every_fixed_limit() -> None:
    rows = re.findall(r"^\| ([^`|]+) \| ([\d,]+)[^|]* \|$", PAGE.partition("## Fixed limits")[2], re.M)
    assert rows == [(what, f"{limit:,}") for what, limit in FIXED.items()]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("scenario_byte=1", "there is no limit 'scenario_byte' (did you mean 'scenario_bytes'?)"),
        (
            "state_bytes=1 GiB",
            "there is no limit 'state_bytes': use memory_bytes, which bounds the memory of the process",
        ),
        ("scenario_bytes", "expected NAME=VALUE, such as scenario_bytes=262144"),
        ("scenario_bytes=-1", "expected NAME=VALUE"),
        ("scenario_bytes=1e9", "expected NAME=VALUE"),
        ("scenario_bytes=\u0663", "expected NAME=VALUE"),
        ("virtual_time", "expected a duration such as '100 ms'"),
        ("virtual_time=1 GB", "expected a duration such as '100 ms'"),
        ("virtual_time=1us", "expected whole milliseconds"),
        ("virtual_time=-1s", "limit virtual_time: expected an integer from 1 to 2^62, got -1000"),
        ("scenario_bytes=0", "limit scenario_bytes: expected an integer from 1 to 2^62, got 0"),
        ("scenario_bytes=9223372036854775807 GiB", "limit scenario_bytes: expected an integer from 1 to 2^62"),
    ],
)
def test_invalid_setting_of_limit_is_refused(setting: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        limits_of([setting])
    assert message in str(refused.value)


@pytest.mark.parametrize(("text", "ms"), [("90", 90), ("90ms", 90), ("10s", 10_000), ("1 h", 3_600_000)])
def test_limit_of_virtual_time_is_a_duration(text: str, ms: int) -> None:
    assert limits_of([f"virtual_time={text}"]) == Limits(virtual_time=ms)


def test_last_setting_of_limit_applies() -> None:
    assert limits_of(["scenario_bytes=1 KiB", "scenario_bytes=2KiB"]) == Limits(scenario_bytes=2048)
    assert limits_of([]) == DEFAULT_LIMITS
