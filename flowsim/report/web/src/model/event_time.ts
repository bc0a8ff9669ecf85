/** Records, watermarks and late rows by event time: of window operators, and of the inputs and outputs of other tasks. */

import { BOUND } from "../decode";
import type { Attempts } from "./attempts";
import { countUpTo, type Facts } from "./facts";
import { Element } from "./kinds";
import type { Names } from "./names";
import {
  addBreaks, addElement, addMark, isGapBetween, markAt, mergedPoints, noMarks, pointsOf, rowsOf, Timing, type Marks, type Points, type Subject,
} from "./points";
import { planOf, type WindowPlan } from "./window_plan";
import { Valve, type ChannelNow } from "./valve";
import { windowsOf, type WindowBox } from "./windows";

/** The operator of a subject that is a whole task. */
export const INPUT = -1;
export const OUTPUT = -2;

/** The watermarks of one origin: a channel, or a split of a source. */
export interface Line {
  label: string;
  /** null for a split of a source. */
  channel: number | null;
  marks: Marks;
}

export interface WatermarkNow {
  label: string;
  channel: number | null;
  /** null: none yet. */
  value: number | null;
  idle: boolean;
  /** false where the report does not have the fact. */
  isKnown: boolean;
  /** Whether the watermark of the task cannot advance before this one does. */
  holds: boolean;
  /** What this one does to the watermark of the task, in words; "": nothing that others would feel. */
  role: string;
}

const HOLDS = "the lowest: holds the task's back";
const CATCHES_UP = "behind since it was idle: not waited for until it has caught up";
const NONE_ALIGNED = "behind since it was idle: its input emits nothing until a channel has caught up";
const BEHIND_SOURCE = "behind what the source has emitted";

/** The event time of one subject. */
export class EventTime {
  private readonly byKey = new Map<number, Uint32Array>();
  private boxes: WindowBox[] | null = null;
  private allLate: number[] | null = null;
  private allKeys: number[] | null = null;

  constructor(
    readonly subject: Subject,
    readonly plan: WindowPlan | null,
    readonly points: Points,
    /** The watermark of the task, or that of its output. */
    readonly watermark: Marks,
    readonly lines: Line[],
    private readonly readWindows: () => WindowBox[],
    /** Where the last attempt before a place ended; -1: none did. */
    private readonly firstPlace: (place: number) => number,
    /** null: the lines are splits, or the report does not have all elements of the channels. */
    private readonly valve: Valve | null,
    /** Whether the watermark of the task is that of its inputs: no operator generates another. */
    private readonly isCombined: boolean,
  ) {}

  /** Numbers of the records of a key; null for all. */
  of(key: number | null): Uint32Array | null {
    if (key === null) return null;
    let found = this.byKey.get(key);
    if (!found) {
      const numbers: number[] = [];
      this.points.keys.forEach((one, number) => one === key && numbers.push(number));
      found = Uint32Array.from(numbers);
      this.byKey.set(key, found);
    }
    return found;
  }

  /** Numbers of the late records of a key, or of all. */
  late(key: number | null): number[] {
    if (!this.allLate) {
      this.allLate = [];
      for (let number = 0; number < this.points.timings.length; number++) {
        if (this.points.timings[number] === Timing.LATE) this.allLate.push(number);
      }
    }
    return key === null ? this.allLate : this.allLate.filter((number) => this.points.keys[number] === key);
  }

  /** The keys in the order of their first record. */
  get keys(): number[] {
    return (this.allKeys ??= [...new Set(this.points.keys)].filter((key) => key > 0));
  }

  /** All windows in the order of their first record. */
  get windows(): WindowBox[] {
    return (this.boxes ??= this.readWindows());
  }

  /** The record whose fact is at a place, or the late record whose drop is there; -1 if there is none. */
  recordAt(place: number): number {
    const { places, latePlaces } = this.points;
    const number = countUpTo(places, place) - 1;
    return number >= 0 && (places[number] === place || latePlaces[number] === place) ? number : -1;
  }

  /** The watermark of the task and those that it is made of, at a place, in the attempt of that place. */
  watermarksAt(place: number): { task: WatermarkNow; lines: WatermarkNow[] } {
    const since = this.firstPlace(place);
    const task = this.now(NO_LINE, this.watermark, place);
    const lines = this.lines.map((line) => this.now(line, line.marks, place));
    if (!lines.every((line) => line.isKnown)) return { task, lines };
    if (this.subject.operator === OUTPUT) return { task, lines: ofSplits(lines, task.value ?? -BOUND) };
    if (!this.valve) return { task, lines };
    const channels = this.valve.at(since, place);
    const found = lines.map((line) => this.ofChannel(line, channels.get(line.channel!)!));
    return { task: this.isCombined ? { ...task, ...valueOf(this.valve.combined) } : task, lines: found };
  }

