/** Draws records, watermarks and windows of one subject by event time, or by the distance from the watermark. */

import { BOUND } from "../decode";
import type { EventTime, Line } from "../model/event_time";
import { countUpTo } from "../model/facts";
import { isGapBetween, Timing, type Marks } from "../model/points";
import type { WindowBox } from "../model/windows";
import { atTime, commas, count, utc } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import type { Drawing } from "../ui/canvas";
import type { Spot } from "../ui/canvas_text";
import { hatched } from "../ui/colours";
import { drawAttempts } from "../ui/checkpoint_marks";
import { drawEventAxis, eventAxis, type EventAxis } from "../ui/event_axis";
import { WindowCounts, type Area } from "./window_counts";
import { cellsTip, fireTip, recordTip, watermarkTip, windowTip } from "./event_time_tips";

/** With more records in view they are counted into cells of a raster. */
export const MOST_POINTS = 20_000;
/** With more in view there are no labels, or no boxes. */
const MOST_LABELS = 40;
/** Of these no label lies over a mark. */
const MOST_CLEAR = 160;
const MOST_LATE_LABELS = 10;
const MOST_WATERMARK_LABELS = 40;
const MOST_WINDOW_LABELS = 24;
const MOST_LINE_LABELS = 4;
/** Of two labels without room for both, the one of the lower rank is written. */
const Rank = { LATE: 0, FIRE: 1, WATERMARK: 2, WINDOW: 3, END: 4, LINE: 5, RECORD: 6 };
export const MOST_WINDOWS = 2000;
/** With more windows at one place and one event time they are counted. */
const MOST_OVERLAPS = 8;
const MOST_LINES = 24;
const TOP = 8;
/** Half of the width of a mark. */
const MARK = 4;
const CELL = 2;
/** The pointer counts the records of so many cells on each side. */
const AROUND = 2;
const OUTLIERS = 0.002;
/** The sides of the marks of a record and of a line. */
const POINT = 11;
const LINE = 6;

export interface Chart {
  of: EventTime;
  key: number | null;
  isRelative: boolean;
}

/** The numbers of the records in view, and the places where the view begins and ends. */
export function recordsInView(store: Store, of: EventTime, key: number | null): { first: number; last: number; numbers: Uint32Array } {
  const [from, to] = store.range.value;
  const [first, last] = [store.placeOf(from), store.placeOf(to)];
  const chosen = of.of(key);
  const { places } = of.points;
  if (!chosen) {
    const begin = countUpTo(places, first - 1);
    const numbers = Uint32Array.from({ length: Math.max(0, countUpTo(places, last) - begin) }, (_, at) => begin + at);
    return { first, last, numbers };
  }
  const ofKey = Uint32Array.from(chosen, (number) => places[number]!);
  return { first, last, numbers: chosen.slice(countUpTo(ofKey, first - 1), countUpTo(ofKey, last)) };
}

export function windowsInView(of: EventTime, key: number | null, first: number, last: number): WindowBox[] {
  return of.windows.filter((box) => {
    return (key === null || box.key === key) && box.first <= last && box.gone >= first && Math.abs(box.start) < BOUND / 2;
  });
}

