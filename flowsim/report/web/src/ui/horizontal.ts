/** From values of the horizontal scale to pixels, and back; with short gaps, times in which nothing happens are cut. */

import { countUpTo } from "../model/facts";
import { GUTTER, type Store } from "../store";

export const RIGHT = 12;
/** Of a gap. */
const CUT = 44;
/** A shorter part of what is in view is no gap. */
const LEAST_GAP = 1 / 16;
/** Before and after what happens, of the least gap. */
const MARGIN = 0.05;

/** A part of the axis with one scale. */
export interface Piece {
  from: number;
  to: number;
  left: number;
  right: number;
  isGap: boolean;
}

export interface Axis {
  readonly left: number;
  readonly right: number;
  readonly pieces: readonly Piece[];
  x(place: number): number;
  xOf(value: number): number;
  valueAt(x: number): number;
  /** The widest part from pixel to pixel that is in view and has no cut. */
  uncut(begin: number, end: number): readonly [number, number];
}

export function axisOf(store: Store, width: number): Axis {
  const left = GUTTER;
  const right = Math.max(left + 1, width - RIGHT);
  const pieces = piecesOf(store, left, right);
  const only = pieces.length === 1 ? pieces[0]! : null;
  const xOf = (value: number) => {
    const piece = only ?? pieces.find((one) => value <= one.to) ?? pieces.at(-1)!;
    return piece.left + ((value - piece.from) * (piece.right - piece.left)) / (piece.to - piece.from);
  };
  const valueAt = (x: number) => {
    const piece = only ?? pieces.find((one) => x <= one.right) ?? pieces.at(-1)!;
    return piece.from + ((x - piece.left) * (piece.to - piece.from)) / (piece.right - piece.left);
  };
  const uncut = (begin: number, end: number) => {
    let best = [Math.max(begin, left), Math.max(begin, left)] as const;
    for (const piece of pieces) {
      const part = [Math.max(begin, piece.left), Math.min(end, piece.right)] as const;
      if (!piece.isGap && part[1] - part[0] > best[1] - best[0]) best = part;
    }
    return best;
  };
  return { left, right, pieces, x: (place) => xOf(store.valueOf(place)), xOf, valueAt, uncut };
}

function piecesOf(store: Store, left: number, right: number): Piece[] {
  const [from, to] = store.range.value;
  const gaps = store.isCut ? gapsIn(store.model.facts.time, from, to, Math.max(LEAST_GAP, (2 * CUT) / (right - left))) : [];
  const inGaps = gaps.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const cut = Math.min(CUT, (right - left) / 2 / gaps.length);
  const factor = (right - left - (gaps.length ? cut * gaps.length : 0)) / (to - from - inGaps);
  const pieces: Piece[] = [];
  let [value, x] = [from, left];
  const add = (until: number, wide: number, isGap: boolean) => {
    if (until > value) pieces.push({ from: value, to: until, left: x, right: x + wide, isGap });
    [value, x] = [until, x + wide];
  };
  for (const [begin, end] of gaps) {
    add(begin, (begin - value) * factor, false);
    add(end, cut, true);
  }
  if (to > value) add(to, right - x, false);
  else pieces.at(-1)!.right = right;
  return pieces;
}

/** The parts of a span without facts that are longer than a part of it, with a margin. */
export function gapsIn(times: ArrayLike<number>, from: number, to: number, least: number): [number, number][] {
  const length = (to - from) * least;
  const found: [number, number][] = [];
  let at = from;
  while (at + length < to) {
    const next = countUpTo(times, at + length);
    const last = next ? times[next - 1]! : from;
    if (last > at) {
      // Between two facts in less than the length there is no gap of it.
      at = last;
      continue;
    }
    const end = next < times.length ? Math.min(times[next]!, to) : to;
    if (end - at > length) found.push([at + length * MARGIN, end - length * MARGIN]);
    at = end;
  }
  return found;
}
