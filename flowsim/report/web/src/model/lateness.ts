/** Why a record is late: the watermark that made it late, who sent it, and the record that moved it there. */

import { BOUND } from "../decode";
import type { EventTime } from "./event_time";
import { countUpTo, type Facts } from "./facts";
import { Element } from "./kinds";
import type { Names } from "./names";
import { isFirstKnown, isGapBetween, markAt, noMarks, placeOfWatermark } from "./points";
import { duration, MAX_WATERMARK, moment, utc, commas } from "./text";
import { assigned, cleanupOf } from "./window_plan";

/** A sentence of the explanation, and the place of the fact that it is about. */
export interface Reason {
  text: string;
  place: number | null;
  rules: string[];
}

export interface Lateness {
  /** The number of the record in its subject. */
  number: number;
  place: number;
  timestamp: number;
  watermark: number;
  /** From this watermark on it is late. */
  limit: number;
  /** Where the watermark got there. */
  since: number;
  title: string;
  reasons: Reason[];
}

/** An event time as short text: a date, or a number of ms. */
export function atTime(ms: number): string {
  if (ms === MAX_WATERMARK) return "MAX";
  if (ms === -BOUND) return "none";
  return utc(ms) || commas(ms);
}

/** A length of event time: "30 min", "1 h 5 min 2 s", "8 ms". */
export function length(ms: number): string {
  return `${ms < 0 ? "-" : ""}${duration(Math.abs(ms) * 1e6).replace(/ 0 s$/, "").replace(/ h 0 min$/, " h")}`;
}

