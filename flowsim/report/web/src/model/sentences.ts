/** Each fact as the sentence that ``flowsim trace`` prints, with the rules that explain it. */

import type { Facts } from "./facts";
import type { Phrase, Wording } from "./head";
import { Async, Element, Kind, MAX_PRIORITY, OUTPUT_FULL, Phase, Side, StateChange, Step, Timer, Wait } from "./kinds";
import type { Names } from "./names";
import { commas, count, duration, eventTime, joined, NO_TIMESTAMP, oneDecimal, sixDigits, windowText } from "./text";

export interface Sentence {
  text: string;
  rules: string[];
}

/** A fact: its task, its columns by name, and the number of actions and waits around it. */
interface Fact {
  task: number;
  depth: number;
  at: Record<string, number>;
}

type Maker = (fact: Fact, names: Names, wording: Wording) => Sentence;

export class Sentences {
  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly wording: Wording,
    private readonly depthAt: (place: number) => number,
  ) {}

  at(place: number): Sentence {
    const name = this.facts.nameAt(place);
    const table = this.facts.of(name);
    const row = this.facts.row[place]!;
    const at: Record<string, number> = {};
    for (const column in table.columns) at[column] = table.columns[column]![row]!;
    const make = MAKERS[name];
    if (!make) return { text: name, rules: [] };
    return make({ task: this.facts.task[place]!, depth: this.depthAt(place), at }, this.names, this.wording);
  }
}

function plain(text: string, ...rules: string[]): Sentence {
  return { text, rules };
}

function phrase(phrases: Record<string, Phrase>, member: number): Phrase {
  return phrases[String(member)] ?? ["?", []];
}

function status(timestamp: number): string {
  return timestamp === 0 ? "ACTIVE" : timestamp === -1 ? "IDLE" : String(timestamp);
}

function ofTime(timestamp: number): string {
  return timestamp === NO_TIMESTAMP ? "" : `(timestamp ${eventTime(timestamp)})`;
}

function element(kind: number, timestamp: number, value = ""): string {
  switch (kind) {
    case Element.RECORD: return joined(value, ofTime(timestamp));
    case Element.STATUS: return status(timestamp);
    case Element.END_OF_DATA: return timestamp ? "with drain" : "without drain";
    case Element.END_OF_PARTITION:
    case Element.EVENT: return "";
    case Element.CHECKPOINT_BARRIER:
    case Element.UNALIGNED_BARRIER:
    case Element.CANCEL_CHECKPOINT_MARKER: return `of checkpoint ${timestamp}`;
    default: return eventTime(timestamp);
  }
}

function recordText(noun: string, timestamp: number, value: string): string {
  return joined(value ? `${noun} ${value}` : `a ${noun}`, ofTime(timestamp));
}

const sent: Maker = ({ at }, names, wording) => {
  const [what, given] = phrase(wording.sent, at.kind!);
  const key = at.key ? `, key ${names.key(at.key)},` : "";
  const rules = at.kind === Element.RECORD && names.isKeyed(at.channel!) ? ["1.18"] : given;
  const text = joined(what, element(at.kind!, at.timestamp!, names.record(at.record!))) + key;
  return barrier(names, at, { text: joined(text, `to ${names.target(at.channel!)}`), rules });
};

/** Adds why a barrier does not overtake, if the checkpoint is unaligned. */
function barrier(names: Names, at: Fact["at"], { text, rules }: Sentence): Sentence {
  const forced = at.kind === Element.CHECKPOINT_BARRIER ? names.forcedBarrier(at.channel!, at.timestamp!) : null;
  return forced ? { text: `${text}, ${forced[0]}`, rules: [...rules, forced[1]] } : { text, rules };
}

const received: Maker = ({ at }, names, wording) => {
  const [what, rules] = phrase(wording.received, at.kind!);
  const value = element(at.kind!, at.timestamp!, names.record(at.record!));
  return barrier(names, at, { text: joined(what, value, `from ${names.source(at.channel!)}`), rules });
};

