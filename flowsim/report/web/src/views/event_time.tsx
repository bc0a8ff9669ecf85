/** Event time over processing time: records, watermarks, windows, and why a record is late. */

import { signal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import type { Chain } from "../model/causes";
import { INPUT, type EventTime, type WatermarkNow } from "../model/event_time";
import { countUpTo } from "../model/facts";
import { Timing, TIMING_WORDS } from "../model/points";
import { atTime, commas, count, length, moment } from "../model/text";
import type { Store } from "../store";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import { KeyChoice } from "../ui/key_choice";
import { RuleLinks } from "../ui/rule_links";
import { tipOf } from "../ui/tooltip";
import { drawEventTime, linesOf, MOST_POINTS, MOST_WINDOWS, recordsInView, windowsInView, type Chart } from "./event_time_chart";
import { recordTip } from "./event_time_tips";
import type { View } from "./view";

const LEAST_HEIGHT = "max(260px, 40vh / var(--zoom) - 60px)";
const ROWS = 100;
/** After a click on a late record the view has so many times the distance from what made it late. */
const ROOM = 4;

const order = signal<"time" | "lateness">("time");
const page = signal(0);

function EventTimeView({ store }: { store: Store }) {
  const { eventTimes } = store.model;
  const { task, operator } = store.selection.value;
  const subject = eventTimes.subject(task, operator) ?? eventTimes.subjects[0]!;
  const of = eventTimes.of(subject);
  const key = keyOf(store, of);
  const inView = recordsInView(store, of, key).numbers.length;
  const isRelative = store.eventScale.value === "relative" || (store.eventScale.value === "auto" && inView > MOST_POINTS);
  return (
    <>
      <div class="row">
        <label>
          Of{" "}
          <select
            value={eventTimes.subjects.indexOf(subject)}
            onChange={(event) => {
              const chosen = eventTimes.subjects[Number(event.currentTarget.value)]!;
              page.value = 0;
              store.select({ task: chosen.task, operator: chosen.operator < 0 ? null : chosen.operator });
            }}
          >
            {eventTimes.subjects.map((one, at) => (
              <option value={at}>
                {eventTimes.name(one)}: {count(one.records, "record")}{one.late ? `, ${commas(one.late)} late` : ""}
              </option>
            ))}
          </select>
        </label>
        <KeyChoice store={store} keys={of.keys} chosen={key} hasAll onChoose={() => (page.value = 0)} />
        <button aria-pressed={isRelative} onClick={() => (store.eventScale.value = isRelative ? "absolute" : "relative")}>
          relative to the watermark
        </button>
        <button onClick={() => goToRecord(store, of, key, -1)}>◀ record</button>
        <button onClick={() => goToRecord(store, of, key, 1)}>record ▶</button>
      </div>
      <Legend of={of} />
      <div class="beside">
        <div>
          <EventTimeCanvas key={`${subject.task} ${subject.operator} ${key}`} store={store} chart={{ of, key, isRelative }} />
          <Notes store={store} chart={{ of, key, isRelative }} />
          <RecordAtCursor store={store} of={of} />
        </div>
        <div>
          <LateRows store={store} of={of} keyNumber={key} />
          <Watermarks store={store} of={of} />
        </div>
      </div>
    </>
  );
}

/** The chosen key; by default that of the first late record; null for all. */
function keyOf(store: Store, of: EventTime): number | null {
  const { key } = store.selection.value;
  if (key === 0) return null;
  if (key !== null && of.of(key)!.length) return key;
  const first = of.late(null)[0] ?? 0;
  return of.points.keys[first] || null;
}

function EventTimeCanvas({ store, chart }: { store: Store; chart: Chart }) {
  const { of, key, isRelative } = chart;
  const draw = useCallback((drawing: Drawing) => drawEventTime(store, drawing, chart), [store, of, key, isRelative]);
  const late = of.late(key).length;
  const label = `${count(of.of(key)?.length ?? of.points.places.length, "record")} by event time over processing time, ${commas(late)} late`;
  return <TimeCanvas store={store} height={LEAST_HEIGHT} grows label={label} draw={draw} />;
}

function placeOf({ points }: EventTime, number: number): number {
  return points.timings[number] === Timing.LATE ? points.latePlaces[number]! : points.places[number]!;
}

function goToRecord(store: Store, of: EventTime, key: number | null, by: 1 | -1): void {
  const numbers = of.of(key) ?? of.points.places.map((_, number) => number);
  const places = numbers.map((number) => placeOf(of, number));
  const place = store.place.value;
  const next = by > 0 ? places[countUpTo(places, place)] : places[countUpTo(places, place - 1) - 1];
  if (next !== undefined) store.go(next);
}

function Legend({ of }: { of: EventTime }) {
  const hasWindows = of.plan !== null && !of.plan.isJoin;
  return (
    <ul class="legend" aria-label="Signs">
      <li><span class="mark in-time">●</span> record in time</li>
      <li><span class="mark behind">○</span> behind the watermark, not late</li>
      {of.subject.operator >= 0 && <li><span class="mark late">✕</span> late, with a line to the watermark</li>}
      <li><span class="swatch watermark" /> watermark, a gap while idle</li>
      {linesOf(of).length > 0 && <li><span class="swatch watermark-of-line" /> of each {of.subject.operator < -1 ? "split" : "channel"}</li>}
      {hasWindows && <li><span class="swatch window" /> window from its first record to its fire</li>}
      {hasWindows && of.plan!.latenessMs > 0 && <li><span class="swatch lateness" /> kept for allowed lateness</li>}
    </ul>
  );
}

/** What the picture leaves out. */
function Notes({ store, chart }: { store: Store; chart: Chart }) {
  const { of, key, isRelative } = chart;
  const { first, last, numbers } = recordsInView(store, of, key);
  const notes: string[] = [];
  if (numbers.length > MOST_POINTS) notes.push(`${count(numbers.length, "record")} in view, counted in cells: zoom in to see each.`);
  if (isRelative) {
    const without = numbers.filter((number) => Math.abs(of.points.watermarks[number]!) >= 2 ** 49).length;
    if (without) notes.push(`Not shown: ${count(without, "record")} before the first watermark or after the last.`);
    if (of.plan && !of.plan.isJoin) notes.push("Windows need the scale of event time.");
  } else if (windowsInView(of, key, first, last).length > MOST_WINDOWS) {
    notes.push(`More than ${commas(MOST_WINDOWS)} windows in view: zoom in, or choose a key, to see them.`);
  }
  const { facts } = store.model;
  if (!numbers.length && of.points.places.length) notes.push("No record is in view: 'whole run' and '◀ record' lead to those that there are.");
  if (of.subject.operator < 0 && !store.model.eventTimes.subjects.some(({ operator }) => operator >= 0)) {
    notes.push("No operator of the job has windows or drops late records: shown are records and watermarks of channels.");
  }
  if (of.subject.operator >= 0 && !(facts.isWhole("window_intake") && facts.has("window_intake"))) {
    notes.push("Of the other parts of the run only late records and fires are in this report.");
  }
  return notes.length ? <p class="faint">{notes.join(" ")}</p> : null;
}

/** The record whose fact is under the cursor; of one behind the watermark, why it is late or not. */
function RecordAtCursor({ store, of }: { store: Store; of: EventTime }) {
  const number = of.recordAt(store.place.value);
  const { model } = store;
  if (number < 0) return null;
  const { points } = of;
  const timing = points.timings[number]!;
  const isLate = timing === Timing.LATE;
  const chain = isLate ? model.lateCauses.at(points.latePlaces[number]!) : model.arrivalCauses.at(points.places[number]!);
  if (chain) return <ChainOfCauses store={store} chain={chain} label={`Why the record is ${isLate ? "" : "not "}late${store.whose}`} />;
  const value = model.names.record(points.records[number]!);
  const key = points.keys[number] ? ` of key ${model.names.key(points.keys[number]!)}` : "";
  const isExplained = timing !== Timing.IN_TIME && of.subject.operator >= 0;
  return (
    <section aria-label={`Record at the cursor${store.whose}`}>
      <p>
        Record {value}{key} with timestamp {atTime(points.timestamps[number]!)}, watermark {atTime(points.watermarks[number]!)}:{" "}
        {TIMING_WORDS[timing]}.
      </p>
      {isExplained && <p class="faint">Why did not fit into the report: ask 'flowsim why RECORDING late', or write it again with a larger --budget.</p>}
    </section>
  );
}

function ChainOfCauses({ store, chain, label }: { store: Store; chain: Chain; label: string }) {
  return (
    <section class="late-record" aria-label={label}>
      <h2>{chain.statement.text}</h2>
      <RuleLinks store={store} rules={chain.statement.rules} />
      <ol>
        {chain.causes.map((cause) => (
          <li key={cause.text}>
            {cause.text} <RuleLinks store={store} rules={cause.rules} />{" "}
            {cause.place !== null && cause.place !== store.place.value && (
              <button class="rule" onClick={() => store.go(cause.place!)}>go there</button>
            )}
            {cause.details.length > 0 && <ul>{cause.details.map((line) => <li key={line}>{line}</li>)}</ul>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function LateRows({ store, of, keyNumber }: { store: Store; of: EventTime; keyNumber: number | null }) {
  const { points } = of;
  const behind = (number: number) => points.watermarks[number]! - points.timestamps[number]!;
  const late = useMemo(() => {
    const found = of.late(keyNumber);
    return order.value === "time" ? found : [...found].sort((one, other) => behind(other) - behind(one) || one - other);
  }, [of, keyNumber, order.value]);
  if (of.subject.operator < 0) return null;
  if (!of.late(null).length) return <p class="faint">No record was late.</p>;
  const here = of.recordAt(store.place.value);
  const pages = Math.ceil(late.length / ROWS);
  const at = Math.min(page.value, Math.max(0, pages - 1));
  return (
    <section aria-label={`Late rows${store.whose}`}>
      <h2>{count(late.length, "late row")}{keyNumber === null ? "" : ` of key ${store.model.names.key(keyNumber)}`}</h2>
      <div class="row">
        <label>
          First{" "}
          <select value={order.value} onChange={(event) => (order.value = event.currentTarget.value as typeof order.value)}>
            <option value="time">the earliest</option>
            <option value="lateness">the farthest behind the watermark</option>
          </select>
        </label>
        {pages > 1 && (
          <>
            <button disabled={at === 0} onClick={() => (page.value = at - 1)} aria-label="previous late rows">◀</button>
            <span>{commas(at * ROWS + 1)} to {commas(Math.min(late.length, (at + 1) * ROWS))}</span>
            <button disabled={at === pages - 1} onClick={() => (page.value = at + 1)} aria-label="next late rows">▶</button>
          </>
        )}
      </div>
      <ul class="late-rows" tabIndex={0} aria-label="Late rows to go to">
        {late.slice(at * ROWS, (at + 1) * ROWS).map((number) => {
          const isHere = here === number;
          return (
            <li key={number}>
              <button aria-current={isHere ? "true" : undefined} onClick={() => goToLate(store, of, number)} {...tipOf(store, () => recordTip(store, of, number))}>
                <span class="mark late">✕</span> {moment(store.model.facts.time[points.places[number]!]!)}{" "}
                {keyNumber === null && <strong>{store.model.names.key(points.keys[number]!)} </strong>}
                {atTime(points.timestamps[number]!)} <span class="faint">{length(-behind(number))}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Moves the cursor to a late record, and shows it beside the watermark that made it late. */
function goToLate(store: Store, of: EventTime, number: number): void {
  const place = of.points.latePlaces[number]!;
  const causes = store.model.lateCauses.at(place)?.causes ?? [];
  const ofTask = causes.flatMap((cause) => (cause.task === of.subject.task && cause.place !== null ? [cause.place] : []));
  const from = Math.min(of.points.places[number]!, ...ofTask);
  const [first, last] = [store.valueOf(store.within(from)), store.valueOf(place)];
  const room = Math.max(1, (last - first) / ROOM);
  store.select({ task: of.subject.task, operator: of.subject.operator, key: of.points.keys[number]! });
  store.setRange([first - room, last + room]);
  store.go(place);
}

function Watermarks({ store, of }: { store: Store; of: EventTime }) {
  const { task, lines } = of.watermarksAt(store.place.value);
  const isOutput = of.subject.operator < INPUT;
  return (
    <section aria-label={`Watermarks at the cursor${store.whose}`}>
      <h2>Watermarks at the cursor</h2>
      <table>
        <tbody>
          <WatermarkRow name={isOutput ? "sent" : "task"} now={task} />
          {lines.map((line) => (
            <WatermarkRow key={line.label} name={line.label} now={line} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function WatermarkRow({ name, now }: { name: string; now: WatermarkNow }) {
  const words = [now.idle ? "idle" : "", now.role].filter(Boolean).join(", ");
  return (
    <tr>
      <td>{name}</td>
      <td>{!now.isKnown ? "not in this report" : now.value === null ? "none yet" : atTime(now.value)} <span class="faint">{words}</span></td>
    </tr>
  );
}

function missing({ model }: Store): string | null {
  if (model.eventTimes.subjects.length) return null;
  const omitted = model.head.omitted.filter((name) => ["window_intake", "received", "sent"].includes(name));
  if (omitted.length) return `The report has no ${omitted.join(", ")}: write it again with a larger --budget.`;
  return (
    "No record with a timestamp went over a channel, and no watermark besides the last one, which ends event time. A source " +
    "has event time with the key 'watermarks'. What the tasks did is in the views Timeline and Channel."
  );
}

export const eventTimeView: View = { name: "event-time", title: "Event time", key: "4", missing, Component: EventTimeView };
