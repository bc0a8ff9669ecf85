/** Playing: the cursor crosses the part in view in 20 seconds. */

import { effect } from "@preact/signals";
import type { Store } from "../store";

const SECONDS_PER_VIEW = 20;
/** With reduced motion the cursor moves in steps of this length. */
const SLOW_MS = 500;

export function playWhenAsked(store: Store): void {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  effect(() => {
    if (!store.playing.value) return undefined;
    let running = true;
    let before = performance.now();
    let value = store.valueOf(store.place.peek());
    if (store.place.peek() >= store.model.facts.count - 1) value = store.range.peek()[0];
    const frame = (now: number) => {
      if (!running) return;
      if (!reduced.matches || now - before >= SLOW_MS) {
        const [from, to] = store.range.peek();
        value += (((now - before) / 1000) * (to - from)) / SECONDS_PER_VIEW;
        before = now;
        store.go(store.placeOf(value));
        if (value >= store.whole[1]) {
          store.playing.value = false;
          return;
        }
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return () => {
      running = false;
    };
  });
}
