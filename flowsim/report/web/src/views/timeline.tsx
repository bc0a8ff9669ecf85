/** A lane per subtask: its state, and below it actions and waits, mails, timers, async calls, snapshots, checkpoints. */

import { signal } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import { commas, count, duration, moment } from "../model/text";
import { Outcome, TRACKS, type Part, type Track, type TrackName } from "../model/timeline";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { growth, TimeCanvas, type Drawing } from "../ui/canvas";
import type { Axis } from "../ui/horizontal";
import { hatched, inkOn, type Colours, type Fill } from "../ui/colours";
import { drawAttempts, drawBarriers } from "../ui/checkpoint_marks";
import { Cells, LEAST_BAR } from "../ui/shares";
import { drawLane, LANE_HEIGHT, missingStates, StateLegend } from "../ui/lanes";
import { narrowTip, PART_WORDS, partTip, textOf, TRACK_WORDS, wordsOf } from "./timeline_words";
import type { View } from "./view";

const ROW = 12;
const ROW_PITCH = 14;
const CHART = 30;
const GAP = 10;
/** Of the axis below the lanes. */
const FOOT = 20;
/** With more subtasks only one of them is shown with its tracks at first. */
const MOST_DETAILED = 6;
/** Narrower parts do not answer to the pointer alone. */
const NARROW = 1;
/** Around narrower bars frames would be most of the picture. */
const LEAST_FRAMED = 24;
/** The pointer counts those that begin within so many pixels. */
const NEAR = 3;
const WIDTHS = [["1 s", 1e9], ["1 ms", 1e6], ["1 us", 1e3]] as const;

const ALL = -1;
const NO_TASK = -2;

const OF_TRACK: Record<TrackName, Part[]> = {
  actions: [
    "default_action", "mail", "life_cycle", "lock_holder", "cost", "wait_input", "wait_output", "wait_buffer", "yield", "wait_mail",
    "lock",
  ],
  mails: ["in_mailbox"],
  timers: ["event_timer", "processing_timer"],
  async: ["queued", "call", "retry", "result"],
  snapshots: ["snapshot", "snapshot_inside"],
  checkpoints: ["alignment", "sync", "async"],
};

function fills(context: CanvasRenderingContext2D, colours: Colours): Record<Part, Fill> {
  return {
    life_cycle: colours.window,
    default_action: colours.busy,
    mail: colours.read,
    lock_holder: hatched(context, colours.read),
    cost: `${colours.busy}88`,
    wait_input: colours.idle,
    wait_output: hatched(context, colours.soft, `${colours.soft}66`),
    wait_buffer: colours.hard,
    wait_mail: colours.waits,
    yield: hatched(context, colours.queued, colours.filling),
    lock: hatched(context, colours.idle),
    wait_checkpoint: hatched(context, colours.window),
    in_mailbox: colours.waits,
    event_timer: colours.watermark,
    processing_timer: colours.behind,
    queued: hatched(context, colours.queued, colours.filling),
    call: colours.read,
    retry: hatched(context, colours.noCredit),
    result: colours.waits,
    snapshot: colours.window,
    snapshot_inside: hatched(context, colours.window),
    alignment: colours.queued,
    sync: colours.read,
    async: colours.waits,
  };
}

/** Parts on whose colour white text is readable, and those that are hatched. */

const hidden = signal<ReadonlySet<TrackName>>(new Set());
const chosen = signal<number | null>(null);

interface Line {
  task: number;
  /** The lane of states, or a track with its place. */
  track: Track | null;
  y: number;
  height: number;
}

function TimelineView({ store }: { store: Store }) {
  const { model } = store;
  const tasks = useMemo(() => [...model.names.tasks.keys()], [model]);
  const first = store.selection.value.task ?? tasks[0]!;
  const detailed = chosen.value ?? (tasks.length <= MOST_DETAILED ? ALL : first);
  const names = model.timeline.names.filter((name) => !hidden.value.has(name));
  const lines = useMemo(() => linesOf(store, tasks, detailed, names), [store, detailed, names.join()]);
  const last = lines.at(-1)!;
  const bottom = last.y + last.height + 4;
  const draw = useCallback((drawing: Drawing) => drawLines(store, drawing, lines, growth(bottom, drawing.height - FOOT)), [store, lines]);
  const label = `${tasks.length} subtasks over time, with ${names.map((name) => TRACK_WORDS[name]).join(", ") || "their states"}`;
  return (
    <>
      <Choices store={store} tasks={tasks} detailed={detailed} />
      {!model.states.isKnown && <p class="missing">{missingStates(store)}</p>}
      <div class="timeline">
        <TimeCanvas
          store={store}
          height={bottom + FOOT}
          grows
          label={label}
          draw={draw}
          onPick={(_x, y, _axis, height) => pick(store, lines, y / growth(bottom, height - FOOT))}
        />
      </div>
      <StateLegend />
      <Legend store={store} names={names} />
      <AtCursor store={store} tasks={detailed === ALL ? tasks : tasks.filter((task) => task === detailed)} names={names} />
    </>
  );
}

