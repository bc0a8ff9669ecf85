/** Bars that are too narrow to tell apart: cells of several pixels show how much of them each kind takes. */

import type { Fill } from "./colours";
import type { Axis } from "./horizontal";

/** Narrower bars go into cells. */
export const LEAST_BAR = 12;
/** A cell is as wide as so many of its bars, within limits. */
const BARS_OF_CELL = 4;
const LEAST_CELL = 4;
const WIDEST_CELL = 32;
/** Of a pixel, also of what takes no time. */
const LEAST_SHARE = 0.01;
/** Of the height, for what is there for less than a pixel. */
const LEAST_HEIGHT = 1 / 4;
/** Above this part a cell is full: the rest is the space between its bars. */
const FULL = 0.9;

interface Row {
  y: number;
  height: number;
  isWhole: boolean;
}

/** Of one row of a picture. */
export class Cells<Kind> {
  /** By kind: how much of each pixel it takes. */
  private readonly shares = new Map<Kind, Float32Array>();
  /** Pixels that wide bars take. */
  private readonly wide: Uint8Array;
  private readonly filled: Uint8Array;
  private bars = 0;
  private sum = 0;

  constructor(private readonly axis: Axis) {
    const pixels = Math.ceil(axis.right - axis.left) + 1;
    this.wide = new Uint8Array(pixels);
    this.filled = new Uint8Array(pixels);
  }

  /** From pixel to pixel. */
  add(kind: Kind, begin: number, end: number): void {
    let share = this.shares.get(kind);
    if (!share) this.shares.set(kind, (share = new Float32Array(this.filled.length)));
    const [from, to] = [this.pixel(begin), this.pixel(end)];
    this.bars++;
    this.sum += end - begin;
    for (let pixel = from; pixel <= to; pixel++) {
      const left = this.axis.left + pixel;
      share[pixel]! += Math.max(LEAST_SHARE, Math.min(end, left + 1) - Math.max(begin, left));
      if (pixel === from || end > left) this.filled[pixel] = 1;
    }
  }

  /** A bar that is drawn on its own: no cell goes over it. */
  leaveOut(begin: number, end: number): void {
    this.wide.fill(1, this.pixel(Math.ceil(begin)), this.pixel(end));
  }

  /** ``isWhole``: there is always something, so that cells have no space. */
  draw(context: CanvasRenderingContext2D, y: number, height: number, fillOf: (kind: Kind) => Fill, isWhole = false): void {
    const mean = this.bars ? this.sum / this.bars : 0;
    const cell = Math.max(LEAST_CELL, Math.min(WIDEST_CELL, Math.round(mean * BARS_OF_CELL)));
    const space = mean < 1 ? 1 : LEAST_BAR;
    for (let first = 0; first < this.filled.length; first++) {
      if (!this.filled[first] || this.wide[first]) continue;
      let last = first;
      for (let at = first + 1; at < this.filled.length && at - last <= space && !this.wide[at]; at++) if (this.filled[at]) last = at;
      const count = Math.max(1, Math.round((last - first + 1) / cell));
      const edge = (number: number) => first + Math.round((number * (last - first + 1)) / count);
      for (let number = 0; number < count; number++) this.drawCell(context, edge(number), edge(number + 1), { y, height, isWhole }, fillOf);
      first = last;
    }
  }

  private drawCell(
    context: CanvasRenderingContext2D, first: number, end: number, { y, height, isWhole }: Row, fillOf: (kind: Kind) => Fill,
  ): void {
    const found = [...this.shares].map(([kind, share]) => [kind, share.subarray(first, end).reduce((sum, part) => sum + part, 0)] as const);
    const sum = found.reduce((total, [, part]) => total + part, 0) / (end - first);
    const filled = isWhole || sum > FULL ? height : height * Math.max(LEAST_HEIGHT, sum);
    let top = y + height - filled;
    for (const [kind, part] of found) {
      const high = (part / (end - first) / sum) * filled;
      if (!(high > 0)) continue;
      context.fillStyle = fillOf(kind);
      context.fillRect(this.axis.left + first, top, end - first, high);
      top += high;
    }
  }

  private pixel(x: number): number {
    return Math.min(this.filled.length - 1, Math.max(0, Math.floor(x - this.axis.left)));
  }
}
