"""How large the texts of a page are, and how far their colours are from those behind them: measured in the browser."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
from PIL import Image
from playwright.sync_api import Page

TEXTS: Final = """
() => {
    const found = []
    const isIn = (element, {left, right, top, bottom}) => {
        const [x, y] = [(left + right) / 2, (top + bottom) / 2]
        const at = document.elementFromPoint(x, y)
        // In front of a text of SVG may be what lies around its letters.
        const isInFront = at && (element.contains(at) || (element.ownerSVGElement?.contains(at) ?? false))
        return isInFront && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight
    }
    const add = (element, text, size, box) => {
        if (isIn(element, box)) found.push({text, size, box: [box.left, box.top, box.right, box.bottom]})
    }
    const nodes = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT)
    while (nodes.nextNode()) {
        const {parentElement: element, textContent: text} = nodes.currentNode
        if (!text.trim() || element.closest('option, .patterns')) continue
        const range = document.createRange()
        range.selectNodeContents(nodes.currentNode)
        const scale = element.ownerSVGElement ? element.getScreenCTM().a : element.currentCSSZoom
        const size = parseFloat(getComputedStyle(element).fontSize) * scale
        for (const box of range.getClientRects()) if (box.width > 0) add(element, text, size, box)
    }
    for (const field of document.querySelectorAll('#app select, #app input:not([type=checkbox])')) {
        const size = parseFloat(getComputedStyle(field).fontSize) * field.currentCSSZoom
        const text = field.value || field.placeholder
        if (text) add(field, text, size, field.getBoundingClientRect())
    }
    for (const canvas of document.querySelectorAll('canvas')) {
        const {left, top, width} = canvas.getBoundingClientRect()
        const [zoom, shown] = [width / canvas.clientWidth, width / canvas.width]
        for (const one of textsOf(canvas)) {
            if (!one.text.trim()) continue
            add(canvas.parentElement, one.text, one.size * shown, {
                left: left + one.left * zoom, right: left + one.right * zoom,
                top: top + one.top * zoom, bottom: top + one.bottom * zoom,
            })
        }
    }
    return found
}
"""
"""Each text in view, its size in pixels of the window, and its box; the page needs ``RECORD_TEXTS`` of ``drawing.py``."""

_PARTS: Final = np.arange(256) / 255
LINEAR: Final = np.where(_PARTS <= 0.04045, _PARTS / 12.92, ((_PARTS + 0.055) / 1.055) ** 2.4)
WEIGHTS: Final = np.array([0.2126, 0.7152, 0.0722])


def unreadable(page: Page, least_size: float, least_contrast: float) -> list[str]:
    """Returns the texts in view that are smaller, or of less contrast to what is behind them."""
    texts = page.evaluate(TEXTS)
    assert texts
    pixels = _luminances(page.screenshot())
    problems = [f"{one['text']!r} has {one['size']:.1f} px" for one in texts if one["size"] < least_size]
    for one in texts:
        left, top, right, bottom = map(round, one["box"])
        found = _contrast(pixels[top:bottom, left:right])
        if found < least_contrast:
            problems.append(f"{one['text']!r} has a contrast of {found:.1f}:1 at {left} {top}")
    return problems


def _luminances(png: bytes) -> np.ndarray:
    """Returns the relative luminance of each pixel, as WCAG defines it."""
    return LINEAR[np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))] @ WEIGHTS


def _contrast(pixels: np.ndarray) -> float:
    """Returns the contrast between the most frequent luminance, that behind the text, and the one farthest from it."""
    values, counts = np.unique(pixels.round(4), return_counts=True)
    behind = values[counts.argmax()]
    return float(max((max(each, behind) + 0.05) / (min(each, behind) + 0.05) for each in (values[0], values[-1])))
