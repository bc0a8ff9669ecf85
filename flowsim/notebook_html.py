"""Small HTML for notebooks: all text is escaped, nothing is loaded, and equal objects give equal HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Cell = str | int


def html_block(title: str, text: str, *tables: str) -> str:
    """Returns a line with its first words in bold, and the tables below it."""
    return "\n".join([f"<div><p><b>{escape(title)}</b> {escape(text)}</p>", *tables, "</div>"])


def html_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Returns a table: texts to the left, numbers to the right with separators.

    The table has a heading line if there are headings.

    >>> html_table(["law"], [["a < b"]]).splitlines()[-2]
    '<tr><td style="text-align:left">a &lt; b</td></tr>'
    """
    head = "".join(f'<th style="text-align:left">{escape(heading)}</th>' for heading in headings)
    lines = [*([head] if headings else []), *("".join(map(_cell, row)) for row in rows)]
    return "\n".join(["<table>", *(f"<tr>{line}</tr>" for line in lines), "</table>"])


def html_lines(lines: Iterable[str]) -> str:
    """Returns lines as they are, one below the other; long ones are wrapped.

    >>> html_lines(["a < b"])
    '<pre style="white-space:pre-wrap">a &lt; b</pre>'
    """
    return f'<pre style="white-space:pre-wrap">{escape(chr(10).join(lines))}</pre>'


def _cell(value: Cell) -> str:
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f'<td style="text-align:left">{escape(value)}</td>'
