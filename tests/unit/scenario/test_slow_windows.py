"""Warnings about scenarios whose records belong to many windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.scenario.loader import load_text
from flowsim.scenario.slow_windows import slow_windows

TEXT = """\
flowsim: 1
name: windows
sources:
  rows:
    collection: {fields: {k: string, n: long}, rows: [[a, 0]]}
    watermarks: {timestamp: n}
operators:
  counts: {input: rows, %s}
sinks: {kept: {input: counts, collect: {}}}
"""
COUNTS = "key_by: [k], aggregate: {n: count()}, window: %s"
JOIN = "join: {to: rows, key_by: [k, k], select: {n: left.n}, window: %s}"


def warnings(operator: str) -> tuple[str, ...]:
    return slow_windows(load_text(TEXT % operator, "s.yaml", Path()))


@pytest.mark.parametrize(
    ("operator", "window", "words"),
    [
        (
            COUNTS,
            "{sliding: {size: 100s, slide: 1s}}",
            ("s.yaml:8:", "window.sliding", "100 windows", "state is large"),
        ),
        (COUNTS, "{sliding: {size: 99ms, slide: 2ms}}", ("50 windows",)),
        (COUNTS, "{count: {size: 70, slide: 1}}", ("window.count", "70 windows", "slow; increase slide")),
        (JOIN, "{sliding: {size: 1h, slide: 1s}}", ("join.window.sliding", "3,600 windows")),
    ],
)
def test_many_windows_per_record_warn_with_position(operator: str, window: str, words: tuple[str, ...]) -> None:
    (warning,) = warnings(operator % window)
    assert all(word in warning for word in words), warning


@pytest.mark.parametrize(
    "window", ["{sliding: {size: 98ms, slide: 2ms}}", "{count: {size: 70, slide: 2}}", "{count: 70}", "{tumbling: 1h}"]
)
def test_few_windows_per_record_do_not_warn(window: str) -> None:
    assert warnings(COUNTS % window) == ()