export function drawEventTime(store: Store, drawing: Drawing, { of, key, isRelative }: Chart): void {
  const { texts, axis, colours, height } = drawing;
  const { first, last, numbers } = recordsInView(store, of, key);
  const windows = isRelative ? [] : windowsInView(of, key, first, last);
  const lines = linesOf(of);
  const bottom = height - 20;
  const values = isRelative ? relativeValues(of, numbers) : absoluteValues(of, numbers, windows, lines, first, last);
  const isRaster = numbers.length > MOST_POINTS;
  const [low, high] = extent(values, isRaster);
  const events = eventAxis(isRelative ? Math.min(low, 0) : low, isRelative ? Math.max(high, 0) : high, TOP, bottom);
  drawAxis(store, drawing, 0, bottom);
  drawTitle(drawing, of, isRelative);
  drawEventAxis(drawing, events, isRelative);
  const view: View = { store, drawing, of, events, isRelative, first, last, hidden: 0 };
  texts.inside({ left: axis.left, top: 0, right: axis.right, bottom }, () => {
    if (windows.length <= MOST_WINDOWS) {
      drawWindows(view, windows, key !== null);
      markWindows(store, drawing, of, windows, events, last);
    }
    lines.forEach((line) => drawLine(view, line, lines.length));
    if (isRelative) drawZero(drawing, events);
    else drawWatermark(view);
    if (isRaster) drawRaster(view, numbers);
    else drawPoints(view, numbers);
    drawAttempts(store, drawing, of.subject.task, TOP, bottom - TOP);
    view.hidden += texts.writeLabels();
  });
  if (view.hidden) texts.write(`${count(view.hidden, "label")} hidden: zoom in`, { ink: colours.faint }, [4, bottom + 9], [4, 26], [4, 42]);
}

/** The line of a single channel is that of the task. */
export function linesOf(of: EventTime): Line[] {
  return of.lines.length > 1 && of.lines.length <= MOST_LINES ? of.lines : [];
}

/** Without the day if all of the view is in it. */
function shortTime(ms: number, { low, high }: EventAxis): string {
  const text = atTime(ms);
  return utc(low) && utc(low).slice(0, 10) === utc(high).slice(0, 10) ? text.slice(11) : text;
}

interface View {
  store: Store;
  drawing: Drawing;
  of: EventTime;
  events: EventAxis;
  isRelative: boolean;
  first: number;
  last: number;
  /** Labels without room. */
  hidden: number;
}

function isFinite(value: number): boolean {
  return Math.abs(value) < BOUND / 2;
}

function relativeValues({ points }: EventTime, numbers: Uint32Array): Float64Array {
  const found = new Float64Array(numbers.length);
  let count = 0;
  for (const number of numbers) {
    if (isFinite(points.watermarks[number]!)) found[count++] = points.timestamps[number]! - points.watermarks[number]!;
  }
  return found.slice(0, count);
}

function absoluteValues(
  of: EventTime, numbers: Uint32Array, windows: WindowBox[], lines: Line[], first: number, last: number,
): Float64Array {
  const found: number[] = [];
  for (const box of windows.length <= MOST_WINDOWS ? windows : []) found.push(box.start, box.end);
  for (const marks of [of.watermark, ...lines.map((line) => line.marks)]) {
    const end = countUpTo(marks.places, last);
    for (let at = Math.max(0, countUpTo(marks.places, first) - 1); at < end; at++) {
      if (isFinite(marks.values[at]!)) found.push(marks.values[at]!);
    }
  }
  const all = new Float64Array(numbers.length + found.length);
  numbers.forEach((number, at) => (all[at] = of.points.timestamps[number]!));
  all.set(found, numbers.length);
  return all;
}

function extent(values: Float64Array, withoutOutliers: boolean): [number, number] {
  if (!values.length) return [0, 1];
  values.sort();
  const cut = withoutOutliers ? Math.floor(values.length * OUTLIERS) : 0;
  return [values[cut]!, values[values.length - 1 - cut]!];
}

function drawTitle(drawing: Drawing, { plan }: EventTime, isRelative: boolean): void {
  const isClock = plan !== null && !plan.isJoin && !plan.isEventTime && plan.shape !== "global";
  const title = isRelative ? "event time - watermark" : isClock ? "clock (ms)" : "event time (ms)";
  drawLabel(drawing, title, 10, "strong");
}