function Choices({ store, tasks, detailed }: { store: Store; tasks: number[]; detailed: number }) {
  const { model } = store;
  const toggle = (name: TrackName) => {
    const next = new Set(hidden.value);
    if (!next.delete(name)) next.add(name);
    hidden.value = next;
  };
  return (
    <div class="row">
      <label>
        Details of{" "}
        <select value={detailed} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
          <option value={ALL}>all subtasks</option>
          <option value={NO_TASK}>no subtask</option>
          {tasks.map((task) => <option value={task}>{model.names.shortTask(task)}</option>)}
        </select>
      </label>
      {model.timeline.names.map((name) => (
        <label key={name}>
          <input type="checkbox" checked={!hidden.value.has(name)} onChange={() => toggle(name)} /> {TRACK_WORDS[name]}
        </label>
      ))}
      <span role="group" aria-label="Time in view around the cursor">
        {WIDTHS.map(([text, width]) => (
          <button key={text} onClick={() => show(store, width)} title={`${text} around the cursor`}>{text}</button>
        ))}
      </span>
    </div>
  );
}

/** So much time is in view, with the cursor in its middle. */
function show(store: Store, width: number): void {
  store.setScale("time");
  const at = store.time.value;
  store.setRange([at - width / 2, at + width / 2]);
}

function linesOf(store: Store, tasks: number[], detailed: number, names: TrackName[]): Line[] {
  const lines: Line[] = [];
  let y = 4;
  for (const task of tasks) {
    lines.push({ task, track: null, y, height: LANE_HEIGHT });
    y += LANE_HEIGHT + 2;
    for (const name of detailed === ALL || detailed === task ? names : []) {
      const track = store.model.timeline.track(task, name);
      if (!track.count) continue;
      const height = track.isCrowded ? CHART : track.rows.length * ROW_PITCH;
      lines.push({ task, track, y, height });
      y += height + 3;
    }
    y += GAP;
  }
  return lines;
}

/** ``grown``: how many times higher than in ``lines`` everything is. */
function drawLines(store: Store, drawing: Drawing, lines: Line[], grown: number): void {
  const { context, texts, axis, colours } = drawing;
  drawAxis(store, drawing, 0, drawing.height - FOOT);
  const fill = fills(context, colours);
  for (const { task, track, ...place } of lines) {
    const [y, height] = [place.y * grown, place.height * grown];
    if (!track) {
      drawLabel(drawing, store.model.names.shortTask(task), y + height / 2, "strong");
      const lane = store.model.states.lanes.get(task);
      if (lane) drawLane(store, drawing, lane, y, height);
      drawAttempts(store, drawing, task, y, height);
      continue;
    }
    drawLabel(drawing, `   ${TRACK_WORDS[track.name]}`, y + (ROW_PITCH * grown) / 2, "faint");
    texts.inside({ left: axis.left, top: y - 2, right: axis.right, bottom: y + height + 2 }, () => {
      markNarrow(store, drawing, task, track, { y, height });
      if (track.isCrowded) drawNumber(store, drawing, track, y, height);
      else track.rows.forEach((things, row) => drawRow(store, drawing, task, track, things, { y: y + row * ROW_PITCH * grown, height: ROW * grown }, fill));
      if (track.name === "checkpoints") drawBarriers(store, drawing, task, y, height);
    });
  }
}

/** Where the bars of a row are. */
interface Row {
  y: number;
  height: number;
}

/** Registers what has no bars of its own: narrow parts, or the number of things where there are too many rows. */
function markNarrow(store: Store, { axis, marks }: Drawing, task: number, track: Track, { y, height }: Row): void {
  const pick = () => store.select({ task });
  const add = marks.layer(`narrow ${track.name} ${task}`, (_, x, pointerY) => {
    const at = { x: x - NEAR, y, width: 2 * NEAR, height };
    if (track.isCrowded) {
      const title = `${TRACK_WORDS[track.name]}: ${count(track.openCount(store.placeOf(axis.valueAt(x))), "thing")} in progress`;
      return { title, at, pick };
    }
    const row = Math.floor(((pointerY - y) / height) * track.rows.length);
    const parts = narrowParts(store, axis, track, track.rows[row] ?? [], x);
    const tip = narrowTip(parts, { ...at, y: y + (row * height) / track.rows.length, height: height / track.rows.length });
    return tip && { ...tip, pick };
  });
  add(0, axis.left, y, axis.right - axis.left, height);
}

