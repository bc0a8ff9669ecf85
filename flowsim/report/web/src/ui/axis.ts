/** Ticks and grid of the horizontal axis. */

import { scaleLinear } from "d3-scale";
import { commas } from "../model/text";
import type { Store } from "../store";
import type { Drawing } from "./canvas";

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

/** Vertical lines, and their labels below ``bottom``, if there is room for them. */
export function drawAxis(store: Store, { context, texts, axis, colours }: Drawing, top: number, bottom: number): void {
  const label = (text: string, x: number) => texts.write(text, { ink: colours.faint }, [x, bottom + 9, "center"]);
  const [from, to] = store.range.value;
  const ticks = scaleLinear().domain([from, to]).ticks(Math.max(2, Math.floor((axis.right - axis.left) / 130)));
  const [size, unit] = UNITS.find(([ns]) => to >= ns) ?? [1, "ns"];
  const digits = ticks.length > 1 ? Math.max(0, Math.ceil(-Math.log10((ticks[1]! - ticks[0]!) / size))) : 0;
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
  const { texts, axis, colours } = drawing;
  const ink = style === "faint" ? colours.faint : colours.text;
  texts.writeShort(text, axis.left - 16, { ink, isStrong: style === "strong" }, [4, y], 1);
}
