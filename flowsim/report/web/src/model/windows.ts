/** Windows over time: from their first record through their fires to their removal. */

import { BOUND } from "../decode";
import { isIn, type Attempt, type Part } from "./attempts";
import type { Facts, Table } from "./facts";
import { marksIn, placeOfWatermark, pointsIn, rowsOf, Timing, type Marks, type Points, type Subject } from "./points";
import { assigned, cleanupOf, type WindowPlan } from "./window_plan";

export interface Fire {
  place: number;
  rows: number;
  /** 1 fires, 2 purges, 3 fires and purges. */
  result: number;
}

export interface WindowBox {
  key: number;
  start: number;
  end: number;
  /** The place of its first record; of its first fire if the records are not known. */
  first: number;
  /** null: not all records are in the report. */
  records: number | null;
  fires: Fire[];
  /** Where it was removed, or merged into a larger one, or its attempt ended; Infinity if none of these happened. */
  gone: number;
  isMerged: boolean;
  /** Whether its attempt ended before it. */
  isLost: boolean;
  /** Whether it fired in an attempt before the one that has restored it. */
  hasFired: boolean;
}

export interface WindowsOf {
  subject: Subject;
  plan: WindowPlan | null;
  points: Points;
  watermark: Marks;
}

/** Those of each attempt: a restored window begins with the attempt, and what an attempt has at its end is gone. */
export function windowsOf(facts: Facts, of: WindowsOf, startNs: number, attempts: readonly Attempt[]): WindowBox[] {
  if (attempts.length < 2) return windowsIn(facts, of, startNs, null);
  const found = attempts.flatMap((attempt) => windowsOfAttempt(facts, of, startNs, attempt));
  return found.sort((one, other) => one.first - other.first);
}

function windowsOfAttempt(facts: Facts, of: WindowsOf, startNs: number, { begin, own, isRestarted, restored }: Attempt): WindowBox[] {
  const parts = [...(restored ?? []), own];
  const ofParts = { ...of, points: pointsIn(of.points, parts), watermark: marksIn(of.watermark, parts) };
  const found: WindowBox[] = [];
  for (const box of windowsIn(facts, ofParts, startNs, parts)) {
    if (box.gone <= own[0]) continue;
    const fires = box.fires.filter(({ place }) => place > own[0]);
    const isLost = isRestarted && box.gone > own[1];
    found.push({
      ...box, first: Math.max(begin, box.first), gone: isLost ? own[1] : box.gone, isLost, fires,
      hasFired: fires.length < box.fires.length,
    });
  }
  return found;
}

/** In the order of their first records. A fact at one place may concern several windows. ``parts``: null for all. */
function windowsIn(facts: Facts, of: WindowsOf, startNs: number, parts: readonly Part[] | null): WindowBox[] {
  const boxes = new Boxes(of, facts.isWhole("window_intake"));
  const { plan, points, subject } = of;
  const tables = { fires: facts.of("window_fire"), merges: facts.of("window_merge"), intake: facts.of("window_intake") };
  const rowsIn = (table: Table) => {
    const rows = rowsOf(facts, table, subject.task, subject.operator);
    return parts ? rows.filter((row) => isIn(parts, table.places[row]!)) : rows;
  };
  const [fires, merges] = [rowsIn(tables.fires), rowsIn(tables.merges)];
  let [fire, merge] = [0, 0];
  const until = (place: number) => {
    for (; fire < fires.length && tables.fires.places[fires[fire]!]! < place; fire++) {
      const { columns, places } = tables.fires;
      const row = fires[fire]!;
      boxes.fire(columns.key![row]!, columns.window_start![row]!, columns.window_end![row]!, {
        place: places[row]!, rows: columns.rows![row]!, result: columns.result![row]!,
      });
    }
  };
  points.places.forEach((place, number) => {
    until(place);
    const next = points.places[number + 1] ?? Infinity;
    const key = points.keys[number]!;
    let into: [number, number] | null = null;
    for (; merge < merges.length && tables.merges.places[merges[merge]!]! < next; merge++) {
      const { columns } = tables.merges;
      const at = merges[merge]!;
      // A merge before the record belongs to one that is not in the report.
      const isOfRecord = tables.merges.places[at]! >= place;
      if (isOfRecord) into = [columns.into_start![at]!, columns.into_end![at]!];
      const merged = isOfRecord ? place : tables.merges.places[at]!;
      boxes.merge(columns.key![at]!, columns.window_start![at]!, columns.window_end![at]!, merged);
    }
    if (!plan || points.timings[number] === Timing.LATE) return;
    // Windows over processing time that are not sessions are as exact as the clock of the record.
    const gap = tables.intake.columns.gap?.[facts.row[place]!] ?? 0;
    const windows = assigned(plan, points.timestamps[number]!, gap);
    for (const [start, end] of windows) {
      if (plan.shape.endsWith("session")) boxes.session(key, start, end, into, place);
      else if (!plan.isEventTime || cleanupOf(plan, end) > points.watermarks[number]!) boxes.add(key, start, end, place);
    }
  });
  until(Infinity);
  return boxes.finish(facts, startNs);
}

