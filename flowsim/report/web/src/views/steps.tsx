/** All facts in causal order, as sentences, around the cursor; with filters and a search. */

import { signal } from "@preact/signals";
import type { Facts } from "../model/facts";
import { commas, moment } from "../model/text";
import type { Store } from "../store";
import { RuleLink } from "../ui/rule_links";
import { Rule } from "../ui/sentence_bar";
import type { View } from "./view";

/** More at the end of the run, where there are fewer after the cursor. */
const BEFORE = 12;
const AFTER = 24;
/** The search looks at so many facts, then lets the page draw. */
const CHUNK = 20_000;

const task = signal(-1);
const table = signal("");
const wanted = signal("");
const searched = signal("");

function StepsView({ store }: { store: Store }) {
  const { model } = store;
  const { facts, names } = model;
  const matches = filterOf(facts);
  const place = store.place.value;
  const after = collect(facts, place, 1, AFTER, matches);
  const before = collect(facts, place, -1, BEFORE + AFTER - after.length, matches);
  const around = [...before.reverse(), place, ...after];
  const tables = facts.tableNames.filter((name) => facts.has(name));
  const step = (by: 1 | -1) => {
    const next = collect(facts, store.place.value, by, 1, matches)[0];
    if (next !== undefined) store.go(next);
  };
  return (
    <>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void search(store, 1);
        }}
      >
        <label>
          Task{" "}
          <select value={task.value} onChange={(event) => (task.value = Number(event.currentTarget.value))}>
            <option value={-1}>all</option>
            {[...names.tasks.keys()].map((id) => <option value={id}>{names.shortTask(id)}</option>)}
          </select>
        </label>
        <label>
          Table{" "}
          <select value={table.value} onChange={(event) => (table.value = event.currentTarget.value)}>
            <option value="">all</option>
            {tables.map((name) => <option value={name}>{name}</option>)}
          </select>
        </label>
        <button type="button" onClick={() => step(-1)}>◀ previous of these</button>
        <button type="button" onClick={() => step(1)}>next of these ▶</button>
        <label>
          Find{" "}
          <input id={`find${store.suffix}`} type="search" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
        </label>
        <button type="button" onClick={() => void search(store, -1)}>find back</button>
        <button type="submit">find</button>
        <output class="faint">{searched.value}</output>
      </form>
      <table
        class="steps"
        onWheel={(event) => {
          event.preventDefault();
          step(event.deltaY > 0 ? 1 : -1);
        }}
      >
        <thead>
          <tr><th class="number">step</th><th class="number">time</th><th>task</th><th>fact</th><th>rules</th></tr>
        </thead>
        <tbody>
          {around.map((one) => {
            const { text, rules } = model.sentences.at(one);
            return (
              <tr key={one} aria-current={one === place ? "step" : undefined} onClick={() => store.go(one)}>
                <td class="number">{commas(facts.step[one]!)}</td>
                <td class="number">{moment(facts.time[one]!)}</td>
                <td>{names.shortTask(facts.task[one]!)}</td>
                <td>{text}</td>
                <td class="faint">{rules.map((rule, of) => <>{of > 0 && ", "}<RuleLink key={rule} store={store} rule={rule} /></>)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {model.sentences.at(place).rules.map((rule) => <Rule key={rule} store={store} rule={rule} />)}
    </>
  );
}

type Filter = (place: number) => boolean;

function filterOf(facts: Facts): Filter {
  const number = facts.tableNames.indexOf(table.value);
  const ofTask = task.value;
  return (place) => (number < 0 || facts.table[place] === number) && (ofTask < 0 || facts.task[place] === ofTask);
}

/** The next places that match, without the first. */
function collect(facts: Facts, from: number, by: 1 | -1, most: number, matches: Filter): number[] {
  const found: number[] = [];
  for (let place = from + by; place >= 0 && place < facts.count && found.length < most; place += by) {
    if (matches(place)) found.push(place);
  }
  return found;
}

/** Goes to the next fact whose sentence contains the text. */
async function search(store: Store, by: 1 | -1): Promise<void> {
  const { facts, sentences } = store.model;
  const text = wanted.value.trim().toLowerCase();
  if (!text) return;
  const matches = filterOf(facts);
  let place = store.place.value + by;
  for (; place >= 0 && place < facts.count; place += by) {
    if (matches(place) && sentences.at(place).text.toLowerCase().includes(text)) {
      searched.value = "";
      store.go(place);
      return;
    }
    if (place % CHUNK === 0) {
      searched.value = `searching at step ${commas(facts.step[place]!)}`;
      await new Promise((done) => setTimeout(done));
      if (wanted.value.trim().toLowerCase() !== text) return;
    }
  }
  searched.value = `not found ${by > 0 ? "after" : "before"} this step`;
}

export const stepsView: View = {
  name: "steps",
  title: "Steps",
  key: "7",
  missing: ({ model }) => (model.facts.count ? null : "The recording has no facts: the run was killed before its first epoch ended."),
  Component: StepsView,
};
