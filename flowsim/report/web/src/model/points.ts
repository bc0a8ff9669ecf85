/** Records and watermarks of one operator or task, in the order of their places. */

import { BOUND } from "../decode";
import { isIn, type Part } from "./attempts";
import { countUpTo, type Facts, type Table } from "./facts";
import { Element } from "./kinds";

/** Of a record, when it arrived: ahead of the watermark; not ahead of it, and not late; late. */
export const Timing = { IN_TIME: 0, BEHIND: 1, LATE: 2 };
export const TIMING_WORDS = ["in time", "behind the watermark, not late", "late"];

/** What a chart of event time is about: an operator that finds late records, the input of a task, or its output. */
export interface Subject {
  task: number;
  operator: number;
  records: number;
  late: number;
}

/** While ``idle``, the value is the last one before. */
export interface Marks {
  places: number[];
  values: number[];
  idle: boolean[];
  /** Places from which on the watermark is not known until the next mark: some facts before them are not here. */
  gaps: number[];
  /** The numbers of the marks whose value is below that of the mark before: the first ones of another attempt. */
  falls: number[];
}

/** By number. */
export interface Points {
  places: Uint32Array;
  timestamps: Float64Array;
  /** The watermark when the record arrived; -BOUND before the first. */
  watermarks: Float64Array;
  timings: Uint8Array;
  keys: Uint32Array;
  records: Uint32Array;
  /** The place of the fact that the record is late; 0 for others. */
  latePlaces: Uint32Array;
}

/** The rows of an operator, in order. */
export function rowsOf(facts: Facts, { rows, columns, places }: Table, task: number, operator: number): number[] {
  const found: number[] = [];
  for (let row = 0; row < rows; row++) {
    if (columns.operator![row] === operator && facts.task[places[row]!] === task) found.push(row);
  }
  return found;
}

export function pointsOf(rows: number[], { columns, places }: Table): Points {
  return {
    places: Uint32Array.from(rows, (row) => places[row]!),
    timestamps: Float64Array.from(rows, (row) => columns.timestamp![row]!),
    watermarks: Float64Array.from(rows, (row) => columns.watermark?.[row] ?? -BOUND),
    timings: new Uint8Array(rows.length),
    keys: Uint32Array.from(rows, (row) => columns.key?.[row] ?? 0),
    records: Uint32Array.from(rows, (row) => columns.record?.[row] ?? 0),
    latePlaces: new Uint32Array(rows.length),
  };
}

/**
 * Adds the facts of late records to the records that arrived: each belongs to the last record before it. In a report of
 * parts the record itself may be missing; then the fact of its lateness takes its place.
 */
export function mergedPoints(arrived: Points, late: Points): Points {
  const alone: number[] = [];
  late.places.forEach((place, number) => {
    const at = countUpTo(arrived.places, place) - 1;
    const isSame =
      at >= 0 && !arrived.latePlaces[at] && arrived.timestamps[at] === late.timestamps[number] &&
      arrived.keys[at] === late.keys[number] && arrived.watermarks[at] === late.watermarks[number];
    if (isSame) arrived.latePlaces[at] = place;
    else alone.push(number);
  });
  late.latePlaces.set(late.places);
  if (!alone.length) return arrived;
  const order = [...arrived.places.keys(), ...alone.map((number) => ~number)].sort((one, other) => placeIn(one) - placeIn(other));
  function placeIn(number: number): number {
    return number < 0 ? late.places[~number]! : arrived.places[number]!;
  }
  const chosen = <Name extends keyof Points>(name: Name): number[] =>
    order.map((number) => (number < 0 ? late[name][~number]! : arrived[name][number]!));
  return typed(chosen);
}

/** ``table``: where the marks are from. */
export function noMarks(facts: Facts, table: string): Marks {
  return { places: [], values: [], idle: [], gaps: facts.isWhole(table) ? [] : facts.gaps, falls: [] };
}

