/** Windows, timers and keyed state of one key over time, and at the cursor. */

import { useMemo } from "preact/hooks";
import { timerText, UNKNOWN, type Cell, type KeyState, type StateSubject, type TimerBar } from "../model/key_state";
import type { EventTime } from "../model/event_time";
import { countUpTo } from "../model/facts";
import { atTime, commas, count, joined, moment } from "../model/text";
import type { WindowBox } from "../model/windows";
import type { Store } from "../store";
import { KeyChoice } from "../ui/key_choice";
import { RuleLinks } from "../ui/rule_links";
import { fireTip, windowTip } from "./event_time_tips";
import { StateCanvas, type Bar, type Group } from "./state_chart";
import type { View } from "./view";

const BEFORE = 6;
const AFTER = 10;

function StateView({ store }: { store: Store }) {
  const { keyStates, names } = store.model;
  const { task, operator, key } = store.selection.value;
  const subject = keyStates.subject(task, operator) ?? keyStates.subjects[0]!;
  const keys = keyStates.keys(subject);
  const chosen = key !== null && keys.includes(key) ? key : keys[0]!;
  const state = useMemo(() => keyStates.of(subject, chosen), [store, subject, chosen]);
  const groups = useMemo(() => groupsOf(store, subject, state), [state]);
  const at = countUpTo(state.places, store.place.value);
  const step = (place: number | undefined) => place !== undefined && store.go(place);
  return (
    <>
      <div class="row">
        <label>
          Of{" "}
          <select
            value={keyStates.subjects.indexOf(subject)}
            onChange={(event) => {
              const one = keyStates.subjects[Number(event.currentTarget.value)]!;
              store.select({ task: one.task, operator: one.operator });
            }}
          >
            {keyStates.subjects.map((one, number) => <option value={number}>{nameOf(store, one)}</option>)}
          </select>
        </label>
        <KeyChoice store={store} keys={keys} chosen={chosen} />
        <button onClick={() => step(state.places[countUpTo(state.places, store.place.value - 1) - 1])}>◀ change</button>
        <button onClick={() => step(state.places[at])}>change ▶</button>
        <span class="faint">{count(state.places.length, "change")}</span>
      </div>
      {notes(store, subject.task).map((note) => <p class="note" key={note}>{note}</p>)}
      <StateCanvas
        key={`${subject.task} ${subject.operator} ${chosen}`}
        store={store}
        groups={groups}
        task={subject.task}
        label={`Windows, state and timers of key ${names.key(chosen)} over time: ${count(state.places.length, "change")}`}
      />
      <Now store={store} state={state} />
      <Changes store={store} state={state} />
    </>
  );
}

function nameOf({ model }: Store, { task, operator }: StateSubject): string {
  return model.eventTimes.name({ task, operator, records: 0, late: 0 });
}

/** What the recording lacks, and how to record it. */
function notes({ model }: Store, task: number): string[] {
  const { facts, head } = model;
  const command = "flowsim run ... --record full --record-state";
  const left = (table: string) => head.omitted.includes(table);
  const found: string[] = [];
  if (left("state_changes")) found.push("The changes of state did not fit into the report: write it again with a larger --budget.");
  else if (!facts.has("state_changes") && !model.hasState) {
    found.push(`The values of keyed state are missing: record the run with '${command}'. Shown are windows and timers.`);
  }
  if (facts.has("window_fire") && !facts.isWhole("window_intake")) found.push("The records are in parts of this report only: a window begins with the first one that is in it.");
  if (facts.has("timers") && !facts.isWhole("timers")) found.push("The timers are in parts of this report only.");
  if (left("timers")) found.push("The timers did not fit into the report: write it again with a larger --budget.");
  else if (!facts.has("timers") && !model.isFull) found.push("The timers are missing: they need a recording with --record full.");
  if (model.attempts.of(task).some(({ restored }) => !restored)) {
    found.push("What a restart restored is not in the report: after it, only what changes is shown.");
  }
  return found;
}

function groupsOf(store: Store, subject: StateSubject, state: KeyState): Group[] {
  const groups: Group[] = [];
  const of = store.model.eventTimes.subject(subject.task, subject.operator);
  if (of && state.windows.length) groups.push({ title: "windows", bars: state.windows.map((box) => windowBar(store, store.model.eventTimes.of(of), box)) });
  const names = [...new Set(state.cells.map((cell) => cell.name))];
  for (const name of names) {
    const cells = state.cells.filter((cell) => cell.name === name);
    groups.push({ title: titleOf(cells[0]!), bars: cells.flatMap(barsOf) });
  }
  for (const isEventTime of [true, false]) {
    const timers = state.timers.filter((timer) => timer.isEventTime === isEventTime);
    const bars = timers.map((timer) => timerBar(timer, store.model.unfired));
    if (bars.length) groups.push({ title: isEventTime ? "event-time timers" : "processing-time timers", bars });
  }
  for (const group of groups) group.bars.sort((one, other) => one.begin - other.begin);
  return groups;
}

function titleOf({ name, kind }: Pick<Cell, "name" | "kind">): string {
  return isOfWindow({ kind }) ? "contents of windows" : `${name} (${kind})`;
}

function isOfWindow({ kind }: Pick<Cell, "kind">): boolean {
  return kind === "window_records" || kind === "window_value";
}

/** The time before the day: a bar shows the begin of its text. */
function timeFirst(ms: number): { time: string; day: string } {
  const [, day = "", time = atTime(ms)] = /^(\d{4}-\d\d-\d\d) (.*)$/.exec(atTime(ms)) ?? [];
  return { time, day };
}

