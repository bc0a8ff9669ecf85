/** The list of keys. */

import { signal } from "@preact/signals";
import type { View } from "../views/view";

export const helpIsOpen = signal(false);

const KEYS: [string, string][] = [
  ["← →", "one fact back or forward; with shift 100"],
  ["space", "play or pause"],
  ["+ -", "zoom at the cursor; also the mouse wheel"],
  ["0", "the whole run"],
  ["o", "x by order or by time"],
  ["Home End", "first or last fact"],
  ["/", "find a fact"],
  ["Tab Enter", "through tasks, edges and buttons; open"],
  ["?", "this list"],
];

export function Help({ views }: { views: readonly View[] }) {
  if (!helpIsOpen.value) return null;
  const rows = [...views.map((view): [string, string] => [view.key, `view ${view.title}`]), ...KEYS];
  return (
    <div class="help" role="dialog" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {rows.map(([key, text]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button onClick={() => (helpIsOpen.value = false)}>close</button>
    </div>
  );
}
