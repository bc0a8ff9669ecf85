/** How a window operator assigns windows, from its description in table operators. */

import { BOUND } from "../decode";
import type { Names } from "./names";

const SHAPES = ["tumbling", "sliding", "session", "dynamic_session"] as const;

export interface WindowPlan {
  /** "": the windows of a record are not known, only those that fired. */
  shape: (typeof SHAPES)[number] | "global" | "";
  isEventTime: boolean;
  /** An interval join: it has no windows, and late is what is below the watermark (rule 10.35). */
  isJoin: boolean;
  /** Of a session its gap, if it has a fixed one. */
  sizeMs: number;
  slideMs: number;
  offsetMs: number;
  latenessMs: number;
}

/** null for an operator without windows. */
export function planOf(names: Names, task: number, operator: number): WindowPlan | null {
  const vertex = names.tasks.get(task)?.vertex;
  const found = names.operators.find((one) => one.vertex === vertex && one.operator === operator);
  if (!found) return null;
  const { params } = found;
  const number = (name: string, otherwise = 0) => (typeof params[name] === "number" ? (params[name] as number) : otherwise);
  const assigner = String(params.assigner ?? "");
  const isKnown = (params.stagger ?? "aligned") === "aligned";
  const shape = SHAPES.find((one) => assigner === `${one}_event_time` || assigner === `${one}_processing_time`);
  const size = shape === "session" ? number("gap_ms") : number("size_ms");
  return {
    shape: assigner === "global" ? "global" : isKnown && shape && (size > 0 || shape === "dynamic_session") ? shape : "",
    isEventTime: assigner.endsWith("_event_time"),
    isJoin: found.kind === "interval_join",
    sizeMs: size,
    slideMs: number("slide_ms", size),
    offsetMs: number("offset_ms"),
    latenessMs: number("lateness_ms"),
  };
}

/** The windows of a record, the newest first (rules 10.3 to 10.5); none if they are not known. */
export function assigned(plan: WindowPlan, timestamp: number, gap: number): [start: number, end: number][] {
  switch (plan.shape) {
    case "session": return [[timestamp, timestamp + plan.sizeMs]];
    case "dynamic_session": return [[timestamp, timestamp + gap]];
    case "tumbling":
    case "sliding": {
      const found: [number, number][] = [];
      const since = timestamp - plan.offsetMs;
      let start = timestamp - (since - Math.floor(since / plan.slideMs) * plan.slideMs);
      for (; start > timestamp - plan.sizeMs; start -= plan.slideMs) found.push([start, start + plan.sizeMs]);
      return found;
    }
    default: return [];
  }
}

/** The watermark at which a window is removed: its last millisecond plus the allowed lateness (rule 10.8). */
export function cleanupOf(plan: WindowPlan, end: number): number {
  return Math.min(end - 1 + plan.latenessMs, BOUND);
}
