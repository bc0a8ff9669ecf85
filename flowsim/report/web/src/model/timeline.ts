/** What each subtask did over time: actions and waits, mails, timers, elements of async operators, snapshots, checkpoints. */

import type { Attempts } from "./attempts";
import type { Checkpoints } from "./checkpoints";
import { countUpTo, type Facts, type Table } from "./facts";
import { Async, Element, Phase, Timer, Wait, OUTPUT_FULL } from "./kinds";

export const TRACKS = ["actions", "mails", "timers", "async", "snapshots", "checkpoints"] as const;
export type TrackName = (typeof TRACKS)[number];
const TABLES: Record<TrackName, string[]> = {
  actions: ["actions"],
  mails: ["mails"],
  timers: ["timers", "system_timers"],
  async: ["async_elements"],
  snapshots: ["snapshots"],
  checkpoints: ["checkpoint_steps"],
};

/** What a part of a thing is; the viewer has a colour and words for each. */
export const PARTS = [
  "life_cycle", "default_action", "mail", "lock_holder",
  "cost", "wait_input", "wait_output", "wait_buffer", "wait_mail", "yield", "lock",
  "wait_checkpoint", "in_mailbox", "event_timer", "processing_timer", "queued", "call", "retry", "result", "snapshot", "snapshot_inside",
  "alignment", "sync", "async",
] as const;
export type Part = (typeof PARTS)[number];
const PART = Object.fromEntries(PARTS.map((name, number) => [name, number])) as Record<Part, number>;
const OF_ACTION = [PART.life_cycle, PART.default_action, PART.mail, PART.lock_holder];

const MOST_ROWS = 6;

export const Outcome = { OPEN: 0, ENDED: 1, CANCELED: 2 };

/** Things with a begin and an end; rows hold things that do not overlap, in the order of their begin. */
export class Track {
  readonly begin: number[] = [];
  /** Infinity: no end was recorded. */
  readonly end: number[] = [];
  /** Its number in the facts: of the action, the mail, the element. */
  readonly number: number[] = [];
  readonly outcome: number[] = [];
  rows: number[][] = [];
  /** The parts of thing ``n`` are those from ``firstPart[n]`` to ``firstPart[n + 1]``. */
  firstPart: number[] = [];
  private places: number[] = [];
  private kinds: number[] = [];
  private owners: number[] = [];
  private sortedEnds = new Float64Array(0);
  private most: number | undefined;

  constructor(readonly name: TrackName) {}

  get count(): number {
    return this.begin.length;
  }

  start(place: number, number: number, kind: number): number {
    this.begin.push(place);
    this.end.push(Infinity);
    this.number.push(number);
    this.outcome.push(Outcome.OPEN);
    this.continue(this.count - 1, place, kind);
    return this.count - 1;
  }

  continue(thing: number, place: number, kind: number): void {
    this.owners.push(thing);
    this.places.push(place);
    this.kinds.push(kind);
  }

  finish(thing: number, place: number, outcome = Outcome.ENDED): void {
    this.end[thing] = place;
    this.outcome[thing] = outcome;
  }

  /** Ends what is open where a report that has only parts of the facts has no more of them. */
  endWithPart(endOfPart: (place: number) => number): void {
    this.end.forEach((end, thing) => {
      if (end === Infinity) this.end[thing] = endOfPart(this.begin[thing]!);
    });
  }

  /** Groups the parts by thing, and gives each thing the first row that is free. */
  arrange(rowOf?: readonly number[]): this {
    const order = this.owners.map((_, at) => at).sort((one, other) => this.owners[one]! - this.owners[other]! || one - other);
    const [places, kinds] = [this.places, this.kinds];
    this.places = order.map((at) => places[at]!);
    this.kinds = order.map((at) => kinds[at]!);
    const owners = order.map((at) => this.owners[at]!);
    owners.forEach((owner, at) => (this.firstPart[owner] ??= at));
    this.firstPart.push(owners.length);
    this.sortedEnds = Float64Array.from(this.end.filter(Number.isFinite)).sort();
    const ends: number[] = [];
    for (let thing = 0; thing < this.count; thing++) {
      let row = rowOf ? rowOf[thing]! : ends.findIndex((end) => end <= this.begin[thing]!);
      if (row < 0) row = ends.length;
      if (!rowOf && row >= MOST_ROWS) {
        this.rows = [];
        return this;
      }
      ends[row] = this.end[thing]!;
      (this.rows[row] ??= []).push(thing);
    }
    for (let row = 0; row < this.rows.length; row++) this.rows[row] ??= [];
    return this;
  }

