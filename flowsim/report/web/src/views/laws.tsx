/** The verdicts of the laws; a click on evidence goes to the moment and the objects. */

import { signal } from "@preact/signals";
import type { Evidence, Law } from "../model/head";
import { commas, count } from "../model/text";
import type { Store } from "../store";
import type { Tip } from "../ui/marks";
import { RuleLinks } from "../ui/rule_links";
import { tipOf } from "../ui/tooltip";
import type { View } from "./view";

/** Verdicts in the order of their urgency, each with a sign besides its colour. */
const SIGNS: Record<string, string> = { violated: "✗", vacuous: "?", holds: "✓", "not applicable": "–" };
const ORDER = Object.keys(SIGNS);
/** So many facts on each side of the evidence are in view after a click. */
const AROUND = 150;

const open = signal("");

function LawsView({ store }: { store: Store }) {
  const { verdict, laws, engine } = store.model.head.laws!;
  const sorted = [...laws].sort((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));
  return (
    <>
      <p>
        {verdict}
        <span class="faint"> · checked {engine}</span>
      </p>
      <table class="laws">
        <thead>
          <tr><th>law</th><th>verdict</th><th class="number">rows examined</th><th class="number">violations</th><th>guarantee</th></tr>
        </thead>
        <tbody>{sorted.map((law) => <LawRows key={law.law} store={store} law={law} />)}</tbody>
      </table>
    </>
  );
}

function LawRows({ store, law }: { store: Store; law: Law }) {
  const isOpen = open.value === law.law || (law.verdict === "violated" && open.value === "");
  return (
    <>
      <tr class={`law ${law.verdict.replace(" ", "-")}`}>
        <td>
          {law.evidence.length ? (
            <button aria-expanded={isOpen} onClick={() => (open.value = isOpen ? "none" : law.law)}>
              {isOpen ? "▾" : "▸"} {law.law}
            </button>
          ) : (
            law.law
          )}
        </td>
        <td class="verdict">{SIGNS[law.verdict]} {law.verdict}</td>
        <td class="number">{commas(law.rows_examined)}</td>
        <td class="number">{commas(law.violations)}</td>
        <td>
          {law.sentence} <RuleLinks store={store} rules={law.rules.filter((rule) => store.model.rules.of(rule))} />
          {law.reason && <span class="faint"> {law.reason}</span>}
        </td>
      </tr>
      {isOpen && law.evidence.length > 0 && (
        <tr>
          <td colSpan={5}>
            <ul class="evidence" aria-label={`Evidence of ${law.law}`}>
              {law.evidence.map((one, at) => <EvidenceItem key={at} store={store} evidence={one} />)}
            </ul>
            {law.violations > law.evidence.length && (
              <p class="faint">{count(law.violations, "violation")}; the verdict keeps {law.evidence.length} as evidence</p>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

function EvidenceItem({ store, evidence }: { store: Store; evidence: Evidence }) {
  const { what, expected, where, with: more, channel } = evidence;
  const details = Object.entries(more).map(([name, value]) => `${name} ${value}`).join(", ");
  const hasPlace = evidence.task !== null && (evidence.seq !== null || evidence.time_ns !== null);
  return (
    <li>
      <span>{what}{expected && `: ${expected}`}</span>
      {details && <span class="faint"> {details}</span>}
      <div class="row">
        {hasPlace ? (
          <button class="rule" onClick={() => goTo(store, evidence)} {...tipOf(store, () => factTip(store, evidence))}>go to {where}</button>
        ) : (
          <span class="faint">{where}</span>
        )}
        {channel !== null && store.model.names.channels.has(channel) && (
          <button
            class="rule"
            onClick={() => {
              goTo(store, evidence);
              store.view.value = "channel";
            }}
          >
            channel {store.model.names.channel(channel)}
          </button>
        )}
        <code class="faint">{evidence.trace}</code>
      </div>
    </li>
  );
}

/** The fact of the evidence, if it is a single one that is here. */
function factTip(store: Store, { what, task, seq }: Evidence): Tip {
  const place = task === null || seq === null ? undefined : store.model.facts.placeOf(task, seq);
  return { title: what, facts: place === undefined ? [] : [place] };
}

/** Moves the cursor to the fact, or to its time, selects its task and channel, and zooms to the facts around it. */
function goTo(store: Store, { task, seq, time_ns, channel }: Evidence): void {
  const isFound = task !== null && seq !== null && store.goToFact(task, seq);
  if (!isFound && time_ns !== null) store.go(store.model.facts.placeAt(time_ns));
  store.select({ task, ...(channel !== null && { channel }) });
  const place = store.place.value;
  store.setRange([store.valueOf(store.within(place - AROUND)), store.valueOf(store.within(place + AROUND))]);
  store.follow();
}

export const lawsView: View = {
  name: "laws",
  title: "Laws",
  key: "6",
  missing: ({ model }) =>
    model.head.laws ? null : "The laws were not checked: write the report without --no-laws.",
  Component: LawsView,
};
