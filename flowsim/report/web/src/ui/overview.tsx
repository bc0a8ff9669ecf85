/** Of a large recording: which parts of the run are here fact by fact, and counts of all facts. */

import { useCallback } from "preact/hooks";
import type { ExactPart } from "../model/head";
import { TIMING_WORDS } from "../model/points";
import { commas, count, listed, moment } from "../model/text";
import type { Store } from "../store";
import { drawLabel } from "./axis";
import { TimeCanvas, type Drawing } from "./canvas";
import { hatched } from "./colours";
import type { Axis } from "./horizontal";
import type { Tip } from "./marks";

const BINS = 64;
const BAR = 24;
const STRIP = 10;
const RASTER = 96;
const TIMINGS = ["inTime", "behind", "late"] as const;

export function Overview({ store, parts }: { store: Store; parts: ExactPart[] }) {
  const { model } = store;
  const view = store.view.value;
  const channel = store.selection.value.channel ?? [...model.names.channels.keys()][0];
  const hasLateness = view === "event-time" && (model.facts.counts.get("overview_lateness")?.rows ?? 0) > 0;
  const height = BAR + STRIP + 8 + (hasLateness ? RASTER : 0);
  const draw = useCallback(
    (drawing: Drawing) => {
      if (store.scale.value === "time") {
        drawCounts(store, drawing, view === "channel" ? (channel ?? null) : null);
        if (hasLateness) drawLateness(store, drawing, BAR + STRIP + 8);
      }
      drawParts(store, drawing, parts);
    },
    [store, parts, view, channel, hasLateness],
  );
  const facts = parts.reduce((sum, { first, end }) => sum + end - first, 0);
  return (
    <div class="overview">
      <TimeCanvas
        store={store}
        height={height}
        label={`Facts over time; ${count(parts.length, "part")} of the run with every fact`}
        draw={draw}
      />
      <details>
        <summary>
          Every fact in {count(parts.length, "part")} of the run, {commas(facts)} of {commas(model.head.facts)} facts; counts in
          between
        </summary>
        <div class="row">
          {parts.map((part) => (
            <button key={part.first} class="rule" onClick={() => show(store, part)}>
              {moment(part.from_ns)} to {moment(part.to_ns)}: {shortened(part.why)}
            </button>
          ))}
        </div>
      </details>
      <Missing store={store} parts={parts} />
    </div>
  );
}

function shortened(why: string[]): string {
  return why.length > 2 ? `${why[0]} and ${why.length - 1} more` : why.join(", ");
}

function show(store: Store, part: ExactPart): void {
  store.setScale("time");
  store.go(store.model.facts.placeOfStep(part.first));
  store.setRange([part.from_ns, part.to_ns]);
}

/** The command for the part in view, if not every fact of it is here. */
function Missing({ store, parts }: { store: Store; parts: ExactPart[] }) {
  if (store.scale.value !== "time") return null;
  const [from, to] = store.range.value;
  if (parts.some((part) => part.from_ns <= from && to <= part.to_ns)) return null;
  const { path } = store.model.head.recording;
  const [begin, end] = [moment(Math.floor(from)).replace(" ", ""), moment(Math.ceil(to) + 1).replace(" ", "")];
  return (
    <p class="faint">
      Not every fact in view is here. With all of them: <code>flowsim report {path} --from {begin} --to {end}</code>
    </p>
  );
}

function drawParts(store: Store, drawing: Drawing, parts: ExactPart[]): void {
  const { context, axis, colours } = drawing;
  const { facts } = store.model;
  drawLabel(drawing, "every fact", BAR + STRIP / 2, "faint");
  const byTime = store.scale.value === "time";
  context.fillStyle = hatched(context, colours.line);
  context.fillRect(axis.left, BAR, axis.right - axis.left, STRIP);
  const add = drawing.marks.layer("exact part", (at) => partTip(store, parts[at]!));
  parts.forEach((part, at) => {
    const begin = byTime ? axis.xOf(part.from_ns) : axis.x(facts.placeOfStep(part.first));
    const end = byTime ? axis.xOf(part.to_ns) : axis.x(facts.placeOfStep(part.end - 1));
    const left = Math.max(axis.left, begin);
    const width = Math.min(axis.right, Math.max(end, begin + 2)) - left;
    if (width <= 0) return;
    add(at, left, BAR, width, STRIP);
    context.fillStyle = colours.accent;
    context.fillRect(left, BAR, width, STRIP);
  });
}

function partTip(store: Store, part: ExactPart): Tip {
  const { facts } = store.model;
  const title = `every fact from ${moment(part.from_ns)} to ${moment(part.to_ns)}: ${commas(part.end - part.first)} facts`;
  return { title, lines: [listed(part.why)], place: facts.placeOfStep(part.first), pick: () => show(store, part) };
}

