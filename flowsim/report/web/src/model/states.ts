/** What each subtask does over time: busy, idle, or back-pressured; from its actions and waits (rule 3.28). */

import type { Attempts } from "./attempts";
import { countUpTo, type Facts } from "./facts";
import { OUTPUT_FULL, Phase, Wait } from "./kinds";

export const STATES = ["idle", "busy", "soft", "hard"] as const;
export type State = (typeof STATES)[number];
export const STATE_WORDS: Record<State, string> = {
  idle: "idle",
  busy: "busy",
  soft: "back-pressured",
  hard: "back-pressured inside an element",
};
/** Before a task begins and after it ended. */
export const NONE = 255;

const IDLE = 0;
const BUSY = 1;
const SOFT = 2;
const HARD = 3;

export type Shares = Record<State, number>;

/** The states of one task: interval ``n`` begins at ``places[n]`` and ends where the next one begins. */
export interface Lane {
  readonly task: number;
  readonly places: number[];
  readonly states: number[];
  /** Per state the total time before each interval, in ns. */
  readonly totals: Float64Array[];
}

export class TaskStates {
  readonly lanes = new Map<number, Lane>();
  /** The number of actions and waits around each row of table actions. */
  private readonly depths: Uint16Array;

  constructor(
    private readonly facts: Facts,
    tasks: Iterable<number>,
    attempts: Attempts,
  ) {
    const actions = facts.of("actions");
    this.depths = new Uint16Array(actions.rows);
    if (!actions.rows) return;
    const builders = new Map<number, Builder>();
    for (const task of tasks) builders.set(task, new Builder(task, attempts.endsOf(task)));
    const { phase, kind, priority } = actions.columns;
    for (let row = 0; row < actions.rows; row++) {
      const place = actions.places[row]!;
      const builder = builders.get(facts.task[place]!);
      if (builder) this.depths[row] = builder.add(place, phase![row]!, kind![row]!, priority![row]!);
    }
    for (const [task, builder] of builders) this.lanes.set(task, builder.finish(facts));
  }

  get isKnown(): boolean {
    return this.depths.length > 0;
  }

  /** The depth of a fact; only that of actions and waits is known. */
  depthAt(place: number): number {
    return this.facts.nameAt(place) === "actions" ? (this.depths[this.facts.row[place]!] ?? 0) : 0;
  }

  at(task: number, place: number): State | null {
    const lane = this.lanes.get(task);
    if (!lane) return null;
    const state = lane.states[countUpTo(lane.places, place) - 1];
    return state === undefined || state === NONE ? null : STATES[state]!;
  }

  /** The parts of a span of time in each state, of the time that the task ran in it; null if it did not run. */
  shares(task: number, from: number, to: number): Shares | null {
    const lane = this.lanes.get(task);
    if (!lane) return null;
    const times = STATES.map((_, state) => this.timeIn(lane, state, to) - this.timeIn(lane, state, from));
    const sum = times.reduce((one, other) => one + other, 0);
    if (sum <= 0) return null;
    return Object.fromEntries(STATES.map((name, state) => [name, times[state]! / sum])) as Shares;
  }

  private timeIn(lane: Lane, state: number, time: number): number {
    const { facts } = this;
    let low = 0;
    let high = lane.places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (facts.time[lane.places[middle]!]! <= time) low = middle + 1;
      else high = middle;
    }
    if (!low) return 0;
    const current = low - 1;
    const begin = facts.time[lane.places[current]!]!;
    return lane.totals[state]![current]! + (lane.states[current] === state ? time - begin : 0);
  }

}

class Builder {
  private readonly places: number[] = [];
  private readonly states: number[] = [];
  private readonly open: number[] = [];
  private ended = 0;

  constructor(
    private readonly task: number,
    /** Where its attempts ended: their last actions and waits have no end. */
    private readonly ends: readonly number[],
  ) {}

  /** Adds a begin or end; answers the depth around it. */
  add(place: number, phase: number, kind: number, priority: number): number {
    this.endBefore(place);
    if (phase === Phase.BEGIN || phase === Phase.WAIT) {
      const depth = this.open.length;
      this.open.push(phase === Phase.BEGIN ? BUSY : waiting(kind, priority, depth));
      this.change(place);
      return depth;
    }
    this.open.pop();
    this.change(place);
    return this.open.length;
  }

  /** Between two actions at one instant the task is not idle: only a wait is. */
  private change(place: number): void {
    const state = this.open.at(-1) ?? BUSY;
    if (this.states.at(-1) === state) return;
    this.places.push(place);
    this.states.push(state);
  }

  private endBefore(place: number): void {
    for (; this.ended < this.ends.length && this.ends[this.ended]! < place; this.ended++) {
      this.open.length = 0;
      if (!this.places.length) continue;
      this.places.push(this.ends[this.ended]!);
      this.states.push(NONE);
    }
  }

  finish(facts: Facts): Lane {
    this.endBefore(Infinity);
    const totals = STATES.map(() => new Float64Array(this.places.length));
    for (let at = 1; at < this.places.length; at++) {
      const length = facts.time[this.places[at]!]! - facts.time[this.places[at - 1]!]!;
      for (let state = 0; state < STATES.length; state++) {
        totals[state]![at] = totals[state]![at - 1]! + (this.states[at - 1] === state ? length : 0);
      }
    }
    return { task: this.task, places: this.places, states: this.states, totals };
  }
}

function waiting(kind: number, priority: number, depth: number): number {
  if (priority === OUTPUT_FULL) return SOFT;
  if (kind === Wait.BUFFER) return HARD;
  return kind === Wait.MAIL && depth === 0 ? IDLE : BUSY;
}
