/** The vertical axis of event time: dates, numbers of ms, or distances from the watermark. */

import { scaleLinear } from "d3-scale";
import { commas, length, utc } from "../model/text";
import type { Drawing } from "./canvas";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE,
  5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY,
  60 * DAY, 180 * DAY, 365 * DAY,
];
const TICKS = 6;

export interface EventAxis {
  readonly low: number;
  readonly high: number;
  readonly top: number;
  readonly bottom: number;
  y(value: number): number;
}

/** With some room above and below. */
export function eventAxis(low: number, high: number, top: number, bottom: number): EventAxis {
  const room = (high - low) * 0.06 || 1;
  const [first, last] = [low - room, high + room];
  const factor = (bottom - top) / (last - first);
  const y = (value: number) => bottom - (Math.min(Math.max(value, first - (last - first)), last + (last - first)) - first) * factor;
  return { low: first, high: last, top, bottom, y };
}

export function drawEventAxis({ context, texts, axis, colours }: Drawing, events: EventAxis, isRelative: boolean): void {
  context.lineWidth = 1;
  for (const tick of ticks(events, isRelative)) {
    const y = Math.round(events.y(tick)) + 0.5;
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(axis.left, y);
    context.lineTo(axis.right, y);
    context.stroke();
    texts.write(isRelative ? distance(tick) : utc(tick) || commas(tick), { ink: colours.faint }, [axis.left - 5, y, "right"]);
  }
}

function ticks({ low, high }: EventAxis, isRelative: boolean): number[] {
  if (!isRelative && !utc(low)) return scaleLinear().domain([low, high]).ticks(TICKS).filter(Number.isInteger);
  const step = STEPS.find((one) => one >= (high - low) / TICKS) ?? STEPS.at(-1)!;
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high && found.length < 40; tick += step) found.push(tick);
  return found;
}

/** "+30 min" above the watermark. */
function distance(ms: number): string {
  return ms === 0 ? "watermark" : ms > 0 ? `+${length(ms)}` : length(ms);
}
