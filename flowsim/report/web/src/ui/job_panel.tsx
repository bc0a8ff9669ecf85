/** The graph and the lanes of all subtasks above the other views, at the same cursor. */

import type { Store } from "../store";
import { GraphPanel } from "../views/graph";
import { Lanes } from "./lanes";

export function JobPanel({ store }: { store: Store }) {
  const isOpen = store.showsJob.value;
  return (
    <section class="job" aria-label={`Graph and subtasks${store.whose}`}>
      <button class="fold" aria-expanded={isOpen} onClick={() => (store.showsJob.value = !isOpen)} title="graph and subtasks">
        {isOpen ? "▾" : "▸ graph and subtasks"}
      </button>
      {isOpen && <GraphPanel store={store} />}
      {isOpen && store.model.states.isKnown && <Lanes store={store} />}
    </section>
  );
}
