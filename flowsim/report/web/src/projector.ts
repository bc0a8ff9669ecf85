/** Projector mode: larger text and stronger colours, for readers far from the screen. */

import { signal } from "@preact/signals";

export const isProjected = signal(false);

/** The smallest text, of 10.7 px, has 16 px then. */
const ZOOM = 1.5;

/** How many times larger than their own pixels the parts of the page are shown. */
export function zoom(): number {
  return isProjected.value ? ZOOM : 1;
}
