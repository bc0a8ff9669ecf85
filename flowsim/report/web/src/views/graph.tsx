/** The job graph: tasks in the colours of Flink's web UI, and on each edge queue, credits and receiver. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ChannelState } from "../model/channels";
import {
  BOX_HEIGHT, layoutOf, LABEL_HEIGHT, MARK_HEIGHT, PADDING, SIZES, SUBTASK_HEIGHT, type Box, type Layout, type Line,
} from "../model/layout";
import type { Task } from "../model/names";
import { STATES, STATE_WORDS, type Shares } from "../model/states";
import { count, joined } from "../model/text";
import { isProjected } from "../projector";
import type { Store } from "../store";
import { asButton } from "../ui/button";
import { shortened, smallWidth, strongWidth } from "../ui/canvas_text";
import { Lanes, StateLegend } from "../ui/lanes";
import type { Tip } from "../ui/marks";
import { WithRules } from "../ui/rule_links";
import { useRoom, type Room } from "../ui/room";
import { tipOf } from "../ui/tooltip";
import type { View } from "./view";

/** Shares are those of this part of the time in view, around the cursor. */
const AROUND = 1 / 20;
/** Of a buffer, and how many each end of an edge shows; a short edge shows fewer. */
const CELL = 10;
const MOST_CELLS = 5;
/** Of subtasks or channels in the text of a mark. */
const MOST_LINES = 8;
const MOST_CELLS_OF_SHORT = 3;
/** A smaller picture could not be read: it scrolls, and is larger. */
const LEAST_SCALE = 0.63;
const SCALE_OF_SCROLLED = 0.7;
/** The smallest text still has 16 px of the window. */
const LEAST_SCALE_PROJECTED = 0.89;
/** Below this scale boxes and labels are made shorter first. */
const GOOD_SCALE = 0.8;

const expanded = signal<ReadonlySet<number>>(new Set());

function toggle(vertex: number): void {
  const next = new Set(expanded.value);
  if (!next.delete(vertex)) next.add(vertex);
  expanded.value = next;
}

/** The layout that is readable in its place, and how much smaller it is drawn. */
function fitted(store: Store, open: ReadonlySet<number>, room: Room): { layout: Layout; scale: number } {
  const { names } = store.model;
  const widthOf = (vertex: number) => strongWidth(nameOf(names.tasksOf(vertex)));
  const good = isProjected.value ? LEAST_SCALE_PROJECTED : GOOD_SCALE;
  let layout = layoutOf(names, open, SIZES[0]!, widthOf);
  for (const sizes of SIZES.slice(1)) if (room.width / layout.width < good) layout = layoutOf(names, open, sizes, widthOf);
  const scale = Math.min(1, room.width / layout.width, room.height / layout.height);
  if (isProjected.value) return { layout, scale: Math.max(scale, LEAST_SCALE_PROJECTED) };
  return { layout, scale: scale < LEAST_SCALE ? SCALE_OF_SCROLLED : scale };
}

export function GraphPanel({ store }: { store: Store }) {
  const [box, room] = useRoom();
  const open = expanded.value;
  const { layout, scale } = useMemo(() => fitted(store, open, room), [store, open, room, isProjected.value]);
  const [width, height] = [layout.width * scale, layout.height * scale];
  return (
    <div class="graph" ref={box} tabIndex={0} role="group" aria-label={`Job graph with ${count(layout.boxes.length, "task")}`}>
      <svg width={width} height={height} viewBox={`0 0 ${layout.width} ${layout.height}`} data-scale={scale}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M0 0 8 4 0 8Z" class="arrow" />
          </marker>
        </defs>
        {layout.lines.map((line) => (
          <path key={line.id} class="edge" marker-end="url(#arrow)" d={pathOf(line)} />
        ))}
        {layout.lines.map((line) => <EdgeLabel key={line.id} store={store} line={line} width={layout.sizes.label} />)}
        {layout.boxes.map((box) => <Vertex key={box.id} store={store} box={box} />)}
      </svg>
    </div>
  );
}

