/** Windows that overlap so much that boxes would hide each other: how many there are at each place of the chart. */

import type { Axis } from "../ui/horizontal";

const CELL = 4;
/** Of the colour where the most windows are; where there is one. */
const DARKEST = 0.42;
const LIGHTEST = 0.08;

export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Counts areas in cells of some pixels. */
export class WindowCounts {
  readonly most: number;
  private readonly counts: Int32Array;
  private readonly columns: number;

  constructor(
    areas: readonly Area[],
    private readonly axis: Axis,
    height: number,
  ) {
    this.columns = Math.ceil((axis.right - axis.left) / CELL) + 1;
    const rows = Math.ceil(height / CELL) + 1;
    const { columns } = this;
    this.counts = new Int32Array(columns * rows);
    const column = (x: number) => Math.min(columns - 1, Math.max(0, Math.round((x - axis.left) / CELL)));
    const row = (y: number) => Math.min(rows - 1, Math.max(0, Math.round(y / CELL)));
    for (const area of areas) {
      const [left, right, top, bottom] = [column(area.left), column(area.right), row(area.top), row(area.bottom)];
      this.counts[top * columns + left]! += 1;
      this.counts[top * columns + right]! -= 1;
      this.counts[bottom * columns + left]! -= 1;
      this.counts[bottom * columns + right]! += 1;
    }
    // Each cell has the change from its neighbours so far.
    for (let at = 0; at < this.counts.length; at++) if (at % columns) this.counts[at]! += this.counts[at - 1]!;
    for (let at = columns; at < this.counts.length; at++) this.counts[at]! += this.counts[at - columns]!;
    this.most = this.counts.reduce((most, count) => Math.max(most, count), 0);
  }

  /** The more windows, the darker. */
  draw(context: CanvasRenderingContext2D, colour: string): void {
    context.fillStyle = colour;
    this.counts.forEach((count, at) => {
      if (!count) return;
      context.globalAlpha = LIGHTEST + (DARKEST - LIGHTEST) * (count / this.most);
      context.fillRect(this.axis.left + (at % this.columns) * CELL, Math.floor(at / this.columns) * CELL, CELL, CELL);
    });
    context.globalAlpha = 1;
  }
}
