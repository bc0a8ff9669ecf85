/** Ticks and grid of the horizontal axis. */

import { scaleLinear } from "d3-scale";
import { commas, duration } from "../model/text";
import type { Store } from "../store";
import type { Drawing } from "./canvas";
import type { Piece } from "./horizontal";

/** Pixels for a tick and its label. */
const PER_TICK = 130;
/** Of the edge of a cut. */
const TOOTH = 6;
/** Of the labels of the axis. */
const FOOT = 20;
const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

/** Vertical lines, and their labels below ``bottom``, if there is room for them. */
export function drawAxis(store: Store, { context, texts, axis, colours }: Drawing, top: number, bottom: number): void {
  const label = (text: string, x: number) => texts.write(text, { ink: colours.faint }, [x, bottom + 9, "center"]);
  const unit = UNITS.find(([ns]) => axis.pieces.at(-1)!.to >= ns) ?? ([1, "ns"] as const);
  for (const { from, to, left, right, isGap } of axis.pieces) {
    if (!isGap) continue;
    const middle = (left + right) / 2;
    texts.reserve({ left: middle - TOOTH, right: middle + TOOTH, top: 0, bottom });
    label(`cut ${duration(Number((to - from).toPrecision(2)))}`, middle);
  }
  for (const piece of axis.pieces) {
    for (const tick of piece.isGap ? [] : ticksOf(piece)) {
      const x = Math.round(axis.xOf(tick)) + 0.5;
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, bottom);
      context.stroke();
      if (store.scale.value === "time") label(timeText(tick, unit), x);
      else if (Number.isInteger(tick)) label(`step ${commas(store.model.facts.step[store.within(tick)] ?? 0)}`, x);
    }
  }
}

function ticksOf({ from, to, left, right }: Piece): number[] {
  return scaleLinear().domain([from, to]).ticks(Math.max(2, Math.floor((right - left) / PER_TICK)));
}

/** Without zeros at the end, and without the errors of sums of fractions. */
function timeText(ns: number, [size, unit]: readonly [number, string]): string {
  return `${Number((ns / size).toPrecision(12))} ${unit}`;
}

/** Over everything else: where the axis leaves out time. */
export function drawCuts({ context, height, axis, colours }: Drawing): void {
  for (const { left, right } of axis.pieces.filter((piece) => piece.isGap)) {
    const x = (at: number) => (left + right) / 2 + (at % 2) * TOOTH - TOOTH;
    const last = Math.floor((height - FOOT) / TOOTH);
    context.beginPath();
    for (let at = 0; at <= last; at++) context.lineTo(x(at), at * TOOTH);
    for (let at = last; at >= 0; at--) context.lineTo(x(at) + TOOTH, at * TOOTH);
    context.closePath();
    context.fillStyle = colours.back;
    context.fill();
    context.strokeStyle = colours.faint;
    context.lineWidth = 1;
    context.stroke();
  }
}

/** A label in the gutter, shortened to its width. */
export function drawLabel(drawing: Drawing, text: string, y: number, style: "plain" | "strong" | "faint" = "plain"): void {
  const { texts, axis, colours } = drawing;
  const ink = style === "faint" ? colours.faint : colours.text;
  texts.writeShort(text, axis.left - 16, { ink, isStrong: style === "strong" }, [4, y], 1);
}
