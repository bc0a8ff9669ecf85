/** The fact under the cursor, as ``flowsim trace`` prints it, with the rules that explain it. */

import { signal } from "@preact/signals";
import { plainText } from "../model/rules";
import { commas, moment } from "../model/text";
import type { Store } from "../store";
import { RuleLink, ruleTip, WithRules } from "./rule_links";
import { tipOf } from "./tooltip";

const open = signal("");

export function SentenceBar({ store }: { store: Store }) {
  const { model } = store;
  const { facts } = model;
  if (!facts.count) return <p class="sentence">The report has no facts.</p>;
  const place = store.place.value;
  const { text, rules } = model.sentences.at(place);
  const shown = rules.includes(open.value) ? open.value : "";
  return (
    <div class="sentence">
      <p>
        <span class="when">{moment(facts.time[place]!)}</span>{" "}
        <span class="who">{model.names.shortTask(facts.task[place]!)}</span>{" "}
        <span aria-live={store.playing.value ? "off" : "polite"} id={`sentence${store.suffix}`}>{text}</span>{" "}
        {rules.map((rule) => (
          <button
            key={rule}
            class="rule"
            aria-expanded={rule === shown}
            onClick={() => (open.value = rule === open.value ? "" : rule)}
            {...tipOf(store, () => ruleTip(store, rule))}
          >
            rule {rule}
          </button>
        ))}
      </p>
      <p class="step">step {commas(facts.step[place]!)}</p>
      {shown && <Rule store={store} rule={shown} />}
    </div>
  );
}

export function Rule({ store, rule }: { store: Store; rule: string }) {
  const [, found] = store.model.rules.of(rule) ?? [];
  if (!found) return <p class="rule-text">Rule {rule}</p>;
  return (
    <p class="rule-text">
      <strong>{rule}</strong> <WithRules store={store} text={plainText(found.text).replaceAll("`", "")} />{" "}
      {found.flink.length > 0 && <span class="faint">Flink: {found.flink.join(", ")}; </span>}
      <RuleLink store={store} rule={rule}>in the page of rules</RuleLink>
    </p>
  );
}
