/** What the marks of a channel say: entries of the sender's queue, buffers, their way between both ends, credits. */

import { signal } from "@preact/signals";
import { valueAt, type Buffer, type ChannelFacts } from "../model/channels";
import { countUpTo } from "../model/facts";
import { Element } from "../model/kinds";
import type { Model } from "../model/model";
import { atTime, commas, count, duration, listed } from "../model/text";
import type { Store } from "../store";
import type { Tip } from "../ui/marks";

/** The chosen buffer, by its sequence number on the channel. */
export const picked = signal<{ channel: number; number: number } | null>(null);

const EVENTS: Record<number, string> = {
  [Element.LATENCY_MARKER]: "latency marker", [Element.END_OF_DATA]: "end of data", [Element.END_OF_PARTITION]: "end of the partition",
  [Element.EVENT]: "event",
};

/** An element in a few words. ``row``: in table ``sent`` or ``received``. */
export function elementWords({ facts, names }: Model, table: "sent" | "received", row: number): string {
  const { kind, timestamp, record } = facts.of(table).columns;
  switch (kind![row]) {
    case Element.RECORD: return names.record(record?.[row] ?? 0) || "a record";
    case Element.WATERMARK: return `watermark ${atTime(timestamp![row]!)}`;
    case Element.STATUS: return timestamp![row] ? "idle" : "active";
    case Element.CHECKPOINT_BARRIER:
    case Element.UNALIGNED_BARRIER: return `barrier of checkpoint ${timestamp![row]!}`;
    case Element.CANCEL_CHECKPOINT_MARKER: return `cancellation of checkpoint ${timestamp![row]!}`;
    default: return EVENTS[kind![row]!]!;
  }
}

/** The numbers of the elements that end in a buffer. */
export function elementsIn({ facts }: Model, channel: ChannelFacts, buffer: Buffer): number[] {
  const { places } = facts.of("sent");
  const run = channel.runAt(buffer.sent);
  const found: number[] = [];
  channel.elements.buffer.forEach((number, element) => {
    if (number === buffer.number && channel.runAt(places[channel.elements.sent[element]!]!) === run) found.push(element);
  });
  return found;
}

function nameOf({ isEvent, number }: Pick<Buffer, "isEvent" | "number">): string {
  return `${isEvent ? "event" : "buffer"} ${number}`;
}

/** What ends in a buffer, or in the slices of one entry of the queue. */
function contents(model: Model, channel: ChannelFacts, buffers: Buffer[]): string[] {
  const bytes = buffers.reduce((sum, one) => sum + one.bytes, 0);
  const elements = buffers.flatMap((one) => elementsIn(model, channel, one));
  const words = elements.map((element) => elementWords(model, "sent", channel.elements.sent[element]!));
  const size = buffers.length ? [`${commas(bytes)} bytes`] : [];
  return words.length ? [...size, `${count(words.length, "element")} ${words.length === 1 ? "ends" : "end"} in it: ${listed(words)}`] : size;
}

function pickOf(channel: ChannelFacts, buffer: Buffer | undefined): () => void {
  return () => (picked.value = buffer ? { channel: channel.channel, number: buffer.number } : null);
}

/** An entry of the sender's queue, by its number among all of them. */
export function entryTip({ model }: Store, channel: ChannelFacts, at: number): Tip {
  const entry = channel.entries[at]!;
  const buffers = channel.buffers.filter((buffer) => buffer.entryAt === at);
  const overtakes = entry.priority < Infinity ? ["has priority: it overtakes the others"] : [];
  return {
    title: `${nameOf(entry)} in the queue of the sender`,
    lines: [...overtakes, ...contents(model, channel, buffers)],
    facts: [...new Set([entry.queued, entry.priority, entry.gone])],
    pick: pickOf(channel, buffers[0]),
  };
}

/** A buffer at the receiver. */
export function bufferTip({ model }: Store, channel: ChannelFacts, buffer: Buffer): Tip {
  const { received, firstRead, lastRead, recycled } = buffer;
  return {
    title: `${nameOf(buffer)} at the receiver`,
    lines: contents(model, channel, [buffer]),
    facts: [...new Set([received, firstRead, lastRead, recycled])],
    pick: pickOf(channel, buffer),
  };
}

/** A buffer that was sent. */
export function transferTip({ model: { facts: { time } } }: Store, channel: ChannelFacts, buffer: Buffer): Tip {
  const late = buffer.received === Infinity ? Infinity : time[buffer.received]! - time[buffer.sent]!;
  const taken = late === Infinity ? "not taken" : late ? `taken after ${duration(late)}` : "taken at once";
  return { title: `${nameOf(buffer)} is sent, and ${taken}`, facts: [buffer.sent, buffer.received], pick: pickOf(channel, buffer) };
}

/** What the sender has from a place on. */
export function creditsTip({ places, values }: ChannelFacts["credits"], at: number): Tip {
  return { title: `the sender has ${count(values[at]!, "credit")}`, facts: [places[at]!] };
}

export function backlogTip({ places, values }: ChannelFacts["backlog"], at: number): Tip {
  return { title: `backlog: ${count(values[at]!, "data buffer")}`, facts: [places[at]!] };
}

/** Data that waits without credits, from a place on. */
export function shortageTip({ backlog, credits }: ChannelFacts, at: number): Tip {
  const since = credits.places[at]!;
  const until = credits.places[at + 1] ?? Infinity;
  const most = backlog.places.reduce((most, place, of) => (place > since && place < until ? Math.max(most, backlog.values[of]!) : most), valueAt(backlog, since) ?? 0);
  return { title: `no credit: up to ${count(most, "data buffer")} ${most === 1 ? "waits" : "wait"} at the sender`, facts: [since, until] };
}

/** Where buffers are too many for lanes. ``counts``: in each pixel from ``left`` on. */
export function crowdTip(counts: readonly number[], left: number, x: number, what: string, top: number, height: number): Tip | null {
  const number = counts[Math.round(x - left)] ?? 0;
  return number ? { title: `${count(number, "buffer")} ${what}`, lines: ["zoom in to see each"], at: { x: x - 1, y: top, width: 2, height } } : null;
}

/** The entry of the queue with a number at a place, among all entries; -1: there is none. */
export function entryAt({ entries }: ChannelFacts, number: number, place: number): number {
  for (let at = entries.length - 1; at >= 0; at--) if (entries[at]!.number === number && entries[at]!.queued <= place) return at;
  return -1;
}

/** The last buffer with a number that was sent up to a place. */
export function bufferAt({ buffers }: ChannelFacts, number: number, place: number): Buffer | undefined {
  return buffers.filter((buffer) => buffer.number === number && buffer.sent <= place).at(-1);
}

/** The place of the last change up to a place. */
export function lastChange({ places }: ChannelFacts["credits"], place: number): number {
  return places[countUpTo(places, place) - 1] ?? Infinity;
}
