"""Tables that adapt to the width of the terminal and never cut a cell.

If one line per row is too wide, headings are stacked; then columns without information are dropped; then a row uses two
lines, names above numbers; then columns are dropped by their rank. The dropped columns are named below the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from flowsim.errors import printable_line

_GAP: Final = 2
_INDENT: Final = 2
_LABEL: Final = 10
_NOTHING: Final = frozenset({"", "-", "0", "0.0%", "0%"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers or short words.

    ``dull`` lists cells without information; a column that has only dull cells may be dropped. ``rank``: if the width
    is too small, columns with the highest rank are dropped first; rank 0 is never dropped.
    """

    heading: str
    rank: int = 0
    dull: frozenset[str] = _NOTHING
    left: bool = False


@dataclass(frozen=True, slots=True)
class _Layout:
    """The positions of the shown columns, and the layout."""

    names: tuple[int, ...]
    numbers: tuple[int, ...]
    two_lines: bool
    stacked: bool


def show_table(
    console: Console,
    names: Sequence[str],
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    styles: Sequence[str] | None = None,
) -> None:
    """Shows a table.

    The first columns are ``names``, aligned left; the other columns are ``columns``. Each row has a style.
    """
    cells = [[printable_line(cell) for cell in row] for row in rows]
    headings = [Column(printable_line(name), left=True) for name in names]
    table = _Table([*headings, *columns], len(names), cells)
    layout = table.layout_for(console.width)
    for line in table.headings(layout):
        console.print(Text(line, style="bold"), soft_wrap=True)
    console.print("─" * min(console.width, table.width(layout)), style="dim", soft_wrap=True)
    for index, row in enumerate(cells):
        for line in table.lines(row, layout):
            console.print(Text(line, style="" if styles is None else styles[index]), soft_wrap=True)
    left_out = [
        column.heading for index, column in enumerate(table.columns) if index not in layout.names + layout.numbers
    ]
    if left_out:
        show_text(console, f"not shown at this width: {', '.join(left_out)} (--json has them)", "dim")


def show_text(console: Console, text: str, style: str = "") -> None:
    """Shows a sentence, wrapped between words. After a label such as ``sink``, all lines have the same indent."""
    indent = " " * _LABEL if text[:_LABEL].rstrip().isalpha() and text[_LABEL - 1 : _LABEL] == " " else ""
    lines = wrap(text, console.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    for line in lines:
        console.print(line, style=style, soft_wrap=True)


class _Table:
    """Cells and their widths; names are shown in every layout."""

    def __init__(self, columns: Sequence[Column], names: int, rows: Sequence[Sequence[str]]) -> None:
        self.columns = columns
        self._rows = rows
        self._cell_len = cell_len
        self._names = tuple(range(names))
        self._numbers = tuple(range(names, len(columns)))
        self._cell_widths = [max((cell_len(row[i]) for row in rows), default=0) for i in range(len(columns))]

    def layout_for(self, width: int) -> _Layout:
        """Returns the first layout that fits; if none fits, the last layout, which has only the columns of rank 0."""
        layouts = list(self._layouts())
        return next((layout for layout in layouts if self.width(layout) <= width), layouts[-1])

    def _layouts(self) -> Iterator[_Layout]:
        varying = tuple(index for index in self._numbers if not self._is_dull(index))
        for two_lines in (False, True):
            for numbers in (self._numbers, varying):
                for stacked in (False, True):
                    yield _Layout(self._names, numbers, two_lines, stacked)
        kept = list(varying)
        for index in sorted(varying, key=lambda index: self.columns[index].rank, reverse=True):
            if self.columns[index].rank:
                kept.remove(index)
                yield _Layout(self._names, tuple(kept), True, True)

    def _is_dull(self, index: int) -> bool:
        return all(row[index] in self.columns[index].dull for row in self._rows)

    def width(self, layout: _Layout) -> int:
        """Returns the width of a layout's widest line; names above numbers do not count: they cannot be shortened."""
        if layout.two_lines:
            return _INDENT + self._width_of(layout.numbers, layout.stacked)
        return self._width_of(layout.names + layout.numbers, layout.stacked)

    def _width_of(self, shown: tuple[int, ...], stacked: bool) -> int:
        return sum(self._width(index, stacked) for index in shown) + _GAP * max(len(shown) - 1, 0)

    def _width(self, index: int, stacked: bool) -> int:
        heading = self.columns[index].heading
        words = heading.split() if stacked else [heading]
        return max(self._cell_widths[index], *map(self._cell_len, words))

    def headings(self, layout: _Layout) -> list[str]:
        """Returns the lines above the rows."""
        headings = [column.heading for column in self.columns]
        if not layout.two_lines:
            return self._headings(headings, layout.names + layout.numbers, layout.stacked)
        numbers = self._headings(headings, layout.numbers, layout.stacked)
        return [self._line(headings, layout.names, False), *(" " * _INDENT + line for line in numbers)]

    def lines(self, row: Sequence[str], layout: _Layout) -> list[str]:
        """Returns the one or two lines of a row."""
        if not layout.two_lines:
            return [self._line(row, layout.names + layout.numbers, layout.stacked)]
        numbers = self._line(row, layout.numbers, layout.stacked)
        return [self._line(row, layout.names, False), " " * _INDENT + numbers]

    def _headings(self, headings: Sequence[str], shown: tuple[int, ...], stacked: bool) -> list[str]:
        if not stacked:
            return [self._line(headings, shown, False)]
        words = {index: headings[index].split() for index in shown}
        height = max((len(of) for of in words.values()), default=0)
        lines = []
        for level in range(height, 0, -1):
            cells = [words[i][-level] if i in words and len(words[i]) >= level else "" for i in range(len(headings))]
            lines.append(self._line(cells, shown, True))
        return lines

    def _line(self, row: Sequence[str], shown: tuple[int, ...], stacked: bool) -> str:
        cells = []
        for index in shown:
            blank = " " * (self._width(index, stacked) - self._cell_len(row[index]))
            cells.append(row[index] + blank if self.columns[index].left else blank + row[index])
        return (" " * _GAP).join(cells).rstrip()
