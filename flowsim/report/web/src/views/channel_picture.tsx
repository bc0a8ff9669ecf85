/** The buffers of one channel at the cursor: the sender's queue, credits, and the receiver. */

import type { ChannelFacts, ChannelState } from "../model/channels";
import { STATE_WORDS } from "../model/states";
import { count, listed } from "../model/text";
import type { Store } from "../store";
import { inLines, shortened, smallWidth, strongWidth } from "../ui/canvas_text";
import type { Tip } from "../ui/marks";
import { isNarrow, useRoom } from "../ui/room";
import { asMark } from "../ui/tooltip";
import { bufferAt, bufferTip, creditsTip, entryAt, entryTip, lastChange, transferTip } from "./channel_tips";

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
/** Numbers of buffers in the text between both ends. */
const MOST_NUMBERS = 4;

export interface Ends {
  store: Store;
  facts: ChannelFacts;
  source: number;
  target: number;
}

export function Picture({ store, facts, source, target }: Ends) {
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
        class={narrow ? "picture narrow" : "picture"} viewBox={narrow ? "0 0 616 318" : "0 0 1240 132"} role="group"
        aria-label={wordsOf(now)}
      >
        <text class="strong" x="172" y="34" text-anchor="end">{shortened(names.shortTask(source), SIDE, strongWidth)}</text>
        <text class="faint" x="172" y="52" text-anchor="end">queue of the subpartition</text>
        {inLines(stateOf(source), SIDE).map((line, at) => (
          <text key={at} class="faint" x="172" y={70 + at * 15} text-anchor="end">{line}</text>
        ))}
        <Boxes store={store} x={184} boxes={senderBoxes(store, facts, now)} />
        <text class={isOut ? "no-credit strong" : "strong"} x="184" y="104">backlog {now.backlog}</text>
        <g transform={narrow ? "translate(-416 92)" : undefined}>
          <path class="edge" d="M600 38H800" marker-end="url(#to-right)" />
          <text class="faint" x="700" y="30" text-anchor="middle" {...(now.inFlight.length && asMark(store, () => inFlightTip(store, facts, now)))}>
            {now.inFlight.length ? shortened(`sent, not yet taken: ${listed(now.inFlight.map(String), MOST_NUMBERS)}`, BETWEEN, smallWidth) : "data"}
          </text>
          {now.credits !== null && <Credits store={store} facts={facts} now={now} isOut={isOut} />}
        </g>
        <g transform={narrow ? "translate(-632 186)" : undefined}>
          <Boxes store={store} x={816} boxes={receiverBoxes(store, facts, now)} />
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

/** The first of the buffers that were sent and not taken. */
function inFlightTip(store: Store, facts: ChannelFacts, { inFlight }: ChannelState): Tip {
  const buffer = bufferAt(facts, inFlight[0]!, store.place.value);
  const title = `sent, not yet taken: ${count(inFlight.length, "buffer")}, ${listed(inFlight.map(String))}`;
  return buffer ? { ...transferTip(store, facts, buffer), title } : { title };
}

function Credits({ store, facts, now, isOut }: { store: Store; facts: ChannelFacts; now: ChannelState; isOut: boolean }) {
  const { credits } = facts;
  const describe = () => {
    const at = credits.places.indexOf(lastChange(credits, store.place.value));
    const onTheWay = now.creditsOnTheWay ? [`${count(now.creditsOnTheWay, "credit")} on the way from the receiver`] : [];
    return { ...(at < 0 ? { title: "no credits yet" } : creditsTip(credits, at)), lines: onTheWay };
  };
  return (
    <g {...asMark(store, describe)} aria-label="credits">
      <rect class="hit" x="600" y="60" width="200" height="36" />
      <path class="credit-line" d="M800 66H600" marker-end="url(#to-left)" />
      <text class={isOut ? "no-credit strong" : "credit strong"} x="600" y="90">{count(now.credits ?? 0, "credit")}</text>
      <CreditDots x={676} number={now.credits ?? 0} most={now.creditsOnTheWay ? MOST_DOTS : MOST_BOXES} />
      {now.creditsOnTheWay > 0 && (
        <text class="credit" x="800" y="90" text-anchor="end">{now.creditsOnTheWay} on the way</text>
      )}
    </g>
  );
}

interface BoxOf {
  kind: string;
  label: string;
  word: string;
  describe: () => Tip;
}

/** The buffer that is being filled is on the left, the one that leaves next on the right. */
function senderBoxes(store: Store, facts: ChannelFacts, { queue, urgent, filling }: ChannelState): BoxOf[] {
  const place = store.place.value;
  const boxes = queue.map((number, at) => {
    const describe = () => entryTip(store, facts, entryAt(facts, number, place));
    if (at < urgent) return { kind: "urgent", label: String(number), word: "priority", describe };
    const isFilling = filling && at === queue.length - 1;
    return { kind: isFilling ? "filling" : "queued", label: String(number), word: isFilling ? "filling" : "full", describe };
  });
  return boxes.reverse();
}

function receiverBoxes(store: Store, facts: ChannelFacts, { waiting, reading, reserved }: ChannelState): BoxOf[] {
  const place = store.place.value;
  const ofNumber = (kind: string, word: string) => (number: number) => {
    const describe = () => bufferTip(store, facts, bufferAt(facts, number, place)!);
    return { kind, label: String(number), word, describe };
  };
  const describe = () => ({ title: "an empty buffer of the channel: its credit is announced", facts: [facts.lastGrant(place)] });
  return [
    ...new Array<BoxOf>(reserved).fill({ kind: "reserved", label: "", word: "reserved", describe }),
    ...waiting.map(ofNumber("waits", "waits")).reverse(),
    ...reading.map(ofNumber("read", "read")).reverse(),
  ];
}

function Boxes({ store, x, boxes }: { store: Store; x: number; boxes: BoxOf[] }) {
  if (!boxes.length) return <text class="faint" x={x} y="50">empty</text>;
  if (boxes.length > MOST_BOXES) return <Bars store={store} x={x} boxes={boxes} />;
  return (
    <g>
      {boxes.map(({ kind, label, word, describe }, at) => (
        <g key={at} transform={`translate(${x + at * BOX_PITCH} 22)`} aria-label={`${word} ${label}`} {...asMark(store, describe)}>
          <rect class={`buffer ${kind}`} width={BOX} height="42" rx="4" />
          <text class={`in-box ${kind}`} x={BOX / 2} y="19" text-anchor="middle">{label}</text>
          <text class={`in-box word ${kind}`} x={BOX / 2} y="34" text-anchor="middle">{word}</text>
        </g>
      ))}
    </g>
  );
}

/** A bar for each state, as wide as its share of the boxes. */
function Bars({ store, x, boxes }: { store: Store; x: number; boxes: BoxOf[] }) {
  const byWord = new Map<string, BoxOf[]>();
  for (const box of boxes) byWord.set(box.word, [...(byWord.get(box.word) ?? []), box]);
  let left = x;
  return (
    <g>
      {[...byWord].map(([word, of]) => {
        const width = LEAST_BAR + (of.length / boxes.length) * (BOXES - byWord.size * LEAST_BAR);
        const labels = of.map(({ label }) => label).filter(Boolean);
        // The one that leaves, or is read, next.
        const describe = () => ({ ...of.at(-1)!.describe(), title: `${of.length} ${word}`, lines: labels.length ? [listed(labels.reverse())] : [] });
        const bar = (
          <g key={word} aria-label={`${of.length} ${word}`} {...asMark(store, describe)}>
            <rect class={`buffer ${of[0]!.kind}`} x={left} y="24" width={width} height="40" />
            <text class="small" x={left} y="18">{of.length} {word}</text>
          </g>
        );
        left += width;
        return bar;
      })}
    </g>
  );
}

function CreditDots({ x, number, most }: { x: number; number: number; most: number }) {
  if (number > most) return null;
  return <g class="dots">{new Array(number).fill(0).map((_, at) => <circle key={at} cx={x + at * 11} cy="86" r="4" />)}</g>;
}

function wordsOf(now: ChannelState): string {
  const parts = [`${count(now.queue.length, "buffer")} in the queue, backlog ${now.backlog}`];
  if (now.credits !== null) parts.push(count(now.credits, "credit"));
  parts.push(`${now.inFlight.length} sent and not yet taken`, `${now.waiting.length} wait at the receiver`);
  parts.push(`${now.reading.length} being read`);
  return parts.join(", ");
}

