/** The buffers, credits and elements of each channel, as sorted places. */

import type { Attempts } from "./attempts";
import { once } from "./columns";
import { countUpTo, type Facts, type Table } from "./facts";
import { Credit, Element, Kind, Side } from "./kinds";
import type { Names } from "./names";

/** A buffer or event on the way through a channel; places are Infinity for what did not happen. */
export interface Buffer {
  /** Sequence number on the channel; several of one entry of the queue if it was sent in slices. */
  number: number;
  isEvent: boolean;
  hasPriority: boolean;
  bytes: number;
  sent: number;
  received: number;
  firstRead: number;
  lastRead: number;
  recycled: number;
  /** The entry of the sender's queue, and its place among all entries. */
  entry: number;
  entryAt: number;
}

/** An entry of the sender's queue: a buffer that is filled, waits, and leaves. */
export interface Entry {
  number: number;
  isEvent: boolean;
  queued: number;
  /** From here on it goes before all entries without priority; Infinity: it waits in line. */
  priority: number;
  /** The next entry began, so this one is finished. */
  finished: number;
  gone: number;
}

/** The elements of a channel in the order of sending: rows in ``sent`` and ``received`` (-1: none), and numbers of buffers. */
export interface Elements {
  sent: Int32Array;
  received: Int32Array;
  buffer: Int32Array;
  /** Places of these buffers among all of the channel, -1: none. */
  bufferAt: Int32Array;
}

export interface Steps {
  places: number[];
  values: number[];
}

export interface ChannelState {
  channel: number;
  /** Numbers of the queue's entries, the one that leaves next first. */
  queue: number[];
  /** How many of them, from the first, have priority: they overtake the others. */
  urgent: number;
  /** Whether the last entry of the queue is still being filled. */
  filling: boolean;
  backlog: number;
  /** null on a local channel. */
  credits: number | null;
  /** Credits that the receiver announced and the sender does not have yet. */
  creditsOnTheWay: number;
  /** Empty buffers that the receiver keeps for this channel: their credits are announced. */
  reserved: number;
  /** Sequence numbers of buffers that were sent and not received yet. */
  inFlight: number[];
  /** Sequence numbers of buffers at the receiver that wait, and those that are being read. */
  waiting: number[];
  reading: number[];
}

export class ChannelFacts {
  readonly entries: Entry[] = [];
  /** When their elements were read is only known after ``readElements``. */
  private readonly all: Buffer[] = [];
  private readonly allElements: () => Elements;
  readonly credits: Steps = { places: [], values: [] };
  readonly backlog: Steps = { places: [], values: [] };
  /** Sums: credits that the receiver granted, credits that the sender got, data buffers that the receiver took. */
  private readonly granted: Steps = { places: [], values: [] };
  private readonly got: Steps = { places: [], values: [] };
  private readonly taken: Steps = { places: [], values: [] };
  /** By their sequence number: numbers may be missing in a damaged recording. */
  private readonly byNumber = new Map<number, Buffer>();
  private readonly sorted: Record<"queued" | "gone" | "sent" | "received" | "recycled", number[]>;
  /** Entries with priority that wait, while the buffers are read. */
  private readonly urgent: number[] = [];

  constructor(
    readonly channel: number,
    facts: Facts,
    rows: ChannelRows,
    /** Where a restart of the sender or the receiver empties the channel, ascending. */
    private readonly resets: readonly number[],
  ) {
    this.readBuffers(facts, rows.buffers);
    this.readCredits(facts, rows.credits);
    this.allElements = once(() => this.readElements(facts, rows));
    const places = (of: number[]) => of.filter(Number.isFinite).sort((one, other) => one - other);
    this.sorted = {
      queued: places(this.entries.map((entry) => entry.queued)),
      gone: runningMaximum(this.entries.map((entry) => entry.gone)),
      sent: places(this.all.map((buffer) => buffer.sent)),
      received: places(this.all.map((buffer) => buffer.received)),
      recycled: places(this.all.filter((buffer) => !buffer.isEvent).map((buffer) => buffer.recycled)),
    };
  }

  get elements(): Elements {
    return this.allElements();
  }

  get buffers(): readonly Buffer[] {
    this.allElements();
    return this.all;
  }

  buffer(number: number): Buffer | undefined {
    this.allElements();
    return this.byNumber.get(number);
  }

  /** Where the receiver last granted or announced credits, up to a place; Infinity: nowhere. */
  lastGrant(place: number): number {
    return this.granted.places[countUpTo(this.granted.places, place) - 1] ?? Infinity;
  }

