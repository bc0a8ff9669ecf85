/** Marks on the lanes of subtasks: where an attempt begins, and where barriers are written and read. */

import { countUpTo } from "../model/facts";
import type { Store } from "../store";
import type { Drawing } from "./canvas";
import type { Tip } from "./marks";

/** With more marks of a subtask in view, they would hide everything else. */
const MOST_MARKS = 400;

/** A line with the number of the attempt at each restart, and a cross where an attempt failed. */
export function drawAttempts(store: Store, drawing: Drawing, task: number, y: number, height: number): void {
  const { context, texts, axis, colours } = drawing;
  const { attempts, names } = store.model;
  const restarts = attempts.restartsOf(task);
  const add = drawing.marks.layer(`attempt ${task}`, (place) => {
    const at = restarts.indexOf(place);
    return { title: `${names.shortTask(task)}: ${at < 0 ? "its attempt fails" : `attempt ${at + 1} begins`}`, facts: [place] };
  });
  for (const end of attempts.endsOf(task)) {
    if (!attempts.isFailure(end)) continue;
    drawCross(drawing, axis.x(end), y + height / 2);
    add(end, axis.x(end) - 5, y + height / 2 - 5, 10, 10);
  }
  restarts.forEach((place, at) => {
    const x = axis.x(place);
    if (x < axis.left || x > axis.right) return;
    context.fillStyle = colours.text;
    context.fillRect(x - 1, y - 3, 2, height + 6);
    add(place, x - 3, y - 3, 6, height + 6);
    const next = restarts[at + 1] === undefined ? axis.right : axis.x(restarts[at + 1]!);
    const words = `attempt ${at + 1}`;
    if (Math.min(next, axis.right) - x < texts.widthOf(words) + 10) return;
    texts.write(words, { ink: colours.text, halo: colours.back }, [x + 5, y + height / 2]);
  });
}

export function drawCross({ context, axis, colours }: Drawing, x: number, y: number): void {
  if (x < axis.left || x > axis.right) return;
  context.strokeStyle = colours.late;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x - 5, y - 5);
  context.lineTo(x + 5, y + 5);
  context.moveTo(x + 5, y - 5);
  context.lineTo(x - 5, y + 5);
  context.stroke();
}

/** Barriers that a subtask reads, above, and those that it writes, below; those that may overtake are hollow. */
export function drawBarriers(store: Store, { context, axis, colours, marks }: Drawing, task: number, y: number, height: number): void {
  const { checkpoints } = store.model;
  const add = marks.layer(`barrier ${task}`, (place) => barrierTip(store, place, overtaking.has(place)));
  const { read, written, overtaking } = checkpoints.barrierPlaces(task);
  const [from, to] = store.range.value.map((value) => store.placeOf(value)) as [number, number];
  for (const [places, tip, base] of [[read, y + 4, y - 4], [written, y + height - 4, y + height + 4]] as const) {
    const first = countUpTo(places, from - 1);
    const last = countUpTo(places, to);
    if (last - first > MOST_MARKS) continue;
    for (let at = first; at < last; at++) {
      const x = axis.x(places[at]!);
      if (x < axis.left || x > axis.right) continue;
      context.beginPath();
      context.moveTo(x, tip);
      context.lineTo(x - 5, base);
      context.lineTo(x + 5, base);
      context.closePath();
      add(places[at]!, x - 5, Math.min(tip, base), 10, 8);
      const isHollow = overtaking.has(places[at]!);
      context.strokeStyle = colours.back;
      context.lineWidth = isHollow ? 4 : 2;
      context.stroke();
      context.fillStyle = isHollow ? colours.back : colours.text;
      context.fill();
      if (!isHollow) continue;
      context.strokeStyle = colours.text;
      context.lineWidth = 1.2;
      context.stroke();
    }
  }
}

/** ``place``: of the fact that the barrier was written or read. */
function barrierTip({ model: { facts } }: Store, place: number, mayOvertake: boolean): Tip {
  const checkpoint = facts.of(facts.nameAt(place)).columns.timestamp![facts.row[place]!]!;
  return { title: `barrier of checkpoint ${checkpoint}${mayOvertake ? ", which may overtake data" : ""}`, facts: [place] };
}