/** How many parts of each kind begin near a pixel, and have no bar. */
function narrowParts(store: Store, axis: Axis, track: Track, things: number[], x: number): Map<Part, number> {
  const [from, to] = [store.placeOf(axis.valueAt(x - NEAR)), store.placeOf(axis.valueAt(x + NEAR))];
  const found = new Map<Part, number>();
  for (let at = Math.max(0, track.lastBegun(things, from)); at <= track.lastBegun(things, to); at++) {
    const thing = things[at]!;
    for (let part = track.firstPart[thing]!; part < track.firstPart[thing + 1]!; part++) {
      const [begin, end] = [axis.x(track.placeOfPart(part)), axis.x(Math.min(track.endOfPart(thing, part), store.model.facts.count - 1))];
      if (Math.abs(begin - x) <= NEAR && end - begin < NARROW) found.set(track.part(part), (found.get(track.part(part)) ?? 0) + 1);
    }
  }
  return found;
}

/** Wide parts as bars with words; narrow ones as shares of cells. */
function drawRow(
  store: Store, drawing: Drawing, task: number, track: Track, things: number[], row: Row, fill: Record<Part, Fill>,
): void {
  const { context, axis } = drawing;
  const pick = () => store.select({ task });
  const add = drawing.marks.layer(`${track.name} ${task}`, (part) => ({ ...partTip(store.model, task, track, part), pick }));
  const [from, to] = store.range.value;
  const first = Math.max(0, track.lastBegun(things, store.placeOf(from) - 1));
  const last = track.lastBegun(things, store.placeOf(to));
  const cells = new Cells<Part>(axis);
  for (let at = first; at <= last; at++) {
    const thing = things[at]!;
    for (let part = track.firstPart[thing]!; part < track.firstPart[thing + 1]!; part++) {
      const begin = axis.x(track.placeOfPart(part));
      const until = track.endOfPart(thing, part);
      const end = until === Infinity ? axis.right + 20 : axis.x(until);
      if (end < axis.left || begin > axis.right) continue;
      const kind = track.part(part);
      if (end - begin < LEAST_BAR) cells.add(kind, begin, end);
      else {
        cells.leaveOut(begin, end);
        drawBar(drawing, begin, end, row, fill[kind], textOf(store.model, track, thing, kind));
      }
      if (end - begin >= NARROW) add(part, begin, row.y, end - begin, row.height);
    }
    drawOutcome(drawing, track, thing, row);
  }
  cells.draw(context, row.y, row.height, (kind) => fill[kind]);
}

function drawBar({ context, texts, axis, colours }: Drawing, begin: number, end: number, { y, height }: Row, fill: Fill, text: string): void {
  const left = Math.max(begin, axis.left - 2);
  const width = Math.min(end, axis.right + 2) - left;
  context.fillStyle = fill;
  context.fillRect(left, y, width, height);
  context.strokeStyle = colours.back;
  context.lineWidth = 1;
  if (width > LEAST_FRAMED) context.strokeRect(left + 0.5, y + 0.5, width - 1, height - 1);
  const [from, to] = axis.uncut(begin, end);
  const style = typeof fill === "string" ? { ink: inkOn(fill) } : { ink: colours.text, halo: colours.back };
  texts.writeShort(text, to - from - 7, style, [from + 4, y + height / 2]);
}

/** A diamond where a timer fires, a cross where it is cancelled or a call fails. */
function drawOutcome({ context, axis, colours }: Drawing, track: Track, thing: number, { y, height }: Row): void {
  const outcome = track.outcome[thing]!;
  if (outcome === Outcome.OPEN || (outcome === Outcome.ENDED && track.name !== "timers")) return;
  const x = axis.x(track.end[thing]!);
  if (x < axis.left || x > axis.right || x - axis.x(track.begin[thing]!) < 16) return;
  const middle = y + height / 2;
  context.beginPath();
  context.lineWidth = 1.6;
  if (outcome === Outcome.ENDED) {
    context.fillStyle = colours.text;
    for (const [dx, dy] of [[-4, 0], [0, -4], [4, 0], [0, 4]] as const) context.lineTo(x + dx, middle + dy);
    context.fill();
    return;
  }
  context.strokeStyle = colours.late;
  context.moveTo(x - 4, middle - 4);
  context.lineTo(x + 4, middle + 4);
  context.moveTo(x - 4, middle + 4);
  context.lineTo(x + 4, middle - 4);
  context.stroke();
}

