/** All text on canvases is drawn here: it stays inside its bounds, and no text lies over another one. */

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Style {
  ink: string;
  /** A colour behind the letters, where the text lies on a picture. */
  halo?: string;
  isStrong?: boolean;
}

/** Where a text may be: its left or right end or its middle, and the middle of its height. */
export type Spot = readonly [x: number, y: number, align?: CanvasTextAlign];

/** A text that waits until everything else is drawn. */
interface Label {
  text: string;
  style: Style;
  spots: readonly Spot[];
  rank: number;
}

/** Half of the height of a line of text. */
const HALF = 6;
/** Between texts side by side. */
const SPACE = 2;
const ROW = 32;
const HALO = 3;
/** A shorter rest of a text does not say anything. */
const LEAST_LETTERS = 6;

export class Texts {
  private readonly taken = new Map<number, Box[]>();
  private bounds: Box;
  private labels: Label[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    width: number,
    height: number,
  ) {
    this.bounds = { left: 0, top: 0, right: width, bottom: height };
  }

  /** Draws only inside of a box; texts move into it. */
  inside(box: Box, draw: () => void): void {
    const { context, bounds } = this;
    this.bounds = {
      left: Math.max(box.left, bounds.left), top: Math.max(box.top, bounds.top),
      right: Math.min(box.right, bounds.right), bottom: Math.min(box.bottom, bounds.bottom),
    };
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    context.clip();
    draw();
    context.restore();
    this.bounds = bounds;
  }

  /** No text is written over this part of the picture. */
  reserve(box: Box): void {
    for (const row of rowsOf(box)) {
      const known = this.taken.get(row);
      if (known) known.push(box);
      else this.taken.set(row, [box]);
    }
  }

  /** Writes at the first spot that is free; returns whether one is. */
  write(text: string, style: Style, ...spots: readonly Spot[]): boolean {
    const { bounds } = this;
    const width = this.widthOf(text, style.isStrong);
    const boxes = spots.map((spot) => boxAt(spot, width));
    const moved = () => boxes.map((one) => movedInto(one, bounds));
    const box = boxes.find((one) => isIn(one, bounds) && this.isFree(one)) ?? moved().find((one) => one && this.isFree(one));
    if (box) this.draw(text, style, box);
    return !!box;
  }

  /** Writes a text with "…" at its end if it is wider than its room; nothing if few letters are left of it. */
  writeShort(text: string, room: number, style: Style, spot: Spot, least = LEAST_LETTERS): boolean {
    const words = shortened(text, room, (part) => this.widthOf(part, style.isStrong));
    return (words === text || words.length > least) && this.write(words, style, spot);
  }

  /** For ``writeLabels``; those of lower ranks come first. */
  label(rank: number, text: string, style: Style, ...spots: readonly Spot[]): void {
    this.labels.push({ rank, text, style, spots });
  }

  /** Writes the labels over all that is drawn; returns the number of those that have no room. */
  writeLabels(): number {
    const waiting = this.labels.sort((one, other) => one.rank - other.rank);
    this.labels = [];
    const isInView = ({ spots }: Label) => spots.some(([x, y]) => isIn({ left: x, right: x, top: y, bottom: y }, this.bounds));
    return waiting.filter((label) => isInView(label) && !this.write(label.text, label.style, ...label.spots)).length;
  }

  widthOf(text: string, isStrong = false): number {
    return this.inFont(isStrong, () => this.context.measureText(text).width);
  }

  private inFont<Result>(isStrong: boolean, act: () => Result): Result {
    const { font } = this.context;
    if (isStrong) this.context.font = `bold ${font}`;
    const result = act();
    this.context.font = font;
    return result;
  }

  private isFree(box: Box): boolean {
    const isOver = (one: Box) => one.left < box.right + SPACE && box.left < one.right + SPACE && one.top < box.bottom && box.top < one.bottom;
    return rowsOf(box).every((row) => !this.taken.get(row)?.some(isOver));
  }

  private draw(text: string, { ink, halo, isStrong = false }: Style, box: Box): void {
    const { context } = this;
    const y = box.top + HALF;
    context.textAlign = "left";
    context.textBaseline = "middle";
    this.inFont(isStrong, () => {
      if (halo) {
        context.lineJoin = "round";
        context.strokeStyle = halo;
        context.lineWidth = HALO;
        context.strokeText(text, box.left, y);
      }
      context.fillStyle = ink;
      context.fillText(text, box.left, y);
    });
    this.reserve(box);
  }
}

/** With "…" at its end if it is wider than its room; "" if not even a letter has room. */
export function shortened(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  let letters = text.length - 1;
  while (letters > 0 && widthOf(`${text.slice(0, letters)}…`) > room) letters--;
  return letters > 0 ? `${text.slice(0, letters)}…` : "";
}

/** Measures texts of pictures, in their font. */
function measureOf(font: string): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d")!;
  context.font = `${font} system-ui, 'DejaVu Sans', sans-serif`;
  return (text) => context.measureText(text).width;
}

/** Of strong texts, and of small or faint ones. */
export const strongWidth = measureOf("600 13px");
export const smallWidth = measureOf("12px");

/** The text in two lines if it is wider than its room. */
export function inLines(text: string, room: number): string[] {
  const words = text.split(" ");
  let first = words.length;
  while (first > 1 && smallWidth(words.slice(0, first).join(" ")) > room) first--;
  const lines = [words.slice(0, first).join(" "), words.slice(first).join(" ")];
  return lines.filter(Boolean).map((line) => shortened(line, room, smallWidth));
}

function rowsOf({ top, bottom }: Box): number[] {
  const first = Math.floor(top / ROW);
  return Array.from({ length: Math.floor(bottom / ROW) - first + 1 }, (_, at) => first + at);
}

function boxAt([x, y, align = "left"]: Spot, width: number): Box {
  const left = align === "left" ? x : align === "right" ? x - width : x - width / 2;
  return { left, top: y - HALF, right: left + width, bottom: y + HALF };
}

function isIn(one: Box, bounds: Box): boolean {
  return one.left >= bounds.left && one.right <= bounds.right && one.top >= bounds.top && one.bottom <= bounds.bottom;
}

/** null if it is larger than the bounds. */
function movedInto(one: Box, bounds: Box): Box | null {
  const across = Math.max(bounds.left - one.left, 0) - Math.max(one.right - bounds.right, 0);
  const down = Math.max(bounds.top - one.top, 0) - Math.max(one.bottom - bounds.bottom, 0);
  const moved = { left: one.left + across, top: one.top + down, right: one.right + across, bottom: one.bottom + down };
  return isIn(moved, bounds) ? moved : null;
}