function drawWindows(view: View, boxes: WindowBox[], isOfKey: boolean): void {
  const { drawing, events, last } = view;
  const { axis } = drawing;
  const x = (place: number) => (place > last ? axis.right + 2 : axis.x(place));
  const areas = boxes.map((box) => {
    const fired = box.fires.find((fire) => fire.result !== 2);
    return { left: x(box.first), right: x(fired ? fired.place : box.gone), top: events.y(box.end), bottom: events.y(box.start) };
  });
  const hasLabels = isOfKey && boxes.length <= MOST_WINDOW_LABELS;
  if (isOfKey && !hasLabels) view.hidden += boxes.length;
  const counts = boxes.length > MOST_OVERLAPS ? new WindowCounts(areas, axis, events.bottom) : null;
  if (counts && counts.most > MOST_OVERLAPS) {
    drawWindowCounts(view, counts, areas);
    return;
  }
  boxes.forEach((box, at) => {
    drawWindow(view, box, areas[at]!, x);
    if (hasLabels) labelWindow(view, box, areas[at]!, x);
  });
}

/** Their number by the depth of the colour, and a dot where each ends: boxes would be one dark block. */
function drawWindowCounts({ drawing }: View, counts: WindowCounts, areas: Area[]): void {
  const { context, texts, axis, colours } = drawing;
  counts.draw(context, colours.window);
  context.fillStyle = colours.window;
  for (const { right, top } of areas) if (right <= axis.right) context.fillRect(right - 1, top - 1, 2, 2);
  const left = Math.max(axis.left, Math.min(...areas.map((area) => area.left)));
  const highest = Math.max(0, Math.min(...areas.map((area) => area.top)));
  const text = `up to ${commas(counts.most)} windows at once`;
  texts.label(Rank.WINDOW, text, { ink: colours.window, halo: colours.back }, [left - 6, highest + 8, "right"], [left + 6, highest + 8], [axis.right - 6, highest - 8, "right"]);
}

function drawWindow({ drawing, of }: View, box: WindowBox, { left, right, top, bottom }: Area, x: (place: number) => number): void {
  const { context, colours } = drawing;
  context.fillStyle = `${colours.window}22`;
  context.fillRect(left, top, right - left, bottom - top);
  context.strokeStyle = colours.window;
  context.lineWidth = 1;
  context.setLineDash(box.isMerged ? [2, 3] : []);
  context.strokeRect(left, top, right - left, bottom - top);
  if (box.gone > (box.fires.find((fire) => fire.result !== 2)?.place ?? Infinity) && (of.plan?.latenessMs ?? 0) > 0) {
    context.fillStyle = hatched(context, `${colours.window}66`);
    context.fillRect(right, top, x(box.gone) - right, bottom - top);
    context.setLineDash([4, 3]);
    context.strokeRect(right, top, x(box.gone) - right, bottom - top);
  }
  context.setLineDash([]);
  context.fillStyle = colours.window;
  for (const fire of box.fires) context.fillRect(x(fire.place) - 1.5, top, 3, bottom - top);
}

/** What it fires with, its bounds, and why it ends without a fire. */
function labelWindow({ store, drawing, events }: View, box: WindowBox, area: Area, x: (place: number) => number): void {
  const { texts, axis, colours } = drawing;
  const style = { ink: colours.window, halo: colours.back };
  const [left, right] = [Math.max(area.left, axis.left) + 6, Math.min(area.right, axis.right) - 6];
  const [high, low] = [area.top + 12, area.bottom - 8];
  for (const fire of box.fires) {
    const text = `${fire.result === 2 ? "purges" : "fires with"} ${fire.rows}`;
    const at = x(fire.place);
    texts.label(Rank.FIRE, text, style, [at + 6, high], [at - 6, high, "right"], [at + 6, low], [at - 6, low, "right"]);
  }
  const bounds = `[${shortTime(box.start, events)}, ${shortTime(box.end, events)})`;
  const isWide = texts.widthOf(bounds) <= right - left;
  const inside: Spot[] = [[left, high], [left, low], [right, high, "right"], [right, low, "right"]];
  texts.label(Rank.WINDOW, bounds, style, ...(isWide ? inside : inside.slice(0, 2)));
  if (box.isMerged) texts.label(Rank.END, "merged", style, [left, low], [right, low, "right"], [left, high]);
  else if (box.isLost) texts.label(Rank.END, "ends with its attempt", style, [right, low, "right"], [right, high, "right"]);
  else if (!box.fires.length && !box.hasFired && box.gone === Infinity) {
    texts.label(Rank.END, store.model.unfired, style, [right, low, "right"], [right, high, "right"]);
  }
}

