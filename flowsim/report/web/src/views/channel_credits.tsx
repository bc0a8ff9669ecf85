/** The credits of the sender and its backlog over time. */

import { useCallback } from "preact/hooks";
import { valueAt, type ChannelFacts } from "../model/channels";
import { countUpTo } from "../model/facts";
import { commas } from "../model/text";
import type { Store } from "../store";
import { drawAxis, drawLabel } from "../ui/axis";
import { TimeCanvas, type Drawing } from "../ui/canvas";
import { hatched } from "../ui/colours";
import type { Tip } from "../ui/marks";
import { backlogTip, creditsTip, shortageTip } from "./channel_tips";

const CHART = 84;
/** Of the axis below the chart. */
const FOOT = 22;
/** The sides of the mark of a step. */
const STEP = 6;

export function Credits({ store, facts, isLocal }: { store: Store; facts: ChannelFacts; isLocal: boolean }) {
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
        drawSteps(store, drawing, facts.backlog, "backlog", y, colours.noCredit, [4, 3]);
        drawSteps(store, drawing, facts.credits, "credits", y, colours.credits, []);
      });
    },
    [store, facts, isLocal],
  );
  return <TimeCanvas store={store} height={CHART + FOOT} grows label="Credits of the sender and backlog over time" draw={draw} />;
}

const TIPS: Record<"credits" | "backlog", (steps: ChannelFacts["credits"], at: number) => Tip> = { credits: creditsTip, backlog: backlogTip };

function maximum(values: number[], least: number): number {
  return values.reduce((most, value) => Math.max(most, value), least);
}

function drawSteps(
  store: Store, { context, axis, marks }: Drawing, steps: ChannelFacts["credits"], kind: keyof typeof TIPS, y: (value: number) => number,
  colour: string, dash: number[],
): void {
  const { places, values } = steps;
  const add = marks.layer(kind, (at) => TIPS[kind](steps, at));
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
    const end = at + 1 < last ? axis.x(places[at + 1]!) : axis.right;
    add(at, x, y(values[at]!) - STEP / 2, end - x, STEP);
  }
  if (last > first) context.lineTo(axis.right, y(values[last - 1]!));
  context.stroke();
  context.setLineDash([]);
}

/** Hatched where data waits and there are no credits. */
export function drawShortage(store: Store, { context, axis, colours, marks }: Drawing, facts: ChannelFacts, top: number, bottom: number): void {
  const [from, to] = store.range.value;
  const [first, last] = [store.placeOf(from), store.placeOf(to)];
  context.fillStyle = hatched(context, `${colours.noCredit}55`);
  const { places, values } = facts.credits;
  const add = marks.layer("shortage", (at) => shortageTip(facts, at));
  for (let at = Math.max(0, countUpTo(places, first) - 1); at < places.length && places[at]! <= last; at++) {
    if (values[at] !== 0) continue;
    const begin = Math.max(axis.left, axis.x(places[at]!));
    const end = Math.min(axis.right, at + 1 < places.length ? axis.x(places[at + 1]!) : axis.right);
    if (end - begin > 0.5 && hasBacklog(facts, places[at]!, places[at + 1] ?? Infinity)) {
      context.fillRect(begin, top, end - begin, bottom - top);
      add(at, begin, top, end - begin, bottom - top);
    }
  }
}

function hasBacklog(facts: ChannelFacts, from: number, to: number): boolean {
  if (valueAt(facts.backlog, from)) return true;
  const { places, values } = facts.backlog;
  for (let at = countUpTo(places, from); at < places.length && places[at]! < to; at++) if (values[at]) return true;
  return false;
}
