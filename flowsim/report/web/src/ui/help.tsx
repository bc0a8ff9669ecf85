/** What keys and the pointer do, and the button that shows it. */

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { View } from "../views/view";

export const helpIsOpen = signal(false);

const KEYS: [string, string][] = [
  ["← →", "one fact back or forward; with shift 100"],
  ["space", "play or pause"],
  ["+ -", "zoom at the cursor; also the mouse wheel"],
  ["0", "the whole run"],
  ["o", "x by order or by time"],
  ["g", "cut the time in which nothing happens"],
  ["Home End", "first or last fact"],
  ["/", "find a fact"],
  ["Tab", "to the next task, edge, picture or button"],
  ["Enter", "opens a task or the channel of an edge"],
  ["↑ ↓ Enter", "in a picture: through its marks; selects one"],
  ["p", "larger, in strong colours, for a projector"],
  ["?", "this list"],
];
const POINTER: [string, string][] = [
  ["over a mark", "what it is, and the facts about it"],
  ["click", "selects the mark, and moves the cursor to its fact"],
  ["drag", "moves the cursor"],
  ["wheel", "zooms; sideways it moves the part in view"],
];

/** Where the focus was before the list was open. */
let before: Element | null = null;

export function toggleHelp(): void {
  if (helpIsOpen.value) closeHelp();
  else {
    before = document.activeElement;
    helpIsOpen.value = true;
  }
}

export function closeHelp(): void {
  if (!helpIsOpen.value) return;
  helpIsOpen.value = false;
  if (before instanceof HTMLElement || before instanceof SVGElement) before.focus();
}

export function HelpButton() {
  return <button aria-haspopup="dialog" aria-expanded={helpIsOpen.value} onClick={toggleHelp} title="keys and pointer (?)">?</button>;
}

export function Help({ views }: { views: readonly View[] }) {
  const close = useRef<HTMLButtonElement>(null);
  const isOpen = helpIsOpen.value;
  useLayoutEffect(() => close.current?.focus(), [isOpen]);
  if (!isOpen) return null;
  return (
    <div class="help" role="dialog" aria-label="Help">
      <h2>Keys</h2>
      <List rows={[...views.map((view): [string, string] => [view.key, `view ${view.title}`]), ...KEYS]} />
      <h2>Pointer</h2>
      <List rows={POINTER} />
      <button ref={close} onClick={closeHelp}>close</button>
    </div>
  );
}

function List({ rows }: { rows: [string, string][] }) {
  return (
    <dl>
      {rows.map(([key, text]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
