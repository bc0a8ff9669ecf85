/** The facts of a recording in causal order, as typed arrays. */

import { fromBase64, inflated, narrowed, undoDifferences, varints, type Ints } from "../decode";
import type { CauseDocument } from "./causes";
import type { Head, Section } from "./head";
import type { RulesOfSection } from "./rules";

const NONE = new Uint8Array(0);

/** One table: columns, and for each row the place of the fact among all facts of the report. */
export interface Table {
  readonly rows: number;
  readonly columns: Readonly<Record<string, Ints>>;
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
    steps: Record<string, Ints>,
    private readonly tables: Map<string, Table>,
    /** Keys as JSON, by number less 1. */
    readonly keys: readonly string[],
    /** Values of records as JSON, by number. */
    readonly records: ReadonlyMap<number, string>,
    /** By name: counts of a recording of which only parts are here, and the facts of the job's side, which have no task. */
    readonly counts: ReadonlyMap<string, Table>,
    /** Why records were late or not, as ``Causes`` reads it. */
    readonly explained: Readonly<Record<Explained, { document: CauseDocument; columns: Uint8Array }>>,
    /** The page of the rules of Flink. */
    readonly rules: readonly RulesOfSection[],
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
    const open = (section: Section) => inflated(bytes.slice(section.offset, section.offset + section.bytes));
    const { steps: stepsSection, records: recordsSection, keys: keysSection, record_times: timesSection, causes: causesSection, cause_columns: columnsSection, arrivals: arrivalsSection, arrival_columns: arrivalColumnsSection, rules: rulesSection, ...others } = head.sections as Record<string, Section>;
    const isFacts = (name: string) => others[name]!.coverage !== "overview" && others[name]!.coverage !== "job";
    const chosen = (wanted: (name: string) => boolean) => Object.fromEntries(Object.entries(others).filter(([name]) => wanted(name)));
    const sections = chosen(isFacts);
    const counts = new Map<string, Table>();
    for (const [name, section] of Object.entries(chosen((one) => !isFacts(one)))) {
      counts.set(name, { rows: section.rows, columns: decodeColumns(section, await open(section), {}, null), places: EMPTY.places });
    }
    const [steps, texts, keys, times, causes, causeColumns, arrivals, arrivalColumns, rules, ...opened] = await Promise.all([
      open(stepsSection!).then((data) => decodeColumns(stepsSection!, data, {}, null)),
      open(recordsSection!).then((data) => json<Texts>(data)),
      open(keysSection!).then((data) => json<string[]>(data)),
      open(timesSection!).then((data) => decodeColumns(timesSection!, data, {}, null).timestamp!),
      open(causesSection!).then((data) => json<CauseDocument>(data)),
      open(columnsSection!),
      open(arrivalsSection!).then((data) => json<CauseDocument>(data)),
      open(arrivalColumnsSection!),
      open(rulesSection!).then((data) => json<RulesOfSection[]>(data)),
      ...Object.values(sections).map(open),
    ]);
    const places = placesByTable(steps.table ?? NONE, head.table_names.length);
    const tables = new Map<string, Table>();
    // ``received`` is given less ``sent``.
    const names = Object.keys(sections);
    for (const name of names.sort((one, other) => Number(one === "received") - Number(other === "received"))) {
      const section = sections[name]!;
      const of = places[head.table_names.indexOf(name)]!;
      const tasks = Uint32Array.from(of, (place) => steps.task![place]!);
      const sent = name === "received" ? (tables.get("sent") ?? EMPTY) : null;
      const columns = decodeColumns(section, opened[Object.keys(sections).indexOf(name)]!, { task: tasks }, sent);
      if (WITH_RECORDS.includes(name)) addTimes(columns, times);
      tables.set(name, { rows: section.rows, columns, places: of });
    }
    const records = new Map(texts.numbers.map((number, at) => [number, texts.texts[at]!]));
    const explained = {
      late_drop: { document: causes, columns: causeColumns },
      window_intake: { document: arrivals, columns: arrivalColumns },
    };
    return new Facts(head.table_names, steps, tables, keys, records, counts, explained, rules, head);
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

function decodeColumns(
  section: Section,
  data: Uint8Array,
  groups: Record<string, Ints>,
  sent: Table | null,
): Record<string, Ints> {
  const columns: Record<string, Ints> = {};
  const waiting: { name: string; encoding: string; values: Float64Array }[] = [];
  let offset = 0;
  for (const { name, encoding, bytes } of section.columns ?? []) {
    waiting.push({ name, encoding, values: varints(data, offset, bytes, section.rows) });
    offset += bytes;
  }
  // Columns that other columns are grouped by come first.
  const known: Record<string, Ints> = { ...groups };
  while (waiting.length) {
    if (known.record && groups.task) known.task_and_record ??= recordsApart(groups.task, known.record);
    const at = waiting.findIndex(({ encoding }) => encoding === "values" || encoding === "differences" || encoding in known);
    const { name, encoding, values } = waiting.splice(at, 1)[0]!;
    if (encoding !== "values") undoDifferences(values, known[encoding] ?? null);
    columns[name] = known[name] = narrowed(values);
  }
  return sent ? plusSent(columns, sent) : columns;
}

/** The group of rows of one task with records, and without. */
function recordsApart(tasks: Ints, records: Ints): Ints {
  return Uint32Array.from(tasks, (task, row) => task * 2 + (records[row]! > 0 ? 1 : 0));
}

/** Timestamps of these tables are given less those of the records. */
const WITH_RECORDS = ["sent", "window_intake", "late_drop", "async_elements"];

function addTimes(columns: Record<string, Ints>, times: Ints): void {
  const { timestamp, record } = columns;
  const sum = (less: number, row: number) => (record![row] ? less + times[record![row]! - 1]! : less);
  columns.timestamp = narrowed(Float64Array.from(timestamp!, sum));
}

function plusSent(received: Record<string, Ints>, sent: Table): Record<string, Ints> {
  const at = sentOf(received, sent);
  for (const name of ["kind", "timestamp", "record"]) {
    const less = received[name];
    const base = sent.columns[name];
    if (!less || !base) continue;
    received[name] = narrowed(Float64Array.from(less, (value, row) => (at[row]! < 0 ? value : value + base[at[row]!]!)));
  }
  return received;
}

/** For each received element the row of the sent one at the same position of its channel, or -1. */
export function sentOf(received: Readonly<Record<string, Ints>>, sent: Table): Int32Array {
  const channels = sent.columns.channel ?? NONE;
  const positions = sent.columns.position ?? NONE;
  const known: number[][] = [];
  for (let row = 0; row < sent.rows; row++) {
    const ofChannel = (known[channels[row]!] ??= []);
    ofChannel[positions[row]!] ??= row;
  }
  const ofPosition = received.position ?? NONE;
  return Int32Array.from(received.channel ?? NONE, (channel, row) => known[channel]?.[ofPosition[row]!] ?? -1);
}