  /** The number of restarts before a place: buffers of another run may have the same number. */
  runAt(place: number): number {
    return countUpTo(this.resets, place - 1);
  }

  at(place: number): ChannelState {
    const { sorted } = this;
    const gone = countUpTo(sorted.gone, place);
    const queued = countUpTo(sorted.queued, place);
    const waiting = this.entries.slice(gone, queued).filter((entry) => entry.gone > place);
    const urgent = waiting.filter((entry) => entry.priority <= place).sort((one, other) => one.priority - other.priority);
    const queue = [...urgent, ...waiting.filter((entry) => entry.priority > place)];
    const sent = countUpTo(sorted.sent, place);
    const received = countUpTo(sorted.received, place);
    const inFlight = this.all.slice(received, sent);
    const last = queue.at(-1);
    const atReceiver = this.atReceiver(place, received);
    if (atReceiver.length) this.allElements();
    return {
      channel: this.channel,
      queue: queue.map((entry) => entry.number),
      urgent: urgent.length,
      filling: last !== undefined && !last.isEvent && last.finished > place,
      backlog: valueAt(this.backlog, place) ?? 0,
      credits: valueAt(this.credits, place),
      creditsOnTheWay: sumAt(this.granted, place) - sumAt(this.got, place),
      reserved: Math.max(0, sumAt(this.granted, place) - sumAt(this.taken, place)),
      inFlight: inFlight.map((buffer) => buffer.number),
      waiting: atReceiver.filter((buffer) => buffer.firstRead > place).map((buffer) => buffer.number),
      reading: atReceiver.filter((buffer) => buffer.firstRead <= place).map((buffer) => buffer.number),
    };
  }

  /** Data buffers that were received and are not free again. */
  private atReceiver(place: number, received: number): Buffer[] {
    const found: Buffer[] = [];
    let left = countUpTo(this.sorted.received, place) - countUpTo(this.sorted.recycled, place);
    for (let at = received - 1; at >= 0 && left > 0; at--) {
      const buffer = this.all[at]!;
      if (buffer.isEvent) left--;
      else if (buffer.recycled > place) {
        found.push(buffer);
        left--;
      }
    }
    return found.reverse();
  }

  private readBuffers(facts: Facts, rows: number[]): void {
    const { places, columns } = facts.of("buffers");
    let leaving = 0;
    let next = 0;
    const resetBefore = (place: number) => {
      for (; next < this.resets.length && this.resets[next]! < place; next++) this.reset(this.resets[next]!);
    };
    for (const row of rows) {
      const place = places[row]!;
      if (next < this.resets.length && this.resets[next]! < place) {
        resetBefore(place);
        leaving = this.entries.length;
        this.urgent.length = 0;
      }
      const number = columns.number![row]!;
      const kind = columns.kind![row]!;
      const isEvent = kind !== Kind.DATA;
      const isOfSender = columns.side![row] !== Side.RECEIVED && columns.side![row] !== Side.RECYCLED;
      if (isOfSender) push(this.backlog, place, columns.backlog![row]!);
      switch (columns.side![row]) {
        case Side.QUEUED: {
          const before = this.entries.at(-1);
          if (before && before.finished === Infinity) before.finished = place;
          const priority = kind === Kind.PRIORITY_EVENT ? place : Infinity;
          if (priority < Infinity) this.urgent.push(this.entries.length);
          this.entries.push({ number, isEvent, queued: place, priority, finished: isEvent ? place : Infinity, gone: Infinity });
          break;
        }
        case Side.PRIORITIZED: {
          for (let at = this.entries.length - 1; at >= leaving; at--) {
            const entry = this.entries[at]!;
            if (entry.number !== number) continue;
            entry.priority = place;
            this.urgent.push(at);
            break;
          }
          break;
        }
        case Side.SENT: {
          leaving = this.nextInLine(leaving);
          const at = kind === Kind.PRIORITY_EVENT ? (this.urgent.shift() ?? -1) : leaving;
          const entry = this.entries[at];
          const buffer = {
            number, isEvent, hasPriority: kind === Kind.PRIORITY_EVENT, bytes: columns.bytes![row]!, sent: place, received: Infinity, firstRead: Infinity,
            lastRead: Infinity, recycled: Infinity, entry: entry?.number ?? -1, entryAt: entry ? at : -1,
          };
          this.all.push(buffer);
          this.byNumber.set(number, buffer);
          if (columns.credits![row]! >= 0) push(this.credits, place, columns.credits![row]!);
          if (columns.whole![row] && entry) this.leave(at, place);
          if (columns.whole![row] && at === leaving) leaving++;
          break;
        }
        case Side.SKIPPED:
          leaving = this.nextInLine(leaving);
          if (columns.whole![row] && this.entries[leaving]) this.leave(leaving++, place);
          break;
        case Side.RECEIVED: {
          const buffer = this.byNumber.get(number);
          if (buffer) buffer.received = place;
          if (!isEvent) add(this.taken, place, 1);
          break;
        }
        case Side.RECYCLED: {
          const buffer = this.byNumber.get(number);
          if (buffer) buffer.recycled = place;
          break;
        }
      }
    }
    resetBefore(Infinity);
  }

