/** The buffers of one channel: at the cursor, over time, and its credits and backlog. */

import { signal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import { freedAt, lanesOf, type LaneOf } from "../model/channel_lanes";
import { valueAt, type Buffer, type ChannelFacts, type ChannelState, type Entry } from "../model/channels";
import { countUpTo } from "../model/facts";
import { STATE_WORDS } from "../model/states";
import { commas, count, moment } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import { inLines, shortened, smallWidth, strongWidth } from "../ui/canvas_text";
import type { Axis } from "../ui/horizontal";
import { hatched } from "../ui/colours";
import { isNarrow, useRoom } from "../ui/room";
import type { View } from "./view";

const LANE = 18;
const PITCH = 21;
const HEAD = 20;
/** More lanes than these are drawn as the number of buffers. */
const MOST_LANES = 12;
const MOST_BOXES = 8;
const BOX = 48;
const BOX_PITCH = 50;
/** Of all boxes; of a bar that stands for many of them; of the arrows between both ends; and of the words beside them. */
const BOXES = 400;
const LEAST_BAR = 84;
const BETWEEN = 196;
const SIDE = 168;
/** Of credits, beside those that are on the way. */
const MOST_DOTS = 3;
const MOST_BARS = 4000;
const MOST_RECORDS = 200;
const CHART = 84;
/** Of the axis below the chart. */
const FOOT = 22;

/** The chosen buffer, by its sequence number on the channel. */
const picked = signal<{ channel: number; number: number } | null>(null);

function ChannelView({ store }: { store: Store }) {
  const { model } = store;
  const channels = [...model.names.channels.values()];
  const wanted = store.selection.value.channel;
  const channel = channels.find((one) => one.id === wanted) ?? channels[0]!;
  const facts = model.channels.of(channel.id);
  const chosen = picked.value?.channel === channel.id ? facts.buffer(picked.value.number) : undefined;
  return (
    <>
      <div class="row">
        <label>
          Channel{" "}
          <select value={channel.id} onChange={(event) => store.select({ channel: Number(event.currentTarget.value) })}>
            {channels.map((one) => <option value={one.id}>{model.names.channel(one.id)}</option>)}
          </select>
        </label>
        <span class="faint">
          {model.names.edges.get(channel.edge)?.partitioner}
          {channel.local ? ", local: both ends in one task manager, without credits" : ""}
          {channel.bytesPerSecond ? `, link of ${commas(channel.bytesPerSecond)} bytes/s` : ""}
        </span>
      </div>
      <Note store={store} facts={facts} source={channel.source} />
      <Picture store={store} facts={facts} source={channel.source} target={channel.target} />
      <Legend />
      <BuffersOverTime key={`b${channel.id}`} store={store} facts={facts} source={channel.source} target={channel.target} />
      <Chart key={`c${channel.id}`} store={store} facts={facts} isLocal={channel.local} />
      {chosen && <Records store={store} facts={facts} buffer={chosen} />}
    </>
  );
}

/** Why data waits at the cursor: since when without credit, and when the next one comes. */
function Note({ store, facts, source }: { store: Store; facts: ChannelFacts; source: number }) {
  const place = store.place.value;
  const { attempts, facts: { time } } = store.model;
  const backlog = valueAt(facts.backlog, place) ?? 0;
  if (valueAt(facts.credits, place) !== 0 || backlog === 0) return null;
  const since = beginOfShortage(facts, place);
  const { places, values } = facts.credits;
  const end = attempts.endsOf(source).find((at) => at >= place) ?? Infinity;
  const next = places.find((at, number) => at > place && values[number]! > 0) ?? Infinity;
  const until =
    next < end ? `, until it gets credits at ${moment(time[next]!)}`
      : end < Infinity ? `, until its task ends at ${moment(time[end]!)}`
        : "; the recording ends before it gets any";
  return (
    <p class="note">
      No credit: {count(backlog, "data buffer")} {backlog === 1 ? "waits" : "wait"} at the sender since {moment(time[since]!)}
      {until} (rules 6.8, 6.9).
    </p>
  );
}

function beginOfShortage(facts: ChannelFacts, place: number): number {
  let since = place;
  const places = [...facts.credits.places, ...facts.backlog.places].sort((one, other) => one - other);
  for (let at = countUpTo(places, place) - 1; at >= 0; at--) {
    const before = places[at]!;
    if (valueAt(facts.credits, before) !== 0 || !valueAt(facts.backlog, before)) break;
    since = before;
  }
  return since;
}

interface Ends {
  store: Store;
  facts: ChannelFacts;
  source: number;
  target: number;
}

function Picture({ store, facts, source, target }: Ends) {
  const { names, states } = store.model;
  const place = store.place.value;
  const now = facts.at(place);
  const stateOf = (task: number) => {
    const state = states.at(task, place);
    return state ? STATE_WORDS[state] : states.isKnown ? "does not run" : "";
  };
  const isOut = now.credits === 0 && now.backlog > 0;
  const [box, room] = useRoom();
  const narrow = isNarrow(room);
  return (
    <div class="scroll" ref={box}>
      <svg
        class={narrow ? "picture narrow" : "picture"} viewBox={narrow ? "0 0 616 318" : "0 0 1240 132"} role="img"
        aria-label={wordsOf(now)}
      >
        <text class="strong" x="172" y="34" text-anchor="end">{shortened(names.shortTask(source), SIDE, strongWidth)}</text>
        <text class="faint" x="172" y="52" text-anchor="end">queue of the subpartition</text>
        {inLines(stateOf(source), SIDE).map((line, at) => (
          <text key={at} class="faint" x="172" y={70 + at * 15} text-anchor="end">{line}</text>
        ))}
        <Boxes x={184} boxes={senderBoxes(now)} />
        <text class={isOut ? "no-credit strong" : "strong"} x="184" y="104">backlog {now.backlog}</text>
        <g transform={narrow ? "translate(-416 92)" : undefined}>
          <path class="edge" d="M600 38H800" marker-end="url(#to-right)" />
          <text class="faint" x="700" y="30" text-anchor="middle">
            {now.inFlight.length ? shortened(`sent, not yet taken: ${listed(now.inFlight)}`, BETWEEN, smallWidth) : "data"}
          </text>
          {now.credits !== null && <Credits now={now} isOut={isOut} />}
        </g>
        <g transform={narrow ? "translate(-632 186)" : undefined}>
          <Boxes x={816} boxes={receiverBoxes(now)} />
          <text class="strong" x="816" y="104">{shortened(names.shortTask(target), BOXES, strongWidth)}</text>
          <text class="faint" x="816" y="122">buffers of the channel; {stateOf(target)}</text>
        </g>
        <defs>
          <marker id="to-right" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path class="arrow" d="M0 0 8 4 0 8Z" />
          </marker>
          <marker id="to-left" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path class="credit-fill" d="M0 0 8 4 0 8Z" />
          </marker>
        </defs>
      </svg>
    </div>
  );
}

function Credits({ now, isOut }: { now: ChannelState; isOut: boolean }) {
  return (
    <>
      <path class="credit-line" d="M800 66H600" marker-end="url(#to-left)" />
      <text class={isOut ? "no-credit strong" : "credit strong"} x="600" y="90">{count(now.credits ?? 0, "credit")}</text>
      <CreditDots x={676} number={now.credits ?? 0} most={now.creditsOnTheWay ? MOST_DOTS : MOST_BOXES} />
      {now.creditsOnTheWay > 0 && (
        <text class="credit" x="800" y="90" text-anchor="end">{now.creditsOnTheWay} on the way</text>
      )}
    </>
  );
}

interface BoxOf {
  kind: string;
  label: string;
  word: string;
}

/** The buffer that is being filled is on the left, the one that leaves next on the right. */
function senderBoxes({ queue, urgent, filling }: ChannelState): BoxOf[] {
  const boxes = queue.map((number, at) => {
    if (at < urgent) return { kind: "urgent", label: String(number), word: "priority" };
    const isFilling = filling && at === queue.length - 1;
    return { kind: isFilling ? "filling" : "queued", label: String(number), word: isFilling ? "filling" : "full" };
  });
  return boxes.reverse();
}

function receiverBoxes({ waiting, reading, reserved }: ChannelState): BoxOf[] {
  return [
    ...new Array<BoxOf>(reserved).fill({ kind: "reserved", label: "", word: "reserved" }),
    ...waiting.map((number) => ({ kind: "waits", label: String(number), word: "waits" })).reverse(),
    ...reading.map((number) => ({ kind: "read", label: String(number), word: "read" })).reverse(),
  ];
}

function Boxes({ x, boxes }: { x: number; boxes: BoxOf[] }) {
  if (!boxes.length) return <text class="faint" x={x} y="50">empty</text>;
  if (boxes.length > MOST_BOXES) {
    const counts = new Map<string, { kind: string; number: number }>();
    for (const { kind, word } of boxes) counts.set(word, { kind, number: (counts.get(word)?.number ?? 0) + 1 });
    let left = x;
    return (
      <g>
        {[...counts].map(([word, { kind, number }]) => {
          const width = LEAST_BAR + (number / boxes.length) * (BOXES - counts.size * LEAST_BAR);
          const bar = (
            <g key={word}>
              <rect class={`buffer ${kind}`} x={left} y="24" width={width} height="40" />
              <text class="small" x={left} y="18">{number} {word}</text>
            </g>
          );
          left += width;
          return bar;
        })}
      </g>
    );
  }
  return (
    <g>
      {boxes.map(({ kind, label, word }, at) => (
        <g transform={`translate(${x + at * BOX_PITCH} 22)`}>
          <rect class={`buffer ${kind}`} width={BOX} height="42" rx="4" />
          <text class={`in-box ${kind}`} x={BOX / 2} y="19" text-anchor="middle">{label}</text>
          <text class={`in-box word ${kind}`} x={BOX / 2} y="34" text-anchor="middle">{word}</text>
        </g>
      ))}
    </g>
  );
}

function CreditDots({ x, number, most }: { x: number; number: number; most: number }) {
  if (number > most) return null;
  return <g class="dots">{new Array(number).fill(0).map((_, at) => <circle cx={x + at * 11} cy="86" r="4" />)}</g>;
}

function listed(numbers: number[]): string {
  return numbers.length > 4 ? `${numbers.slice(0, 3).join(", ")} and ${numbers.length - 3} more` : numbers.join(", ");
}

function wordsOf(now: ChannelState): string {
  const parts = [`${count(now.queue.length, "buffer")} in the queue, backlog ${now.backlog}`];
  if (now.credits !== null) parts.push(count(now.credits, "credit"));
  parts.push(`${now.inFlight.length} sent and not yet taken`, `${now.waiting.length} wait at the receiver`);
  parts.push(`${now.reading.length} being read`);
  return parts.join(", ");
}

function Legend() {
  return (
    <ul class="legend" aria-label="States of buffers">
      <li><span class="swatch filling" /> being filled</li>
      <li><span class="swatch queued" /> finished, queued at the sender</li>
      <li><span class="swatch urgent" /> event with priority: a barrier that overtakes</li>
      <li><span class="swatch waits" /> at the receiver, waits</li>
      <li><span class="swatch read" /> being read</li>
      <li><span class="swatch reserved" /> reserved at the receiver</li>
      <li><span class="swatch none" /> data without credit</li>
      <li>dashed line: sent, not yet taken</li>
    </ul>
  );
}

/** The lanes of both ends, one above the other. */
function BuffersOverTime({ store, facts, source, target }: Ends) {
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
        drawSender(store, drawing, lanes.sender, HEAD);
        drawReceiver(store, drawing, lanes.receiver, receiverTop);
        drawTransfers(store, drawing, lanes.receiver, receiverTop);
      });
    },
    [store, facts, lanes],
  );
  const pick = (x: number, y: number, axis: Axis) => {
    if (x < axis.left) return;
    const place = store.placeOf(axis.valueAt(x));
    const inSender = y < receiverTop - HEAD;
    const lane = Math.floor((y - (inSender ? HEAD : receiverTop)) / PITCH);
    const number = inSender ? entryAt(facts, lanes.sender, lane, place) : bufferAt(lanes.receiver, lane, place);
    picked.value = number === undefined ? null : { channel: facts.channel, number };
  };
  const label = `${count(facts.buffers.length, "buffer")} of the channel over time`;
  return <TimeCanvas store={store} height={bottom + 20} label={label} draw={draw} onPick={pick} />;
}