export class LateRecords {
  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
  ) {}

  /** ``number``: of a late record of the subject. */
  explain(of: EventTime, number: number): Lateness {
    const { points, plan, subject } = of;
    const timestamp = points.timestamps[number]!;
    const watermark = points.watermarks[number]!;
    const newest = this.newest(of, number);
    const limit = plan && newest ? cleanupOf(plan, newest[1]) : timestamp + (plan?.isJoin ? 1 : (plan?.latenessMs ?? 0));
    const since = placeOfWatermark(of.watermark, limit);
    const place = points.latePlaces[number]!;
    const who = this.names.shortTask(subject.task);
    const reasons: Reason[] = [this.condition(of, number, newest, limit)];
    if (!isFirstKnown(of.watermark, Math.min(since, place))) {
      const text = "When the watermark got there is not in this report, which has parts of the run: ask 'flowsim why RECORDING late'.";
      reasons.push({ text, place: null, rules: [] });
    } else if (since < Infinity) {
      const value = markAt(of.watermark, since).value ?? -BOUND;
      const before = duration(this.facts.time[place]! - this.facts.time[since]!);
      const text = `The watermark of ${who} became ${atTime(value)} at ${moment(this.facts.time[since]!)}, ${before} before the record.`;
      reasons.push({ text, place: since, rules: ["8.9", "8.15"] }, ...this.origin(subject.task, since, value));
    }
    return { number, place, timestamp, watermark, limit, since, title: this.title(of, number), reasons };
  }

  /** "6 is late: watermark 14 ≥ 10 - 1 + 5". */
  title(of: EventTime, number: number): string {
    const { points, plan } = of;
    const [timestamp, watermark] = [points.timestamps[number]!, points.watermarks[number]!];
    const is = `${atTime(timestamp)} is late: watermark ${atTime(watermark)}`;
    if (plan?.isJoin) return `${is} > ${atTime(timestamp)}`;
    const unit = utc(timestamp) ? " ms" : "";
    const lateness = plan?.latenessMs ? ` + ${unit ? length(plan.latenessMs) : commas(plan.latenessMs)}` : "";
    const end = this.newest(of, number)?.[1];
    return end === undefined ? `${is} ≥ ${atTime(timestamp)}${lateness}` : `${is} ≥ ${atTime(end)} - 1${unit}${lateness}`;
  }

  private condition(of: EventTime, number: number, window: [number, number] | null, limit: number): Reason {
    const { points, plan, subject } = of;
    const value = this.names.record(points.records[number]!);
    const key = points.keys[number] ? ` of key ${this.names.key(points.keys[number]!)}` : "";
    const what = `Record ${value || "(its value is not in the report)"}${key} has timestamp ${atTime(points.timestamps[number]!)}`;
    const place = points.latePlaces[number]!;
    if (!window) {
      const rule = plan?.isJoin ? ["10.35"] : ["10.9", "10.10"];
      return { text: `${what}: late from watermark ${atTime(limit)} on.`, place, rules: rule };
    }
    const lateness = plan?.latenessMs ? ` plus ${length(plan.latenessMs)} of allowed lateness` : "";
    const which = plan?.shape === "sliding" ? "its newest window" : "its window";
    const range = `[${atTime(window[0])}, ${atTime(window[1])})`;
    const until = `until the watermark of ${this.names.operator(subject.task, subject.operator)} is ${atTime(limit)}`;
    const text = `${what}: ${which} ${range} accepts records ${until}, its last millisecond${lateness}.`;
    return { text, place, rules: ["10.8", "10.9", "10.10"] };
  }

  /** Follows a watermark from the task that it reached to the source that generated it. */
  private origin(task: number, place: number, watermark: number): Reason[] {
    const reasons: Reason[] = [];
    let [at, to, value] = [place, task, watermark];
    for (;;) {
      const generated = this.generation(to, at, value);
      if (generated.length) return [...reasons, ...generated];
      const row = this.lastRow("received", to, at, (kind) => kind === Element.WATERMARK || kind === Element.STATUS);
      if (row < 0 || this.isGap("received", this.facts.of("received").places[row]!, at)) return reasons;
      const received = this.facts.of("received").columns;
      const channel = received.channel![row]!;
      const sent = this.sentAt(channel, received.position![row]!);
      const isStatus = received.kind![row] === Element.STATUS;
      const from = this.names.source(channel);
      const isIdle = received.timestamp![row] !== 0;
      const what = isStatus
        ? `${from} became ${isIdle ? "idle, and holds the watermark back no longer" : "active"}`
        : `${from} sent watermark ${atTime(received.timestamp![row]!)}`;
      const source = this.names.channels.get(channel)?.source;
      if (sent < 0 || source === undefined) {
        const read = this.facts.of("received").places[row]!;
        return [...reasons, { text: `${what}.`, place: read, rules: isStatus ? ["8.10"] : ["8.9"] }];
      }
      const rules = isStatus ? ["8.10"] : ["8.9"];
      reasons.push({ text: `${what} at ${moment(this.facts.time[sent]!)}.`, place: sent, rules });
      if (isStatus) return reasons;
      [at, to, value] = [sent, source, received.timestamp![row]!];
    }
  }

  /** How a source made the watermark. */
  private generation(task: number, place: number, value: number): Reason[] {
    const { facts, names } = this;
    const generated = facts.of("generated_watermark");
    const { columns, places } = generated;
    for (let row = countUpTo(places, place) - 1; row >= 0; row--) {
      if (facts.task[places[row]!] !== task || columns.kind![row] !== Element.WATERMARK) continue;
      if (columns.timestamp![row] !== value) return [];
      const [who, most] = [names.operator(task, columns.operator![row]!), columns.max_timestamp![row]!];
      if (value === MAX_WATERMARK || most <= -BOUND) return [];
      const text = `${who} generated it, ${length(most - value)} behind its highest timestamp so far, ${atTime(most)}.`;
      const found: Reason[] = [{ text, place: places[row]!, rules: ["8.1", "8.5"] }];
      return [...found, ...this.highest(task, places[row]!, most)];
    }
    return [];
  }

  /** The record of a source that had the highest timestamp. */
  private highest(task: number, place: number, timestamp: number): Reason[] {
    const { columns, places } = this.facts.of("sent");
    for (let row = countUpTo(places, place) - 1; row >= 0; row--) {
      if (this.facts.task[places[row]!] !== task || columns.kind![row] !== Element.RECORD) continue;
      if (columns.timestamp![row] !== timestamp) continue;
      const value = this.names.record(columns.record![row]!);
      const text = `That timestamp came with record ${value || "(its value is not in the report)"}, sent at ${moment(this.facts.time[places[row]!]!)}.`;
      return [{ text, place: places[row]!, rules: [] }];
    }
    return [];
  }

  /** The last row of an element of a task at or before a place; -1 if there is none. */
  private lastRow(table: string, task: number, place: number, wanted: (kind: number) => boolean): number {
    const { columns, places } = this.facts.of(table);
    for (let row = countUpTo(places, place) - 1; row >= 0; row--) {
      if (this.facts.task[places[row]!] === task && wanted(columns.kind![row]!)) return row;
    }
    return -1;
  }

  /** Whether facts of a table between two places may be missing. */
  private isGap(table: string, first: number, last: number): boolean {
    return isGapBetween(noMarks(this.facts, table), first, last);
  }

  /** The place of the element of a channel at a position; -1 if it is not known. */
  private sentAt(channel: number, position: number): number {
    const { rows, columns, places } = this.facts.of("sent");
    for (let row = 0; row < rows; row++) {
      // A barrier that may overtake has the position of the next element.
      if (columns.kind![row] === Element.UNALIGNED_BARRIER) continue;
      if (columns.channel![row] === channel && columns.position![row] === position) return places[row]!;
    }
    return -1;
  }

  /** The newest window that a record would be in; null without windows. */
  private newest({ plan, points }: EventTime, number: number): [number, number] | null {
    if (!plan || plan.isJoin) return null;
    return assigned(plan, points.timestamps[number]!, this.gapOf(points.places[number]!))[0] ?? null;
  }

  private gapOf(place: number): number {
    const intake = this.facts.of("window_intake");
    const row = this.facts.row[place]!;
    return this.facts.nameAt(place) === "window_intake" ? (intake.columns.gap?.[row] ?? 0) : 0;
  }
}
