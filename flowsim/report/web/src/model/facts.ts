/** The facts of a recording in causal order, as typed arrays. */

import { fromBase64, inflated, narrowed, type Ints } from "../decode";
import type { CauseDocument } from "./causes";
import { columnsOf, once, type Columns } from "./columns";
import type { Head } from "./head";
import type { RulesOfSection } from "./rules";

const NONE = new Uint8Array(0);

/** One table: columns, and for each row the place of the fact among all facts of the report. */
export interface Table {
  readonly rows: number;
  readonly columns: Columns;
  readonly places: Uint32Array;
}

/** Tables of records of which the report says why they were late, or not. */
export type Explained = "late_drop" | "window_intake";

const EMPTY: Table = { rows: 0, columns: {}, places: new Uint32Array(0) };

/**
 * A fact is known by its *place*, its number among the facts of this report. Its *step* is its number among all facts of
 * the recording: the same in every report of it, so links use it.
 */
export class Facts {
  readonly count: number;
  /** Times since the start of the run, in ns; they never decrease. */
  readonly time: Ints;
  readonly task: Ints;
  /** Number of the table in ``tableNames``, and the row in it. */
  readonly table: Ints;
  readonly row: Uint32Array;
  readonly step: Ints;
  private readonly ofTask = new Map<number, Uint32Array>();

  private constructor(
    readonly tableNames: readonly string[],
    steps: Columns,
    private readonly tables: Map<string, Table>,
    /** Keys as JSON, by number less 1. */
    readonly keys: readonly string[],
    /** Values of records as JSON, by number. */
    readonly records: () => ReadonlyMap<number, string>,
    /** By name: counts of a recording of which only parts are here, and the facts of the job's side, which have no task. */
    readonly counts: ReadonlyMap<string, Table>,
    /** Why records were late or not, as ``Causes`` reads it. */
    readonly explained: Readonly<Record<Explained, { document: CauseDocument; columns: Uint8Array }>>,
    /** The page of the rules of Flink. */
    readonly rules: () => readonly RulesOfSection[],
    private readonly head: Head,
  ) {
    this.step = steps.step ?? NONE;
    this.time = steps.time ?? NONE;
    this.task = steps.task ?? NONE;
    this.table = steps.table ?? NONE;
    this.count = this.step.length;
    this.row = new Uint32Array(this.count);
    for (const table of tables.values()) {
      for (let row = 0; row < table.rows; row++) this.row[table.places[row]!] = row;
    }
  }

  static async read(head: Head, body: string): Promise<Facts> {
    const bytes = fromBase64(body.trim());
    const names = Object.keys(head.sections);
    const opened = await Promise.all(names.map((name) => {
      const { offset, bytes: length } = head.sections[name]!;
      return inflated(bytes.slice(offset, offset + length));
    }));
    const data = (name: string) => opened[names.indexOf(name)]!;
    const columns = (name: string) => columnsOf(head.sections[name]!, data(name));
    const steps = columns("steps");
    const tables = tablesOf(head, steps, data);
    const counts = new Map<string, Table>();
    for (const name of names) {
      const { rows, coverage } = head.sections[name]!;
      if (isCounted(coverage)) counts.set(name, { rows, columns: columns(name), places: EMPTY.places });
    }
    const records = once(() => {
      const { numbers, texts } = json<Texts>(data("records"));
      return new Map(numbers.map((number, at) => [number, texts[at]!]));
    });
    const explained = {
      late_drop: { document: json<CauseDocument>(data("causes")), columns: data("cause_columns") },
      window_intake: { document: json<CauseDocument>(data("arrivals")), columns: data("arrival_columns") },
    };
    const rules = once(() => json<RulesOfSection[]>(data("rules")));
    return new Facts(head.table_names, steps, tables, json<string[]>(data("keys")), records, counts, explained, rules, head);
  }

  of(name: string): Table {
    return this.tables.get(name) ?? EMPTY;
  }

  has(name: string): boolean {
    return this.tables.has(name);
  }

  nameAt(place: number): string {
    return this.tableNames[this.table[place]!]!;
  }

  /** The place of a step, or of the last fact before it. */
  placeOfStep(step: number): number {
    return Math.max(0, countUpTo(this.step, step) - 1);
  }

  /** The place of a fact of a task by its seq, which is its number in the task; undefined if it is not here. */
  placeOf(task: number, seq: number): number | undefined {
    if (this.head.omitted.some((name) => this.tableNames.includes(name))) return undefined;
    const places = this.placesOf(task);
    if (this.head.parts === null) return places[seq];
    for (const { first, end, seqs } of this.head.parts) {
      const number = seq - (seqs[task] ?? Infinity);
      if (number < 0) continue;
      // Before the part only facts of tables that are whole are here.
      let before = 0;
      while (before < places.length && this.step[places[before]!]! < first) before++;
      const place = places[before + number];
      if (place !== undefined && this.step[place]! < end) return place;
    }
    return undefined;
  }

  /** Whether the report has every fact of a table. In a report of parts, a table without facts may have some elsewhere. */
  isWhole(name: string): boolean {
    const section = this.head.sections[name];
    return section ? section.coverage !== "parts" : this.head.parts === null;
  }

  /** The places before which facts are not here: the begins of exact parts, and what follows them. */
  get gaps(): number[] {
    const found = (this.head.parts ?? []).flatMap(({ first, end }) => [first, end]).filter((step) => step > 0);
    return found.map((step) => countUpTo(this.step, step - 1));
  }

  /** The last place of the exact part around a place; the place itself outside of all parts. */
  endOfPart(place: number): number {
    const step = this.step[place]!;
    const part = this.head.parts?.find((one) => one.first <= step && step < one.end);
    return part ? this.placeOfStep(part.end - 1) : place;
  }