/** The number of open things over time, where rows would be too many. */
function drawNumber(store: Store, { context, texts, axis, colours }: Drawing, track: Track, y: number, height: number): void {
  const most = track.mostOpen;
  context.fillStyle = colours.watermark;
  for (let x = axis.left; x < axis.right; x++) {
    const bar = (track.openCount(store.placeOf(axis.valueAt(x))) / most) * height;
    if (bar > 0) context.fillRect(x, y + height - bar, 1.1, bar);
  }
  texts.write(`at most ${commas(most)}`, { ink: colours.text, halo: colours.back }, [axis.left + 4, y + 6]);
}

/** A click on a lane selects its subtask. */
function pick(store: Store, lines: Line[], y: number): void {
  const line = lines.find((one) => y >= one.y && y < one.y + one.height + 3);
  if (line) store.select({ task: line.task });
}

function Legend({ store, names }: { store: Store; names: TrackName[] }) {
  return (
    <ul class="legend" aria-label="Parts of the timeline">
      {names.flatMap((name) => OF_TRACK[name]).map((part) => (
        <li key={part}>
          <span class={`swatch part-${part}`} /> {PART_WORDS[part]}
        </li>
      ))}
      {names.includes("timers") && <li>◆ fires, × is cancelled</li>}
      {names.includes("checkpoints") && <li>▼ reads a barrier, ▲ writes a barrier; ▽ △ a barrier that may overtake</li>}
      {store.model.attempts.isRestarted && <li>× ends with its attempt, or fails</li>}
    </ul>
  );
}

/** What is open at the cursor, with steps to its begin and its end. */
function AtCursor({ store, tasks, names }: { store: Store; tasks: number[]; names: TrackName[] }) {
  const place = store.place.value;
  if (store.playing.value) return null;
  const rows = tasks.flatMap((task) =>
    TRACKS.filter((name) => names.includes(name)).flatMap((name) => {
      const track = store.model.timeline.track(task, name);
      if (track.isCrowded) return [<CountRow key={`${task} ${name}`} store={store} task={task} track={track} />];
      return track.openAt(place).map((thing) => (
        <ThingRow key={`${task} ${name} ${thing}`} store={store} task={task} track={track} thing={thing} />
      ));
    }),
  );
  if (!rows.length) return <p class="faint">Nothing is in progress at the cursor.</p>;
  return (
    <table class="things">
      <caption>In progress at the cursor</caption>
      <thead>
        <tr><th>subtask</th><th>what</th><th class="number">since</th><th class="number">until</th><th class="number">lasts</th></tr>
      </thead>
      <tbody>{rows}</tbody>
    </table>
  );
}

function CountRow({ store, task, track }: { store: Store; task: number; track: Track }) {
  return (
    <tr>
      <td>{store.model.names.shortTask(task)}</td>
      <td colSpan={4}>{TRACK_WORDS[track.name]}: {commas(track.openCount(store.place.value))} in progress</td>
    </tr>
  );
}

function ThingRow({ store, task, track, thing }: { store: Store; task: number; track: Track; thing: number }) {
  const { time } = store.model.facts;
  const begin = track.begin[thing]!;
  const end = track.end[thing]!;
  const isOpen = end === Infinity;
  const part = track.partAt(thing, store.place.value);
  return (
    <tr>
      <td>{store.model.names.shortTask(task)}</td>
      <td>{wordsOf(store.model, task, track, thing, part)}</td>
      <td class="number"><button class="rule" onClick={() => store.go(begin)}>{moment(time[begin]!)}</button></td>
      <td class="number">
        {isOpen ? "not ended" : <button class="rule" onClick={() => store.go(end)}>{moment(time[end]!)}</button>}
      </td>
      <td class="number">{isOpen ? "" : duration(time[end]! - time[begin]!)}</td>
    </tr>
  );
}

export const timelineView: View = {
  name: "timeline",
  title: "Timeline",
  key: "2",
  missing: ({ model }) => (model.facts.count ? null : "The recording has no facts: the run was killed before its first epoch ended."),
  Component: TimelineView,
};
