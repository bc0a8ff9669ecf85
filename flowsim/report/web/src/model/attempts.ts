/** The attempts of each task: a restart begins a new one, and nothing of the one before goes on in it. */

import { countUpTo, type Facts } from "./facts";
import { Life } from "./kinds";

export class Attempts {
  private readonly begins = new Map<number, number[]>();
  private readonly ends = new Map<number, number[]>();

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

function add(places: Map<number, number[]>, task: number, place: number): void {
  const known = places.get(task);
  if (known) known.push(place);
  else places.set(task, [place]);
}
