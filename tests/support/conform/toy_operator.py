"""The operator of another package that ``docs/conform.md`` shows: its three files, registered for the length of a block."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from flowsim.conform.operators import OPERATORS
from flowsim.scenario.operators import OPERATOR_KINDS
from flowsim.testing.drawing.families import _MORE

PAGE: Final = Path(__file__).parents[3] / "docs" / "conform.md"
_BLOCK: Final = re.compile(r"^```(?:py|java)\n(.*?)^```$", re.M | re.S)
_NAME: Final = re.compile(r"^`([\w/]+\.(?:py|java))`", re.M)
"""The name of a file, with which the paragraph before its block begins."""


def write_toy_operator(folder: Path) -> list[Path]:
    """Writes the files of the page."""
    page = PAGE.read_text(encoding="utf-8")
    files = []
    for block in _BLOCK.finditer(page):
        files.append(folder / _NAME.findall(page[: block.start()])[-1])
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(block[1])
    return files


@contextmanager
def toy_operator(folder: Path) -> Iterator[None]:
    """Writes the files and registers what they register, until the block ends."""
    registries: tuple[Any, ...] = (OPERATOR_KINDS, OPERATORS, _MORE)
    before = [registry.copy() for registry in registries]
    try:
        for file in write_toy_operator(folder):
            if file.suffix == ".py":
                runpy.run_path(str(file))
        yield
    finally:
        for registry, old in zip(registries, before, strict=True):
            registry.clear()
            (registry.extend if isinstance(registry, list) else registry.update)(old)
