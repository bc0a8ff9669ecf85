/** Checkpoints over time: one lane of the job, and one per subtask with start delay, alignment and snapshot. */

import { useCallback, useMemo } from "preact/hooks";
import type { Checkpoint, Cut, TaskCheckpoint } from "../model/checkpoints";
import { count } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import { drawAttempts, drawBarriers, drawCross } from "../ui/checkpoint_marks";
import { hatched } from "../ui/colours";
import { barrierTip, elementTip, endOf, jobTip, PARTS, partsOf, partTip } from "./checkpoint_tips";

const LANE = 18;
/** From lane to lane: at least, and where a window has room for more. */
const PITCH = 30;
const MOST_PITCH = 90;
/** Of the axis below the lanes. */
const FOOT = 20;
const TOP = 6;
/** The least width of the bar of a checkpoint. */
const NARROW = 3;
/** From the cross of an aborted checkpoint to the end of its bar. */
const CROSS = 8;
/** Between more channels the lines would hide the lanes. */
const MOST_LINES = 80;
/** Of more elements that wait in a channel, only some have a line. */
const MOST_ELEMENTS = 24;

interface ChartProps {
  store: Store;
  chosen: Checkpoint | undefined;
  cut: Cut | undefined;
}

export function CheckpointChart({ store, chosen, cut }: ChartProps) {
  const { model } = store;
  const tasks = useMemo(() => [...model.names.tasks.keys()], [model]);
  const draw = useCallback((drawing: Drawing) => drawChart(store, drawing, tasks, chosen, cut), [store, tasks, chosen, cut?.barrier]);
  const { taken, failures } = model.checkpoints;
  const label = `${count(taken.length, "checkpoint")} and ${count(failures.length, "failure")} of ${count(tasks.length, "subtask")} over time`;
  return (
    <>
      <div class="checkpoint-lanes" role="group" aria-label={`Checkpoints of subtasks over time${store.whose}`} tabIndex={0}>
        <TimeCanvas store={store} height={TOP + (tasks.length + 1) * PITCH - 4 + FOOT} grows label={label} draw={draw} />
      </div>
      <ul class="legend" aria-label={`Parts of a checkpoint${store.whose}`}>
        <li><span class="swatch part-delay" /> start delay: until the first barrier, or the trigger of a source</li>
        <li><span class="swatch part-alignment" /> alignment: until the last barrier</li>
        <li><span class="swatch part-sync" /> synchronous part</li>
        <li><span class="swatch part-async" /> asynchronous part, a low bar</li>
        <li>▼ reads a barrier, ▲ writes a barrier; ▽ △ a barrier that may overtake</li>
        {cut && <li><span class="swatch element-line" /> elements in front of the barrier in channel {cut.barrier.channel}</li>}
        <li>× failed, declined or lost</li>
      </ul>
    </>
  );
}

function drawChart(store: Store, drawing: Drawing, tasks: number[], chosen: Checkpoint | undefined, cut: Cut | undefined): void {
  const bottom = drawing.height - FOOT;
  const pitch = Math.min(MOST_PITCH, (bottom + 4 - TOP) / (tasks.length + 1));
  const { texts, axis } = drawing;
  const { checkpoints, names } = store.model;
  drawAxis(store, drawing, 0, bottom);
  drawLabel(drawing, "checkpoints", TOP + LANE / 2, "strong");
  tasks.forEach((task, at) => drawLabel(drawing, names.shortTask(task), TOP + (at + 1) * pitch + LANE / 2));
  // With room for a narrow bar at the end of the run.
  texts.inside({ left: axis.left, top: 0, right: axis.right + NARROW, bottom }, () => {
  if (chosen) drawSpan(store, drawing, chosen, bottom);
  const add = drawing.marks.layer("checkpoint", (at) => jobTip(store, checkpoints.taken[at]!));
  checkpoints.taken.forEach((one, at) => one.triggered >= 0 && drawJob(store, drawing, one, one === chosen, (x, width) => add(at, x, TOP, width, LANE)));
  tasks.forEach((task, at) => {
    const y = TOP + (at + 1) * pitch;
    drawRunning(store, drawing, task, y);
    // A checkpoint can wait for its first barrier while the alignment of an older one goes on.
    for (const one of checkpoints.ofTask(task)) drawDelay(store, drawing, one, y);
    for (const one of checkpoints.ofTask(task)) drawTask(drawing, one, y);
    markTask(store, drawing, task, y);
  });
  if (cut) drawElements(store, drawing, tasks, cut, pitch);
  if (chosen) drawLines(store, drawing, tasks, chosen, pitch);
  });
  tasks.forEach((task, at) => {
    const y = TOP + (at + 1) * pitch;
    drawAttempts(store, drawing, task, y, LANE);
    drawBarriers(store, drawing, task, y, LANE);
  });
}

