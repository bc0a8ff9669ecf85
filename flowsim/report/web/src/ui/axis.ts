/** Ticks and grid of the horizontal axis. */

import { scaleLinear } from "d3-scale";
import { commas } from "../model/text";
import type { Store } from "../store";
import type { Drawing } from "./canvas";

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

/** Vertical lines, and their labels below ``bottom``, if there is room for them. */
export function drawAxis(store: Store, { context, width, axis, colours }: Drawing, top: number, bottom: number): void {
  const label = (text: string, x: number) =>
    context.fillText(text, Math.min(x, width - context.measureText(text).width / 2), bottom + 3);
  const [from, to] = store.range.value;
  const ticks = scaleLinear().domain([from, to]).ticks(Math.max(2, Math.floor((axis.right - axis.left) / 130)));
  const [size, unit] = UNITS.find(([ns]) => to >= ns) ?? [1, "ns"];
  const digits = ticks.length > 1 ? Math.max(0, Math.ceil(-Math.log10((ticks[1]! - ticks[0]!) / size))) : 0;
  context.fillStyle = colours.faint;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const tick of ticks) {
    const x = Math.round(axis.xOf(tick)) + 0.5;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, bottom);
    context.stroke();
    if (store.scale.value === "time") label(`${(tick / size).toFixed(digits)} ${unit}`, x);
    else if (Number.isInteger(tick)) {
      label(`step ${commas(store.model.facts.step[store.within(tick)] ?? 0)}`, x);
    }
  }
}

/** A label in the gutter, shortened to its width. */
export function drawLabel(drawing: Drawing, text: string, y: number, style: "plain" | "strong" | "faint" = "plain"): void {
  const { context, axis, colours } = drawing;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = style === "faint" ? colours.faint : colours.text;
  const font = context.font;
  if (style === "strong") context.font = `bold ${font}`;
  context.fillText(shortened(context, text, axis.left - 16), 4, y);
  context.font = font;
}

export function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length - 1;
  while (length > 3 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