function markWindows(store: Store, { axis, marks }: Drawing, of: EventTime, boxes: WindowBox[], events: EventAxis, last: number): void {
  const x = (place: number) => (place > last ? axis.right + 2 : axis.x(place));
  const height = (box: WindowBox) => events.y(box.start) - events.y(box.end);
  const addWindow = marks.layer("window", (number) => windowTip(store, of, boxes[number]!));
  boxes.forEach((box, number) => addWindow(number, x(box.first), events.y(box.end), x(box.gone) - x(box.first), height(box)));
  const fires = boxes.flatMap((box) => box.fires.map((fire) => ({ box, fire })));
  const addFire = marks.layer("fire", (number) => fireTip(store, of, fires[number]!.box, fires[number]!.fire));
  fires.forEach(({ box, fire }, number) => addFire(number, x(fire.place) - 2.5, events.y(box.end), 5, height(box)));
}

/** The watermark of a channel or split, thin and dashed; a gap while it is idle. */
function drawLine(view: View, { marks, label }: Line, lines: number): void {
  const { drawing, of, isRelative } = view;
  const { context, texts, axis, colours } = drawing;
  context.strokeStyle = colours.watermark;
  context.lineWidth = 1;
  context.setLineDash([5, 4]);
  const steps = isRelative ? difference(marks, of.watermark) : marks;
  const end = stepLine(view, steps, `watermark ${label}`, marks);
  context.setLineDash([]);
  const x = Math.min(end?.x ?? 0, axis.right) - 4;
  if (end && lines <= MOST_LINE_LABELS) texts.label(Rank.LINE, label, { ink: colours.watermark, halo: colours.back }, [x, end.y - 8, "right"], [x, end.y + 9, "right"]);
}

function difference(marks: Marks, watermark: Marks): Marks {
  const places = [...new Set([...marks.places, ...watermark.places])].sort((one, other) => one - other);
  const found: Marks = { places: [], values: [], idle: [], gaps: [...marks.gaps, ...watermark.gaps].sort((one, other) => one - other), falls: [] };
  let [one, other] = [-1, -1];
  for (const place of places) {
    while (one + 1 < marks.places.length && marks.places[one + 1]! <= place) one++;
    while (other + 1 < watermark.places.length && watermark.places[other + 1]! <= place) other++;
    if (one < 0 || other < 0) continue;
    const isKnown = isFinite(marks.values[one]!) && isFinite(watermark.values[other]!);
    found.places.push(place);
    found.values.push(isKnown ? marks.values[one]! - watermark.values[other]! : BOUND);
    found.idle.push(marks.idle[one]! || !isKnown);
  }
  return found;
}

/** Returns where the line ends in view. ``whose``: the kind of its marks; ``values``: those that they name. */
function stepLine(
  { drawing, events, first, last }: View, marks: Marks, whose: string, values: Marks,
): { x: number; y: number } | null {
  const { context, axis } = drawing;
  const add = drawing.marks.layer(whose, (place) => watermarkTip(whose, values, place));
  const from = Math.max(0, countUpTo(marks.places, first) - 1);
  const to = countUpTo(marks.places, last);
  let before: { x: number; y: number } | null = null;
  context.beginPath();
  for (let at = from; at < to; at++) {
    const value = marks.values[at]!;
    const x = axis.x(marks.places[at]!);
    const next = at + 1 < to ? axis.x(marks.places[at + 1]!) : axis.right;
    if (before && next - before.x < 0.5 && at + 1 < to) continue;
    if (before && isGapBetween(marks, marks.places[at - 1]!, marks.places[at]!)) before = null;
    if (before) context.lineTo(x, before.y);
    if (value <= -BOUND || marks.idle[at]) {
      before = null;
      continue;
    }
    const y = events.y(Math.min(value, events.high + (events.high - events.low)));
    if (before) context.lineTo(x, y);
    else context.moveTo(x, y);
    // One that is above the picture answers at its upper edge.
    add(marks.places[at]!, x, Math.max(0, y - LINE / 2), next - x, LINE);
    before = { x, y };
  }
  const gap = marks.gaps.find((place) => place > (marks.places[to - 1] ?? 0) && place <= last);
  const right = gap === undefined ? axis.right : Math.min(axis.right, axis.x(gap));
  if (before) context.lineTo(right, before.y);
  context.stroke();
  return before && { x: right, y: before.y };
}

