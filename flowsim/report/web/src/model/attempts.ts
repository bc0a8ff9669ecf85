/** The attempts of each task: a restart begins a new one, and nothing of the one before goes on in it. */

import { countUpTo, type Facts } from "./facts";
import { Life, Restart, Step } from "./kinds";

/** Facts behind one place, up to another. */
export type Part = [after: number, upTo: number];

/** One attempt of a task. */
export interface Attempt {
  /** 0 for the first one. */
  begin: number;
  own: Part;
  /** Whether a restart follows: what it holds at its end is gone. */
  isRestarted: boolean;
  /** What earlier attempts had done before the snapshots from which it was restored; null: the report does not show it. */
  restored: Part[] | null;
}

export class Attempts {
  private readonly begins = new Map<number, number[]>();
  private readonly ends = new Map<number, number[]>();
  private readonly breaks = new Map<number, readonly number[]>();
  private restarts: Map<string, number> | null = null;

  constructor(private readonly facts: Facts) {
    const { rows, columns, places } = facts.of("lifecycle");
    for (let row = 0; row < rows; row++) {
      if (columns.operator![row]! >= 0) continue;
      const place = places[row]!;
      const event = columns.event![row];
      const task = facts.task[place]!;
      if (event === Life.INITIALIZING) add(this.begins, task, place);
      else if (event === Life.FINISHED || event === Life.CANCELED || event === Life.FAILED) add(this.ends, task, place);
    }
  }

  /** Where the second and later attempts of a task begin. */
  restartsOf(task: number): number[] {
    return this.begins.get(task)?.slice(1) ?? [];
  }

  /** Where the attempts of a task ended that a restart follows. */
  breaksOf(task: number): readonly number[] {
    let found = this.breaks.get(task);
    if (!found) {
      found = this.restartsOf(task).map((begin) => this.firstPlace(task, begin)).filter((end) => end >= 0);
      this.breaks.set(task, found);
    }
    return found;
  }

  /** All attempts of a task. */
  of(task: number): Attempt[] {
    const begins = this.begins.get(task) ?? [];
    const ends = this.endsOf(task);
    const found: Attempt[] = [];
    for (let number = 0; number < Math.max(1, begins.length); number++) {
      const isRestarted = number + 1 < begins.length;
      const own: Part = [ends[number - 1] ?? -1, isRestarted ? (ends[number] ?? Infinity) : Infinity];
      found.push({ begin: number ? begins[number]! : 0, own, isRestarted, restored: this.restored(task, number, found) });
    }
    return found;
  }

  private restored(task: number, number: number, before: Attempt[]): Part[] | null {
    if (!number) return [];
    const checkpoint = this.checkpointOf(task, number);
    if (checkpoint === undefined) return null;
    if (checkpoint < 0) return [];
    const { rows, columns, places } = this.facts.of("checkpoint_steps");
    let snapshot = -1;
    for (let row = 0; row < rows; row++) {
      const isOf = columns.checkpoint![row] === checkpoint && this.facts.task[places[row]!] === task;
      if (isOf && columns.step![row] === Step.SYNC_START && places[row]! <= before.at(-1)!.own[1]) snapshot = places[row]!;
    }
    if (snapshot < 0) return null;
    const of = before.find(({ own: [after, upTo] }) => after < snapshot && snapshot <= upTo)!;
    return of.restored && [...of.restored, [of.own[0], snapshot]];
  }

  /** The checkpoint from which an attempt was restored, -1: none; undefined: the report does not show it. */
  private checkpointOf(task: number, attempt: number): number | undefined {
    if (!this.restarts) {
      this.restarts = new Map();
      const { rows = 0, columns = {} } = this.facts.counts.get("restarts") ?? {};
      for (let row = 0; row < rows; row++) {
        if (columns.action![row] !== Restart.RESTART) continue;
        this.restarts.set(`${columns.task_id![row]} ${columns.attempt![row]}`, columns.checkpoint![row]!);
      }
    }
    return this.restarts.get(`${task} ${attempt}`);
  }

  /** Where each attempt of a task ended. */
  endsOf(task: number): number[] {
    return this.ends.get(task) ?? [];
  }

  get isRestarted(): boolean {
    return [...this.begins.values()].some((places) => places.length > 1);
  }

  /** The number of the attempt of a task at a place, from 0. */
  at(task: number, place: number): number {
    return Math.max(0, countUpTo(this.begins.get(task) ?? [], place) - 1);
  }

  /** Where the attempt before that of a place ended; -1 in the first attempt. Facts after it belong to the new one. */
  firstPlace(task: number, place: number): number {
    return this.endsOf(task)[this.at(task, place) - 1] ?? -1;
  }

  /** Whether the attempt of a task at a place ends behind it, or never. */
  isRunning(task: number, place: number): boolean {
    return countUpTo(this.endsOf(task), place) <= this.at(task, place);
  }

  /** Whether a task failed there. */
  isFailure(place: number): boolean {
    return this.facts.of("lifecycle").columns.event![this.facts.row[place]!] === Life.FAILED;
  }
}

/** Whether a fact is in one of several parts. */
export function isIn(parts: readonly Part[], place: number): boolean {
  return parts.some(([after, upTo]) => after < place && place <= upTo);
}

function add(places: Map<number, number[]>, task: number, place: number): void {
  const known = places.get(task);
  if (known) known.push(place);
  else places.set(task, [place]);
}
