/** The keys of the page. */

import { isLow, isProjected } from "../projector";
import type { Store } from "../store";
import type { View } from "../views/view";
import { closeHelp, toggleHelp } from "./help";
import { hide } from "./tooltip";

export function listenToKeys(store: Store, views: readonly View[]): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.matches("input, select, textarea")) return;
    // Enter and space belong to the focused button.
    if (target.matches("button, [role=button], summary") && (event.key === " " || event.key === "Enter")) return;
    if (act(store, views, event)) event.preventDefault();
  });
}

function act(store: Store, views: readonly View[], event: KeyboardEvent): boolean {
  switch (event.key) {
    case "ArrowLeft": store.step(event.shiftKey ? -100 : -1); return true;
    case "ArrowRight": store.step(event.shiftKey ? 100 : 1); return true;
    case " ": store.playing.value = !store.playing.value; return true;
    case "+":
    case "=": store.zoom(1 / 2); return true;
    case "-": store.zoom(2); return true;
    case "0": store.setRange(store.whole); return true;
    case "o": store.setScale(store.scale.value === "time" ? "order" : "time"); return true;
    case "g": store.cutsGaps.value = !store.cutsGaps.value; return true;
    case "p":
      isProjected.value = !isProjected.value;
      store.showsJob.value = !isLow();
      return true;
    case "Home": store.go(0); return true;
    case "End": store.go(store.model.facts.count - 1); return true;
    case "?": toggleHelp(); return true;
    case "Escape":
      closeHelp();
      hide();
      return true;
    case "/":
      if (views.some((one) => one.name === "steps")) store.view.value = "steps";
      requestAnimationFrame(() => document.getElementById("find")?.focus());
      return true;
    default: {
      const view = views.find((one) => one.key === event.key);
      if (view) store.view.value = view.name;
      return view !== undefined;
    }
  }
}
