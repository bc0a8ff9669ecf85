/** Each fact as the sentence that ``flowsim trace`` prints, with the rules that explain it: the templates of the report, filled in. */

import type { Facts } from "./facts";
import type { Alternative, Field, Part, Wording } from "./head";
import { Element } from "./kinds";
import type { Names } from "./names";
import { commas, count, duration, eventTime, joined, NO_TIMESTAMP, oneDecimal, sixDigits, windowText } from "./text";

export interface Sentence {
  text: string;
  rules: string[];
}

const NO_PHRASE = { text: ["?"], rules: [] };

export class Sentences {
  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly wording: Wording,
    private readonly depthAt: (place: number) => number,
  ) {}

  at(place: number): Sentence {
    const name = this.facts.nameAt(place);
    const sentence = this.wording.sentences[name];
    if (!sentence) return { text: name, rules: [] };
    const table = this.facts.of(name);
    const at: Record<string, number> = { task: this.facts.task[place]!, depth: this.depthAt(place) };
    for (const column in table.columns) at[column] = table.columns[column]![this.facts.row[place]!]!;
    const { text, rules } = sentence.phrases[sentence.by.map((column) => at[column]).join()] ?? NO_PHRASE;
    const fact = new Fact(at, this.names, this.wording, text);
    const cited = `${fact.fill(rules)} ${fact.fill(sentence.rules)}`;
    return { text: fact.fill(sentence.text), rules: cited.split(" ").filter(Boolean) };
  }
}

/** A fact: its columns by name, with its task and the number of actions and waits around it. */
class Fact {
  constructor(
    private readonly at: Readonly<Record<string, number>>,
    readonly names: Names,
    readonly wording: Wording,
    readonly phrase: Part[],
  ) {}

  /** The number in a column; records are known by their numbers in the report. */
  of(column: string): number {
    return this.at[column.replace("fingerprint", "record")]!;
  }

  fill(parts: Part[]): string {
    return parts.map((part) => this.part(part)).join("");
  }

  state(): [name: string, kind: string] {
    return this.names.state(this.of("task"), this.of("operator"), this.of("state"));
  }

  private part(part: Part): string {
    if (typeof part === "string") return part;
    return Array.isArray(part) ? this.choice(part) : this.field(part);
  }

  private field({ format, column = format, text = "" }: Field): string {
    const write = FORMATS[format];
    return write ? write(this, this.of(column), text) : String(this.of(column));
  }

  private choice(alternatives: Alternative[]): string {
    for (const { guard, parts } of alternatives) {
      if (guard && !this.holds(...guard)) continue;
      const texts = parts.map((part) => this.part(part));
      const isEmpty = (part: Part, at: number) => typeof part === "object" && !Array.isArray(part) && !texts[at];
      if (!parts.some(isEmpty)) return texts.join("");
    }
    return "";
  }

  private holds(column: string, comparison: string, other: number | string): boolean {
    if (column === "keyed") return this.names.isKeyed(this.of("channel"));
    if (column === "state_kind") return this.state()[1] === other;
    const value = this.of(column);
    const limit = typeof other === "string" ? this.of(other) : other;
    switch (comparison) {
      case "=": return value === limit;
      case "!=": return value !== limit;
      case "<": return value < limit;
      default: return value >= limit;
    }
  }
}

/** As ``flowsim/trace/fields.py``; a format that is not here is a number. ``argument``: the text behind the format. */
const FORMATS: Record<string, (fact: Fact, value: number, argument: string) => string> = {
  phrase: (fact) => fact.fill(fact.phrase),
  ",": (_, value) => commas(value),
  count: (_, value, nouns) => count(value, ...(nouns.split("/") as [string, string?])),
  time: (_, value) => eventTime(value),
  in_brackets: (_, value) => inBrackets(value),
  duration: (_, value) => duration(value),
  ms: (_, value) => commas(Math.floor(value / 1e6)),
  exact_ms: (_, value) => sixDigits(value / 1e6),
  percent: (_, value) => oneDecimal(value / 1e4),
  value: ({ names }, value) => names.record(value),
  name: ({ names }, value) => names.record(value),
  key: ({ names }, value) => names.key(value),
  pool: ({ names }, value) => names.pool(value),
  edge: ({ names }, value) => names.edge(value),
  vertex: ({ names }, value) => names.vertex(value),
  reason: ({ wording }, value) => wording.reasons?.[String(value)] ?? String(value),
  operator: (fact) => fact.names.operator(fact.of("task"), fact.of("operator")),
  split: (fact) => fact.names.split(fact.of("task"), fact.of("operator"), fact.of("split")),
  target: (fact) => fact.names.target(fact.of("channel")),
  source: (fact) => fact.names.source(fact.of("channel")),
  other_end: (fact) => fact.names.otherEnd(fact.of("task"), fact.of("channel")),
  element: (fact) => element(fact.of("kind"), fact.of("timestamp"), fact.names.record(fact.of("fingerprint"))),
  record: (fact, value, noun) => recordText(noun, fact.of("timestamp"), fact.names.record(value)),
  window: (fact, start, end) =>
    end ? windowText(start, fact.of(end)) : windowText(fact.of("window_start"), fact.of("window_end")),
  state: (fact) => {
    const [name, kind] = fact.state();
    return kind ? `${kind} state ${quoted(name)}` : name;
  },
  forced: (fact, checkpoint) => fact.names.forcedBarrier(fact.of("channel"), checkpoint)?.[0] ?? "",
  forced_rule: (fact, checkpoint) => fact.names.forcedBarrier(fact.of("channel"), checkpoint)?.[1] ?? "",
};

function inBrackets(timestamp: number): string {
  return timestamp === NO_TIMESTAMP ? "" : `(timestamp ${eventTime(timestamp)})`;
}

function element(kind: number, timestamp: number, value: string): string {
  switch (kind) {
    case Element.RECORD: return joined(value, inBrackets(timestamp));
    case Element.STATUS: return timestamp === 0 ? "ACTIVE" : timestamp === -1 ? "IDLE" : String(timestamp);
    case Element.END_OF_DATA: return timestamp ? "with drain" : "without drain";
    case Element.END_OF_PARTITION:
    case Element.EVENT: return "";
    case Element.CHECKPOINT_BARRIER:
    case Element.UNALIGNED_BARRIER:
    case Element.CANCEL_CHECKPOINT_MARKER: return `of checkpoint ${timestamp}`;
    default: return eventTime(timestamp);
  }
}

function recordText(noun: string, timestamp: number, value: string): string {
  return joined(value ? `${noun} ${value}` : `a ${noun}`, inBrackets(timestamp));
}

/** As Python's repr of a text without control characters. */
function quoted(text: string): string {
  const escaped = text.replace(/\\/g, "\\\\");
  return text.includes("'") && !text.includes('"') ? `"${escaped}"` : `'${escaped.replace(/'/g, "\\'")}'`;
}