function pathOf({ points }: Line): string {
  const [first, ...rest] = points;
  const last = rest.at(-1)!;
  if (rest.length < 2) return `M${first!.x} ${first!.y}L${last.x} ${last.y}`;
  let path = `M${first!.x} ${first!.y}`;
  for (let at = 0; at < rest.length - 1; at++) {
    const point = rest[at]!;
    const next = rest[at + 1]!;
    const end = at === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    path += `Q${point.x} ${point.y} ${end.x} ${end.y}`;
  }
  return path;
}

/** The average of the tasks that run around the cursor. */
function sharesAround(store: Store, tasks: number[]): Shares | null {
  const { states } = store.model;
  const [from, to] = store.scale.value === "time" ? store.range.value : [0, store.model.facts.end];
  const half = Math.max(1, ((to - from) * AROUND) / 2);
  const time = store.time.value;
  const known = tasks.map((task) => states.shares(task, time - half, time + half)).filter((one) => one !== null);
  if (!known.length) return null;
  const mean = (state: keyof Shares) => known.reduce((sum, one) => sum + one[state], 0) / known.length;
  return Object.fromEntries(STATES.map((state) => [state, mean(state)])) as Shares;
}

function percentages(shares: Shares): string {
  const percent = (part: number) => `${Math.round(part * 100)} %`;
  return `busy ${percent(shares.busy)} idle ${percent(shares.idle)} back-p. ${percent(shares.soft + shares.hard)}`;
}

/** Where there is no room for all percentages. */
function mostly(shares: Shares): string {
  const state = mainState(shares);
  return `${state === "soft" || state === "hard" ? "back-p." : state} ${Math.round(shares[state] * 100)} %`;
}

function Vertex({ store, box }: { store: Store; box: Box }) {
  const { names, states } = store.model;
  const tasks = names.tasksOf(box.id);
  const shares = sharesAround(store, tasks.map((task) => task.id));
  const name = nameOf(tasks);
  const inside = box.width - 2 * PADDING;
  const isOpen = expanded.value.has(box.id);
  const words = shares ? percentages(shares) : states.isKnown ? "does not run" : "";
  const fewer = shares && smallWidth(words) > inside ? mostly(shares) : words;
  const parallelism = `parallelism ${tasks.length}`;
  const selected = tasks.some((task) => task.id === store.selection.value.task);
  return (
    <g
      class={`vertex ${shares ? mainState(shares) : ""} ${selected ? "selected" : ""}`}
      transform={`translate(${box.x} ${box.y})`}
      aria-expanded={isOpen}
      {...asButton(() => {
        toggle(box.id);
        store.select({ task: tasks[0]!.id });
      })}
      {...tipOf(store, () => vertexTip(store, box.id))}
    >
      <rect class="box" width={box.width} height={box.height} rx="6" />
      <text class="name" x={PADDING} y="20">{shortened(name, inside, strongWidth)}</text>
      <text class="faint" x={PADDING} y="37">{isOpen ? "▾" : "▸"} {parallelism}</text>
      {shares && <ShareBar shares={shares} x={PADDING} y={44} width={inside} height={9} />}
      <text class="small" x={PADDING} y={BOX_HEIGHT - 9}>{fewer}</text>
      {isOpen &&
        tasks.map((task, at) => {
          const state = states.at(task.id, store.place.value);
          const y = BOX_HEIGHT + at * SUBTASK_HEIGHT;
          return (
            <g
              key={task.id}
              onClick={(event) => {
                event.stopPropagation();
                store.select({ task: task.id });
              }}
            >
              <rect class={`subtask ${state ?? "none"}`} x={PADDING} y={y} width="12" height="12" rx="2" />
              <text class="small" x="28" y={y + 10}>
                {shortened(`${task.subtask + 1}/${task.parallelism} ${state ? STATE_WORDS[state] : "does not run"}`, inside - 18, smallWidth)}
              </text>
            </g>
          );
        })}
    </g>
  );
}

