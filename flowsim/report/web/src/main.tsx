/** Reads the embedded recording and shows it. */

import { effect } from "@preact/signals";
import { render } from "preact";
import type { Head } from "./model/head";
import { Model } from "./model/model";
import { moment } from "./model/text";
import { link } from "./pair";
import { Store } from "./store";
import "./style.css";
import { App, type Other } from "./ui/app";
import { setVariables } from "./ui/colours";
import { listenToKeys } from "./ui/keyboard";
import { playWhenAsked } from "./ui/play";
import { marksOf } from "./ui/pointing";
import { VIEWS } from "./views";

const FORMAT = 1;

declare global {
  interface Window {
    /** The model, for consoles and tests; set when the page is ready. */
    flowsim?: { model: Model; store: Store; other: Store | null; at: Model["at"]; moment: typeof moment; marksOf: typeof marksOf };
  }
}

async function read(suffix: string): Promise<Store> {
  const head = JSON.parse(document.getElementById(`head${suffix}`)!.textContent!) as Head;
  if (head.format !== FORMAT) throw new Error(`the data has format ${head.format}, this page reads ${FORMAT}`);
  const model = await Model.read(head, document.getElementById(`body${suffix}`)!.textContent!);
  return new Store(model, VIEWS.map((view) => view.name), suffix);
}

/** The second recording, if the report has one. */
async function readOther(store: Store): Promise<Other | null> {
  const against = document.getElementById("against");
  if (!against) return null;
  const { difference } = JSON.parse(against.textContent!) as { difference: number | null };
  const other = await read("-b");
  if (!location.hash && difference !== null) store.go(store.model.facts.placeOfStep(difference));
  link(store, other, difference);
  return { store: other, difference };
}

async function start(root: HTMLElement): Promise<void> {
  const store = await read("");
  const { model } = store;
  const other = await readOther(store);
  const stores = other ? [store, other.store] : [store];
  const views = VIEWS.filter((view) => view.name === store.view.value || stores.some((one) => !view.isAbsent?.(one)));
  document.title = `${model.head.recording.name} - flowsim`;
  effect(setVariables);
  root.textContent = "";
  render(<App store={store} other={other} views={views} />, root);
  listenToKeys(store, views);
  playWhenAsked(store);
  store.keepLink();
  window.flowsim = { model, store, other: other?.store ?? null, at: (step) => model.at(step), moment, marksOf };
  // After the effects of the first rendering, and the frame that paints it.
  requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset.ready = "yes")));
}

const root = document.getElementById("app")!;
start(root).catch((error: unknown) => {
  root.textContent = `This report cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  throw error;
});