  /** The first place of the exact part around a place, if the table has facts only in parts; otherwise 0. */
  beginOfPart(place: number, table: string): number {
    if (this.isWhole(table)) return 0;
    const step = this.step[place]!;
    const part = this.head.parts?.find((one) => one.first <= step && step < one.end);
    return part ? countUpTo(this.step, part.first - 1) : place;
  }

  /** The last place at or before a time. */
  placeAt(time: number): number {
    return Math.max(0, countUpTo(this.time, time) - 1);
  }

  /** The places of the facts of a task, in their order. */
  placesOf(task: number): Uint32Array {
    let found = this.ofTask.get(task);
    if (!found) {
      let count = 0;
      for (let place = 0; place < this.count; place++) if (this.task[place] === task) count++;
      found = new Uint32Array(count);
      count = 0;
      for (let place = 0; place < this.count; place++) if (this.task[place] === task) found[count++] = place;
      this.ofTask.set(task, found);
    }
    return found;
  }

  /** When the run begins in the report: at its first fact, or in a report of counts and parts at its start. */
  get begin(): number {
    return this.head.parts ? 0 : (this.time[0] ?? 0);
  }

  get end(): number {
    return this.count ? this.time[this.count - 1]! : 0;
  }
}

function json<T>(data: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(data)) as T;
}

interface Texts {
  numbers: number[];
  texts: string[];
}

/** The number of sorted values that are not above a limit. */
export function countUpTo(values: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function placesByTable(tables: Ints, count: number): Uint32Array[] {
  const counts = new Array<number>(count).fill(0);
  for (let place = 0; place < tables.length; place++) counts[tables[place]!]!++;
  const found = counts.map((rows) => new Uint32Array(rows));
  counts.fill(0);
  for (let place = 0; place < tables.length; place++) {
    const table = tables[place]!;
    found[table]![counts[table]!++] = place;
  }
  return found;
}

/** Sections that are no table of facts. */
const OTHERS = ["steps", "records", "keys", "record_times", "causes", "cause_columns", "arrivals", "arrival_columns", "rules"];
/** Timestamps of these tables are given less those of the records. */
const WITH_RECORDS = ["sent", "window_intake", "late_drop", "async_elements"];
/** Columns of ``received`` that are given less those of ``sent``. */
const SENT = ["kind", "timestamp", "record"];

function isCounted(coverage: string | undefined): boolean {
  return coverage === "overview" || coverage === "job";
}

function tablesOf(head: Head, steps: Columns, data: (name: string) => Uint8Array): Map<string, Table> {
  const tables = new Map<string, Table>();
  const places = placesByTable(steps.table ?? NONE, head.table_names.length);
  const times = once(() => columnsOf(head.sections.record_times!, data("record_times")).timestamp!);
  for (const [name, section] of Object.entries(head.sections)) {
    if (OTHERS.includes(name) || isCounted(section.coverage)) continue;
    const of = places[head.table_names.indexOf(name)]!;
    const task = once(() => valuesAt(steps.task!, of));
    const groups = { task, task_and_record: () => recordsApart(task(), columns.record!) };
    const sent = once(() => sentOf(columns, tables.get("sent") ?? EMPTY));
    const changes: Record<string, (given: Ints) => Ints> = {};
    if (WITH_RECORDS.includes(name)) changes.timestamp = (given) => plusTimes(given, columns.record!, times());
    if (name === "received") {
      for (const one of SENT) changes[one] = (given) => plusSent(given, sent(), tables.get("sent")?.columns[one]);
    }
    const columns: Columns = columnsOf(section, data(name), groups, changes);
    tables.set(name, { rows: section.rows, columns, places: of });
  }
  return tables;
}

function valuesAt(values: Ints, places: Uint32Array): Uint32Array {
  const found = new Uint32Array(places.length);
  for (let row = 0; row < found.length; row++) found[row] = values[places[row]!]!;
  return found;
}

/** The group of rows of one task with records, and without. */
function recordsApart(tasks: Ints, records: Ints): Ints {
  const found = new Uint32Array(tasks.length);
  for (let row = 0; row < found.length; row++) found[row] = tasks[row]! * 2 + (records[row]! > 0 ? 1 : 0);
  return found;
}

function plusTimes(given: Ints, records: Ints, times: Ints): Ints {
  const found = Float64Array.from(given);
  for (let row = 0; row < found.length; row++) if (records[row]!) found[row]! += times[records[row]! - 1]!;
  return narrowed(found);
}

/** ``at``: as ``sentOf`` returns it. */
function plusSent(given: Ints, at: Int32Array, sent: Ints | undefined): Ints {
  if (!sent) return given;
  const found = Float64Array.from(given);
  for (let row = 0; row < found.length; row++) if (at[row]! >= 0) found[row]! += sent[at[row]!]!;
  return narrowed(found);
}

/** For each received element the row of the sent one at the same position of its channel, or -1. */
export function sentOf(received: Columns, sent: Table): Int32Array {
  const channels = sent.columns.channel ?? NONE;
  const positions = sent.columns.position ?? NONE;
  const known: number[][] = [];
  for (let row = 0; row < sent.rows; row++) {
    const ofChannel = (known[channels[row]!] ??= []);
    ofChannel[positions[row]!] ??= row;
  }
  const { channel = NONE, position = NONE } = received;
  const found = new Int32Array(channel.length);
  for (let row = 0; row < found.length; row++) found[row] = known[channel[row]!]?.[position[row]!] ?? -1;
  return found;
}