function drawWatermark(view: View): void {
  const { drawing, of, events, first, last } = view;
  const { context, texts, axis, colours } = drawing;
  const { places, values, idle } = of.watermark;
  context.strokeStyle = colours.watermark;
  context.lineWidth = 2.4;
  stepLine(view, of.watermark, "watermark", of.watermark);
  const [from, to] = [countUpTo(places, first - 1), countUpTo(places, last)];
  if (to - from > MOST_WATERMARK_LABELS) {
    view.hidden += to - from;
    return;
  }
  for (let at = Math.max(0, from); at < to; at++) {
    if (values[at]! <= -BOUND) continue;
    const text = idle[at] ? "idle" : `watermark ${shortTime(values[at]!, events)}`;
    const y = Math.max(events.top, events.y(values[at]!));
    const x = axis.x(places[at]!);
    const spots: Spot[] = [[x + 5, y - 9], [x - 5, y - 9, "right"], [x + 5, y + 10], [x - 5, y + 10, "right"]];
    texts.label(Rank.WATERMARK, text, { ink: colours.watermark, halo: colours.back }, ...spots);
  }
}

function drawZero({ context, axis, colours }: Drawing, events: EventAxis): void {
  context.strokeStyle = colours.watermark;
  context.lineWidth = 2.4;
  context.beginPath();
  context.moveTo(axis.left, events.y(0));
  context.lineTo(axis.right, events.y(0));
  context.stroke();
}

function drawPoints(view: View, numbers: Uint32Array): void {
  const { store, drawing, of, events, isRelative } = view;
  const { context, texts, axis, colours } = drawing;
  const { points } = of;
  const add = drawing.marks.layer("record", (number) => recordTip(store, of, number));
  const isClear = numbers.length <= MOST_CLEAR;
  const mark = (number: number, x: number, y: number) => {
    drawMark(drawing, points.timings[number]!, x, y);
    if (isClear) texts.reserve({ left: x - MARK, right: x + MARK, top: y - MARK, bottom: y + MARK });
    add(number, x - POINT / 2, y - POINT / 2, POINT, POINT);
  };
  const late: number[] = [];
  const hasLabels = numbers.length <= MOST_LABELS;
  /** Beside a mark, and beside all others. */
  const label = (rank: number, text: string, x: number, y: number, ink: string) => {
    texts.label(rank, text, { ink, halo: colours.back }, [x + 9, y], [x - 9, y, "right"], [x + 6, y - 11], [x + 6, y + 11]);
  };
  for (const number of numbers) {
    const timing = points.timings[number]!;
    if (timing === Timing.LATE) {
      late.push(number);
      continue;
    }
    const y = valueOf(of, number, isRelative);
    if (y === null) continue;
    mark(number, axis.x(points.places[number]!), events.y(y));
    if (hasLabels) label(Rank.RECORD, shortTime(points.timestamps[number]!, events), axis.x(points.places[number]!), events.y(y), colours.text);
  }
  if (!hasLabels) view.hidden += numbers.length - late.length;
  if (late.length > MOST_LATE_LABELS) view.hidden += late.length;
  for (const number of late) {
    const value = valueOf(of, number, isRelative);
    if (value === null) continue;
    const [x, y] = [axis.x(points.places[number]!), events.y(value)];
    const line = events.y(isRelative ? 0 : points.watermarks[number]!);
    if (late.length <= MOST_LABELS) {
      context.strokeStyle = colours.late;
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, line);
      context.stroke();
      context.setLineDash([]);
    }
    mark(number, x, y);
    if (late.length > MOST_LATE_LABELS) continue;
    const text = `${shortTime(points.timestamps[number]!, events)} is late: watermark ${shortTime(points.watermarks[number]!, events)}`;
    label(Rank.LATE, text, x, y, colours.late);
  }
}

