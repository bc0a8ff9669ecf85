/** Why each late record was late: the statement and the causes that ``flowsim why`` gives, as flowsim/report/causes.py writes them. */

import { undoDifferences, varints } from "../decode";
import type { Facts } from "./facts";
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
  /** Late records, the first ones. */
  rows: number;
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

export class LateCauses {
  /** By late record its shape, and its row in that. */
  private readonly shapeOf: Float64Array;
  private readonly rowInShape: Uint32Array;
  private readonly links: Float64Array[][];
  private readonly tables: Float64Array[][];

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
  ) {
    const { document } = facts.causes;
    this.shapeOf = this.column(document.shape_of, document.rows, null);
    const counts = document.shapes.map(() => 0);
    this.rowInShape = Uint32Array.from(this.shapeOf, (shape) => counts[shape]!++);
    this.links = document.shapes.map(({ links }, shape) => links.map((about) => this.column(about, counts[shape]!, null)));
    this.tables = this.readTables(document);
  }

  /** null: the causes of the record did not fit into the report. ``place``: of the fact that the record is late. */
  at(place: number): Chain | null {
    const row = this.facts.row[place]!;
    if (this.facts.nameAt(place) !== "late_drop" || row >= this.shapeOf.length) return null;
    const [statement, ...causes] = this.linksOf(row).map(([wording, link]) => this.cause(wording, link));
    return { statement: statement!, causes };
  }

  private linksOf(row: number): [wording: number, row: number][] {
    const shape = this.shapeOf[row]!;
    const { wordings } = this.facts.causes.document.shapes[shape]!;
    return wordings.map((wording, at) => [wording, this.links[shape]![at]![this.rowInShape[row]!]!]);
  }

  private readTables({ wordings, statements, rows }: CauseDocument): Float64Array[][] {
    // Rows are numbered by the first late record that has them.
    const first = wordings.map((): number[] => []);
    for (let row = 0; row < rows; row++) {
      for (const [wording, link] of this.linksOf(row)) if (link === first[wording]!.length) first[wording]!.push(row);
    }
    const late = this.facts.of("late_drop").columns;
    const behind = (row: number) => late.watermark![row]! - late.timestamp![row]!;
    const seqs = new Float64Array(rows);
    const tables: Float64Array[][] = [];
    const read = (number: number) => {
      const { columns, rows: count } = wordings[number]!;
      const of = first[number]!;
      const table: Float64Array[] = (tables[number] = []);
      for (const about of columns) {
        const base = about[1];
        const value = (row: number): number => {
          if (base === "seq") return seqs[of[row]!]!;
          if (base === "behind") return behind(of[row]!);
          return late[base!]?.[of[row]!] ?? table[Number(base)]![row]!;
        };
        table.push(this.column(about, count, base === null ? null : value));
      }
      if (statements.includes(number)) of.forEach((row, at) => (seqs[row] = table.at(-1)![at]!));
    };
    statements.forEach(read);
    wordings.forEach((_, number) => tables[number] ?? read(number));
    return tables;
  }

  private column([encoding, , offset, bytes]: Column, rows: number, base: ((row: number) => number) | null): Float64Array {
    const values = varints(this.facts.causes.columns, offset, bytes, rows);
    if (encoding === "differences") undoDifferences(values, null);
    return base ? values.map((value, row) => value + base(row)) : values;
  }

  private cause(number: number, row: number): Cause {
    const { words, rules, lines, task, channel } = this.facts.causes.document.wordings[number]!;
    const values = this.tables[number]!.map((column) => column[row]!);
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