/** At the cursor. */
function vertexTip(store: Store, vertex: number): Tip {
  const { names, states } = store.model;
  const tasks = names.tasksOf(vertex);
  const shares = sharesAround(store, tasks.map((task) => task.id));
  const lines = [`${count(tasks.length, "subtask")}${shares ? ` around the cursor: ${percentages(shares)}` : ""}`];
  for (const { id, subtask, parallelism } of states.isKnown ? tasks.slice(0, MOST_LINES) : []) {
    const state = states.at(id, store.place.value);
    lines.push(`${subtask + 1}/${parallelism} ${state ? STATE_WORDS[state] : "does not run"}`);
  }
  if (states.isKnown && tasks.length > MOST_LINES) lines.push(`and ${tasks.length - MOST_LINES} more`);
  return { title: nameOf(tasks), lines };
}

/** Its channels at the cursor. */
function edgeTip({ model: { channels, facts, names }, place }: Store, edge: number): Tip {
  const of = [...names.channels.values()].filter((channel) => channel.edge === edge);
  const lines = facts.has("buffers")
    ? of.slice(0, MOST_LINES).map(({ id }) => `${names.channel(id)}: ${wordsOf([channels.of(id).at(place.value)])}`)
    : [];
  if (lines.length && of.length > MOST_LINES) lines.push(`and ${of.length - MOST_LINES} more`);
  const { partitioner = "" } = names.edges.get(edge) ?? {};
  const forced = names.forced(edge);
  return { title: `${names.edge(edge)}, ${partitioner}, ${count(of.length, "channel")}`, lines: forced ? [...lines, `${forced.text}.`] : lines };
}

function nameOf(tasks: Task[]): string {
  return tasks[0]!.name.replace(/ \(\d+\/\d+\)$/, "");
}

/** What a task mostly does. */
function mainState(shares: Shares): keyof Shares {
  return STATES.reduce((best, state) => (shares[state] > shares[best] ? state : best));
}

function ShareBar({ shares, x, y, width, height }: { shares: Shares; x: number; y: number; width: number; height: number }) {
  let left = x;
  return (
    <g class="shares">
      {STATES.map((state) => {
        const part = shares[state] * width;
        const rect = <rect class={state} x={left} y={y} width={part} height={height} />;
        left += part;
        return part > 0 ? rect : null;
      })}
      <rect class="frame" x={x} y={y} width={width} height={height} />
    </g>
  );
}

function EdgeLabel({ store, line, width }: { store: Store; line: Line; width: number }) {
  const { model } = store;
  const edge = model.names.edges.get(line.id)!;
  const channels = [...model.names.channels.values()].filter((channel) => channel.edge === line.id);
  const states = channels.map((channel) => model.channels.of(channel.id).at(store.place.value));
  const isOut = states.some((state) => state.credits === 0 && state.backlog > 0);
  const fullest = states.reduce((best, state) => (state.queue.length > best.queue.length ? state : best), states[0]!);
  const side = edge.sideOutput ? `(${edge.sideOutput})` : "";
  const label = joined(edge.partitioner, side, channels.length > 1 ? `× ${channels.length}` : "");
  const forced = model.names.forced(edge.id);
  const open = () => {
    store.select({ channel: fullest.channel });
    store.view.value = "channel";
  };
  const words = wordsOf(states);
  const hasBuffers = model.facts.has("buffers");
  return (
    <g
      class={`edge-label ${isOut ? "out" : ""}`}
      transform={`translate(${line.x - width / 2} ${line.y - (LABEL_HEIGHT + (forced ? MARK_HEIGHT : 0)) / 2})`}
      {...(channels.length && {
        ...asButton(open), ...tipOf(store, () => edgeTip(store, line.id)),
        "aria-description": `${count(channels.length, "channel")}${words && `, ${words}`}${forced ? `, ${forced.label}` : ""}`,
      })}
    >
      <text class="faint" x={width / 2} y="11" text-anchor="middle">{shortened(label, width, smallWidth)}</text>
      {forced && (
        <text class="faint" x={width / 2} y={LABEL_HEIGHT + MARK_HEIGHT - 6} text-anchor="middle">
          never unaligned
          <title>{`${forced.text}.`}</title>
        </text>
      )}
      {hasBuffers && channels.length > 0 && <Capsule width={width} states={states} local={channels.every((channel) => channel.local)} />}
    </g>
  );
}