function valueOf({ points }: EventTime, number: number, isRelative: boolean): number | null {
  if (!isRelative) return points.timestamps[number]!;
  const watermark = points.watermarks[number]!;
  return isFinite(watermark) ? points.timestamps[number]! - watermark : null;
}

/** A dot in time, a ring behind the watermark, a cross if late. */
function drawMark({ context, colours }: Drawing, timing: number, x: number, y: number): void {
  context.beginPath();
  if (timing === Timing.LATE) {
    context.strokeStyle = colours.late;
    context.lineWidth = 2.2;
    context.moveTo(x - 4.5, y - 4.5);
    context.lineTo(x + 4.5, y + 4.5);
    context.moveTo(x + 4.5, y - 4.5);
    context.lineTo(x - 4.5, y + 4.5);
    context.stroke();
  } else if (timing === Timing.BEHIND) {
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fillStyle = colours.back;
    context.fill();
    context.strokeStyle = colours.behind;
    context.lineWidth = 2;
    context.stroke();
  } else {
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fillStyle = colours.inTime;
    context.fill();
  }
}

/** Records counted in cells; the darker the more, late ones on top. */
function drawRaster({ drawing, of, events, isRelative }: View, numbers: Uint32Array): void {
  const { context, axis, colours } = drawing;
  const columns = Math.ceil((axis.right - axis.left) / CELL);
  const rows = Math.ceil((events.bottom - events.top) / CELL);
  const counts = [colours.inTime, colours.behind, colours.late].map(() => new Uint32Array(columns * rows));
  for (const number of numbers) {
    const value = valueOf(of, number, isRelative);
    if (value === null) continue;
    const column = Math.floor((axis.x(of.points.places[number]!) - axis.left) / CELL);
    const row = Math.floor((events.y(Math.min(Math.max(value, events.low), events.high)) - events.top) / CELL);
    if (column < 0 || column >= columns) continue;
    counts[of.points.timings[number]!]![Math.min(rows - 1, Math.max(0, row)) * columns + column]!++;
  }
  [colours.inTime, colours.behind, colours.late].forEach((colour, timing) => {
    const cells = counts[timing]!;
    const most = Math.log1p(cells.reduce((one, other) => Math.max(one, other), 0));
    context.fillStyle = colour;
    cells.forEach((count, cell) => {
      if (!count) return;
      context.globalAlpha = 0.35 + 0.65 * (Math.log1p(count) / most);
      context.fillRect(axis.left + (cell % columns) * CELL, events.top + Math.floor(cell / columns) * CELL, CELL, CELL);
    });
    context.globalAlpha = 1;
  });
  const add = drawing.marks.layer("cells", (_, x, y) => {
    const [column, row] = [Math.floor((x - axis.left) / CELL) - AROUND, Math.floor((y - events.top) / CELL) - AROUND];
    const side = 2 * AROUND + 1;
    const sums = counts.map((cells) => {
      let sum = 0;
      for (let at = row; at < row + side; at++) {
        for (let of = Math.max(0, column); of < Math.min(columns, column + side); of++) sum += cells[at * columns + of] ?? 0;
      }
      return sum;
    });
    const at = { x: axis.left + column * CELL, y: events.top + row * CELL, width: side * CELL, height: side * CELL };
    return cellsTip(sums, at);
  });
  add(0, axis.left, events.top, axis.right - axis.left, events.bottom - events.top);
}
