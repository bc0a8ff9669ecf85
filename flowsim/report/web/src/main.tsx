/** Reads the embedded recording and shows it. */

import { effect } from "@preact/signals";
import { render } from "preact";
import type { Head } from "./model/head";
import { Model } from "./model/model";
import { Store } from "./store";
import "./style.css";
import { App } from "./ui/app";
import { setVariables } from "./ui/colours";
import { listenToKeys } from "./ui/keyboard";
import { playWhenAsked } from "./ui/play";
import { VIEWS } from "./views";

const FORMAT = 1;

declare global {
  interface Window {
    /** The model, for consoles and tests; set when the page is ready. */
    flowsim?: { model: Model; store: Store; at: Model["at"] };
  }
}

async function start(root: HTMLElement): Promise<void> {
  const head = JSON.parse(document.getElementById("head")!.textContent!) as Head;
  if (head.format !== FORMAT) throw new Error(`the data has format ${head.format}, this page reads ${FORMAT}`);
  const model = await Model.read(head, document.getElementById("body")!.textContent!);
  const store = new Store(model, VIEWS.map((view) => view.name));
  document.title = `${head.recording.name} - flowsim`;
  effect(setVariables);
  root.textContent = "";
  render(<App store={store} views={VIEWS} />, root);
  listenToKeys(store, VIEWS);
  playWhenAsked(store);
  store.keepLink();
  window.flowsim = { model, store, at: (step) => model.at(step) };
  // After the effects of the first rendering, and the frame that paints it.
  requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset.ready = "yes")));
}

const root = document.getElementById("app")!;
start(root).catch((error: unknown) => {
  root.textContent = `This report cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
