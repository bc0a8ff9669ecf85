/** Bars over time, in lanes: each is a window, a state that holds something, or a timer. */

import { useCallback } from "preact/hooks";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { drawAttempts } from "../ui/checkpoint_marks";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import type { Tip } from "../ui/marks";

const LANE = 20;
const PITCH = 24;
/** Of the axis below the lanes. */
const FOOT = 18;
const MOST_LANES = 8;
/** With more bars in view there are no texts. */
const MOST_TEXTS = 400;

interface Moment {
  place: number;
  text: string;
  tip: () => Tip;
}

export interface Bar {
  begin: number;
  /** Infinity: to the end of the run. */
  end: number;
  /** How it ended, if not by a fire; lost: its attempt ended before. */
  sign: "" | "merged" | "deleted" | "lost";
  /** What it holds from each place on. */
  changes: Moment[];
  fires: Moment[];
}

export interface Group {
  title: string;
  /** In the order in which they begin. */
  bars: Bar[];
}

interface Lanes {
  bars: Bar[];
  lanes: number[];
  count: number;
  /** Bars in view that have no lane. */
  hidden: number;
}

export function StateCanvas({ store, groups, task, label }: { store: Store; groups: Group[]; task: number; label: string }) {
  const laid = groups.map((group) => lanesInView(store, group.bars));
  const tops: number[] = [];
  let bottom = 4;
  for (const lanes of laid) {
    tops.push(bottom);
    bottom += Math.max(1, lanes.count) * PITCH + 6;
  }
  const draw = useCallback(
    (drawing: Drawing) => {
      drawAxis(store, drawing, 0, drawing.height - FOOT);
      groups.forEach((group, at) => {
        drawLabel(drawing, group.title, tops[at]! + LANE / 2, "strong");
        if (laid[at]!.hidden) drawLabel(drawing, `${laid[at]!.hidden} more: zoom in`, tops[at]! + PITCH + LANE / 2, "faint");
        drawBars(drawing, group.title, laid[at]!, tops[at]!);
      });
      drawAttempts(store, drawing, task, 4, bottom - 4);
    },
    [store, groups, task, store.range.value, store.scale.value],
  );
  return <TimeCanvas store={store} height={bottom + FOOT} grows label={label} draw={draw} />;
}

/** Each bar in view in the first lane that is free. */
function lanesInView(store: Store, bars: Bar[]): Lanes {
  const [from, to] = store.range.value;
  const [first, last] = [store.placeOf(from), store.placeOf(to)];
  const ends: number[] = [];
  const found: Lanes = { bars: [], lanes: [], count: 0, hidden: 0 };
  for (const bar of bars) {
    if (bar.begin > last) break;
    if (bar.end < first) continue;
    let lane = ends.findIndex((end) => end <= bar.begin);
    if (lane < 0) lane = ends.length;
    if (lane >= MOST_LANES) {
      found.hidden++;
      continue;
    }
    ends[lane] = bar.end;
    found.bars.push(bar);
    found.lanes.push(lane);
  }
  found.count = ends.length;
  return found;
}

function drawBars(drawing: Drawing, title: string, { bars, lanes }: Lanes, top: number): void {
  const { context, texts, axis, colours } = drawing;
  markBars(drawing, title, { bars, lanes }, top);
  const x = (place: number) => (place === Infinity ? axis.right + 20 : axis.x(place));
  texts.inside({ left: axis.left, top: 0, right: axis.right, bottom: drawing.height }, () => bars.forEach((bar, at) => {
    const y = top + lanes[at]! * PITCH;
    const [begin, end] = [x(bar.begin), x(bar.end)];
    context.fillStyle = `${colours.accent}26`;
    context.fillRect(begin, y, Math.max(1, end - begin), LANE);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    context.setLineDash(bar.sign ? [3, 3] : []);
    context.strokeRect(begin + 0.5, y + 0.5, Math.max(1, end - begin - 1), LANE - 1);
    context.setLineDash([]);
    if (bars.length <= MOST_TEXTS) drawTexts(drawing, bar, y, x);
    context.fillStyle = colours.text;
    for (const fire of bar.fires) context.fillRect(x(fire.place) - 1.5, y - 1, 3, LANE + 2);
    if (bar.sign === "deleted") drawCross(drawing, end, y + LANE / 2);
  }));
}

/** The parts of bars between changes, and the fires over them. */
function markBars({ axis, marks }: Drawing, title: string, { bars, lanes }: Pick<Lanes, "bars" | "lanes">, top: number): void {
  const x = (place: number) => (place === Infinity ? axis.right + 20 : axis.x(place));
  for (const [kind, of] of [["part", "changes"], ["fire", "fires"]] as const) {
    const moments = bars.flatMap((bar) => bar[of]);
    const add = marks.layer(`${kind} ${title}`, (number) => moments[number]!.tip());
    let number = 0;
    bars.forEach((bar, at) => {
      const y = top + lanes[at]! * PITCH;
      bar[of].forEach(({ place }, change) => {
        const end = x(bar[of][change + 1]?.place ?? bar.end);
        if (kind === "fire") add(number++, x(place) - 2.5, y, 5, LANE);
        else add(number++, x(place), y, end - x(place), LANE);
      });
    });
  }
}

/** The value in each part of a bar that has room for it, and what it fires with. */
function drawTexts(drawing: Drawing, bar: Bar, y: number, x: (place: number) => number): void {
  const { context, texts, axis, colours } = drawing;
  const parts = [...bar.changes, ...bar.fires].sort((one, other) => one.place - other.place);
  parts.forEach((part, at) => {
    const left = Math.max(axis.left, x(part.place));
    const right = Math.min(axis.right, x(parts[at + 1]?.place ?? bar.end));
    if (part.place > bar.begin && x(part.place) > axis.left) {
      context.fillStyle = colours.accent;
      context.fillRect(x(part.place), y, 1, LANE);
    }
    if (right - left < 16) return;
    const [from, to] = axis.uncut(left, right);
    texts.writeShort(part.text, to - from - 8, { ink: colours.text }, [from + 5, y + LANE / 2 + 0.5]);
  });
}

function drawCross({ context, colours }: Drawing, x: number, y: number): void {
  context.strokeStyle = colours.text;
  context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y + 4);
  context.moveTo(x + 4, y - 4);
  context.lineTo(x - 4, y + 4);
  context.stroke();
}
