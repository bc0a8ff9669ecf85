"""What a page of a report draws outside its box, over other text, or cut off: measured in the browser."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Page

RECORD_TEXTS: Final = """
(() => {
    const known = new WeakMap()
    const wholeOf = ({canvas}) => ({left: 0, top: 0, right: canvas.clientWidth, bottom: canvas.clientHeight})
    const stateOf = context => {
        if (!known.has(context)) known.set(context, {texts: [], path: null, clip: null, outer: []})
        return known.get(context)
    }
    const within = (one, other) => ({
        left: Math.max(one.left, other.left), top: Math.max(one.top, other.top),
        right: Math.min(one.right, other.right), bottom: Math.min(one.bottom, other.bottom),
    })
    const on = {
        save: state => state.outer.push(state.clip),
        restore: state => (state.clip = state.outer.pop() ?? null),
        beginPath: state => (state.path = null),
        rect: (state, context, [x, y, width, height]) => {
            state.path = {left: x, top: y, right: x + width, bottom: y + height}
        },
        clip: (state, context) => (state.clip = within(state.path, state.clip ?? wholeOf(context))),
        clearRect: state => (state.texts = []),
        fillText: (state, context, [text, x, y]) => {
            const size = context.measureText(text)
            state.texts.push({
                text, size: parseFloat(/([\\d.]+)px/.exec(context.font)[1]) * context.getTransform().a,
                bounds: within(state.clip ?? wholeOf(context), wholeOf(context)),
                left: x - size.actualBoundingBoxLeft, right: x + size.actualBoundingBoxRight,
                top: y - size.actualBoundingBoxAscent, bottom: y + size.actualBoundingBoxDescent,
            })
        },
    }
    for (const [name, note] of Object.entries(on)) {
        const draw = CanvasRenderingContext2D.prototype[name]
        CanvasRenderingContext2D.prototype[name] = function (...given) {
            note(stateOf(this), this, given)
            return draw.apply(this, given)
        }
    }
    window.textsOf = canvas => stateOf(canvas.getContext('2d')).texts
})()
"""
"""Runs before the scripts of the page: keeps the rectangle of each text of a canvas, and what it was clipped to."""

MEASURE: Final = """
() => {
    const problems = []
    const isIn = (one, other, by) =>
        one.left >= other.left - by && one.right <= other.right + by &&
        one.top >= other.top - by && one.bottom <= other.bottom + by
    const overlap = (one, other, by) =>
        Math.min(one.right, other.right) - Math.max(one.left, other.left) > by &&
        Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > by
    const shown = ({left, right, top, bottom}) => `${[left, top, right, bottom].map(Math.round).join(' ')}`
    const apart = (where, texts) => texts.forEach((one, at) => {
        for (const other of texts.slice(at + 1)) {
            if (overlap(one, other, 1)) problems.push(`${where}: "${one.text}" over "${other.text}" at ${shown(one)}`)
        }
    })
    for (const canvas of document.querySelectorAll('canvas')) {
        const where = canvas.getAttribute('aria-label').slice(0, 40)
        const texts = textsOf(canvas).filter(text => text.text && overlap(text, text.bounds, 0))
        for (const text of texts) {
            if (!isIn(text, text.bounds, 1)) {
                problems.push(`${where}: "${text.text}" is cut at ${shown(text.bounds)}: ${shown(text)}`)
            }
        }
        apart(where, texts)
    }
    const boxOf = element => element.getBoundingClientRect()
    for (const svg of document.querySelectorAll('svg:not(.patterns)')) {
        const where = svg.closest('[aria-label]')?.getAttribute('aria-label').slice(0, 40)
        const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim())
        const found = texts.map(text => {
            const {left, right, top, bottom} = boxOf(text)
            // Without the room above and below the letters.
            const room = (bottom - top) / 5
            return {element: text, text: text.textContent, left, right, top: top + room, bottom: bottom - room}
        })
        const scroller = svg.closest('.graph, .scroll')
        const isScrolled = scroller.scrollWidth > scroller.clientWidth
        const isLeast = ['0.7', '0.89'].includes(svg.dataset.scale)
        const isReadable = isLeast || svg.clientWidth <= parseFloat(getComputedStyle(svg).minWidth)
        for (const one of found) {
            if (!isIn(one, boxOf(svg), 0.5)) problems.push(`${where}: "${one.text}" is outside the picture`)
            const own = one.element.matches('.in-box') ? one.element.parentElement.querySelector('rect') : null
            const box = one.element.closest('.vertex')?.querySelector('.box') ?? own
            if (box && !isIn(one, boxOf(box), -2)) problems.push(`${where}: "${one.text}" leaves its box`)
            const capsule = one.element.closest('.edge-label')?.querySelector('.capsule')
            if (capsule && (one.left < boxOf(capsule).left - 1 || one.right > boxOf(capsule).right + 1)) {
                problems.push(`${where}: "${one.text}" is wider than its edge`)
            }
            if (one.bottom - one.top < 5) problems.push(`${where}: "${one.text}" is too small to read`)
        }
        apart(where, found)
        if (isScrolled && !isReadable) {
            problems.push(`${where}: ${scroller.scrollWidth} px wide in ${scroller.clientWidth}`)
        }
    }
    for (const element of document.querySelectorAll('#app *:not(canvas, select, option, svg *)')) {
        const style = getComputedStyle(element)
        const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
        if (!isCut || style.display === 'inline' || /auto|scroll/.test(style.overflowX) || element.title) continue
        problems.push(`<${element.localName} class="${element.className}">: ${element.scrollWidth} px in ${element.clientWidth}`)
    }
    const {scrollWidth} = document.documentElement
    if (scrollWidth > innerWidth) problems.push(`the page is ${scrollWidth} px wide`)
    return problems
}
"""
"""Texts of canvases and pictures that are cut off, leave their boxes or lie over each other; parts wider than their place."""


def drawing_problems(page: Page) -> list[str]:
    """Returns what is wrong in the view that the page shows; the page needs ``RECORD_TEXTS`` as its first script."""
    found: list[str] = page.evaluate(MEASURE)
    return found