  /** What the channel holds is lost, and its credits start anew. */
  private reset(place: number): void {
    for (const entry of this.entries) {
      entry.gone = Math.min(entry.gone, place);
      entry.finished = Math.min(entry.finished, place);
    }
    for (const buffer of this.all) {
      buffer.received = Math.min(buffer.received, place);
      if (!buffer.isEvent) buffer.recycled = Math.min(buffer.recycled, place);
    }
    this.byNumber.clear();
    push(this.backlog, place, 0);
    push(this.taken, place, 0);
  }

  /** The first entry from a place on that waits in line. */
  private nextInLine(at: number): number {
    while (at < this.entries.length && this.entries[at]!.priority < Infinity) at++;
    return at;
  }

  private leave(at: number, place: number): void {
    const entry = this.entries[at]!;
    entry.gone = place;
    if (entry.finished === Infinity) entry.finished = place;
  }

  private readCredits(facts: Facts, rows: number[]): void {
    const { places, columns } = facts.of("credits");
    let isSorted = true;
    let next = 0;
    for (const row of rows) {
      for (; next < this.resets.length && this.resets[next]! < places[row]!; next++) {
        push(this.granted, this.resets[next]!, 0);
        push(this.got, this.resets[next]!, 0);
      }
      const kind = columns.kind![row];
      const isOfSender = kind === Credit.GOT || kind === Credit.INITIAL_GOT;
      add(isOfSender ? this.got : this.granted, places[row]!, columns.credits![row]!);
      if (!isOfSender) continue;
      this.credits.places.push(places[row]!);
      this.credits.values.push(columns.balance![row]!);
      isSorted = false;
    }
    if (isSorted) return;
    const order = this.credits.places.map((_, at) => at);
    order.sort((one, other) => this.credits.places[one]! - this.credits.places[other]!);
    const { places: before, values } = this.credits;
    this.credits.places = order.map((at) => before[at]!);
    this.credits.values = order.map((at) => values[at]!);
  }

  /**
   * An element ends in the last entry that was queued before it, in the first part of it that was sent after it. A barrier
   * that may overtake is in no buffer; it has the position of the next element.
   */
  private readElements(facts: Facts, rows: ChannelRows): Elements {
    const sent = facts.of("sent");
    const { kind, position } = sent.columns;
    const none = () => new Int32Array(rows.sent.length).fill(-1);
    const found = { sent: Int32Array.from(rows.sent), received: none(), buffer: none(), bufferAt: none() };
    const data = [...this.all.keys()].filter((buffer) => !this.all[buffer]!.isEvent);
    const entries = [...this.entries.keys()].filter((entry) => !this.entries[entry]!.isEvent);
    const queued = entries.map((entry) => this.entries[entry]!.queued);
    const runs: { byPosition: number[]; barriers: Map<number, number> }[] = [];
    let entry = -1;
    let at = 0;
    for (let element = 0; element < found.sent.length; element++) {
      const row = found.sent[element]!;
      const place = sent.places[row]!;
      const { byPosition, barriers } = (runs[this.runAt(place)] ??= { byPosition: [], barriers: new Map() });
      while (queued[entry + 1]! < place) entry++;
      if (kind![row] === Element.UNALIGNED_BARRIER) {
        barriers.set(sent.columns.timestamp![row]!, element);
        continue;
      }
      byPosition[position![row]!] ??= element;
      const number = entries[entry] ?? -1;
      let buffer = this.all[data[at]!];
      while (buffer && (buffer.entryAt < number || buffer.sent < place)) buffer = this.all[data[++at]!];
      if (buffer?.entryAt !== number) continue;
      found.buffer[element] = buffer.number;
      found.bufferAt[element] = data[at]!;
    }
    this.readReceived(facts.of("received"), rows.received, runs, found);
    return found;
  }

