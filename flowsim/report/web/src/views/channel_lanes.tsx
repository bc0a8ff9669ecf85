/** The buffers of one channel over time: the lanes of the sender's queue, and below them those of the receiver. */

import { useCallback, useMemo } from "preact/hooks";
import { freedAt, lanesOf, type LaneOf } from "../model/channel_lanes";
import type { Buffer, ChannelFacts, Entry } from "../model/channels";
import { count } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import { hatched } from "../ui/colours";
import type { Axis } from "../ui/horizontal";
import { drawShortage } from "./channel_credits";
import type { Ends } from "./channel_picture";
import { bufferTip, crowdTip, entryTip, transferTip } from "./channel_tips";

const LANE = 18;
const PITCH = 21;
const HEAD = 20;
/** More lanes than these are drawn as the number of buffers. */
const MOST_LANES = 12;
const MOST_BARS = 4000;

/** The lanes of both ends, one above the other. */
export function BuffersOverTime({ store, facts, source, target }: Ends) {
  const lanes = useMemo(() => lanesOf(facts), [facts]);
  const shown = (of: LaneOf<unknown>) => (of.count > MOST_LANES ? 3 : Math.max(1, of.count));
  const receiverTop = HEAD + shown(lanes.sender) * PITCH + HEAD;
  const bottom = receiverTop + shown(lanes.receiver) * PITCH;
  const draw = useCallback(
    (drawing: Drawing) => {
      const { names } = store.model;
      drawAxis(store, drawing, 0, bottom);
      drawShortage(store, drawing, facts, 0, receiverTop - HEAD);
      drawLabel(drawing, "sender's queue", HEAD / 2, "strong");
      drawLabel(drawing, names.shortTask(source), HEAD + PITCH / 2, "faint");
      drawLabel(drawing, "receiver's buffers", receiverTop - HEAD / 2, "strong");
      drawLabel(drawing, names.shortTask(target), receiverTop + PITCH / 2, "faint");
      const { texts, axis } = drawing;
      texts.inside({ left: axis.left, top: 0, right: axis.right, bottom }, () => {
        drawSender(store, drawing, facts, lanes.sender, HEAD);
        drawReceiver(store, drawing, facts, lanes.receiver, receiverTop);
        drawTransfers(store, drawing, facts, lanes.receiver, receiverTop);
      });
    },
    [store, facts, lanes],
  );
  const label = `${count(facts.buffers.length, "buffer")} of the channel over time`;
  return <TimeCanvas store={store} height={bottom + 20} label={label} draw={draw} />;
}

/** Those in view: begins and ends ascend; of things that overtake, the ends are those of ``LaneOf.reach``. */
function inView<Thing>(store: Store, of: LaneOf<Thing>, begin: (thing: Thing) => number, endOf: (at: number) => number) {
  const [from, to] = store.range.value;
  const [first, last] = [store.placeOf(from), store.placeOf(to)];
  let low = 0;
  let high = of.things.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (endOf(middle) < first) low = middle + 1;
    else high = middle;
  }
  let stop = low;
  while (stop < of.things.length && begin(of.things[stop]!) <= last) stop++;
  return [low, stop] as const;
}

function xOf(axis: Axis, place: number): number {
  return place === Infinity ? axis.right + 20 : axis.x(place);
}

function drawSender(store: Store, drawing: Drawing, facts: ChannelFacts, of: LaneOf<Entry>, top: number): void {
  const { context, axis, colours } = drawing;
  const [first, last] = inView(store, of, (entry) => entry.queued, (at) => of.reach[at]!);
  const filling = hatched(context, colours.queued, colours.filling);
  if (of.count > MOST_LANES || last - first > MOST_BARS) {
    drawCounts(drawing, of.things.slice(first, last).map((entry) => [entry.queued, entry.gone]), "in the queue of the sender", colours.queued, top);
    return;
  }
  const add = drawing.marks.layer("entry", (at) => entryTip(store, facts, at));
  for (let at = first; at < last; at++) {
    const entry = of.things[at]!;
    const y = top + of.lanes[at]! * PITCH;
    const [begin, middle, end] = [axis.x(entry.queued), xOf(axis, Math.min(entry.finished, entry.gone)), xOf(axis, entry.gone)];
    const urgent = xOf(axis, Math.min(entry.priority, entry.gone));
    bar(context, begin, middle, y, filling);
    bar(context, middle, urgent, y, colours.queued);
    bar(context, urgent, end, y, colours.text);
    add(at, begin, y, end - begin, LANE);
    number(drawing, entry.isEvent ? `e${entry.number}` : String(entry.number), begin, end, y, "#000000", colours.queued);
  }
}

