/** What the marks of checkpoints say: their bars, their parts in subtasks, and barriers and elements on their way. */

import type { Barrier, Checkpoint, Cut, TaskCheckpoint } from "../model/checkpoints";
import type { Overtaken } from "../model/in_flight";
import type { Model } from "../model/model";
import { commas, count, duration, listed, moment } from "../model/text";
import type { Store } from "../store";
import type { Tip } from "../ui/marks";
import { elementWords } from "./channel_tips";

export function outcomeOf({ outcome, reason }: Checkpoint): string {
  return outcome === "open" ? "not ended" : reason ? `${outcome}: ${reason}` : outcome;
}

export function resultOf({ model: { checkpoints, inFlight } }: Store, one: Checkpoint): string {
  const parts = [outcomeOf(one)];
  const isLate = !one.isUnaligned && checkpoints.of(one.id).some((task) => inFlight.isUnaligned(task));
  if (one.triggered >= 0 && one.ended >= 0) parts[0] += ` after ${duration(one.ended - one.triggered)}`;
  if (one.alignment) parts.push(one.alignment + (isLate ? ", after a timeout unaligned" : ""));
  if (one.tasks >= 0) parts.push(count(one.tasks, "subtask"));
  if (one.bytes) parts.push(`${commas(one.bytes)} bytes`);
  if (one.declines) parts.push(count(one.declines, "decline"));
  if (one.restored.length) parts.push(`restored at ${one.restored.map(moment).join(" and ")}`);
  return parts.join(", ");
}

/** A click selects the checkpoint; the job's side has no facts. */
export function jobTip(store: Store, one: Checkpoint): Tip {
  return {
    title: `${one.type} ${one.id}: ${resultOf(store, one)}`,
    place: store.model.checkpoints.placesOf(one)[0],
    pick: () => store.select({ checkpoint: one.id }),
  };
}

/** Where the bar of a checkpoint in a subtask ends. */
export function endOf({ acknowledged, declined, lost }: TaskCheckpoint): number {
  return Math.min(acknowledged, declined, lost);
}

const WORDS = ["start delay", "alignment", "synchronous part", "asynchronous part"];
/** The parts of a checkpoint in a subtask, and the cross at its end, in the order of ``partsOf``. */
export const PARTS = WORDS.length + 1;

/** From where to where each part goes; Infinity: it did not begin, or did not end. */
export function partsOf({ model: { checkpoints } }: Store, one: TaskCheckpoint): [from: number, to: number][] {
  const triggered = checkpoints.get(one.checkpoint)?.triggered ?? -1;
  const trigger = triggered < 0 ? Infinity : checkpoints.placeOf(triggered, one.checkpoint);
  const end = endOf(one);
  const within = (from: number, to: number): [number, number] => [from, Math.min(to, end)];
  return [
    [trigger, one.begin], one.isTriggered ? [Infinity, Infinity] : within(one.begin, one.aligned), within(one.syncStart, one.syncEnd),
    within(one.syncEnd, one.written), end === one.acknowledged ? [Infinity, Infinity] : [end, end],
  ];
}

export function partTip(store: Store, one: TaskCheckpoint, part: number): Tip {
  const { facts: { time }, names } = store.model;
  const [from, to] = partsOf(store, one)[part]!;
  const what = WORDS[part] ?? (one.declined <= endOf(one) ? "declined" : "ends with its attempt");
  const lasts = part === PARTS - 1 ? [] : [to === Infinity ? "not ended" : `lasts ${duration(time[to]! - time[from]!)}`];
  // The trigger is on the job's side.
  const facts = part ? [...new Set([from, to])] : [to];
  const pick = () => store.select({ checkpoint: one.checkpoint, task: one.task });
  return { title: `${names.shortTask(one.task)}, checkpoint ${one.checkpoint}: ${what}`, lines: lasts, facts, pick };
}

export function barrierTip(store: Store, { channel, checkpoint, isCancel, mayOvertake, sent, received }: Barrier): Tip {
  const { facts: { time }, names } = store.model;
  const title = `${isCancel ? "cancellation" : "barrier"} of checkpoint ${checkpoint} in channel ${names.channel(channel)}${mayOvertake ? ", which may overtake data" : ""}`;
  const way = received === Infinity || sent === Infinity ? null : time[received]! - time[sent]!;
  const lines = way === null ? [] : [way ? `on its way for ${duration(way)}` : "read in the instant in which it was written"];
  return { title, lines, facts: [sent, received], pick: () => store.select({ channel }) };
}

/** Where an element was written and read. */
function factsOf({ facts }: Model, { sent, received }: Overtaken): number[] {
  const [written, read] = [facts.of("sent").places, facts.of("received").places];
  return [sent < 0 ? Infinity : written[sent]!, received < 0 ? Infinity : read[received]!];
}

function valueOf(model: Model, { sent, received }: Overtaken): string {
  return sent >= 0 ? elementWords(model, "sent", sent) : elementWords(model, "received", received);
}

/** An element in front of the barrier. */
export function elementTip({ model }: Store, element: Overtaken, { barrier }: Cut): Tip {
  const side = element.side ? `, stored by the ${element.side}` : "";
  return { title: `${valueOf(model, element)}: in front of the barrier of checkpoint ${barrier.checkpoint}${side}`, facts: factsOf(model, element) };
}

/** Several elements of the channel at the cut; null: the report does not have them. */
export function elementsTip({ model }: Store, title: string, elements: Overtaken[] | null): Tip {
  if (!elements?.length) return { title };
  const facts = elements.flatMap((element) => factsOf(model, element).slice(0, 1)).filter((place) => place < Infinity);
  return { title, lines: [listed(elements.map((element) => valueOf(model, element)))], facts: facts.slice(0, 2) };
}