const buffers: Maker = ({ at }, names) => {
  const isEvent = at.kind !== Kind.DATA;
  const what = { [Kind.DATA]: "buffer", [Kind.EVENT]: "event" }[at.kind!] ?? "priority event";
  const target = names.target(at.channel!);
  const source = names.source(at.channel!);
  switch (at.side) {
    case Side.QUEUED:
      return plain(`queues ${what} ${at.number} for ${target}, backlog ${at.backlog}`, isEvent ? "5.13" : "5.11", "5.18");
    case Side.SENT: {
      const left = at.credits! >= 0 ? `, ${count(at.credits!, "credit")} left` : "";
      const more = at.whole ? "" : ", more of it follows";
      const size = commas(at.bytes!);
      return plain(`sends ${what} ${at.number} (${size} bytes) to ${target}, backlog ${at.backlog}${left}${more}`, "6.11", "6.12");
    }
    case Side.RECEIVED: {
      const kept = at.credits! >= 0 ? `, ${at.credits} more reserved` : "";
      const text = `receives ${what} ${at.number} (${commas(at.bytes!)} bytes) from ${source}, backlog ${at.backlog}${kept}`;
      return isEvent ? plain(text, "6.4", "6.14") : plain(text, "6.3", "6.4", "6.14");
    }
    case Side.FLUSHED: return plain(`flushes the queue for ${target}, backlog ${at.backlog}`, "5.22");
    case Side.SKIPPED: return plain(`skips a buffer without unread bytes for ${target}, backlog ${at.backlog}`, "5.23");
    case Side.PRIORITIZED: return plain(`lets event ${at.number} for ${target} overtake, backlog ${at.backlog}`, "5.32");
    default: return plain(`recycles buffer ${at.number} from ${source}`, "6.5");
  }
};

const credits: Maker = ({ task, at }, names, wording) => {
  const [text, rules] = phrase(wording.credits, at.kind!);
  const filled = text
    .replace("{credits}", count(at.credits!, "credit"))
    .replace("{channel}", () => names.otherEnd(task, at.channel!))
    .replace("{balance}", String(at.balance));
  return { text: filled, rules };
};

const segments: Maker = ({ at }, names, wording) => {
  const [text, rules] = phrase(wording.segments, at.action!);
  const whose = at.subpartition! >= 0 ? ` of subpartition ${at.subpartition}` : "";
  return { text: `${names.pool(at.pool!)} ${text}${whose}: ${at.requested} held, ${at.free} free, size ${at.size}`, rules };
};

const bufferSizes: Maker = ({ at }, names) =>
  plain(
    `announces a buffer size of ${commas(at.bytes!)} bytes to ${names.edge(at.edge!)}: ` +
      `${commas(at.throughput!)} bytes/s, ${count(at.buffers_in_use!, "buffer")} in use`,
    "6.22",
  );

const taskWatermark: Maker = ({ at }) =>
  at.kind === Element.WATERMARK
    ? plain(`watermark of input ${at.input} is now ${eventTime(at.timestamp!)}`, "8.9", "8.15")
    : plain(`input ${at.input} is now ${element(at.kind!, at.timestamp!)}`, "8.10", "8.11");

const windowIntake: Maker = ({ task, at }, names) => {
  const record = recordText("record", at.timestamp!, names.record(at.record!));
  const text = `${names.operator(task, at.operator!)} processes ${record}, key ${names.key(at.key!)}`;
  return plain(`${text}, watermark ${eventTime(at.watermark!)}`, "10.7");
};

const joinPairs: Maker = ({ task, at }, names) => {
  const left = names.record(at.left_record!);
  const right = names.record(at.right_record!);
  const pair = left && right ? `${left} and ${right}` : "two records";
  const text = `${names.operator(task, at.operator!)} joins ${pair}, key ${names.key(at.key!)}`;
  return plain(`${text}, timestamp ${eventTime(at.timestamp!)}`, "10.33", "10.34");
};