function wordsOf(states: ChannelState[]): string {
  const sum = (of: (state: ChannelState) => number) => states.reduce((total, state) => total + of(state), 0);
  const credits = states.every((state) => state.credits === null) ? "" : `${count(sum((state) => state.credits ?? 0), "credit")}, `;
  const out = states.filter((state) => state.credits === 0 && state.backlog > 0).length;
  return (
    `${sum((state) => state.queue.length)} in queues, ${credits}` +
    `${sum((state) => state.waiting.length + state.reading.length)} at receivers` +
    (out ? `, ${count(out, "channel")} without credit` : "")
  );
}

/** One channel: its buffers and credits. Several: their sums. */
function Capsule({ width, states, local }: { width: number; states: ChannelState[]; local: boolean }) {
  const sum = (of: (state: ChannelState) => number) => states.reduce((total, state) => total + of(state), 0);
  const filling = states.length === 1 && states[0]!.filling ? 1 : 0;
  const queued = sum((state) => state.queue.length) - filling;
  const credits = sum((state) => state.credits ?? 0);
  const reading = sum((state) => state.reading.length);
  const waiting = sum((state) => state.waiting.length);
  const isOut = states.some((state) => state.credits === 0 && state.backlog > 0);
  const isShort = width < SIZES[0]!.label;
  const [most, apart] = isShort ? [MOST_CELLS_OF_SHORT, 8] : [MOST_CELLS, 12];
  return (
    <g transform="translate(0 17)">
      <rect class="capsule" x="0" y="0" width={width} height="26" rx="13" />
      <Cells x={apart} most={most} kinds={[...repeat("filling", filling), ...repeat("queued", queued)]} />
      {local ? (
        <text class="faint" x={width / 2} y="17" text-anchor="middle">local</text>
      ) : (
        <Dots x={width / 2} number={credits} isOut={isOut} space={isShort ? "" : " "} />
      )}
      <Cells x={width - apart - most * CELL} most={most} kinds={[...repeat("read", reading), ...repeat("waits", waiting)]} />
    </g>
  );
}

function repeat(kind: string, times: number): string[] {
  return new Array<string>(Math.max(0, times)).fill(kind);
}

function Cells({ x, most, kinds }: { x: number; most: number; kinds: string[] }) {
  if (kinds.length > most) {
    return (
      <g>
        <rect class={kinds.at(-1)} x={x} y="7" width="8" height="12" rx="2" />
        <text class="small" x={x + 11} y="17">{kinds.length}</text>
      </g>
    );
  }
  return (
    <g>
      {kinds.map((kind, at) => <rect class={`cell ${kind}`} x={x + at * CELL} y="7" width="8" height="12" rx="1.5" />)}
    </g>
  );
}

function Dots({ x, number, isOut, space }: { x: number; number: number; isOut: boolean; space: string }) {
  if (number === 0 || number > 4) {
    return <text class={isOut ? "small no-credit" : "small credit"} x={x} y="17" text-anchor="middle">{`${number}${space}●`}</text>;
  }
  return (
    <g class="dots">
      {repeat("dot", number).map((_, at) => <circle cx={x + (at - (number - 1) / 2) * 8} cy="13" r="3" />)}
    </g>
  );
}

function GraphView({ store }: { store: Store }) {
  const { model } = store;
  return (
    <>
      <GraphPanel store={store} />
      <ul class="legend" aria-label="Buffers on edges">
        <li><span class="swatch filling" /> being filled</li>
        <li><span class="swatch queued" /> queued at the sender</li>
        <li><span class="swatch dot" /> credit</li>
        <li><span class="swatch waits" /> waits at the receiver</li>
        <li><span class="swatch read" /> being read</li>
      </ul>
      {model.names.forcedTexts().map((text) => <p class="faint" key={text}><WithRules store={store} text={`${text}.`} /></p>)}
      <StateLegend />
      <Lanes store={store} grows />
    </>
  );
}

export const graphView: View = {
  name: "graph",
  title: "Graph",
  key: "1",
  missing: ({ model }) =>
    model.names.tasks.size ? null : "The run was killed before its execution graph was recorded: there is nothing to draw.",
  Component: GraphView,
};