function entryAt(facts: ChannelFacts, of: LaneOf<Entry>, lane: number, place: number): number | undefined {
  const at = of.things.findIndex((entry, n) => of.lanes[n] === lane && entry.queued <= place && place < entry.gone);
  const entry = of.things[at];
  return entry && facts.buffers.find((buffer) => buffer.entryAt === facts.entries.indexOf(entry))?.number;
}

function bufferAt(of: LaneOf<Buffer>, lane: number, place: number): number | undefined {
  return of.things.find((buffer, n) => of.lanes[n] === lane && buffer.received <= place && place < freedAt(buffer))?.number;
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

function drawSender(store: Store, drawing: Drawing, of: LaneOf<Entry>, top: number): void {
  const { context, axis, colours } = drawing;
  const [first, last] = inView(store, of, (entry) => entry.queued, (at) => of.reach[at]!);
  const filling = hatched(context, colours.queued, colours.filling);
  if (of.count > MOST_LANES || last - first > MOST_BARS) {
    drawCounts(drawing, of.things.slice(first, last).map((entry) => [entry.queued, entry.gone]), colours.queued, top);
    return;
  }
  for (let at = first; at < last; at++) {
    const entry = of.things[at]!;
    const y = top + of.lanes[at]! * PITCH;
    const [begin, middle, end] = [axis.x(entry.queued), xOf(axis, Math.min(entry.finished, entry.gone)), xOf(axis, entry.gone)];
    const urgent = xOf(axis, Math.min(entry.priority, entry.gone));
    bar(context, begin, middle, y, filling);
    bar(context, middle, urgent, y, colours.queued);
    bar(context, urgent, end, y, colours.text);
    number(drawing, entry.isEvent ? `e${entry.number}` : String(entry.number), begin, end, y, "#000000", colours.queued);
  }
}

function drawReceiver(store: Store, drawing: Drawing, of: LaneOf<Buffer>, top: number): void {
  const { context, axis, colours } = drawing;
  const [first, last] = inView(store, of, (buffer) => buffer.received, (at) => of.reach[at]!);
  if (of.count > MOST_LANES || last - first > MOST_BARS) {
    const spans = of.things.slice(first, last).map((buffer) => [buffer.received, freedAt(buffer)]);
    drawCounts(drawing, spans, colours.waits, top);
    return;
  }
  for (let at = first; at < last; at++) {
    const buffer = of.things[at]!;
    const y = top + of.lanes[at]! * PITCH;
    const freed = freedAt(buffer);
    const [begin, middle, end] = [axis.x(buffer.received), xOf(axis, Math.min(buffer.firstRead, freed)), xOf(axis, freed)];
    bar(context, begin, middle, y, colours.waits);
    bar(context, middle, end, y, colours.read);
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
function drawCounts({ context, texts, axis, colours }: Drawing, spans: number[][], colour: string, top: number): void {
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
  texts.write(`at most ${most} at a time`, { ink: colours.text, halo: colours.back }, [axis.left + 4, top + 6]);
}

/** From the moment of sending to that of receiving; dashed if the receiver took the buffer later. */
function drawTransfers(store: Store, { context, axis, colours }: Drawing, of: LaneOf<Buffer>, top: number): void {
  const [first, last] = inView(store, of, (buffer) => buffer.sent, (at) => of.things[at]!.received);
  if (last - first > MOST_BARS / 8 || of.count > MOST_LANES) return;
  const { time } = store.model.facts;
  context.strokeStyle = colours.text;
  context.lineWidth = 0.8;
  for (let at = first; at < last; at++) {
    const buffer = of.things[at]!;
    const isLater = time[buffer.received]! > time[buffer.sent]!;
    context.setLineDash(isLater ? [2, 3] : []);
    context.globalAlpha = isLater ? 1 : 0.45;
    context.beginPath();
    context.moveTo(axis.x(buffer.sent), top - HEAD);
    context.lineTo(axis.x(buffer.received), top + of.lanes[at]! * PITCH);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** Hatched where data waits and there are no credits. */
function drawShortage(store: Store, { context, axis, colours }: Drawing, facts: ChannelFacts, top: number, bottom: number): void {
  const [from, to] = store.range.value;
  const [first, last] = [store.placeOf(from), store.placeOf(to)];
  context.fillStyle = hatched(context, `${colours.noCredit}55`);
  const { places, values } = facts.credits;
  for (let at = Math.max(0, countUpTo(places, first) - 1); at < places.length && places[at]! <= last; at++) {
    if (values[at] !== 0) continue;
    const begin = Math.max(axis.left, axis.x(places[at]!));
    const end = Math.min(axis.right, at + 1 < places.length ? axis.x(places[at + 1]!) : axis.right);
    if (end - begin > 0.5 && hasBacklog(facts, places[at]!, places[at + 1] ?? Infinity)) {
      context.fillRect(begin, top, end - begin, bottom - top);
    }
  }
}

function hasBacklog(facts: ChannelFacts, from: number, to: number): boolean {
  if (valueAt(facts.backlog, from)) return true;
  const { places, values } = facts.backlog;
  for (let at = countUpTo(places, from); at < places.length && places[at]! < to; at++) if (values[at]) return true;
  return false;
}

function Chart({ store, facts, isLocal }: { store: Store; facts: ChannelFacts; isLocal: boolean }) {
  const draw = useCallback(
    (drawing: Drawing) => {
      const { texts, axis, colours } = drawing;
      const bottom = drawing.height - FOOT;
      drawAxis(store, drawing, 0, bottom);
      drawShortage(store, drawing, facts, 4, bottom);
      if (!isLocal) drawLabel({ ...drawing, colours: { ...colours, text: colours.credits } }, "credits (sender)", 14, "strong");
      drawLabel({ ...drawing, colours: { ...colours, text: colours.noCredit } }, "backlog, dashed", 32, "strong");
      const most = maximum(facts.credits.values, maximum(facts.backlog.values, 1));
      const y = (value: number) => bottom - (value / most) * (bottom - 8);
      texts.write(commas(most), { ink: colours.faint }, [axis.left - 4, y(most) + 2, "right"]);
      texts.write("0", { ink: colours.faint }, [axis.left - 4, bottom - 4, "right"]);
      texts.inside({ left: axis.left, top: 0, right: axis.right, bottom: bottom + 2 }, () => {
        drawSteps(store, drawing, facts.backlog, y, colours.noCredit, [4, 3]);
        drawSteps(store, drawing, facts.credits, y, colours.credits, []);
      });
    },
    [store, facts, isLocal],
  );
  return <TimeCanvas store={store} height={CHART + FOOT} grows label="Credits of the sender and backlog over time" draw={draw} />;
}

function maximum(values: number[], least: number): number {
  return values.reduce((most, value) => Math.max(most, value), least);
}

function drawSteps(
  store: Store, { context, axis }: Drawing, { places, values }: ChannelFacts["credits"], y: (value: number) => number,
  colour: string, dash: number[],
): void {
  const [from, to] = store.range.value;
  const first = Math.max(0, countUpTo(places, store.placeOf(from)) - 1);
  const last = countUpTo(places, store.placeOf(to));
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.setLineDash(dash);
  context.beginPath();
  for (let at = first; at < last; at++) {
    const x = axis.x(places[at]!);
    if (at > first) context.lineTo(x, y(values[at - 1]!));
    else context.moveTo(x, y(values[at]!));
    context.lineTo(x, y(values[at]!));
  }
  if (last > first) context.lineTo(axis.right, y(values[last - 1]!));
  context.stroke();
  context.setLineDash([]);
}

function Records({ store, facts, buffer }: { store: Store; facts: ChannelFacts; buffer: Buffer }) {
  const { model } = store;
  const { sent, received } = { sent: model.facts.of("sent"), received: model.facts.of("received") };
  const found: number[] = [];
  const run = facts.runAt(buffer.sent);
  facts.elements.buffer.forEach((number, element) => {
    if (number === buffer.number && facts.runAt(sent.places[facts.elements.sent[element]!]!) === run) found.push(element);
  });
  const link = (place: number) => (
    <button class="rule" onClick={() => store.go(place)}>{moment(model.facts.time[place]!)}</button>
  );
  return (
    <section aria-label="Elements of the buffer">
      <h2>
        Buffer {buffer.number}: {commas(buffer.bytes)} bytes, {count(found.length, "element")} that {found.length === 1 ? "ends" : "end"} in it
      </h2>
      <table>
        <thead>
          <tr><th>position</th><th>written</th><th>read</th><th>element</th></tr>
        </thead>
        <tbody>
          {found.slice(0, MOST_RECORDS).map((element) => {
            const row = facts.elements.sent[element]!;
            const read = facts.elements.received[element]!;
            const place = sent.places[row]!;
            return (
              <tr key={element}>
                <td>{commas(sent.columns.position![row]!)}</td>
                <td>{link(place)}</td>
                <td>{read < 0 ? "not read" : link(received.places[read]!)}</td>
                <td>{model.sentences.at(place).text}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {found.length > MOST_RECORDS && <p class="faint">and {commas(found.length - MOST_RECORDS)} more</p>}
    </section>
  );
}

function missing({ model }: Store): string | null {
  if (!model.names.channels.size) return "The job has one task: it has no channels.";
  if (model.facts.has("buffers")) return null;
  if (model.head.omitted.includes("buffers")) {
    return "The buffers did not fit into the report: write it again with a larger --budget.";
  }
  return model.isFull ? "The recording has no buffers." : "Buffers and credits need a recording with --record full.";
}

export const channelView: View = { name: "channel", title: "Channel", key: "3", missing, Component: ChannelView };