function windowBar(store: Store, of: EventTime, box: WindowBox): Bar {
  const [start, end] = [timeFirst(box.start), timeFirst(box.end)];
  const text = `[${start.time}, ${end.time})${start.day && ` ${start.day}`}`;
  return {
    begin: box.first, end: box.gone, sign: box.isMerged ? "merged" : box.isLost ? "lost" : "",
    changes: [{ place: box.first, text, tip: () => windowTip(store, of, box) }],
    fires: box.fires.map((fire) => ({
      place: fire.place, text: `${fire.result === 2 ? "purges" : "fires with"} ${commas(fire.rows)}`, tip: () => fireTip(store, of, box, fire),
    })),
  };
}

/** A bar for each time between the first value and the removal. */
function barsOf(cell: Cell): Bar[] {
  const bars: Bar[] = [];
  let open: Bar | null = null;
  cell.places.forEach((place, at) => {
    const value = cell.values[at]!;
    if (value === null) {
      if (open) open.end = place;
      open = null;
      return;
    }
    if (!open) {
      open = { begin: place, end: Infinity, sign: "", changes: [], fires: [] };
      bars.push(open);
    }
    const title = `${isOfWindow(cell) ? `contents of ${cell.window}` : joined(titleOf(cell), cell.window)}: ${value === UNKNOWN ? "its value is not in the report" : value}`;
    open.changes.push({ place, text: value, tip: () => ({ title, facts: [place, cell.places[at + 1] ?? Infinity] }) });
  });
  return bars;
}

function timerBar(timer: TimerBar, unfired: string): Bar {
  const { begin, end, fired, isLost } = timer;
  const { time, day } = timeFirst(timer.timestamp);
  const tip = () => ({ title: `${timerText(timer)}: ${endOf(timer, unfired)}`, facts: [begin, end] });
  return {
    begin, end, sign: isLost ? "lost" : end < Infinity && !fired ? "deleted" : "", changes: [{ place: begin, text: `${time} ${day}`.trim(), tip }],
    fires: fired ? [{ place: end, text: "fires", tip: () => ({ ...tip(), facts: [end] }) }] : [],
  };
}

function endOf({ end, fired, isLost }: TimerBar, unfired: string): string {
  return end === Infinity ? unfired : fired ? "fires" : isLost ? "ends with its attempt" : "is deleted";
}

function Now({ store, state }: { store: Store; state: KeyState }) {
  const { cells, timers, windows } = state.at(store.place.value);
  const { time } = store.model.facts;
  const since = (place: number) => (
    <button class="rule" onClick={() => store.go(place)}>{moment(time[place]!)}</button>
  );
  return (
    <section aria-label={`State at the cursor${store.whose}`}>
      <h2>At the cursor</h2>
      {!cells.length && !timers.length && !windows.length && <p class="faint">Nothing: no window, timer or state of the key. '◀ change' and 'change ▶' lead to those that there are.</p>}
      <table>
        <tbody>
          {cells.map((cell) => (
            <tr key={`${cell.name} ${cell.window}`}>
              <td>{titleOf(cell)} <span class="faint">{cell.window}</span></td>
              <td class="value">{cell.value === UNKNOWN ? "its value is not in the report" : cell.value}</td>
              <td>since {since(cell.since)}</td>
            </tr>
          ))}
          {windows.map((box) => (
            <tr key={`${box.first} ${box.start}`}>
              <td>window [{atTime(box.start)}, {atTime(box.end)})</td>
              <td>{wordsOf(box, store.model.unfired)}</td>
              <td>since {since(box.first)}</td>
            </tr>
          ))}
          {timers.map((timer) => (
            <tr key={`${timer.begin} ${timer.timestamp}`}>
              <td>{timerText(timer)}</td>
              <td>{endOf(timer, store.model.unfired)}{timer.end < Infinity && <> at {since(timer.end)}</>}</td>
              <td>since {since(timer.begin)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function wordsOf({ records, isMerged, isLost, fires, hasFired }: WindowBox, unfired: string): string {
  const end = isMerged ? "is merged" : isLost ? "ends with its attempt" : fires.length || hasFired ? "" : unfired;
  return [records === null ? "" : `${count(records, "record")} in the end`, end].filter(Boolean).join(", ");
}

function Changes({ store, state }: { store: Store; state: KeyState }) {
  const { facts, sentences } = store.model;
  const place = store.place.value;
  const at = countUpTo(state.places, place);
  const first = Math.max(0, at - BEFORE);
  return (
    <section aria-label={`Changes around the cursor${store.whose}`}>
      <h2>Changes</h2>
      <table class="changes">
        <tbody>
          {state.places.slice(first, at + AFTER).map((one) => (
            <tr key={one} aria-current={one === place ? "step" : undefined}>
              <td class="number"><button class="rule" onClick={() => store.go(one)}>{moment(facts.time[one]!)}</button></td>
              <td>{sentences.at(one).text}</td>
              <td><RuleLinks store={store} rules={sentences.at(one).rules} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function missing({ model }: Store): string | null {
  if (model.keyStates.subjects.length) return null;
  const omitted = model.head.omitted.filter((name) => ["state_changes", "timers", "window_intake"].includes(name));
  if (omitted.length) return `The report has no ${omitted.join(", ")}: write it again with a larger --budget.`;
  const elsewhere = "What the tasks did is in the view Timeline.";
  if (!model.hasState) {
    return `No operator has windows, and the recording has no timers of keys and no state: for these, record the run with 'flowsim run ... --record full --record-state'. ${elsewhere}`;
  }
  return `No operator of the job has keyed state, windows or timers of keys. ${elsewhere}`;
}

export const stateView: View = { name: "state", title: "State", key: "5", missing, Component: StateView };