  /** More things are open at once than rows are drawn: the track has no rows, and is drawn as a number over time. */
  get isCrowded(): boolean {
    return this.count > 0 && this.rows.length === 0;
  }

  /** The number of things that are open at a place. */
  openCount(place: number): number {
    return countUpTo(this.begin, place) - countUpTo(this.sortedEnds, place);
  }

  /** The highest number of things that were open at once. */
  get mostOpen(): number {
    this.most ??= this.begin.reduce((most, place) => Math.max(most, this.openCount(place)), 0);
    return this.most;
  }

  part(at: number): Part {
    return PARTS[this.kinds[at]!]!;
  }

  /** Where a part begins. */
  placeOfPart(at: number): number {
    return this.places[at]!;
  }

  /** Where a part of a thing ends. */
  endOfPart(thing: number, at: number): number {
    return at + 1 < this.firstPart[thing + 1]! ? this.places[at + 1]! : this.end[thing]!;
  }

  /** The part of a thing at a place. */
  partAt(thing: number, place: number): Part {
    let at = this.firstPart[thing]!;
    while (at + 1 < this.firstPart[thing + 1]! && this.places[at + 1]! <= place) at++;
    return this.part(at);
  }

  /** The thing of a row at a place, or -1. */
  thingAt(row: number, place: number): number {
    const things = this.rows[row] ?? [];
    const thing = things[this.lastBegun(things, place)] ?? -1;
    return thing >= 0 && this.end[thing]! > place ? thing : -1;
  }

  /** The things that have begun at a place and not ended, in the order of their rows. */
  openAt(place: number): number[] {
    return this.rows.map((_, row) => this.thingAt(row, place)).filter((thing) => thing >= 0);
  }

