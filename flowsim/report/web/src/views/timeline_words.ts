/** What the timeline calls its tracks and their parts, and what their marks say. */

import { countUpTo } from "../model/facts";
import { Element } from "../model/kinds";
import type { Model } from "../model/model";
import { atTime, commas, duration, eventTime } from "../model/text";
import { Outcome, type Part, type Track, type TrackName } from "../model/timeline";
import type { Tip } from "../ui/marks";

export const TRACK_WORDS: Record<TrackName, string> = {
  actions: "actions, waits",
  mails: "mails",
  timers: "timers",
  async: "async elements",
  snapshots: "snapshots",
  checkpoints: "checkpoints",
};

/** Words in pictures and lists, and words of the legend. */
export const PART_WORDS: Record<Part, string> = {
  life_cycle: "life cycle",
  default_action: "default action",
  mail: "mail",
  lock_holder: "thread with lock",
  cost: "batch",
  wait_input: "waits for input",
  wait_output: "waits for output",
  wait_buffer: "waits for a buffer",
  wait_mail: "waits for mail",
  yield: "yields",
  lock: "waits without lock",
  wait_checkpoint: "waits for its checkpoints",
  in_mailbox: "in the mailbox",
  event_timer: "event-time timer",
  processing_timer: "processing-time timer",
  queued: "queued",
  call: "call",
  retry: "waits for its retry",
  result: "waits to be emitted",
  snapshot: "snapshot",
  snapshot_inside: "snapshot inside an element",
  alignment: "alignment",
  sync: "synchronous part",
  async: "asynchronous part",
};

/** In its bar. */
export function textOf(model: Model, track: Track, thing: number, part: Part): string {
  const number = track.number[thing]!;
  switch (track.name) {
    case "mails": return `#${number}`;
    case "timers": return eventTime(number);
    case "async": return `${elementOf(model, track, thing)} ${PART_WORDS[part]}`;
    case "checkpoints": return `${number} ${PART_WORDS[part]}`;
    default: return PART_WORDS[part];
  }
}

/** Outside of the picture. */
export function wordsOf(model: Model, task: number, track: Track, thing: number, part: Part): string {
  const number = track.number[thing]!;
  switch (track.name) {
    case "actions": return `${PART_WORDS[part]} (${number})`;
    case "mails": return `mail #${number} ${PART_WORDS[part]}`;
    case "timers": return `${PART_WORDS[part]} ${eventTime(number)}`;
    case "async": return `async element ${number}, ${elementOf(model, track, thing)}: ${PART_WORDS[part]}`;
    case "snapshots": return `${PART_WORDS[part]} of ${model.names.operator(task, number)}`;
    case "checkpoints": return `checkpoint ${number}: ${PART_WORDS[part]}`;
  }
}

/** The watermark or the value of the record that an element of an async operator is. */
function elementOf({ facts, names }: Model, track: Track, thing: number): string {
  const { columns } = facts.of("async_elements");
  const row = facts.row[track.begin[thing]!]!;
  if (columns.kind![row] === Element.WATERMARK) return `watermark ${atTime(columns.timestamp![row]!)}`;
  return names.record(columns.record?.[row] ?? 0) || `element ${track.number[thing]!}`;
}

/** ``at``: the number of the part in the track. */
export function partTip(model: Model, task: number, track: Track, at: number): Tip {
  const thing = countUpTo(track.firstPart, at) - 1;
  const [begin, end] = [track.placeOfPart(at), track.endOfPart(thing, at)];
  const { time } = model.facts;
  const isLast = end === track.end[thing];
  // Where a report has no more facts, nothing ended.
  const isCut = isLast && track.outcome[thing] === Outcome.OPEN;
  // Only its end is a fact of a snapshot.
  const facts = track.name === "snapshots" ? [end] : isCut ? [begin] : [begin, end];
  const lasts = end === Infinity ? "not ended" : isCut ? "its end is not in this report" : `lasts ${duration(time[end]! - time[begin]!)}`;
  return { title: wordsOf(model, task, track, thing, track.part(at)), lines: [lasts], facts };
}

/** Parts of one row that are too narrow for bars, in some pixels. */
export function narrowTip(parts: ReadonlyMap<Part, number>, at: Tip["at"]): Tip | null {
  const words = [...parts].filter(([, number]) => number).map(([part, number]) => `${commas(number)} × ${PART_WORDS[part]}`);
  return words.length ? { title: words.join(", "), lines: ["zoom in to see each"], at } : null;
}