const windowJoins: Maker = ({ task, at }, names) => {
  const sides = `${count(at.left_rows!, "left record")} and ${count(at.right_rows!, "right record")}`;
  const text = `${names.operator(task, at.operator!)} calls its function ${count(at.calls!, "time")} for ${sides}`;
  return plain(`${text} of ${windowText(at.window_start!, at.window_end!)} of key ${names.key(at.key!)}`, "10.37");
};

const windowFire: Maker = ({ task, at }, names) => {
  const verb = { 1: "fires", 2: "purges", 3: "fires and purges" }[at.result!];
  const window = windowText(at.window_start!, at.window_end!);
  const text = `${names.operator(task, at.operator!)} ${verb} ${window} of key ${names.key(at.key!)}`;
  return plain(`${text} with ${count(at.rows!, "record")}, watermark ${eventTime(at.watermark!)}`, "10.11", "10.13");
};

const windowMerge: Maker = ({ task, at }, names) => {
  const window = windowText(at.window_start!, at.window_end!);
  const text = `${names.operator(task, at.operator!)} merges ${window} of key ${names.key(at.key!)}`;
  return plain(`${text} into ${windowText(at.into_start!, at.into_end!)}`, "10.25", "10.26");
};

const generatedWatermark: Maker = ({ task, at }, names) => {
  const split = at.split! < 0 ? "" : `, ${names.split(task, at.operator!, at.split!)},`;
  const what = element(at.kind!, at.timestamp!);
  return plain(`${names.operator(task, at.operator!)}${split} generates ${what} after ${count(at.records!, "record")}`, "8.1", "8.5");
};

const alignment: Maker = ({ task, at }, names) => {
  const who = names.operator(task, at.operator!) + (at.split! < 0 ? "" : `, ${names.split(task, at.operator!, at.split!)},`);
  const ahead = `watermark ${eventTime(at.watermark!)}, limit ${eventTime(at.limit!)}`;
  return plain(`${who} is ${at.paused ? "paused" : "resumed"} by watermark alignment: ${ahead}`, "8.22", "8.23");
};

const lateDrop: Maker = ({ task, at }, names) => {
  const where = at.side_output ? "sends to the late side output" : "drops";
  const record = recordText("late record", at.timestamp!, names.record(at.record!));
  const text = `${names.operator(task, at.operator!)} ${where} ${record}, key ${names.key(at.key!)}`;
  return plain(`${text}, watermark ${eventTime(at.watermark!)}`, "10.9", "10.10");
};

const timers: Maker = ({ task, at }, names, wording) => {
  const [text, given] = phrase(wording.timers, at.action!);
  const isEventTime = at.domain === 0;
  const rules = at.action === Timer.FIRE && !isEventTime ? ["9.9"] : given;
  const key = at.key ? `, key ${names.key(at.key)}` : "";
  const window = at.window_start! < at.window_end! ? `, ${windowText(at.window_start!, at.window_end!)}` : "";
  const watermark = isEventTime ? `, watermark ${eventTime(at.watermark!)}` : "";
  const what = isEventTime ? "event-time" : "processing-time";
  const who = names.operator(task, at.operator!);
  return { text: `${who} ${text} ${what} timer ${eventTime(at.timestamp!)}${key}${window}${watermark}`, rules };
};

const OF_ASYNC: Record<number, string[]> = {
  [Async.PUT]: ["11.1", "11.2"],
  [Async.INVOKE]: ["11.1", "11.25"],
  [Async.RETRY]: ["11.24"],
  [Async.COMPLETE]: ["11.12"],
  [Async.FAIL]: ["11.15"],
  [Async.TIMEOUT]: ["11.17"],
  [Async.EMIT]: ["11.13", "11.14"],
};

