/** The first page: what the run is, what its sinks received, what the laws say, where to look, and the scenario. */

import type { LookAt, SinkResult } from "../model/head";
import { commas } from "../model/text";
import { zoom } from "../projector";
import type { Store } from "../store";
import type { View } from "./view";

/** In a window of this height the scenario is open from the start. */
const TALL = 1000;

function StartView({ store }: { store: Store }) {
  const { recording, start, laws } = store.model.head;
  return (
    <div class="start">
      <section aria-label={`What the run is${store.whose}`}>
        {start.name && <h2>{start.name}</h2>}
        {start.description.map((paragraph) => <p key={paragraph}>{withCode(paragraph)}</p>)}
        <p class="verdict-line">
          Laws:{" "}
          {laws ? (
            <button class="link" onClick={() => (store.view.value = "laws")}>{laws.verdict}</button>
          ) : (
            <span class="faint">not checked, the report was written with --no-laws</span>
          )}
        </p>
        {recording.scenario && (
          <details class="scenario" open={innerHeight >= TALL * zoom()}>
            <summary>The scenario, {recording.name}</summary>
            <pre tabIndex={0}>{recording.scenario}</pre>
          </details>
        )}
      </section>
      <section aria-label={`Where to look${store.whose}`}>
        <h2>Look at</h2>
        {start.look_at.length > 0 ? (
          <ul class="look-at">{start.look_at.map((one) => <Moment key={one.link} store={store} one={one} />)}</ul>
        ) : (
          <p class="faint">The recording holds no fact that stands out: the view Steps has all.</p>
        )}
        <Results store={store} />
      </section>
    </div>
  );
}

/** Words between backticks are code. */
function withCode(text: string) {
  return text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));
}

/** A click is a step of the browser's history: back returns to this page. */
function Moment({ store, one }: { store: Store; one: LookAt }) {
  const follow = (event: Event) => {
    event.preventDefault();
    if (!store.suffix) history.pushState(null, "", `${location.href.split("#")[0]}#${one.link}`);
    store.open(one.link);
  };
  return (
    <li>
      <strong>{one.what}</strong> <a href={`#${one.link}`} onClick={follow}>{one.text}</a>
    </li>
  );
}

function Results({ store }: { store: Store }) {
  const { sinks, left } = store.model.head.start.results;
  if (!sinks.length) return <p class="faint">The job has no sink.</p>;
  return (
    <>
      <h2>Results</h2>
      <table class="results">
        <thead>
          <tr><th>sink</th><th>received</th><th>first</th></tr>
        </thead>
        <tbody>{sinks.map((sink) => <ResultRow key={sink.name} sink={sink} />)}</tbody>
      </table>
      {left > 0 && <p class="faint">and {commas(left)} more sinks</p>}
    </>
  );
}

function ResultRow({ sink }: { sink: SinkResult }) {
  return (
    <tr>
      <td>{sink.name}</td>
      <td>{sink.rows}</td>
      <td>
        {sink.first.map((row, at) => <code key={at}>{row}</code>)}
        {sink.left > 0 && <div class="faint">and {commas(sink.left)} more</div>}
        {sink.note && <div class="faint">{sink.note}</div>}
      </td>
    </tr>
  );
}

export const startView: View = { name: "start", title: "Start", key: "s", missing: () => null, Component: StartView };
