"""Tables and sentences at several widths: the layout adapts, and no cell is cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from flowsim.cli.tables import Column, show_table, show_text

COLUMNS = (
    Column("state", rank=2, dull=frozenset({"finished"}), left=True),
    Column("records in"),
    Column("busy"),
    Column("soft"),
    Column("watermark", rank=1),
)
ROWS = [
    ("Source: numbers -> large (1/1)", "finished", "1,234,567", "4.0%", "0.0%", "-"),
    ("Sink: slow (1/1)", "finished", "89", "100.0%", "0.0%", "1,357,034,400,000"),
]


def shown(width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_table(console, ["task"], COLUMNS, ROWS)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def cells(width: int, *columns: int) -> bool:
    """Whether these cells of every row are whole in what is shown."""
    words = shown(width).split()
    return all(cell in words for row in ROWS for cell in (row[column] for column in columns))


def test_wide_table_puts_all_columns_on_one_line() -> None:
    assert shown(120).splitlines() == [
        "task                            state     records in    busy  soft          watermark",
        "─" * 85,
        "Source: numbers -> large (1/1)  finished   1,234,567    4.0%  0.0%                  -",
        "Sink: slow (1/1)                finished          89  100.0%  0.0%  1,357,034,400,000",
    ]


def test_headings_are_stacked_before_columns_are_dropped() -> None:
    assert shown(84).splitlines() == [
        "                                            records",
        "task                            state            in    busy  soft          watermark",
        "─" * 84,
        "Source: numbers -> large (1/1)  finished  1,234,567    4.0%  0.0%                  -",
        "Sink: slow (1/1)                finished         89  100.0%  0.0%  1,357,034,400,000",
    ]


def test_constant_columns_are_dropped_next_and_named() -> None:
    assert shown(72).splitlines() == [
        "task                            records in    busy          watermark",
        "─" * 69,
        "Source: numbers -> large (1/1)   1,234,567    4.0%                  -",
        "Sink: slow (1/1)                        89  100.0%  1,357,034,400,000",
        "not shown at this width: state, soft (--json has them)",
    ]


def test_narrow_table_splits_each_row_into_two_lines() -> None:
    assert shown(60).splitlines() == [
        "task",
        "  state     records in    busy  soft          watermark",
        "─" * 55,
        "Source: numbers -> large (1/1)",
        "  finished   1,234,567    4.0%  0.0%                  -",
        "Sink: slow (1/1)",
        "  finished          89  100.0%  0.0%  1,357,034,400,000",
    ]


def test_narrowest_table_drops_columns_by_rank() -> None:
    assert shown(30).splitlines() == [
        "task",
        "    records",
        "         in    busy",
        "─" * 19,
        "Source: numbers -> large (1/1)",
        "  1,234,567    4.0%",
        "Sink: slow (1/1)",
        "         89  100.0%",
        "not shown at this width:",
        "state, soft, watermark (--json",
        "has them)",
    ]


@pytest.mark.parametrize("width", range(10, 130))
def test_table_cuts_no_cell_and_exceeds_no_width(width: int) -> None:
    assert cells(width, 2, 3)
    if width >= 20:
        lines = [line for line in shown(width).splitlines() if not line.startswith(("Source: ", "Sink: "))]
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [20, 40, 60])
def test_sentence_wraps_between_words_and_indents_below_label(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    show_text(console, "waits     Sink: slow (1/1): input from numbers 96.0%, results of async calls 4.0%")
    assert isinstance(console.file, io.StringIO)
    first, *others = console.file.getvalue().splitlines()
    assert first.startswith("waits     Sink:")
    assert others
    assert all(line.startswith(" " * 10) and len(line) <= width for line in others)
    assert " ".join([first, *others]).split()[-6:] == ["96.0%,", "results", "of", "async", "calls", "4.0%"]
