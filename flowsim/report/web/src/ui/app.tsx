/** The page: header, sentence of the fact under the cursor, tabs, controls, and the view. */

import { commas, moment } from "../model/text";
import type { Store } from "../store";
import type { View } from "../views/view";
import { Controls } from "./controls";
import { Help } from "./help";
import { JobPanel } from "./job_panel";
import { Overview } from "./overview";
import { SentenceBar } from "./sentence_bar";
import { Tooltip } from "./tooltip";

/** The second recording; ``difference``: the first step at which its facts differ, null if all are equal. */
export interface Other {
  store: Store;
  difference: number | null;
}

export function App({ store, other, views }: { store: Store; other: Other | null; views: readonly View[] }) {
  const view = views.find((one) => one.name === store.view.value) ?? views[0]!;
  return (
    <>
      {!other && <Header store={store} />}
      <main class={other ? "" : `of-${view.name}`}>
        {other && <FirstDifference store={store} other={other} />}
        <div class="above">
          {!other && <Shared store={store} view={view} />}
          <div class="bar">
            <Tabs store={store} views={views} current={view} />
            <Controls store={store} />
          </div>
        </div>
        <section class={other ? "view pair" : "view"} id="view" role="tabpanel" aria-labelledby={`tab-${view.name}`}>
          {other ? (
            [store, other.store].map((side) => (
              <div class="side" key={side.suffix}>
                <Header store={side} />
                <Shared store={side} view={view} />
                <Shown store={side} view={view} />
              </div>
            ))
          ) : (
            <Shown store={store} view={view} />
          )}
        </section>
        <Tooltip />
      </main>
      <Help views={views} />
      <Patterns />
    </>
  );
}

/** What all views have above them: the sentence at the cursor, the graph and the lanes. The view Graph has its own. */
function Shared({ store, view }: { store: Store; view: View }) {
  return (
    <>
      <SentenceBar store={store} />
      {view.name !== "graph" && store.model.names.tasks.size > 0 && <JobPanel store={store} />}
    </>
  );
}

function FirstDifference({ store, other: { store: other, difference } }: { store: Store; other: Other }) {
  if (difference === null) return <p class="note">All facts of the two recordings are equal.</p>;
  const text = ({ model }: Store) => {
    const place = model.facts.placeOfStep(difference);
    return model.facts.step[place] === difference ? model.sentences.at(place).text : "the recording has ended";
  };
  return (
    <p class="note">
      The facts are equal before{" "}
      <button class="rule" onClick={() => store.go(store.model.facts.placeOfStep(difference))}>step {commas(difference)}</button>
      . There: {text(store)}; in the second recording: {text(other)}.
    </p>
  );
}

function Shown({ store, view }: { store: Store; view: View }) {
  const { parts } = store.model.head;
  return (
    <>
      {parts && <Overview store={store} parts={parts} />}
      <Body store={store} view={view} />
    </>
  );
}

/** Hatching for all pictures of the page. */
function Patterns() {
  return (
    <svg width="0" height="0" class="patterns" aria-hidden="true">
      <defs>
        <pattern id="hatch-soft" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" class="soft-back" />
          <rect width="2.4" height="6" class="soft-line" />
        </pattern>
        <pattern id="hatch-filling" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" class="filling-back" />
          <rect width="1.6" height="5" class="filling-line" />
        </pattern>
      </defs>
    </svg>
  );
}

function Body({ store, view }: { store: Store; view: View }) {
  const missing = view.missing(store);
  return missing === null ? <view.Component store={store} /> : <p class="missing">{missing}</p>;
}

function Header({ store }: { store: Store }) {
  const { recording, facts, omitted, sections } = store.model.head;
  const parts = [
    recording.status,
    `level ${recording.level}`,
    `seed ${recording.seed}`,
    `policy ${recording.policy}`,
    `${moment(store.model.facts.end)} ${recording.clock === "real" ? "on the real clock" : "virtual"}`,
    `${commas(facts)} facts`,
  ];
  const records = sections.records;
  const missing = [
    omitted.length ? `no facts of ${omitted.join(", ")}` : "",
    records && records.texts! < records.rows ? `values of ${commas(records.texts!)} of ${commas(records.rows)} records` : "",
  ].filter(Boolean);
  return (
    <header>
      <h1>{recording.name}</h1>
      <p>{parts.join(" · ")}</p>
      {missing.length > 0 && <p class="notice">This report has {missing.join(", ")}: write it with a larger --budget for more.</p>}
      {recording.failure && (
        <p class="notice failure">
          {recording.failure.task} failed: {recording.failure.cause}
        </p>
      )}
    </header>
  );
}

function Tabs({ store, views, current }: { store: Store; views: readonly View[]; current: View }) {
  const move = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.stopPropagation();
    const next = views[(views.indexOf(current) + by + views.length) % views.length]!;
    store.view.value = next.name;
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={move}>
      {views.map((view) => (
        <button
          key={view.name}
          id={`tab-${view.name}`}
          role="tab"
          aria-selected={view === current}
          aria-controls="view"
          tabIndex={view === current ? 0 : -1}
          onClick={() => (store.view.value = view.name)}
        >
          {view.title}
        </button>
      ))}
    </div>
  );
}
