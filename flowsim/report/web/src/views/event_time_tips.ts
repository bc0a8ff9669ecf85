/** What the marks of a chart of event time say. */

import { BOUND } from "../decode";
import type { EventTime } from "../model/event_time";
import { countUpTo } from "../model/facts";
import { Timing, TIMING_WORDS, type Marks } from "../model/points";
import { atTime, count, joined, listed, windowText } from "../model/text";
import { recordsOf, type Fire, type WindowBox } from "../model/windows";
import type { Store } from "../store";
import type { Box, Tip } from "../ui/marks";

export function recordTip({ model }: Store, { points }: EventTime, number: number): Tip {
  const timing = points.timings[number]!;
  const place = timing === Timing.LATE ? points.latePlaces[number]! : points.places[number]!;
  return { title: `${joined("record", model.names.record(points.records[number]!))}: ${TIMING_WORDS[timing]}`, facts: [place] };
}

export function watermarkTip(whose: string, { places, values, idle }: Marks, place: number): Tip {
  const at = Math.max(0, countUpTo(places, place) - 1);
  const value = values[at] ?? -BOUND;
  const words = value <= -BOUND ? "none yet" : atTime(value);
  return { title: `${whose}: ${words}${idle[at] ? ", idle" : ""}`, facts: places[at] === undefined ? [] : [places[at]!] };
}

function nameOf({ model }: Store, { key, start, end }: WindowBox): string {
  return `${windowText(start, end)}${key ? ` of key ${model.names.key(key)}` : ""}`;
}

export function windowTip(store: Store, of: EventTime, box: WindowBox): Tip {
  // The record that merges it is in the larger window.
  const lines = contents(store, of, box, box.isMerged ? box.gone - 1 : box.gone, box.records);
  if (box.isMerged) lines.push("merged into a larger window");
  else if (box.isLost) lines.push("ends with its attempt");
  else if (!box.fires.length && !box.hasFired && box.gone === Infinity) lines.push(store.model.unfired);
  return { title: nameOf(store, box), lines, facts: [box.first, ...box.fires.map((fire) => fire.place)] };
}

export function fireTip(store: Store, of: EventTime, box: WindowBox, fire: Fire): Tip {
  return { title: nameOf(store, box), lines: contents(store, of, box, fire.place, fire.rows), facts: [fire.place] };
}

/** The records of a window up to a place, as far as they are known. */
function contents({ model }: Store, of: EventTime, box: WindowBox, upTo: number, records: number | null): string[] {
  if (records === null) return [];
  const numbers = recordsOf(of, box, upTo);
  // Records that a checkpoint restored, or that an evictor removed, are not told apart.
  if (numbers.length !== records) return [count(records, "record")];
  const texts = numbers.map((number) => model.names.record(of.points.records[number]!) || atTime(of.points.timestamps[number]!));
  return [`${count(records, "record")}: ${listed(texts)}`];
}

/** What is in a part of the raster. */
export function cellsTip(counts: number[], at: Box): Tip | null {
  const words = counts.flatMap((number, timing) => (number ? [`${count(number, "record")} ${TIMING_WORDS[timing]}`] : []));
  return words.length ? { title: words.join(", "), lines: ["zoom in to see each"], at } : null;
}