export function addMark(marks: Marks, place: number, value: number, idle: boolean): void {
  if (value < (marks.values.at(-1) ?? -BOUND)) marks.falls.push(marks.places.length);
  marks.places.push(place);
  marks.values.push(value);
  marks.idle.push(idle);
}

/** Ends the marks where attempts end, each before a place: their watermarks are gone. Returns whether it did. */
export function addBreaks(marks: Marks, ends: readonly number[], before = Infinity): boolean {
  const last = marks.places.at(-1) ?? Infinity;
  const found = ends.filter((end) => last < end && end < before);
  for (const end of found) addMark(marks, end, -BOUND, false);
  return found.length > 0;
}

/** Adds an element if it is a watermark or a status. ``ends``: of attempts. */
export function addElement(marks: Marks, place: number, kind: number, timestamp: number, ends: readonly number[]): void {
  if (ends.length) addBreaks(marks, ends, place);
  if (kind === Element.WATERMARK) addMark(marks, place, timestamp, marks.idle.at(-1) ?? false);
  else if (kind === Element.STATUS) addMark(marks, place, marks.values.at(-1) ?? -BOUND, timestamp !== 0);
}

/** ``value`` is null before the first watermark; ``isKnown`` is false where its fact may be missing. */
export function markAt(marks: Marks, place: number): { value: number | null; idle: boolean; isKnown: boolean } {
  const at = countUpTo(marks.places, place) - 1;
  if (isGapBetween(marks, at < 0 ? -1 : marks.places[at]!, place)) return { value: null, idle: false, isKnown: false };
  const value = at < 0 ? -BOUND : marks.values[at]!;
  return { value: value === -BOUND ? null : value, idle: at >= 0 && marks.idle[at]!, isKnown: true };
}

/** After ``first``, and up to ``last``. */
export function isGapBetween({ gaps }: Marks, first: number, last: number): boolean {
  return countUpTo(gaps, last) > countUpTo(gaps, first);
}

/** The place of the first mark with at least a value, from the last one before a place on; Infinity if there is none. */
export function placeOfWatermark({ places, values, falls }: Marks, value: number, since: number): number {
  let low = Math.max(0, countUpTo(places, since) - 1);
  // Within an attempt it does not decrease.
  for (const end of [...falls.slice(countUpTo(falls, low)), values.length]) {
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[middle]! < value) low = middle + 1;
      else high = middle;
    }
    if (low < end) return places[low]!;
  }
  return Infinity;
}

/** The marks in several parts of the run; none is known at the begin of a part. */
export function marksIn({ places, values, idle, gaps }: Marks, parts: readonly Part[]): Marks {
  const found: Marks = { places: [], values: [], idle: [], gaps, falls: [] };
  for (const [after, upTo] of parts) {
    if (found.places.length) addMark(found, after, -BOUND, false);
    for (let at = countUpTo(places, after); at < countUpTo(places, upTo); at++) addMark(found, places[at]!, values[at]!, idle[at]!);
  }
  return found;
}

/** The records at the places that are in several parts of the run. */
export function pointsIn(points: Points, parts: readonly Part[]): Points {
  const numbers = [...points.places.keys()].filter((number) => isIn(parts, points.places[number]!));
  const chosen = <Name extends keyof Points>(name: Name): number[] => numbers.map((number) => points[name][number]!);
  return typed(chosen);
}

function typed(chosen: (name: keyof Points) => number[]): Points {
  return {
    places: Uint32Array.from(chosen("places")),
    timestamps: Float64Array.from(chosen("timestamps")),
    watermarks: Float64Array.from(chosen("watermarks")),
    timings: Uint8Array.from(chosen("timings")),
    keys: Uint32Array.from(chosen("keys")),
    records: Uint32Array.from(chosen("records")),
    latePlaces: Uint32Array.from(chosen("latePlaces")),
  };
}
