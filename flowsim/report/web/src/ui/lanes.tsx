/** One lane per subtask: busy, idle, back-pressured over time. */

import { useCallback, useMemo } from "preact/hooks";
import { countUpTo } from "../model/facts";
import { NONE, STATES, STATE_WORDS, type Lane } from "../model/states";
import { duration } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "./axis";
import { growth, TimeCanvas, type Drawing } from "./canvas";
import { hatched, type Colours } from "./colours";
import type { Axis } from "./horizontal";
import type { Tip } from "./marks";
import { Cells, LEAST_BAR } from "./shares";

export const LANE_HEIGHT = 16;
const PITCH = 22;
/** Of the axis below the lanes. */
const FOOT = 20;
/** With more intervals in view only their shares answer to the pointer. */
const MOST_MARKS = 3000;
/** The pointer asks for the shares of so many of them on each side. */
const NEAR = 3;

/** Of all subtasks. With ``grows`` they take the height that their column has left. */
export function Lanes({ store, grows }: { store: Store; grows?: boolean }) {
  const { model } = store;
  const tasks = useMemo(() => [...model.names.tasks.keys()], [model]);
  const natural = tasks.length * PITCH + 4;
  const draw = useCallback(
    (drawing: Drawing) => {
      const bottom = drawing.height - FOOT;
      const grown = growth(natural, bottom);
      drawAxis(store, drawing, 0, bottom);
      tasks.forEach((task, at) => {
        const y = (at * PITCH + 4) * grown;
        drawLabel(drawing, model.names.shortTask(task), y + (LANE_HEIGHT * grown) / 2);
        const lane = model.states.lanes.get(task);
        if (lane) drawLane(store, drawing, lane, y, LANE_HEIGHT * grown);
      });
    },
    [store, tasks],
  );
  if (!model.states.isKnown) {
    return <p class="missing">{missingStates(store)}</p>;
  }
  const label = `States over time of ${tasks.length} subtasks: ${tasks.map((task) => model.names.shortTask(task)).join(", ")}`;
  return (
    <div class={grows ? "lanes grows" : "lanes"} role="group" aria-label={`States of subtasks over time${store.whose}`} tabIndex={0}>
      <TimeCanvas store={store} height={natural + FOOT} grows={grows} label={label} draw={draw} />
    </div>
  );
}

export function missingStates(store: Store): string {
  if (store.model.head.omitted.includes("actions")) {
    return "The states of the tasks did not fit into the report: write it again with a larger --budget.";
  }
  return store.model.isFull
    ? "The recording has no actions of tasks."
    : "Without the states of the tasks: they need a recording with 'flowsim run ... --record full'.";
}

export function stateFill(context: CanvasRenderingContext2D, colours: Colours): (string | CanvasPattern)[] {
  return STATES.map((state) => (state === "soft" ? hatched(context, colours.soft, `${colours.soft}66`) : colours[state]));
}

/** An interval of a lane. */
function stateTip({ model: { facts, names } }: Store, { task, places, states }: Lane, at: number): Tip {
  const [begin, end] = [facts.time[places[at]!]!, places[at + 1] === undefined ? facts.end : facts.time[places[at + 1]!]!];
  return { title: `${names.shortTask(task)}: ${STATE_WORDS[STATES[states[at]!]!]}`, lines: [`lasts ${duration(end - begin)}`], facts: [places[at]!] };
}

function sharesTip({ model: { names, states } }: Store, task: number, axis: Axis, x: number, y: number, height: number): Tip | null {
  const shares = states.shares(task, axis.valueAt(x - NEAR), axis.valueAt(x + NEAR));
  if (!shares) return null;
  const words = STATES.filter((state) => shares[state] > 0).map((state) => `${STATE_WORDS[state]} ${Math.round(shares[state] * 100)} %`);
  return { title: `${names.shortTask(task)}: ${words.join(", ")}`, at: { x: x - NEAR, y, width: 2 * NEAR, height } };
}

export function drawLane(store: Store, { context, axis, colours, marks }: Drawing, lane: Lane, y: number, laneHeight = LANE_HEIGHT): void {
  const { places, states } = lane;
  const [from, to] = store.range.value;
  const first = Math.max(0, countUpTo(places, store.placeOf(from)) - 1);
  const last = countUpTo(places, store.placeOf(to));
  const fill = stateFill(context, colours);
  const addCells = marks.layer(`shares ${lane.task}`, (_, x) => sharesTip(store, lane.task, axis, x, y, laneHeight));
  addCells(0, axis.left, y, axis.right - axis.left, laneHeight);
  const add = marks.layer(`state ${lane.task}`, (at) => stateTip(store, lane, at));
  const cells = new Cells<number>(axis);
  for (let at = first; at < last; at++) {
    const state = states[at]!;
    const [begin, end] = [axis.x(places[at]!), at + 1 < places.length ? axis.x(places[at + 1]!) : axis.right];
    if (state === NONE || end < axis.left || begin > axis.right) continue;
    if (last - first <= MOST_MARKS) add(at, begin, y, end - begin, laneHeight);
    if (end - begin < LEAST_BAR) {
      cells.add(state, begin, end);
      continue;
    }
    cells.leaveOut(begin, end);
    // Whole pixels: between two parts of a pixel the background would shine through.
    const left = Math.max(axis.left, Math.floor(begin));
    context.fillStyle = fill[state]!;
    context.fillRect(left, y, Math.min(axis.right, Math.ceil(end)) - left, laneHeight);
  }
  cells.draw(context, y, laneHeight, (state) => fill[state]!, true);
}

export function StateLegend() {
  return (
    <ul class="legend" aria-label="States of subtasks">
      {STATES.map((state) => (
        <li>
          <span class={`swatch ${state}`} /> {STATE_WORDS[state]}
        </li>
      ))}
    </ul>
  );
}