  private now({ label, channel }: NoLine, marks: Marks, place: number): WatermarkNow {
    return { label, channel, holds: false, role: "", ...markAt(marks, place) };
  }

  private ofChannel(line: WatermarkNow, now: ChannelNow): WatermarkNow {
    const valve = this.valve!;
    const holds = valve.holds(now);
    const isBehind = !now.idle && !now.isAligned;
    // Rule 8.7: an operator that assigns timestamps lets none of these watermarks pass.
    const role = !this.isCombined ? "" : isBehind ? (valve.hasAligned(now.input) ? CATCHES_UP : NONE_ALIGNED) : holds && valve.isAhead(now) ? HOLDS : "";
    return { ...line, ...valueOf({ last: now.watermark, idle: now.idle }), holds: holds && this.isCombined, role };
  }
}

type NoLine = Pick<Line, "label" | "channel">;
const NO_LINE: NoLine = { label: "", channel: null };

function valueOf({ last, idle }: { last: number; idle: boolean }): { value: number | null; idle: boolean } {
  return { value: last === -BOUND ? null : last, idle };
}

/** Splits merge as rule 8.6 says: the least of those that are not idle, never decreasing. */
function ofSplits(lines: WatermarkNow[], emitted: number): WatermarkNow[] {
  const values = lines.filter((line) => !line.idle).map((line) => line.value ?? -BOUND);
  const least = Math.min(...values);
  return lines.map((line) => {
    const value = line.value ?? -BOUND;
    const holds = !line.idle && value === least;
    const role = line.idle ? "" : value < emitted ? BEHIND_SOURCE : holds && Math.max(...values) > least ? HOLDS : "";
    return { ...line, holds, role };
  });
}