  private readReceived(
    { places, columns }: Table,
    rows: number[],
    runs: { byPosition: number[]; barriers: Map<number, number> }[],
    found: Elements,
  ): void {
    const { kind, position } = columns;
    for (const row of rows) {
      const place = places[row]!;
      const run = runs[this.runAt(place)];
      const isBarrier = kind![row] === Element.UNALIGNED_BARRIER;
      const element = isBarrier ? run?.barriers.get(columns.timestamp![row]!) : run?.byPosition[position![row]!];
      if (element === undefined) continue;
      found.received[element] = row;
      const buffer = this.all[found.bufferAt[element]!];
      if (!buffer) continue;
      buffer.firstRead = Math.min(buffer.firstRead, place);
      buffer.lastRead = buffer.lastRead === Infinity ? place : Math.max(buffer.lastRead, place);
    }
  }
}

/** How many of the rows, which ascend, are at or before a place. */
export function countOf(rows: readonly number[], places: ArrayLike<number>, place: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (places[rows[middle]!]! <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function runningMaximum(values: number[]): number[] {
  let most = -Infinity;
  return values.map((value) => (most = Math.max(most, value)));
}

export interface ChannelRows {
  buffers: number[];
  credits: number[];
  sent: number[];
  received: number[];
}

/** All channels; each is read when it is first used. */
export class Channels {
  private readonly rows = new Map<number, ChannelRows>();
  private readonly read = new Map<number, ChannelFacts>();

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly attempts: Attempts,
  ) {
    for (const table of ["buffers", "credits", "sent", "received"] as const) {
      const { rows, columns } = facts.of(table);
      const { channel } = columns;
      for (let row = 0; row < rows; row++) this.rowsOf(channel![row]!)[table].push(row);
    }
  }

  of(channel: number): ChannelFacts {
    let found = this.read.get(channel);
    if (!found) {
      found = new ChannelFacts(channel, this.facts, this.rowsOf(channel), this.resetsOf(channel));
      this.read.set(channel, found);
    }
    return found;
  }

  /** The number of elements that the sender had written at a place, in its attempt; null: not in the report. */
  writtenUpTo(channel: number, place: number): number | null {
    return this.nextPosition("sent", channel, this.names.channels.get(channel)?.source ?? -1, place);
  }

  /** The number of elements that the receiver had read at a place, in its attempt, without restored ones. */
  readUpTo(channel: number, place: number): number | null {
    return this.nextPosition("received", channel, this.names.channels.get(channel)?.target ?? -1, place);
  }

  private nextPosition(table: "sent" | "received", channel: number, task: number, place: number): number | null {
    const { columns, places } = this.facts.of(table);
    const rows = this.rowsOf(channel)[table];
    const row = rows[countOf(rows, places, place) - 1];
    const first = Math.max(this.attempts.firstPlace(task, place), this.facts.beginOfPart(place, table));
    if (row === undefined || places[row]! < first) return this.facts.isWhole(table) ? 0 : null;
    // Restored elements are before position 0; a barrier that may overtake has the position of the next element.
    return Math.max(0, columns.position![row]! + (columns.kind![row] === Element.UNALIGNED_BARRIER ? 0 : 1));
  }

  /** The ends of attempts of its tasks, each followed by a restart. */
  private resetsOf(channel: number): number[] {
    const { source = -1, target = -1 } = this.names.channels.get(channel) ?? {};
    return [source, target].flatMap((task) => this.attempts.breaksOf(task)).sort((one, other) => one - other);
  }

  rowsOf(channel: number): ChannelRows {
    let found = this.rows.get(channel);
    if (!found) {
      found = { buffers: [], credits: [], sent: [], received: [] };
      this.rows.set(channel, found);
    }
    return found;
  }
}

function push(steps: Steps, place: number, value: number): void {
  steps.places.push(place);
  steps.values.push(value);
}

function add(sums: Steps, place: number, value: number): void {
  push(sums, place, (sums.values.at(-1) ?? 0) + value);
}

function sumAt(sums: Steps, place: number): number {
  return valueAt(sums, place) ?? 0;
}

export function valueAt(steps: Steps, place: number): number | null {
  const at = countUpTo(steps.places, place) - 1;
  return at < 0 ? null : steps.values[at]!;
}