  /** The index of the last thing of a row that begins at or before a place, or -1. */
  lastBegun(things: readonly number[], place: number): number {
    let low = 0;
    let high = things.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.begin[things[middle]!]! <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Rows of a table by task: each task's in their order. */
type RowsOfTasks = Map<number, number[]>;

/** The tracks of all subtasks; each is read when it is first used. */
export class Timeline {
  private readonly rows = new Map<string, RowsOfTasks>();
  private readonly read = new Map<string, Track>();

  constructor(
    private readonly facts: Facts,
    private readonly attempts: Attempts,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** The tracks that have facts. */
  get names(): TrackName[] {
    return TRACKS.filter((name) => (name === "checkpoints" ? this.checkpoints.hasTasks : TABLES[name].some((table) => this.facts.of(table).rows > 0)));
  }

  track(task: number, name: TrackName): Track {
    const key = `${name} ${task}`;
    let found = this.read.get(key);
    if (!found) {
      found = this.readTrack(task, name);
      if (!TABLES[name].every((table) => !this.facts.has(table) || this.facts.isWhole(table))) found.endWithPart((place) => this.facts.endOfPart(place));
      if (name !== "actions") found.arrange();
      this.read.set(key, found);
    }
    return found;
  }

  /** The number of open things per track, as tests read it. */
  openAt(task: number, place: number): Record<string, number> {
    return Object.fromEntries(this.names.map((name) => [name, this.track(task, name).openCount(place)]));
  }

  private rowsOf(task: number, table: string): number[] {
    let found = this.rows.get(table);
    if (!found) {
      found = new Map();
      const { rows, places } = this.facts.of(table);
      for (let row = 0; row < rows; row++) {
        const of = this.facts.task[places[row]!]!;
        const known = found.get(of);
        if (known) known.push(row);
        else found.set(of, [row]);
      }
      this.rows.set(table, found);
    }
    return found.get(task) ?? [];
  }

  private readTrack(task: number, name: TrackName): Track {
    const of = (table: string): [Table, number[]] => [this.facts.of(table), this.rowsOf(task, table)];
    switch (name) {
      case "actions": return actionsOf(...of("actions"), this.attempts.breaksOf(task));
      case "mails": return mailsOf(...of("mails"), this.attempts.breaksOf(task));
      case "timers": return timersOf(of("timers"), of("system_timers"), this.attempts.breaksOf(task));
      case "async": return elementsOf(...of("async_elements"), this.attempts.breaksOf(task));
      case "checkpoints": return checkpointsOf(this.checkpoints, task);
      case "snapshots": return snapshotsOf(this.facts, ...of("snapshots"));
    }
  }
}

/** Actions and waits enclose each other: the row is the depth. ``ends``: of attempts, after which nothing is open. */
function actionsOf({ columns, places }: Table, rows: number[], ends: readonly number[]): Track {
  const { phase, kind, priority, action } = columns;
  const track = new Track("actions");
  const open: number[] = [];
  const depths: number[] = [];
  let ended = 0;
  for (const row of rows) {
    for (; ended < ends.length && ends[ended]! < places[row]!; ended++) {
      for (const thing of open.splice(0)) track.finish(thing, ends[ended]!, Outcome.CANCELED);
    }
    if (phase![row] === Phase.BEGIN || phase![row] === Phase.WAIT) {
      const part = phase![row] === Phase.BEGIN ? OF_ACTION[kind![row]!]! : waitOf(kind![row]!, priority![row]!, open.length);
      depths.push(open.length);
      open.push(track.start(places[row]!, action![row]!, part));
    } else {
      const thing = open.pop();
      if (thing !== undefined) track.finish(thing, places[row]!);
    }
  }
  return track.arrange(depths);
}

function waitOf(kind: number, priority: number, depth: number): number {
  if (priority === OUTPUT_FULL) return PART.wait_output;
  switch (kind) {
    case Wait.COST: return PART.cost;
    case Wait.MAIL: return depth === 0 ? PART.wait_input : PART.wait_mail;
    case Wait.BUFFER: return PART.wait_buffer;
    case Wait.YIELD: return PART.yield;
    case Wait.CHECKPOINT: return PART.wait_checkpoint;
    default: return PART.lock;
  }
}

/** From the mailbox's receiving a mail to the begin of its action. */
function mailsOf({ columns, places }: Table, rows: number[], ends: readonly number[]): Track {
  const track = new Track("mails");
  const waiting = new Map<number, number>();
  const endBefore = endings(track, waiting, ends);
  for (const row of rows) {
    endBefore(places[row]!);
    const mail = columns.mail![row]!;
    if (columns.action![row] === 0) waiting.set(mail, track.start(places[row]!, mail, PART.in_mailbox));
    else finish(track, waiting, mail, places[row]!, Outcome.ENDED);
  }
  return track;
}

function timersOf(
  [keyed, keyedRows]: [Table, number[]], [system, systemRows]: [Table, number[]], ends: readonly number[],
): Track {
  const track = new Track("timers");
  const known = new Map<string, number>();
  const endBefore = endings(track, known, ends);
  const change = (identity: string, action: number, place: number, number: number, part: number) => {
    endBefore(place);
    if (action !== Timer.REGISTER) {
      finish(track, known, identity, place, action === Timer.FIRE ? Outcome.ENDED : Outcome.CANCELED);
    } else if (!known.has(identity)) known.set(identity, track.start(place, number, part));
  };
  const ofKeyed = (row: number) => {
    const { operator, service, domain, timestamp, key, window_start, window_end, action } = keyed.columns;
    const identity = [operator, service, domain, timestamp, key, window_start, window_end].map((column) => column![row]);
    const part = domain![row] === 0 ? PART.event_timer : PART.processing_timer;
    change(identity.join(" "), action![row]!, keyed.places[row]!, timestamp![row]!, part);
  };
  const ofSystem = (row: number) => {
    const { operator, kind, entry, action, timestamp } = system.columns;
    const identity = `s ${operator![row]} ${kind![row]} ${entry![row]}`;
    change(identity, action![row]!, system.places[row]!, timestamp![row]!, PART.processing_timer);
  };
  // Both ascend by place.
  let next = 0;
  for (const row of keyedRows) {
    while (next < systemRows.length && system.places[systemRows[next]!]! < keyed.places[row]!) ofSystem(systemRows[next++]!);
    ofKeyed(row);
  }
  for (; next < systemRows.length; next++) ofSystem(systemRows[next]!);
  return track;
}

/** From the queue's receiving an element to its emission; in between the calls of the function. */
function elementsOf({ columns, places }: Table, rows: number[], ends: readonly number[]): Track {
  const { operator, entry, action, kind } = columns;
  const track = new Track("async");
  const known = new Map<string, number>();
  const endBefore = endings(track, known, ends);
  for (const row of rows) {
    endBefore(places[row]!);
    const identity = `${operator![row]} ${entry![row]}`;
    const place = places[row]!;
    const thing = known.get(identity);
    if (thing === undefined) {
      const part = action![row] === Async.INVOKE ? PART.call : kind![row] === Element.WATERMARK ? PART.result : PART.queued;
      known.set(identity, track.start(place, entry![row]!, part));
      continue;
    }
    switch (action![row]) {
      case Async.INVOKE: track.continue(thing, place, PART.call); break;
      case Async.RETRY: track.continue(thing, place, PART.retry); break;
      case Async.COMPLETE: track.continue(thing, place, PART.result); break;
      case Async.TIMEOUT: track.continue(thing, place, PART.result); break;
      case Async.FAIL: finish(track, known, identity, place, Outcome.CANCELED); break;
      case Async.EMIT: finish(track, known, identity, place, Outcome.ENDED); break;
    }
  }
  return track;
}

/** From the request to the snapshot; one per operator. */
function snapshotsOf(facts: Facts, { columns, places }: Table, rows: number[]): Track {
  const track = new Track("snapshots");
  const begin = (row: number) => Math.min(facts.placeAt(columns.requested_ns![row]!), places[row]!);
  for (const row of [...rows].sort((one, other) => begin(one) - begin(other))) {
    const requested = begin(row);
    const thing = track.start(requested, columns.operator![row]!, columns.inside![row] ? PART.snapshot_inside : PART.snapshot);
    track.finish(thing, places[row]!);
  }
  return track;
}

/** From the first barrier to the acknowledgement: alignment, synchronous part, asynchronous part. */
function checkpointsOf(checkpoints: Checkpoints, task: number): Track {
  const track = new Track("checkpoints");
  for (const one of checkpoints.ofTask(task)) {
    const begin = Math.min(one.begin, one.syncStart, one.declined);
    if (begin === Infinity) continue;
    const thing = track.start(begin, one.checkpoint, PART.alignment);
    if (one.syncStart < Infinity) track.continue(thing, one.syncStart, PART.sync);
    if (one.syncEnd < Infinity) track.continue(thing, one.syncEnd, PART.async);
    const end = Math.min(one.acknowledged, one.declined, one.lost);
    if (end < Infinity) track.finish(thing, end, end === one.acknowledged ? Outcome.ENDED : Outcome.CANCELED);
  }
  return track;
}

/** What ends the open things of an attempt before the first fact of the next one. */
function endings<Key>(track: Track, known: Map<Key, number>, ends: readonly number[]): (place: number) => void {
  let ended = 0;
  return (place) => {
    for (; ended < ends.length && ends[ended]! < place; ended++) {
      for (const thing of known.values()) track.finish(thing, ends[ended]!, Outcome.CANCELED);
      known.clear();
    }
  };
}

function finish<Key>(track: Track, known: Map<Key, number>, key: Key, place: number, outcome: number): void {
  const thing = known.get(key);
  if (thing === undefined) return;
  track.finish(thing, place, outcome);
  known.delete(key);
}
