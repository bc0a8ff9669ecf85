/** What the pointer finds in a picture: boxes that the drawing registers, each with its text and its facts. */

import type { Axis } from "./horizontal";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The text of a mark. */
export interface Tip {
  title: string;
  lines?: string[];
  /** Places of facts whose sentences belong to it; a click moves the cursor to the first. Infinity: it did not happen. */
  facts?: number[];
  /** What else a click selects. */
  pick?: () => void;
  /** The part of an area that the text is about. */
  at?: Box;
}

/** ``number``: as registered; ``x`` and ``y``: of the pointer. null: there is nothing at this point. */
export type Describe = (number: number, x: number, y: number) => Tip | null;
/** Registers a box with the number that its layer knows it by. */
export type Add = (number: number, x: number, y: number, width: number, height: number) => void;

export interface Mark extends Box {
  kind: string;
  number: number;
}

export interface Hit {
  mark: Mark;
  tip: Tip;
  /** The number of other marks of its layer at the same point. */
  others: number;
}

/** A thinner mark answers within so many pixels. */
const LEAST = 7;
const FIRST_SIZE = 64;

interface Layer {
  kind: string;
  describe: Describe;
  /** Of its marks. */
  begin: number;
  end: number;
}

/**
 * The marks of one drawing, in layers from back to front. They are kept as numbers: a drawing may register some 10,000.
 * A layer is complete when the next one begins.
 */
export class Marks {
  private boxes = new Float32Array(FIRST_SIZE * 4);
  private numbers = new Int32Array(FIRST_SIZE);
  private layers: Layer[] = [];
  private byPosition: Uint32Array | null = null;

  constructor(
    private readonly axis: Axis,
    private readonly height: number,
  ) {}

  get count(): number {
    return this.layers.at(-1)?.end ?? 0;
  }

  /** Begins a layer in front of those before it. */
  layer(kind: string, describe: Describe): Add {
    const layer = { kind, describe, begin: this.count, end: this.count };
    this.layers.push(layer);
    return (number, x, y, width, height) => this.add(layer, number, x, y, width, height);
  }

  /** The part of a box that is in view; infinite ends are outside. */
  private add(layer: Layer, number: number, x: number, y: number, width: number, height: number): void {
    const { left, right } = this.axis;
    const [first, last] = [Math.max(left, x), Math.min(right, x + width)];
    const [top, bottom] = [Math.max(0, y), Math.min(this.height, y + height)];
    if (!(first <= last) || !(top <= bottom)) return;
    const at = layer.end++;
    if (at === this.numbers.length) this.grow();
    this.numbers[at] = number;
    this.boxes.set([first, top, last - first, bottom - top], at * 4);
    this.byPosition = null;
  }

  private grow(): void {
    const [boxes, numbers] = [new Float32Array(this.boxes.length * 2), new Int32Array(this.numbers.length * 2)];
    boxes.set(this.boxes);
    numbers.set(this.numbers);
    [this.boxes, this.numbers] = [boxes, numbers];
  }

  /** The smallest mark of the front layer that has one at a point; of equal ones the nearest. */
  at(x: number, y: number): Hit | null {
    for (let at = this.layers.length - 1; at >= 0; at--) {
      const hit = this.inLayer(this.layers[at]!, x, y);
      if (hit) return hit;
    }
    return null;
  }

  private inLayer({ describe, begin, end }: Layer, x: number, y: number): Hit | null {
    const { boxes } = this;
    let [best, others, least, away] = [-1, -1, Infinity, Infinity];
    for (let at = end - 1; at >= begin; at--) {
      const [width, height] = [boxes[at * 4 + 2]!, boxes[at * 4 + 3]!];
      const [dx, dy] = [Math.abs(x - boxes[at * 4]! - width / 2), Math.abs(y - boxes[at * 4 + 1]! - height / 2)];
      const [wide, high] = [Math.max(width, LEAST), Math.max(height, LEAST)];
      if (dx > wide / 2 || dy > high / 2) continue;
      others++;
      const area = wide * high;
      if (area > least || (area === least && dx + dy >= away)) continue;
      [best, least, away] = [at, area, dx + dy];
    }
    const tip = best < 0 ? null : describe(this.numbers[best]!, x, y);
    return tip && { mark: { ...this.mark(best), ...tip.at }, tip, others };
  }

  mark(at: number): Mark {
    const [x, y, width, height] = this.boxes.subarray(at * 4, at * 4 + 4) as unknown as [number, number, number, number];
    return { kind: this.layers.find((layer) => at < layer.end)!.kind, number: this.numbers[at]!, x, y, width, height };
  }

  /** What the mark says, at its middle. */
  hit(at: number): Hit | null {
    const mark = this.mark(at);
    const layer = this.layers.find((one) => at < one.end)!;
    const tip = layer.describe(mark.number, mark.x + mark.width / 2, mark.y + mark.height / 2);
    return tip && { mark: { ...mark, ...tip.at }, tip, others: 0 };
  }

  /** The same mark in this drawing; -1: it is not in view. */
  find({ kind, number }: Pick<Mark, "kind" | "number">): number {
    for (const layer of this.layers) {
      if (layer.kind !== kind) continue;
      const at = this.numbers.subarray(layer.begin, layer.end).indexOf(number);
      if (at >= 0) return layer.begin + at;
    }
    return -1;
  }

  /** The next mark from left to right, and from top to bottom; ``from`` -1: the first or last one. */
  next(from: number, by: 1 | -1): number {
    if (!this.count) return -1;
    if (!this.byPosition) {
      const order = Uint32Array.from({ length: this.count }, (_, at) => at);
      const { boxes } = this;
      this.byPosition = order.sort((one, other) => boxes[one * 4]! - boxes[other * 4]! || boxes[one * 4 + 1]! - boxes[other * 4 + 1]! || one - other);
    }
    const at = from < 0 ? (by > 0 ? -1 : this.count) : this.byPosition.indexOf(from);
    return this.byPosition[Math.min(this.count - 1, Math.max(0, at + by))]!;
  }
}