const asyncElements: Maker = ({ task, at }, names) => {
  const isWatermark = at.kind === Element.WATERMARK;
  const what = isWatermark
    ? `element ${at.entry} (watermark ${eventTime(at.timestamp!)})`
    : at.action === Async.PUT
      ? `element ${at.entry}, ${recordText("record", at.timestamp!, names.record(at.record!))}`
      : recordText("element", at.timestamp!, String(at.entry));
  const results = count(at.rows!, "result");
  const queued = count(at.queued!, "element");
  const text = {
    [Async.PUT]: `queues ${what}: ${queued} in the queue`,
    [Async.INVOKE]: `calls the function for ${what}: attempt ${at.attempt}`,
    [Async.RETRY]: `schedules a retry of ${what} after attempt ${at.attempt}`,
    [Async.COMPLETE]: `receives ${results} for ${what}`,
    [Async.FAIL]: `receives an error for ${what}`,
    [Async.TIMEOUT]: `times out ${what}`,
    [Async.EMIT]: `emits ${what}${isWatermark ? "" : ` with ${results}`}: ${queued} left in the queue`,
  }[at.action!];
  return { text: `${names.operator(task, at.operator!)} ${text}`, rules: OF_ASYNC[at.action!] ?? [] };
};

const systemTimers: Maker = ({ task, at }, names) => {
  const [what, rule] = at.kind === 0 ? ["timeout", "11.17"] : ["retry", "11.24"];
  const text = {
    [Timer.REGISTER]: `registers the ${what} timer of element ${at.entry} for ${eventTime(at.timestamp!)}`,
    [Timer.DELETE]: `cancels the ${what} timer of element ${at.entry}`,
    [Timer.FIRE]: `fires the ${what} timer of element ${at.entry}`,
  }[at.action!];
  return plain(`${names.operator(task, at.operator!)} ${text}`, rule!);
};

const snapshots: Maker = ({ task, at }, names) => {
  const where = at.inside ? "inside an element" : "between two elements";
  const text = `${names.operator(task, at.operator!)} snapshots its state ${where}, after ${count(at.records_in!, "record")}`;
  const rules = at.inside ? ["11.37"] : ["3.25", "11.20"];
  return { text: `${text}: ${count(at.elements!, "element")} in the snapshot`, rules };
};

const operatorCounts: Maker = ({ task, at }, names) => {
  const side = at.records_side ? `, ${commas(at.records_side)} to side outputs` : "";
  const dropped = at.records_dropped ? `, ${commas(at.records_dropped)} dropped` : "";
  const counts = `${count(at.records_in!, "record")} in, ${commas(at.records_out!)} out`;
  return plain(`${names.operator(task, at.operator!)} in total: ${counts}${side}${dropped}`, "13.4");
};

const lifecycle: Maker = ({ task, at }, names, wording) => {
  const [text, rules] = phrase(wording.life, at.event!);
  return { text: `${names.operator(task, at.operator!)} ${text}`, rules };
};

const taskTimes: Maker = ({ at }) => {
  const parts: [string, number][] = [
    ["busy", at.busy_ns!],
    ["idle", at.idle_ns!],
    ["soft back-pressured", at.soft_backpressured_ns!],
    ["hard back-pressured", at.hard_backpressured_ns!],
  ];
  const spent = parts.filter(([, ns]) => ns).map(([name, ns]) => `${duration(ns)} ${name}`);
  const counts = `${count(at.records_in!, "record")} in, ${commas(at.records_out!)} out`;
  return plain(`the task in total: ${spent.join(", ") || "no time"}; ${counts}`, "3.28");
};