/** The numbers of the records that a window holds at a place; not all of them if a checkpoint restored some. */
export function recordsOf({ plan, points }: Pick<WindowsOf, "plan" | "points">, box: WindowBox, place: number): number[] {
  const found: number[] = [];
  // A session that others merged into has records from before its first.
  const first = plan?.shape.endsWith("session") ? -1 : box.first;
  for (let number = 0; number < points.places.length && points.places[number]! <= place; number++) {
    const [at, timestamp] = [points.places[number]!, points.timestamps[number]!];
    if (at < first || points.keys[number] !== box.key || points.timings[number] === Timing.LATE) continue;
    if (timestamp < box.start || timestamp >= box.end) continue;
    if (plan?.isEventTime && !plan.shape.endsWith("session") && cleanupOf(plan, box.end) <= points.watermarks[number]!) continue;
    found.push(number);
  }
  return found;
}

class Boxes {
  private readonly all: WindowBox[] = [];
  /** By key, then by start and end: windows that are not gone. */
  private readonly open = new Map<number, Map<string, WindowBox>>();

  constructor(
    private readonly of: WindowsOf,
    private readonly hasRecords: boolean,
  ) {}

  /** Adds a record to a window. */
  add(key: number, start: number, end: number, place: number): WindowBox {
    const box = this.box(key, start, end, place);
    if (box.records !== null) box.records++;
    return box;
  }

  private box(key: number, start: number, end: number, place: number): WindowBox {
    const known = this.openOf(key);
    const name = `${start} ${end}`;
    let box = known.get(name);
    if (box && this.goneAt(box) <= place) box = undefined;
    if (!box) {
      box = { key, start, end, first: place, records: this.hasRecords ? 0 : null, fires: [], gone: Infinity, isMerged: false, isLost: false, hasFired: false };
      known.set(name, box);
      this.all.push(box);
    }
    return box;
  }

  /** The larger window if there was a merge; else the open one that holds it; else its own (rule 10.25). */
  session(key: number, start: number, end: number, into: [number, number] | null, place: number): void {
    if (into) {
      const box = this.add(key, into[0], into[1], place);
      if (box.records !== null) box.records += this.records;
      this.records = 0;
      return;
    }
    for (const box of this.openOf(key).values()) {
      if (box.start <= start && end <= box.end && this.goneAt(box) > place) {
        if (box.records !== null) box.records++;
        return;
      }
    }
    this.add(key, start, end, place);
  }

  /** Records of windows that are being merged. */
  private records = 0;

  merge(key: number, start: number, end: number, place: number): void {
    const name = `${start} ${end}`;
    const box = this.openOf(key).get(name);
    if (!box) return;
    box.gone = place;
    box.isMerged = true;
    this.records += box.records ?? 0;
    this.openOf(key).delete(name);
  }

  fire(key: number, start: number, end: number, fire: Fire): void {
    const box = this.openOf(key).get(`${start} ${end}`) ?? this.box(key, start, end, fire.place);
    box.fires.push(fire);
  }

  finish(facts: Facts, startNs: number): WindowBox[] {
    for (const box of this.all) {
      if (!box.isMerged) box.gone = Math.max(this.goneAt(box, facts, startNs), box.fires.at(-1)?.place ?? 0);
    }
    return this.all.sort((one, other) => one.first - other.first);
  }

  /** Where the watermark, or the clock, removes a window. */
  private goneAt(box: WindowBox, facts?: Facts, startNs = 0): number {
    const { plan, watermark } = this.of;
    if (!plan || plan.shape === "global" || box.end >= BOUND) return Infinity;
    if (plan.isEventTime) return placeOfWatermark(watermark, cleanupOf(plan, box.end), box.first);
    const last = box.fires.at(-1);
    if (!facts || !last) return Infinity;
    return Math.floor((facts.time[last.place]! + startNs) / 1e6) >= box.end - 1 ? last.place : Infinity;
  }

  private openOf(key: number): Map<string, WindowBox> {
    let found = this.open.get(key);
    if (!found) this.open.set(key, (found = new Map<string, WindowBox>()));
    return found;
  }
}
