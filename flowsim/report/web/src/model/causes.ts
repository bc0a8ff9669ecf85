/** Why records were late, or not although they were behind the watermark: what ``flowsim why`` says, as flowsim/report/causes.py writes it. */

import { undoDifferences, varints } from "../decode";
import { once } from "./columns";
import { countUpTo, type Explained, type Facts } from "./facts";
import type { Names } from "./names";
import { count, eventTime, eventTimeSpan, moment, windowText } from "./text";

/** Encoding, the column that this one is given less of, and where its bytes are. */
type Column = [encoding: string, base: string | null, offset: number, bytes: number];
/** Text, and for a quantity the name of its kind. */
type Words = (string | [kind: string])[];

interface Wording {
  rows: number;
  words: Words;
  rules: string[];
  lines: Words[];
  task: number | null;
  channel: number | null;
  columns: Column[];
}

export interface CauseDocument {
  /** Records, the first ones. */
  rows: number;
  /** Their rows in the table of the fact that the statement is about, ascending. */
  of: Column;
  shape_of: Column;
  shapes: { wordings: number[]; links: Column[] }[];
  wordings: Wording[];
  /** The wordings of statements: other causes are given less their facts. */
  statements: number[];
}

export interface Cause {
  text: string;
  rules: string[];
  details: string[];
  /** The fact that shows it. */
  task: number | null;
  seq: number | null;
  /** null: it is not in the report. */
  place: number | null;
  channel: number | null;
}

export interface Chain {
  statement: Cause;
  /** Each one is the cause of the one before it. */
  causes: Cause[];
}

export class Causes {
  private readonly read = once(() => new Explanations(this.facts, this.table));

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    /** The table of the facts that statements are about. */
    private readonly table: Explained,
  ) {}

  /** null: the report has none. ``place``: of the fact that the statement is about. */
  at(place: number): Chain | null {
    if (this.facts.nameAt(place) !== this.table) return null;
    const read = this.read();
    const record = countUpTo(read.rows, this.facts.row[place]!) - 1;
    if (read.rows[record] !== this.facts.row[place]) return null;
    const [statement, ...causes] = read.linksOf(record).map(([wording, link]) => this.cause(read, wording, link));
    return { statement: statement!, causes };
  }

  private cause(read: Explanations, number: number, row: number): Cause {
    const { words, rules, lines, task, channel } = this.facts.explained[this.table].document.wordings[number]!;
    const values = read.tables[number]!.map((column) => column[row]!);
    const next = () => values.shift()!;
    const text = this.text(words, next);
    const details = lines.map((line) => this.text(line, next));
    const seq = values.length ? next() : null;
    const place = task === null || seq === null ? null : (this.facts.placeOf(task, seq) ?? null);
    return { text, rules, details, task, seq, place, channel };
  }

  private text(words: Words, next: () => number): string {
    return words.map((part) => (typeof part === "string" ? part : this.quantity(part[0], next))).join("");
  }

  private quantity(kind: string, next: () => number): string {
    switch (kind) {
      case "EventTime": return eventTime(next());
      case "EventTimeSpan": return eventTimeSpan(next());
      case "Moment": return moment(next());
      case "RecordCount": return count(next(), "record");
      case "Window": return windowText(next(), next());
      case "RecordValue": return this.names.record(next()) || "(its value is not in the report)";
      case "KeyValue": return this.names.key(next());
      default: throw new Error(`the report has a quantity of kind ${kind}, which this page does not know`);
    }
  }
}

/** The decoded columns of the explanations of one table. */
class Explanations {
  /** By record its row in the table, its shape, and its row in that. */
  readonly rows: Float64Array;
  private readonly shapeOf: Float64Array;
  private readonly rowInShape: Uint32Array;
  private readonly links: Float64Array[][];
  readonly tables: Float64Array[][];

  constructor(
    private readonly facts: Facts,
    private readonly table: Explained,
  ) {
    const { document } = facts.explained[table];
    this.rows = this.column(document.of, document.rows, null);
    this.shapeOf = this.column(document.shape_of, document.rows, null);
    const counts = document.shapes.map(() => 0);
    this.rowInShape = Uint32Array.from(this.shapeOf, (shape) => counts[shape]!++);
    this.links = document.shapes.map(({ links }, shape) => links.map((about) => this.column(about, counts[shape]!, null)));
    this.tables = this.readTables(document);
  }

  linksOf(record: number): [wording: number, row: number][] {
    const shape = this.shapeOf[record]!;
    const { wordings } = this.facts.explained[this.table].document.shapes[shape]!;
    return wordings.map((wording, at) => [wording, this.links[shape]![at]![this.rowInShape[record]!]!]);
  }

  private readTables({ wordings, statements, rows }: CauseDocument): Float64Array[][] {
    // Rows are numbered by the first record that has them.
    const first = wordings.map((): number[] => []);
    for (let record = 0; record < rows; record++) {
      for (const [wording, link] of this.linksOf(record)) if (link === first[wording]!.length) first[wording]!.push(record);
    }
    const { columns: given } = this.facts.of(this.table);
    const base = (name: string, record: number) => given[name]?.[this.rows[record]!];
    const behind = (record: number) => base("watermark", record)! - base("timestamp", record)!;
    const seqs = new Float64Array(rows);
    const tables: Float64Array[][] = [];
    const read = (number: number) => {
      const { columns, rows: count } = wordings[number]!;
      const of = first[number]!;
      const table: Float64Array[] = (tables[number] = []);
      for (const about of columns) {
        const name = about[1];
        const value = (row: number): number => {
          if (name === "seq") return seqs[of[row]!]!;
          if (name === "behind") return behind(of[row]!);
          return base(name!, of[row]!) ?? table[Number(name)]![row]!;
        };
        table.push(this.column(about, count, name === null ? null : value));
      }
      if (statements.includes(number)) of.forEach((record, at) => (seqs[record] = table.at(-1)![at]!));
    };
    statements.forEach(read);
    wordings.forEach((_, number) => tables[number] ?? read(number));
    return tables;
  }

  private column([encoding, , offset, bytes]: Column, rows: number, base: ((row: number) => number) | null): Float64Array {
    const values = varints(this.facts.explained[this.table].columns.subarray(offset, offset + bytes), rows);
    if (encoding === "differences") undoDifferences(values, null);
    return base ? values.map((value, row) => value + base(row)) : values;
  }
}