const metrics: Maker = ({ at }) => {
  const waits = `idle ${at.idle_ms}, soft ${at.soft_ms}, hard ${at.hard_ms} ms/s`;
  const times = at.busy_ms! < 0 ? waits : `busy ${at.busy_ms}, ${waits}`;
  const usage = (millionths: number) => oneDecimal(millionths / 1e4);
  const queues =
    `${count(at.input_queue!, "buffer")} in (${usage(at.input_pool_usage!)} %), ` +
    `${at.output_queue} out (${usage(at.output_pool_usage!)} %)`;
  const records = `records ${commas(at.records_in!)} in, ${commas(at.records_out!)} out`;
  const marks = `watermarks ${eventTime(at.input_watermark!)} in, ${eventTime(at.output_watermark!)} out`;
  return plain(`metrics: ${times}; ${queues}; ${records}; ${marks}`, "13.1", "13.2", "13.6", "13.7");
};

const latencies: Maker = ({ task, at }, names) => {
  const source = `subtask ${at.source_subtask} of ${names.vertex(at.source_vertex!)}`;
  const who = names.operator(task, at.operator!);
  return plain(`${who} receives a latency marker from ${source}: latency ${at.latency_ms} ms`, "8.20");
};

const mails: Maker = ({ at }) => {
  const what =
    at.priority === MAX_PRIORITY ? "control mail" : at.priority === -1 ? "task mail" : `mail of priority ${at.priority}`;
  if (at.action === 1) return plain(`runs ${what} #${at.mail}`, "3.3");
  const rules = at.urgent ? ["3.1", "3.5"] : ["3.1"];
  return { text: `receives ${at.urgent ? "urgent " : ""}${what} #${at.mail}`, rules };
};

const actions: Maker = ({ depth, at }, _, wording) => {
  const [what, rules] = phrase(wording.actions, at.kind!);
  switch (at.phase) {
    case Phase.BEGIN: return { text: `begins ${what} (action ${at.action})`, rules };
    case Phase.END: return plain(`ends ${what} (action ${at.action})`);
    case Phase.WAIT: {
      const [text, ofWait] = waitText(at.kind!, at.priority!, depth, wording);
      return { text: text.replace("{priority}", String(at.priority)), rules: ofWait };
    }
    default:
      return plain(at.kind === Wait.COST ? "ends its batch" : at.kind === Wait.YIELD ? "ends the yield" : "continues");
  }
};

/** Rule 3.28: a task is idle only between actions; in a yield, the wait for a mail counts as busy time. */
function waitText(kind: number, priority: number, depth: number, wording: Wording): Phrase {
  if (priority === OUTPUT_FULL) return wording.soft_back_pressure;
  if (kind === Wait.MAIL && depth !== 0) return wording.mail_in_yield;
  return phrase(wording.waits, kind);
}

const checkpointSteps: Maker = ({ at }, names, wording) => {
  const [text, rules] = phrase(wording.checkpoint_steps ?? {}, at.step!);
  if (at.step === Step.RESTORE && at.checkpoint! < 0) return { text: "starts without a checkpoint", rules };
  const where = at.channel! >= 0 ? ` on ${names.source(at.channel!)}` : "";
  const why = at.reason! >= 0 ? `: ${wording.reasons?.[String(at.reason)] ?? at.reason}` : "";
  const sentence = `${text.replace("{checkpoint}", String(at.checkpoint))}${where}`;
  const forced = at.step === Step.ALIGNMENT_START ? names.forcedBarrier(at.channel!, at.checkpoint!) : null;
  return forced ? { text: `${sentence}, ${forced[0]}`, rules: [...rules, forced[1]] } : { text: sentence + why, rules };
};

const checkpointMetrics: Maker = ({ at }) => {
  const persisted = at.persisted_bytes ? `, ${commas(at.persisted_bytes)} bytes in flight stored` : "";
  return plain(
    `checkpoint ${at.checkpoint}: start delay ${commas(Math.floor(at.start_delay_ns! / 1e6))} ms, ` +
      `aligned in ${sixDigits(at.alignment_ns! / 1e6)} ms with ${commas(at.alignment_bytes!)} bytes processed, ` +
      `synchronous part ${commas(at.sync_ms!)} ms, asynchronous part ${commas(at.async_ms!)} ms, ` +
      `state ${commas(at.state_bytes!)} bytes${persisted}`,
    "12.142",
  );
};

