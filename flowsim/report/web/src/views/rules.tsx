/** The page of the rules of Flink: what each says, and which classes of Flink do it. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { plainText, type RuleOfFlink } from "../model/rules";
import type { Store } from "../store";
import { WithRules } from "../ui/rule_links";
import type { View } from "./view";

function RulesView({ store }: { store: Store }) {
  const list = useRef<HTMLDivElement>(null);
  const chosen = store.rule.value;
  useLayoutEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView(), [chosen]);
  return (
    <div class="rules" ref={list}>
      <p class="faint">
        What Flink 2.3.0 does, rule by rule, and the classes that do it. This is the page docs/flink_rules.md of flowsim;
        'flowsim rules 8.11' prints a rule, with the laws that check it.
      </p>
      {store.model.rules.sections.filter(({ rules }) => rules.length).map(({ number, title, rules }) => (
        <section key={number} aria-label={`${number} ${title}${store.whose}`}>
          <h2>{number} {title}</h2>
          <ul>{rules.map((rule) => <Rule key={rule.number} store={store} rule={rule} isChosen={rule.number === chosen} />)}</ul>
        </section>
      ))}
    </div>
  );
}

function Rule({ store, rule: { number, text, flink }, isChosen }: { store: Store; rule: RuleOfFlink; isChosen: boolean }) {
  return (
    <li aria-current={isChosen ? "true" : undefined}>
      <strong>{number}</strong> {plainText(text).split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : <WithRules key={at} store={store} text={part} />))}
      {flink.length > 0 && <span class="faint"> Flink: {flink.join(", ")}</span>}
    </li>
  );
}

export const rulesView: View = { name: "rules", title: "Rules", key: "9", missing: () => null, Component: RulesView };
