/** Steps, play, zoom, and the scale of the horizontal axis. */

import { moment } from "../model/text";
import type { Store } from "../store";
import { HelpButton } from "./help";

export function Controls({ store }: { store: Store }) {
  const isPlaying = store.playing.value;
  const byOrder = store.scale.value === "order";
  return (
    <div class="controls" role="group" aria-label="Cursor and zoom">
      <button onClick={() => store.step(-1)} title="one fact back (left)">◀ step</button>
      <button onClick={() => (store.playing.value = !isPlaying)} aria-pressed={isPlaying} title="play (space)">
        {isPlaying ? "pause" : "play"}
      </button>
      <button onClick={() => store.step(1)} title="one fact forward (right)">step ▶</button>
      <output class="time">{moment(store.time.value)}</output>
      <button onClick={() => store.zoom(1 / 2)} aria-label="zoom in" title="zoom in at the cursor (+)">+</button>
      <button onClick={() => store.zoom(2)} aria-label="zoom out" title="zoom out (-)">−</button>
      <button onClick={() => store.setRange(store.whole)} title="the whole run (0)">whole run</button>
      <button
        onClick={() => store.setScale(byOrder ? "time" : "order")}
        aria-pressed={byOrder}
        title="equal distances between facts: shows what happens at one instant (o)"
      >
        by order
      </button>
      <button
        onClick={() => (store.cutsGaps.value = !store.cutsGaps.value)}
        aria-pressed={store.isCut}
        disabled={byOrder}
        title="cuts the time in which nothing happens out of the axis (g)"
      >
        cut gaps
      </button>
      <HelpButton />
    </div>
  );
}