/** The time of the chosen checkpoint, behind all lanes. */
function drawSpan(store: Store, { context, axis, colours }: Drawing, chosen: Checkpoint, bottom: number): void {
  if (chosen.triggered < 0) return;
  const [begin, end] = store.model.checkpoints.placesOf(chosen).map(axis.x) as [number, number];
  context.fillStyle = `${colours.accent}1c`;
  context.fillRect(begin, 0, Math.max(2, end - begin), bottom);
}

function drawJob(
  store: Store, drawing: Drawing, one: Checkpoint, isChosen: boolean, mark: (x: number, width: number) => void,
): void {
  const { context, texts, axis, colours } = drawing;
  const [begin, end] = store.model.checkpoints.placesOf(one).map(axis.x) as [number, number];
  if (end < axis.left || begin > axis.right) return;
  const width = Math.max(NARROW, end - begin);
  mark(begin, width);
  context.fillStyle = `${colours.accent}${isChosen ? "66" : "26"}`;
  context.fillRect(begin, TOP, width, LANE);
  context.strokeStyle = colours.accent;
  context.lineWidth = isChosen ? 2 : 1;
  context.setLineDash(one.outcome === "completed" ? [] : [3, 3]);
  context.strokeRect(begin + 0.5, TOP + 0.5, width, LANE - 1);
  context.setLineDash([]);
  if (one.outcome === "aborted") drawCross(drawing, Math.max(begin + width / 2, begin + width - CROSS), TOP + LANE / 2);
  // Beside a bar that is too narrow for it, and at the end of the run before it.
  const text = String(one.id);
  const isWide = Math.min(end, axis.right) - Math.max(begin, axis.left) > texts.widthOf(text) + 8;
  const y = TOP + LANE / 2 + 0.5;
  if (isWide) texts.write(text, { ink: colours.text }, [Math.max(begin, axis.left) + 5, y]);
  else texts.write(text, { ink: colours.text, halo: colours.back }, [begin + width + 3, y], [begin - 3, y, "right"]);
}

/** A thin line while an attempt of a subtask runs. */
function drawRunning(store: Store, { context, axis, colours }: Drawing, task: number, y: number): void {
  const { attempts } = store.model;
  const begins = [0, ...attempts.restartsOf(task)];
  const ends = attempts.endsOf(task);
  context.fillStyle = colours.faint;
  begins.forEach((begin, at) => {
    const from = Math.max(axis.left, axis.x(begin));
    const to = ends[at] === undefined ? axis.right : Math.min(axis.right, axis.x(ends[at]!));
    if (to > from) context.fillRect(from, y + LANE / 2 - 0.5, to - from, 1);
  });
}

/** From the trigger of the checkpoint to its begin in the subtask. */
function drawDelay(store: Store, { context, axis, colours }: Drawing, one: TaskCheckpoint, y: number): void {
  const { checkpoints } = store.model;
  const triggered = checkpoints.get(one.checkpoint)?.triggered ?? -1;
  if (triggered < 0) return;
  const [trigger, begin] = [axis.x(checkpoints.placeOf(triggered, one.checkpoint)), axis.x(one.begin)];
  if (begin <= trigger || begin < axis.left || trigger > axis.right) return;
  context.fillStyle = hatched(context, colours.queued, colours.filling);
  context.fillRect(trigger, y + 5, begin - trigger, LANE - 10);
}

