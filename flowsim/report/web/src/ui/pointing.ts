/** The pointer and the keyboard on a canvas: they move the cursor, and find, show and select marks. */

import { zoom } from "../projector";
import type { Store } from "../store";
import type { Pick } from "./canvas";
import { axisOf, type Axis } from "./horizontal";
import type { Hit, Mark, Marks } from "./marks";
import { choose, hide, isShownBy, placeOf, show } from "./tooltip";

/** A pointer that moves less has clicked; farther it drags the cursor. */
const CLICK = 4;
/** Around a mark. */
const FRAME = 2;

/** The selected mark, and the picture that it is in: one in the whole page. */
let selected: { by: Pointing; mark: Mark } | null = null;

/** The marks of each canvas that is in the page, for tests. */
const pictures = new WeakMap<Element, Pointing>();

export function marksOf(element: Element): Marks | null {
  return pictures.get(element)?.marks ?? null;
}

export class Pointing {
  marks: Marks | null = null;
  private store: Store | null = null;
  private onPick: Pick | undefined;
  /** Where the button went down on a mark, until the pointer moves or the button goes up. */
  private pressed: { x: number; y: number } | null = null;
  /** Where the pointer is, while it hovers. */
  private hover: { x: number; y: number } | null = null;
  /** The mark that the keyboard has chosen; -1: none. */
  private chosen = -1;

  constructor(
    private readonly box: HTMLElement,
    private readonly hovered: HTMLElement,
    private readonly frame: HTMLElement,
  ) {
    pictures.set(box, this);
  }

  take(store: Store, onPick: Pick | undefined): void {
    [this.store, this.onPick] = [store, onPick];
  }

  /** After each drawing: its marks may be others, and at other places. */
  redraw(marks: Marks): void {
    this.marks = marks;
    this.chosen = -1;
    if (this.hover) this.look(this.hover);
    else if (isShownBy(this)) this.leave();
    this.frameSelected();
  }

  end(): void {
    hide(this);
    if (selected?.by === this) selected = null;
  }

  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.box.setPointerCapture(event.pointerId);
    const at = pointOf(this.box, event);
    this.pressed = at;
    if (!this.marks?.at(at.x, at.y)) this.moveCursor(at.x);
  }

  move(event: PointerEvent): void {
    const at = pointOf(this.box, event);
    if (!(event.buttons & 1)) {
      this.look(at);
      return;
    }
    if (this.pressed && Math.hypot(at.x - this.pressed.x, at.y - this.pressed.y) < CLICK) return;
    this.pressed = null;
    this.leave();
    this.moveCursor(at.x);
  }

  up(event: PointerEvent): void {
    const { pressed } = this;
    this.pressed = null;
    if (!pressed || event.button !== 0) return;
    const hit = this.marks?.at(pressed.x, pressed.y);
    if (hit) this.select(hit, pressed.x);
    else this.onPick?.(pressed.x, pressed.y, this.axis, this.box.clientHeight);
  }

  leave(): void {
    this.hover = null;
    this.chosen = -1;
    this.hovered.hidden = true;
    hide(this);
  }

  /** Up and down go through the marks, Enter selects one. */
  key(event: KeyboardEvent): void {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const hit = this.chosen < 0 ? null : this.marks!.hit(this.chosen);
    if (by) this.go(by);
    else if (event.key === "Enter" && hit) this.select(hit);
    else if (event.key === "Escape" && isShownBy(this)) this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(by: 1 | -1): void {
    const { marks } = this;
    if (!marks) return;
    const from = this.chosen < 0 && selected?.by === this ? marks.find(selected.mark) : this.chosen;
    let next = marks.next(from, by);
    let hit = next < 0 ? null : marks.hit(next);
    for (let before = from; !hit && next !== before; hit = marks.hit(next)) {
      before = next;
      next = marks.next(next, by);
    }
    if (!hit) return;
    this.hover = null;
    this.chosen = next;
    this.show(hit, true);
    this.hovered.scrollIntoView?.({ block: "nearest" });
  }

  private look(at: { x: number; y: number }): void {
    this.hover = at;
    this.chosen = -1;
    const hit = this.marks?.at(at.x, at.y);
    if (hit) this.show(hit, false);
    else {
      this.hovered.hidden = true;
      hide(this);
    }
  }

  private show(hit: Hit, byKeyboard: boolean): void {
    frame(this.hovered, hit.mark);
    const { left, top } = this.box.getBoundingClientRect();
    const { x, y, width, height } = this.hover ? { ...this.hover, width: 0, height: 0 } : hit.mark;
    const times = zoom();
    const anchor = {
      left: left + x * times, right: left + (x + width) * times, top: top + y * times, bottom: top + (y + height) * times,
    };
    show({ store: this.store!, describe: () => hit.tip, others: hit.others, anchor, byKeyboard, owner: this });
  }

  /** ``x``: of the pointer. The cursor stays in view: a mark that began before it is selected where it was clicked. */
  private select({ mark, tip }: Hit, x?: number): void {
    selected?.by.unframe();
    selected = tip.at ? null : { by: this, mark };
    const store = this.store!;
    const [from, to] = store.range.value;
    const place = placeOf(tip);
    const isInView = place !== undefined && from <= store.valueOf(place) && store.valueOf(place) <= to;
    const isThere = isInView || x === undefined;
    choose(store, isThere ? tip : { ...tip, facts: [], place: undefined });
    if (!isThere) this.moveCursor(x);
    this.frameSelected();
  }

  private unframe(): void {
    this.frame.hidden = true;
  }

  private frameSelected(): void {
    if (selected?.by !== this || !this.marks) return;
    const at = this.marks.find(selected.mark);
    if (at < 0) this.unframe();
    else frame(this.frame, this.marks.mark(at));
  }

  private moveCursor(x: number): void {
    const { axis } = this;
    if (x >= axis.left) this.store!.go(this.store!.placeOf(axis.valueAt(Math.min(x, axis.right))));
  }

  private get axis(): Axis {
    return axisOf(this.store!, this.box.clientWidth);
  }
}

/** Where the pointer is, in pixels of the element. */
export function pointOf(element: Element, event: MouseEvent): { x: number; y: number } {
  const { left, top } = element.getBoundingClientRect();
  return { x: (event.clientX - left) / zoom(), y: (event.clientY - top) / zoom() };
}

function frame(element: HTMLElement, { x, y, width, height }: Mark): void {
  element.hidden = false;
  element.style.transform = `translate(${x - FRAME}px, ${y - FRAME}px)`;
  element.style.width = `${width + 2 * FRAME}px`;
  element.style.height = `${height + 2 * FRAME}px`;
}