/** All subjects of a run; each is read when it is first used. */
export class EventTimes {
  private found: Subject[] | null = null;
  private readonly read = new Map<string, EventTime>();
  private marksOfChannels: Map<number, Marks> | null = null;

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    /** Virtual time of the start in ns. */
    private readonly startNs: number,
    private readonly attempts: Attempts,
  ) {}

  /** Operators with late records first, then other operators with windows, then inputs and outputs of tasks. */
  get subjects(): Subject[] {
    return (this.found ??= this.findSubjects());
  }

  subject(task: number | null, operator: number | null): Subject | undefined {
    const ofTask = this.subjects.filter((one) => one.task === task);
    return ofTask.find((one) => one.operator === operator) ?? ofTask[0];
  }

  of(subject: Subject): EventTime {
    const name = `${subject.task} ${subject.operator}`;
    let found = this.read.get(name);
    if (!found) {
      found = this.readSubject(subject);
      this.read.set(name, found);
    }
    return found;
  }

  name({ task, operator }: Subject): string {
    const who = this.names.shortTask(task);
    if (operator === INPUT) return `${who}, input`;
    if (operator === OUTPUT) return `${who}, output`;
    const name = this.names.operator(task, operator);
    return who.startsWith(`${name} (`) ? who : `${name} in ${who}`;
  }

  private findSubjects(): Subject[] {
    const { facts } = this;
    const operators = new Map<string, Subject>();
    for (const table of ["window_intake", "window_fire", "late_drop"]) {
      const { rows, columns, places } = facts.of(table);
      for (let row = 0; row < rows; row++) {
        const task = facts.task[places[row]!]!;
        const operator = columns.operator![row]!;
        const name = `${task} ${operator}`;
        let subject = operators.get(name);
        if (!subject) operators.set(name, (subject = { task, operator, records: 0, late: 0 }));
        if (table === "window_intake") subject.records++;
        if (table === "late_drop") subject.late++;
      }
    }
    const tasks = new Set([...operators.values()].map((subject) => subject.task));
    const sorted = [...operators.values()].sort(
      (one, other) => Number(other.late > 0) - Number(one.late > 0) || one.task - other.task || one.operator - other.operator,
    );
    return [...sorted, ...this.ends("received", INPUT, tasks), ...this.ends("sent", OUTPUT, tasks)];
  }

  /** Inputs or outputs with timestamps, or watermarks besides the last one; for outputs only those of sources. */
  private ends(table: string, operator: number, without: Set<number>): Subject[] {
    const { rows, columns, places } = this.facts.of(table);
    const counts = new Map<number, number>();
    for (let row = 0; row < rows; row++) {
      const task = this.facts.task[places[row]!]!;
      const isRecord = columns.kind![row] === Element.RECORD && columns.timestamp![row]! > -BOUND;
      const isMark = columns.kind![row] === Element.WATERMARK && columns.timestamp![row]! < BOUND;
      if (isRecord || isMark) counts.set(task, (counts.get(task) ?? 0) + Number(isRecord));
    }
    return [...counts]
      .filter(([task]) => !without.has(task) && (operator === INPUT || this.names.tasks.get(task)?.inputs === 0))
      .sort(([one], [other]) => one - other)
      .map(([task, records]) => ({ task, operator, records, late: 0 }));
  }

  private readSubject(subject: Subject): EventTime {
    const { facts, names } = this;
    const marks = subject.operator === OUTPUT ? this.outputMarks(subject.task) : this.taskMarks(subject);
    const lines = subject.operator === OUTPUT ? this.splits(subject.task) : this.channels(subject.task);
    const ends = this.attempts.breaksOf(subject.task);
    const firstPlace = (place: number) => ends[countUpTo(ends, place) - 1] ?? -1;
    const valve = subject.operator === OUTPUT || !facts.isWhole("received") ? null : new Valve(facts, names, subject.task);
    const ofAttempt = [firstPlace, valve, !this.hasStrategy(subject)] as const;
    if (subject.operator < 0) {
      return new EventTime(subject, null, this.elements(subject, marks), marks, lines, () => [], ...ofAttempt);
    }
    const plan = planOf(names, subject.task, subject.operator);
    const points = this.intakes(subject, plan);
    const read = () => windowsOf(facts, { subject, plan, points, watermark: marks }, this.startNs, this.attempts.of(subject.task));
    return new EventTime(subject, plan, points, marks, lines, read, ...ofAttempt);
  }

  private intakes({ task, operator }: Subject, plan: WindowPlan | null): Points {
    const { facts } = this;
    const intake = facts.of("window_intake");
    const rows = rowsOf(facts, intake, task, operator);
    const drops = facts.of("late_drop");
    const late = rowsOf(facts, drops, task, operator);
    const points = mergedPoints(pointsOf(rows, intake), pointsOf(late, drops));
    for (let number = 0; number < points.places.length; number++) {
      const [timestamp, watermark] = [points.timestamps[number]!, points.watermarks[number]!];
      const isBehind = plan?.isJoin ? timestamp < watermark : timestamp <= watermark;
      const isByEventTime = plan === null || plan.isJoin || plan.isEventTime;
      if (points.latePlaces[number]) points.timings[number] = Timing.LATE;
      else if (isByEventTime && isBehind && watermark > -BOUND) points.timings[number] = Timing.BEHIND;
      if (plan && !plan.isJoin && !plan.isEventTime) points.timestamps[number] = this.clock(points.places[number]!);
    }
    return points;
  }

  /** The clock of a task in ms, by which windows over processing time are made. */
  private clock(place: number): number {
    return Math.floor((this.facts.time[place]! + this.startNs) / 1e6);
  }

  /** The records that a task received, or those that it sent on its first edge. */
  private elements({ task, operator }: Subject, marks: Marks): Points {
    const { facts, names } = this;
    const table = facts.of(operator === INPUT ? "received" : "sent");
    const { columns, places } = table;
    let edge: number | undefined;
    const rows: number[] = [];
    for (let row = 0; row < table.rows; row++) {
      if (columns.kind![row] !== Element.RECORD || facts.task[places[row]!] !== task) continue;
      if (columns.timestamp![row]! <= -BOUND) continue;
      const of = names.channels.get(columns.channel![row]!)?.edge;
      edge ??= of;
      if (operator === INPUT || of === edge) rows.push(row);
    }
    const points = pointsOf(rows, table);
    let mark = -1;
    points.places.forEach((place, number) => {
      while (mark + 1 < marks.places.length && marks.places[mark + 1]! <= place) mark++;
      const isKnown = mark >= 0 && !isGapBetween(marks, marks.places[mark]!, place);
      const watermark = isKnown ? marks.values[mark]! : -BOUND;
      points.watermarks[number] = watermark;
      const isBehind = watermark > -BOUND && points.timestamps[number]! <= watermark;
      points.timings[number] = isBehind ? Timing.BEHIND : Timing.IN_TIME;
    });
    return points;
  }

  /** The watermark of the operators of a task: the least of its active inputs (rule 8.15). */
  private taskMarks(subject: Subject): Marks {
    const { task } = subject;
    const generated = this.generatedMarks(subject);
    if (generated.places.length) return generated;
    const { facts } = this;
    const { rows, columns, places } = facts.of("task_watermark");
    const first = () => Array.from({ length: this.names.tasks.get(task)?.inputs ?? 1 }, () => ({ watermark: -BOUND, idle: false }));
    const found = noMarks(facts, "task_watermark");
    const ends = this.attempts.breaksOf(task);
    let [inputs, combined] = [first(), -BOUND];
    for (let row = 0; row < rows; row++) {
      if (facts.task[places[row]!] !== task) continue;
      if (addBreaks(found, ends, places[row]!)) [inputs, combined] = [first(), -BOUND];
      const input = inputs[columns.input![row]!];
      if (!input) continue;
      if (columns.kind![row] === Element.WATERMARK) input.watermark = columns.timestamp![row]!;
      else input.idle = columns.timestamp![row]! !== 0;
      const active = inputs.filter((one) => !one.idle);
      if (active.length) combined = Math.max(combined, Math.min(...active.map((one) => one.watermark)));
      addMark(found, places[row]!, combined, active.length === 0);
    }
    addBreaks(found, ends);
    return found;
  }

  /** What a source sent: the watermarks on its first channel. */
  private outputMarks(task: number): Marks {
    const first = [...this.names.channels.values()].find((channel) => channel.source === task);
    const { rows, columns, places } = this.facts.of("sent");
    const found = noMarks(this.facts, "sent");
    const ends = this.attempts.breaksOf(task);
    for (let row = 0; row < rows; row++) {
      if (columns.channel![row] === first?.id) addElement(found, places[row]!, columns.kind![row]!, columns.timestamp![row]!, ends);
    }
    addBreaks(found, ends);
    return found;
  }

  private channels(task: number): Line[] {
    const of = [...this.names.channels.values()].filter((channel) => channel.target === task);
    this.marksOfChannels ??= this.readChannels();
    return of.map((channel) => ({
      label: `from ${this.names.source(channel.id)}`,
      channel: channel.id,
      marks: this.marksOfChannels!.get(channel.id) ?? noMarks(this.facts, "received"),
    }));
  }

  private readChannels(): Map<number, Marks> {
    const { rows, columns, places } = this.facts.of("received");
    const found = new Map<number, Marks>();
    for (let row = 0; row < rows; row++) {
      const kind = columns.kind![row]!;
      if (kind !== Element.WATERMARK && kind !== Element.STATUS) continue;
      let marks = found.get(columns.channel![row]!);
      if (!marks) found.set(columns.channel![row]!, (marks = noMarks(this.facts, "received")));
      addElement(marks, places[row]!, kind, columns.timestamp![row]!, this.attempts.breaksOf(this.facts.task[places[row]!]!));
    }
    for (const [channel, marks] of found) addBreaks(marks, this.attempts.breaksOf(this.names.channels.get(channel)!.target));
    return found;
  }

  private splits(task: number): Line[] {
    const { rows, columns, places } = this.facts.of("generated_watermark");
    const splits = new Set<number>();
    for (let row = 0; row < rows; row++) {
      if (this.facts.task[places[row]!] === task && columns.split![row]! >= 0) splits.add(columns.split![row]!);
    }
    return [...splits]
      .sort((one, other) => one - other)
      .map((split) => ({ label: this.names.split(task, 0, split), channel: null, marks: this.generated(task, () => true, split) }));
  }

  /** Whether an operator of the chain before the one of the subject assigns timestamps and watermarks. */
  private hasStrategy({ task, operator }: Subject): boolean {
    const vertex = this.names.tasks.get(task)?.vertex;
    return this.names.operators.some(({ vertex: of, operator: at, params }) => {
      const strategy = params.watermarks as { kind: string } | null | undefined;
      return of === vertex && at < operator && !!strategy && strategy.kind !== "none";
    });
  }

  /** Those of an operator of the chain before the one of the subject. */
  private generatedMarks({ task, operator }: Subject): Marks {
    return this.generated(task, (of) => operator >= 0 && of < operator, -1);
  }

  private generated(task: number, ofOperator: (operator: number) => boolean, split: number): Marks {
    const { rows, columns, places } = this.facts.of("generated_watermark");
    const found = noMarks(this.facts, "generated_watermark");
    const ends = this.attempts.breaksOf(task);
    for (let row = 0; row < rows; row++) {
      const isOf = this.facts.task[places[row]!] === task && columns.split![row] === split;
      if (isOf && ofOperator(columns.operator![row]!)) {
        addElement(found, places[row]!, columns.kind![row]!, columns.timestamp![row]!, ends);
      }
    }
    addBreaks(found, ends);
    return found;
  }
}
