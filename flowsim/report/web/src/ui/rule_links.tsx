/** Names of rules: they show the text of the rule and Flink's classes, and lead to the page of rules. */

import { batch } from "@preact/signals";
import { plainText } from "../model/rules";
import type { Store } from "../store";
import type { Tip } from "./marks";
import { hide, tipOf } from "./tooltip";

/** In a text: the rules that it cites. */
const CITED = /(\d{1,2}\.\d{1,3})/;
const CITATION = /(\brules? \d[\d., and]*\d)/;

export function ruleTip({ model }: Store, number: string): Tip {
  const found = model.rules.of(number);
  if (!found) return { title: `rule ${number}` };
  const [section, rule] = found;
  const flink = rule.flink.length ? [`Flink: ${rule.flink.join(", ")}`] : [];
  return { title: `rule ${number}: ${section.title}`, lines: [plainText(rule.text).replaceAll("`", ""), ...flink] };
}

export function RuleLink({ store, rule, children }: { store: Store; rule: string; children?: string }) {
  /** A step of the browser's history: back returns to where the link was. */
  const follow = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    if (!store.suffix) history.pushState(null, "", location.href);
    hide();
    batch(() => {
      store.rule.value = rule;
      store.view.value = "rules";
    });
  };
  return <a class="rule-link" href={`#view=rules&rule=${rule}`} onClick={follow} {...tipOf(store, () => ruleTip(store, rule))}>{children ?? rule}</a>;
}

/** "rules 10.8, 10.9" */
export function RuleLinks({ store, rules }: { store: Store; rules: readonly string[] }) {
  if (!rules.length) return null;
  return (
    <span class="faint">
      {rules.length > 1 ? "rules" : "rule"}{" "}
      {rules.map((rule, at) => <>{at > 0 && ", "}<RuleLink key={rule} store={store} rule={rule} /></>)}
    </span>
  );
}

/** A text in which the rules that it cites are links. */
export function WithRules({ store, text }: { store: Store; text: string }) {
  const parts = text.split(CITATION).map((part, at) => (at % 2 ? part.split(CITED) : [part]));
  return <>{parts.flatMap((of) => of.map((part, at) => (at % 2 ? <RuleLink store={store} rule={part} /> : part)))}</>;
}