function drawReceiver(store: Store, drawing: Drawing, facts: ChannelFacts, of: LaneOf<Buffer>, top: number): void {
  const { context, axis, colours } = drawing;
  const [first, last] = inView(store, of, (buffer) => buffer.received, (at) => of.reach[at]!);
  if (of.count > MOST_LANES || last - first > MOST_BARS) {
    const spans = of.things.slice(first, last).map((buffer) => [buffer.received, freedAt(buffer)]);
    drawCounts(drawing, spans, "at the receiver", colours.waits, top);
    return;
  }
  const add = drawing.marks.layer("buffer", (at) => bufferTip(store, facts, of.things[at]!));
  for (let at = first; at < last; at++) {
    const buffer = of.things[at]!;
    const y = top + of.lanes[at]! * PITCH;
    const freed = freedAt(buffer);
    const [begin, middle, end] = [axis.x(buffer.received), xOf(axis, Math.min(buffer.firstRead, freed)), xOf(axis, freed)];
    bar(context, begin, middle, y, colours.waits);
    bar(context, middle, end, y, colours.read);
    add(at, begin, y, end - begin, LANE);
    const isRead = end - middle > middle - begin;
    number(drawing, String(buffer.number), isRead ? middle : begin, isRead ? end : middle, y, isRead ? "#ffffff" : "#000000");
  }
}

function bar(context: CanvasRenderingContext2D, from: number, to: number, y: number, fill: string | CanvasPattern): void {
  if (to - from <= 0) return;
  context.fillStyle = fill;
  context.fillRect(from, y, Math.max(0.6, to - from - 0.6), LANE);
}

/** Its number in the visible part of a bar, if there is room. */
function number({ context, texts, axis }: Drawing, text: string, from: number, to: number, y: number, ink: string, back?: string): void {
  const [left, right] = [Math.max(from, axis.left), Math.min(to, axis.right)];
  const width = texts.widthOf(text) + 6;
  if (right - left < width) return;
  const x = (left + right) / 2;
  if (back) {
    context.fillStyle = back;
    context.fillRect(x - width / 2, y + 2, width, LANE - 4);
  }
  texts.write(text, { ink }, [x, y + LANE / 2 + 0.5, "center"]);
}

/** How many there are, where they are too many for lanes. */
function drawCounts({ context, texts, axis, colours, marks }: Drawing, spans: number[][], what: string, colour: string, top: number): void {
  const width = Math.ceil(axis.right - axis.left);
  const change = new Float64Array(width + 2);
  const column = (place: number) => Math.min(width + 1, Math.max(0, Math.round(xOf(axis, place) - axis.left)));
  for (const [begin, end] of spans) {
    change[column(begin!)]! += 1;
    change[Math.max(column(end!), column(begin!) + 1)]! -= 1;
  }
  const counts: number[] = [];
  let now = 0;
  for (let x = 0; x < width; x++) counts.push((now += change[x]!));
  const most = Math.max(1, ...counts);
  const height = 3 * PITCH - 8;
  context.fillStyle = colour;
  counts.forEach((n, x) => context.fillRect(axis.left + x, top + height - (n / most) * height, 1.1, (n / most) * height));
  marks.layer(`crowd ${what}`, (_, x) => crowdTip(counts, axis.left, x, what, top, height))(0, axis.left, top, width, height);
  texts.write(`at most ${most} at a time`, { ink: colours.text, halo: colours.back }, [axis.left + 4, top + 6]);
}

/** From the moment of sending to that of receiving; dashed if the receiver took the buffer later. */
function drawTransfers(store: Store, { context, axis, colours, marks }: Drawing, facts: ChannelFacts, of: LaneOf<Buffer>, top: number): void {
  const [first, last] = inView(store, of, (buffer) => buffer.sent, (at) => of.things[at]!.received);
  if (last - first > MOST_BARS / 8 || of.count > MOST_LANES) return;
  const { time } = store.model.facts;
  context.strokeStyle = colours.text;
  context.lineWidth = 0.8;
  const add = marks.layer("transfer", (at) => transferTip(store, facts, of.things[at]!));
  for (let at = first; at < last; at++) {
    const buffer = of.things[at]!;
    const isLater = time[buffer.received]! > time[buffer.sent]!;
    context.setLineDash(isLater ? [2, 3] : []);
    context.globalAlpha = isLater ? 1 : 0.45;
    const [x, toX, toY] = [axis.x(buffer.sent), axis.x(buffer.received), top + of.lanes[at]! * PITCH];
    context.beginPath();
    context.moveTo(x, top - HEAD);
    context.lineTo(toX, toY);
    context.stroke();
    // Below are the bars of buffers.
    add.line(at, x, top - HEAD, x + ((toX - x) * HEAD) / (toY - top + HEAD), top);
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

