"""Violations of accessibility rules on a page, as axe finds them."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from playwright.sync_api import Page

_AXE: Final = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_RUN: Final = """
async () => (await axe.run()).violations.map(
    found => `${found.id}: ${found.help}: ${found.nodes.map(node => node.html).join(' ')}`)
"""


def violations(page: Page) -> list[str]:
    """Each with its rule and the elements that break it. The page's policy does not apply to scripts of tests."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found: list[str] = page.evaluate(_RUN)
    return found