const storedState: Maker = ({ task, at }, names, wording) => {
  const [what, rules] = phrase(wording.stored_kinds ?? {}, at.kind!);
  const group = at.key_group! >= 0 ? ` of key group ${at.key_group}` : "";
  const text = `${names.operator(task, at.operator!)} ${doneWith(at.action!)} ${what} ${names.record(at.state!)}${group}`;
  const entries = at.entries === 1 ? "1 entry" : `${commas(at.entries!)} entries`;
  return { text: `${text} for checkpoint ${at.checkpoint}: ${entries}`, rules };
};

const sourcePositions: Maker = ({ task, at }, names) => {
  const what = `position ${commas(at.position!)} of split ${names.record(at.split!)}`;
  return plain(`${names.operator(task, at.operator!)} ${doneWith(at.action!)} ${what} for checkpoint ${at.checkpoint}`, "12.111");
};

const committables: Maker = ({ task, at }, names, wording) => {
  const [text, rules] = phrase(wording.committables ?? {}, at.action!);
  const rows = at.action === 0 ? ` with ${count(at.rows!, "record")}` : "";
  const what = `committable ${names.record(at.committable!)}${rows} of checkpoint ${at.checkpoint}`;
  return { text: `${names.operator(task, at.operator!)} ${text} ${what}`, rules };
};

function doneWith(action: number): string {
  return ["stores", "restores"][action] ?? "stored in another run";
}

const COUNTED: Record<string, string> = { list: "element", map: "entry", window_records: "record" };

const stateChanges: Maker = ({ task, at }, names, wording) => {
  const [verb, rules] = phrase(wording.state_changes, at.action!);
  const [name, kind] = names.state(task, at.operator!, at.state!);
  const window = at.window_start || at.window_end ? windowText(at.window_start!, at.window_end!) : "";
  const key = names.key(at.key!);
  const what = kind.startsWith("window")
    ? `${verb} the contents of ${window} of key ${key}`
    : joined(verb, kind ? `${kind} state ${quoted(name)}` : name, at.key ? `of key ${key}${window && `, ${window}`}` : "");
  const value = at.record ? names.record(at.record) : "";
  const between = at.action! > StateChange.EXPIRE ? " instead of " : ": ";
  const text = `${names.operator(task, at.operator!)} ${what}${value && between + value}`;
  return { text: text + left(kind, at.action!, at.entries!), rules };
};

function left(kind: string, action: number, entries: number): string {
  const noun = COUNTED[kind];
  if (!noun || action === StateChange.CLEAR || action > StateChange.EXPIRE) return "";
  return noun === "entry" && entries !== 1 ? `, ${commas(entries)} entries now` : `, ${count(entries, noun)} now`;
}

/** As Python's repr of a text without control characters. */
function quoted(text: string): string {
  const escaped = text.replace(/\\/g, "\\\\");
  return text.includes("'") && !text.includes('"') ? `"${escaped}"` : `'${escaped.replace(/'/g, "\\'")}'`;
}

const MAKERS: Record<string, Maker> = {
  sent,
  received,
  buffers,
  credits,
  segments,
  lifecycle,
  metrics,
  latencies,
  mails,
  actions,
  timers,
  snapshots,
  alignment,
  buffer_sizes: bufferSizes,
  task_watermark: taskWatermark,
  window_intake: windowIntake,
  join_pairs: joinPairs,
  window_joins: windowJoins,
  window_fire: windowFire,
  window_merge: windowMerge,
  generated_watermark: generatedWatermark,
  late_drop: lateDrop,
  async_elements: asyncElements,
  system_timers: systemTimers,
  operator_counts: operatorCounts,
  task_times: taskTimes,
  state_changes: stateChanges,
  checkpoint_steps: checkpointSteps,
  checkpoint_metrics: checkpointMetrics,
  stored_state: storedState,
  source_positions: sourcePositions,
  committables,
};
