/** What the pointer finds in a picture: boxes and lines that the drawing registers, each with its text and its facts. */

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
  /** Where a click moves the cursor, for a mark without facts of its own. */
  place?: number;
  /** What else a click selects. */
  pick?: () => void;
  /** The part of an area that the text is about. */
  at?: Box;
}

/** ``number``: as registered; ``x`` and ``y``: of the pointer. null: there is nothing at this point. */
export type Describe = (number: number, x: number, y: number) => Tip | null;
/** Registers a box with the number that its layer knows it by. */
export interface Add {
  (number: number, x: number, y: number, width: number, height: number): void;
  /** Registers a straight line from one point to another. */
  line(number: number, x: number, y: number, toX: number, toY: number): void;
}

/** What is registered: a box, or in it the line that falls or rises from left to right. */
const Shape = { BOX: 0, FALLS: 1, RISES: 2 };

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
  private shapes = new Uint8Array(FIRST_SIZE);
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
    const box = (number: number, x: number, y: number, width: number, height: number) => this.add(layer, number, x, y, width, height, Shape.BOX);
    return Object.assign(box, { line: (number: number, x: number, y: number, toX: number, toY: number) => this.addLine(layer, number, x, y, toX, toY) });
  }

  /** The part of a line between the ends of the axis. */
  private addLine(layer: Layer, number: number, x: number, y: number, toX: number, toY: number): void {
    const { left, right } = this.axis;
    const [first, last] = [Math.max(left, Math.min(x, toX)), Math.min(right, Math.max(x, toX))];
    const at = (one: number) => (x === toX ? y : y + ((one - x) * (toY - y)) / (toX - x));
    const [begin, end] = x === toX ? [y, toY] : [at(first), at(last)];
    this.add(layer, number, first, Math.min(begin, end), last - first, Math.abs(end - begin), begin < end ? Shape.FALLS : Shape.RISES);
  }

  /** The part of a box that is in view; infinite ends are outside. */
  private add(layer: Layer, number: number, x: number, y: number, width: number, height: number, shape: number): void {
    const { left, right } = this.axis;
    const [first, last] = [Math.max(left, x), Math.min(right, x + width)];
    const [top, bottom] = [Math.max(0, y), Math.min(this.height, y + height)];
    if (!(first <= last) || !(top <= bottom)) return;
    const at = layer.end++;
    if (at === this.numbers.length) this.grow();
    this.numbers[at] = number;
    this.shapes[at] = shape;
    this.boxes.set([first, top, last - first, bottom - top], at * 4);
    this.byPosition = null;
  }

  private grow(): void {
    const size = this.numbers.length * 2;
    const [boxes, numbers, shapes] = [new Float32Array(size * 4), new Int32Array(size), new Uint8Array(size)];
    boxes.set(this.boxes);
    numbers.set(this.numbers);
    shapes.set(this.shapes);
    [this.boxes, this.numbers, this.shapes] = [boxes, numbers, shapes];
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
      if (dx > wide / 2 || dy > high / 2 || !this.isOnLine(at, x, y)) continue;
      others++;
      const area = this.shapes[at] === Shape.BOX ? wide * high : LEAST * LEAST;
      if (area > least || (area === least && dx + dy >= away)) continue;
      [best, least, away] = [at, area, dx + dy];
    }
    const tip = best < 0 ? null : describe(this.numbers[best]!, x, y);
    return tip && { mark: { ...this.mark(best), ...tip.at }, tip, others };
  }

  /** A box has no line. */
  private isOnLine(at: number, x: number, y: number): boolean {
    if (this.shapes[at] === Shape.BOX) return true;
    const [left, top, width, height] = this.boxes.subarray(at * 4, at * 4 + 4) as unknown as [number, number, number, number];
    const [along, down] = [x - left, this.shapes[at] === Shape.FALLS ? y - top : top + height - y];
    return Math.abs(along * height - down * width) <= (LEAST / 2) * Math.hypot(width, height);
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
