/** The text beside the mark under the pointer, or beside the one that the keyboard has chosen. */

import { batch, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { moment } from "../model/text";
import { zoom } from "../projector";
import type { Store } from "../store";
import { asButton } from "./button";
import type { Tip } from "./marks";

/** Of the mark, or of the pointer, in the window. */
interface Anchor {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

interface Shown {
  store: Store;
  /** Its text at the cursor. */
  describe: () => Tip;
  others: number;
  anchor: Anchor;
  /** Screen readers announce it. */
  byKeyboard: boolean;
  owner: object;
}

export const TOOLTIP = "tooltip";
const shown = signal<Shown | null>(null);

const MOST_FACTS = 4;
const AWAY = 14;
const EDGE = 6;

export function show(one: Shown): void {
  shown.value = one;
}

/** Hides what ``owner`` shows; without an owner, whatever is shown. */
export function hide(owner?: object): void {
  if (shown.peek() && (!owner || shown.peek()!.owner === owner)) shown.value = null;
}

export function isShownBy(owner: object): boolean {
  return shown.peek()?.owner === owner;
}

/** Where a click on a mark moves the cursor: to its first fact that happened. */
export function placeOf({ facts = [], place }: Tip): number | undefined {
  return facts.find((one) => one < Infinity) ?? place;
}

/** What a click on a mark does, besides marking it. */
export function choose(store: Store, tip: Tip): void {
  const place = placeOf(tip);
  batch(() => {
    tip.pick?.();
    if (place !== undefined) store.go(place);
  });
}

export function Tooltip() {
  const box = useRef<HTMLDivElement>(null);
  const now = shown.value;
  useLayoutEffect(() => {
    if (!now || !box.current) return;
    const own = (pixels: number) => pixels / zoom();
    const anchor = { left: own(now.anchor.left), right: own(now.anchor.right), top: own(now.anchor.top), bottom: own(now.anchor.bottom) };
    const { offsetWidth: width, offsetHeight: height } = box.current;
    const clientWidth = own(document.documentElement.clientWidth);
    const clientHeight = own(document.documentElement.clientHeight);
    const isRight = anchor.right + AWAY + width + EDGE <= clientWidth;
    const isBelow = anchor.bottom + AWAY + height + EDGE <= clientHeight;
    const within = (at: number, size: number, all: number) => Math.max(EDGE, Math.min(at, all - size - EDGE));
    box.current.style.left = `${within(isRight ? anchor.right + AWAY : anchor.left - AWAY - width, width, clientWidth)}px`;
    box.current.style.top = `${within(isBelow ? anchor.bottom + AWAY : anchor.top - AWAY - height, height, clientHeight)}px`;
  });
  return (
    <div class="tooltip" id={TOOLTIP} role="tooltip" ref={box} hidden={!now} aria-live={now?.byKeyboard ? "polite" : "off"}>
      {now && <Text {...now} />}
    </div>
  );
}

function Text({ store: { model }, describe, others }: Shown) {
  const tip = describe();
  const { facts, names, sentences } = model;
  const places = (tip.facts ?? []).filter((place) => place < Infinity);
  return (
    <>
      <p class="tip-title">{tip.title}</p>
      {tip.lines?.map((line) => <p key={line}>{line}</p>)}
      {places.slice(0, MOST_FACTS).map((place) => (
        <p key={place} class="faint">
          {moment(facts.time[place]!)} {names.shortTask(facts.task[place]!)}: {sentences.at(place).text}
        </p>
      ))}
      {places.length > MOST_FACTS && <p class="faint">and {places.length - MOST_FACTS} more</p>}
      {others > 0 && <p class="faint">and {others} more here</p>}
    </>
  );
}

/** A mark of SVG that is a button: it shows its text, and a click, Enter or space does what a click on a mark does. */
export function asMark(store: Store, describe: () => Tip) {
  return { ...asButton(() => choose(store, describe())), ...tipOf(store, describe) };
}

/** The handlers of an element that is a mark itself: in SVG, or in a table. */
export function tipOf(store: Store, describe: () => Tip) {
  const showAt = (element: Element, anchor: Anchor, byKeyboard: boolean) =>
    show({ store, describe, others: 0, anchor, byKeyboard, owner: element });
  const atPointer = (event: PointerEvent) => {
    const { clientX: x, clientY: y } = event;
    if (!event.buttons) showAt(event.currentTarget as Element, { left: x, right: x, top: y, bottom: y }, false);
  };
  return {
    "aria-describedby": TOOLTIP,
    onPointerEnter: atPointer,
    onPointerMove: atPointer,
    onPointerLeave: (event: PointerEvent) => hide(event.currentTarget as Element),
    onFocus: (event: FocusEvent) => {
      const element = event.currentTarget as Element;
      if (element.matches(":focus-visible")) showAt(element, element.getBoundingClientRect(), true);
    },
    onBlur: (event: FocusEvent) => hide(event.currentTarget as Element),
  };
}