function drawTask(drawing: Drawing, one: TaskCheckpoint, y: number): void {
  const { context, axis, colours } = drawing;
  const end = endOf(one);
  const x = (place: number) => (place === Infinity ? axis.right + 20 : axis.x(place));
  if (x(end) < axis.left || x(one.begin) > axis.right) return;
  const bar = (from: number, to: number, top: number, height: number, fill: string | CanvasPattern) => {
    if (from === Infinity) return;
    const [left, right] = [x(from), x(Math.min(to, end))];
    context.fillStyle = fill;
    context.fillRect(left, y + top, Math.max(1.5, right - left), height);
  };
  if (!one.isTriggered) bar(one.begin, one.aligned, 0, LANE, colours.queued);
  bar(one.syncStart, one.syncEnd, 0, LANE, colours.read);
  bar(one.syncEnd, one.written, LANE / 2, LANE / 2, colours.waits);
  if (end === one.acknowledged) return;
  if (end < Infinity) drawCross(drawing, x(end), y + LANE / 2);
}

/** The delay behind the bars of the other parts, and in front of them the cross of a checkpoint that was declined or lost. */
function markTask(store: Store, { axis, marks }: Drawing, task: number, y: number): void {
  const all = store.model.checkpoints.ofTask(task);
  const x = (place: number) => (place === Infinity ? axis.right + 20 : axis.x(place));
  for (const of of [[0], [1, 2, 3], [4]]) {
    const add = marks.layer(`part ${of[0]} ${task}`, (number) => partTip(store, all[Math.floor(number / PARTS)]!, number % PARTS));
    all.forEach((one, at) => {
      const parts = partsOf(store, one);
      for (const part of of) {
        const [from, to] = parts[part]!;
        if (from === Infinity || to < from || (part === 0 && to === from)) continue;
        if (part === 4) add(at * PARTS + part, x(from) - CROSS, y, 2 * CROSS, LANE);
        else add(at * PARTS + part, x(from), y, x(to) - x(from), LANE);
      }
    });
  }
}

/** Elements that were in the channel when the barrier was written: their lines cross that of a barrier that overtakes them. */
function drawElements(store: Store, { context, axis, colours, marks }: Drawing, tasks: number[], cut: Cut, pitch: number): void {
  const { barrier } = cut;
  const { facts, inFlight, names } = store.model;
  const ends = names.channels.get(barrier.channel);
  const elements = barrier.sent === Infinity ? null : inFlight.unread(barrier, barrier.sent);
  if (!ends || !elements) return;
  const [sent, received] = [facts.of("sent").places, facts.of("received").places];
  const [from, to] = [tasks.indexOf(ends.source) + 1, tasks.indexOf(ends.target) + 1];
  const every = Math.ceil(elements.length / MOST_ELEMENTS);
  context.strokeStyle = colours.queued;
  context.lineWidth = 0.8;
  const add = marks.layer("element", (at) => elementTip(store, elements[at]!, cut));
  elements.forEach((element, at) => {
    if (element.sent < 0 || element.received < 0 || (at % every && at !== elements.length - 1)) return;
    const [x, toX] = [axis.x(sent[element.sent]!), axis.x(received[element.received]!)];
    const [y, toY] = yOf(from, to, pitch);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    add.line(at, x, y, toX, toY);
  });
}

/** Where a line from the lane of one row to that of another begins and ends. */
function yOf(from: number, to: number, pitch: number): [number, number] {
  return [TOP + from * pitch + (from < to ? LANE : 0), TOP + to * pitch + (from < to ? 0 : LANE)];
}

/** The barriers of the chosen checkpoint on their way. */
function drawLines(store: Store, { context, axis, colours, marks }: Drawing, tasks: number[], chosen: Checkpoint, pitch: number): void {
  const { checkpoints, names } = store.model;
  const barriers = checkpoints.barriers(chosen.id);
  if (barriers.length > MOST_LINES) return;
  const row = new Map(tasks.map((task, at) => [task, at + 1]));
  context.strokeStyle = colours.text;
  context.lineWidth = 1;
  const add = marks.layer("barrier", (at) => barrierTip(store, barriers[at]!));
  barriers.forEach(({ channel, sent, received, isCancel }, at) => {
    const ends = names.channels.get(channel);
    if (!ends || sent === Infinity || received === Infinity) return;
    const [x, toX] = [axis.x(sent), axis.x(received)];
    const [y, toY] = yOf(row.get(ends.source)!, row.get(ends.target)!, pitch);
    context.setLineDash(isCancel ? [3, 3] : []);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    add.line(at, x, y, toX, toY);
  });
  context.setLineDash([]);
}
