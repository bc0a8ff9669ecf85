/** Projector mode: larger text and stronger colours, for readers far from the screen. */

import { signal } from "@preact/signals";

export const isProjected = signal(false);

/** The smallest text, of 10.7 px, has 16 px then. */
const ZOOM = 1.5;
/** A lower window has no room for the graph and the lanes above the view; the style sheet has the same number. */
const LOW = 1050;

/** How many times larger than their own pixels the parts of the page are shown. */
export function zoom(): number {
  return isProjected.value ? ZOOM : 1;
}

/** Whether only the view has room in the window. */
export function isLow(): boolean {
  return isProjected.value && innerHeight < LOW;
}