/** The rows of counts in a pixel. */
function rowsAt(store: Store, bucket: ArrayLike<number>, axis: Axis, x: number): number[] {
  const begin = begins(store);
  const at = axis.valueAt(x);
  return Array.from(bucket, (_, row) => row).filter((row) => begin(bucket[row]!) <= at && at < begin(bucket[row]! + 1));
}

/** An area of counts, of which the pointer asks for a column. */
function columnTip(title: string, store: Store, axis: Axis, x: number, y: number, height: number): Tip {
  return { title, at: { x: x - 1, y, width: 2, height }, place: store.placeOf(axis.valueAt(x)) };
}

/** Where a bucket begins, in ns. */
function begins(store: Store): (bucket: number) => number {
  const length = (store.model.facts.end + 1) / (store.model.head.sections.overview_facts?.buckets ?? 1);
  return (bucket) => bucket * length;
}

/** Facts per bucket of time, or the elements that a channel was sent. */
function drawCounts(store: Store, drawing: Drawing, channel: number | null): void {
  const { context, axis, colours } = drawing;
  const table = store.model.facts.counts.get(channel === null ? "overview_facts" : "overview_elements");
  if (!table) return;
  drawLabel(drawing, channel === null ? "all facts" : "elements sent", BAR / 2, "faint");
  const { bucket, count: counts, channel: channels } = table.columns;
  let most = 1;
  const isWanted = (row: number) => channel === null || channels![row] === channel;
  for (let row = 0; row < table.rows; row++) if (isWanted(row)) most = Math.max(most, counts![row]!);
  const begin = begins(store);
  context.fillStyle = colours.faint;
  for (let row = 0; row < table.rows; row++) {
    if (!isWanted(row)) continue;
    const left = Math.max(axis.left, axis.xOf(begin(bucket![row]!)));
    const right = Math.min(axis.right, axis.xOf(begin(bucket![row]! + 1)));
    if (right <= left) continue;
    const height = (counts![row]! / most) * (BAR - 4);
    context.fillRect(left, BAR - 2 - height, Math.max(right - left, 0.6), height);
  }
  drawing.marks.layer("counts", (_, x) => {
    const sum = rowsAt(store, bucket!, axis, x).filter(isWanted).reduce((all, row) => all + counts![row]!, 0);
    return sum ? columnTip(channel === null ? count(sum, "fact") : `${count(sum, "element")} sent`, store, axis, x, 0, BAR) : null;
  })(0, axis.left, 0, axis.right - axis.left, BAR);
}

/** Event time less the watermark, in bins that double: above the line in time, below it behind the watermark or late. */
function drawLateness(store: Store, drawing: Drawing, top: number): void {
  const { context, axis, colours } = drawing;
  const table = store.model.facts.counts.get("overview_lateness")!;
  const { bucket, bin, timing, count: counts } = table.columns;
  let most = 1;
  for (let row = 0; row < table.rows; row++) most = Math.max(most, counts![row]!);
  const begin = begins(store);
  const height = RASTER / BINS;
  drawLabel(drawing, "ahead of the watermark", top + 10, "faint");
  drawLabel(drawing, "behind it, or late", top + RASTER - 10, "faint");
  for (let row = 0; row < table.rows; row++) {
    const left = Math.max(axis.left, axis.xOf(begin(bucket![row]!)));
    const right = Math.min(axis.right, axis.xOf(begin(bucket![row]! + 1)));
    if (right <= left) continue;
    context.globalAlpha = 0.25 + (0.75 * Math.log(1 + counts![row]!)) / Math.log(1 + most);
    context.fillStyle = colours[TIMINGS[timing![row]!]!];
    context.fillRect(left, top + RASTER - (bin![row]! + 1) * height, Math.max(right - left, 0.8), height);
  }
  context.globalAlpha = 1;
  drawing.marks.layer("lateness", (_, x) => {
    const sums = TIMINGS.map(() => 0);
    for (const row of rowsAt(store, bucket!, axis, x)) sums[timing![row]!]! += counts![row]!;
    const words = sums.flatMap((sum, at) => (sum ? [`${count(sum, "record")} ${TIMING_WORDS[at]}`] : []));
    return words.length ? columnTip(words.join(", "), store, axis, x, top, RASTER) : null;
  })(0, axis.left, top, axis.right - axis.left, RASTER);
  context.strokeStyle = colours.watermark;
  context.beginPath();
  context.moveTo(axis.left, top + RASTER / 2);
  context.lineTo(axis.right, top + RASTER / 2);
  context.stroke();
}
