/** In-flight data of unaligned checkpoints: what was stored of each channel, what barriers overtook, who reads it back. */

import type { Attempts } from "./attempts";
import { countOf, type Channels } from "./channels";
import type { Barrier, Checkpoints, TaskCheckpoint } from "./checkpoints";
import { countUpTo, type Facts, type Table } from "./facts";
import { Element, isData, Kind, Side, Step, Stored } from "./kinds";
import type { Names } from "./names";

export interface Size {
  buffers: number;
  bytes: number;
}

/** The in-flight data of a channel in a checkpoint. */
export interface StoredChannel {
  edge: number;
  /** Subtasks of the job that stored it. */
  source: number;
  target: number;
  /** -1: restored with another parallelism, so sizes are unknown, and only records are counted. */
  channel: number;
  /** The task that receives it. */
  task: number;
  byReceiver: Size;
  bySender: Size;
  elements: number;
}

export interface Restore {
  time: number;
  channels: StoredChannel[];
}

/** Restored elements that a task read, and where it read the first and the last one. */
export interface Reading {
  elements: number;
  first: number;
  last: number;
}

/** An element that was written before a barrier, and not read before a place. */
export interface Overtaken {
  /** Its row in ``sent``, -1: restored from an earlier checkpoint. */
  sent: number;
  /** Its row in ``received``, -1: not read in this attempt. */
  received: number;
  /** The side that stores the buffer in which it ends; "": the report does not have the buffers. */
  side: "receiver" | "sender" | "";
}

interface Sums {
  alignment_bytes: number;
  persisted_bytes: number;
}

export class InFlight {
  private readonly sums = new Map<number, Sums>();
  private readonly storedOf = new Map<number, StoredChannel[]>();
  private readonly restoresOf = new Map<number, Restore[]>();
  private readonly starts = new Map<number, { checkpoint: number; place: number }[]>();

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly channels: Channels,
    private readonly attempts: Attempts,
    private readonly checkpoints: Checkpoints,
  ) {
    this.readJob(facts.counts.get("stored_channels"));
    this.readMetrics(facts.of("checkpoint_metrics"));
    const { rows, columns, places } = facts.of("checkpoint_steps");
    for (let row = 0; row < rows; row++) {
      if (columns.step![row] !== Step.RESTORE) continue;
      const task = facts.task[places[row]!]!;
      const known = this.starts.get(task) ?? [];
      known.push({ checkpoint: columns.checkpoint![row]!, place: places[row]! });
      this.starts.set(task, known);
    }
  }

  /** By edge and subtasks. */
  stored(id: number): readonly StoredChannel[] {
    return this.storedOf.get(id) ?? [];
  }

  /** In their order. */
  restores(id: number): readonly Restore[] {
    return this.restoresOf.get(id) ?? [];
  }

  /** A measurement of a checkpoint, summed over its subtasks; null: none of them measured it. */
  sum(id: number, name: keyof Sums): number | null {
    return this.sums.get(id)?.[name] ?? null;
  }

  /** Whether a subtask took its snapshot as an unaligned one; null: it took none, or the report does not have the facts. */
  isUnaligned(one: TaskCheckpoint): boolean | null {
    if (one.syncStart === Infinity) return null;
    const isUnaligned = this.checkpoints.get(one.checkpoint)?.isUnaligned ?? false;
    // A triggered task reads no barrier: what counts are those that it writes.
    if (one.isTriggered) return isUnaligned && this.mayOvertake(one.task);
    const read = this.checkpoints.barriers(one.checkpoint).filter((barrier) => this.targetOf(barrier) === one.task);
    const known = read.filter((barrier) => barrier.received < Infinity);
    if (!known.length && !this.facts.isWhole("received")) return null;
    const overtaking = known.filter((barrier) => barrier.mayOvertake);
    if (isUnaligned || !overtaking.length) return overtaking.length > 0;
    // A barrier with a timeout: the snapshot is unaligned if it did not wait for all barriers, or if one of them overtook.
    if (one.aligned > one.syncStart) return true;
    const answers = overtaking.map((barrier) => this.overtakes(barrier));
    return answers.includes(true) ? true : answers.includes(null) ? null : false;
  }

  /** Whether an output of a task is not aligned by force. */
  private mayOvertake(task: number): boolean {
    return [...this.names.channels.values()].some(({ source, edge }) => source === task && !this.names.forced(edge));
  }

  /** Whether a barrier overtook in the queue of the sender or in that of the receiver; null: unknown. */
  overtakes(barrier: Barrier): boolean | null {
    const [priority, overtaken] = [this.priorityOf(barrier), this.overtaken(barrier)];
    if ((priority !== null && priority < Infinity) || overtaken?.length) return true;
    return priority === null || overtaken === null ? null : false;
  }

  /** Where a barrier got priority in the queue of the sender, Infinity: it stayed in line, null: unknown. */
  priorityOf(barrier: Barrier): number | null {
    if (!barrier.mayOvertake) return Infinity;
    if (barrier.sent === Infinity || !this.facts.isWhole("buffers") || !this.facts.has("buffers")) {
      return this.checkpoints.get(barrier.checkpoint)?.isUnaligned ? barrier.sent : null;
    }
    const { columns, places } = this.facts.of("buffers");
    const rows = this.channels.rowsOf(barrier.channel).buffers;
    let number = -1;
    for (let at = countOf(rows, places, barrier.sent); at < rows.length; at++) {
      const row = rows[at]!;
      if (places[row]! > barrier.received) break;
      const side = columns.side![row];
      if (number < 0 && side === Side.QUEUED && columns.kind![row] === Kind.PRIORITY_EVENT) return places[row]!;
      if (number < 0 && side === Side.QUEUED && columns.kind![row] === Kind.EVENT) number = columns.number![row]!;
      if (side === Side.PRIORITIZED && columns.number![row] === number) return places[row]!;
    }
    return Infinity;
  }

  /** The elements between the cuts of both subtasks: the stored ones; null: no snapshot, or not in the report. */
  between(barrier: Barrier): Overtaken[] | null {
    const snapshot = this.checkpoints.of(barrier.checkpoint).find((one) => one.task === this.targetOf(barrier))?.syncStart ?? Infinity;
    return snapshot === Infinity ? null : this.unread(barrier, snapshot);
  }

  /** The elements that were written before the barrier and read behind it; null: it was not read, or not in the report. */
  overtaken(barrier: Barrier): Overtaken[] | null {
    return barrier.received === Infinity ? null : this.unread(barrier, barrier.received);
  }

  /** The elements that were written before a barrier, and not read at a place. */
  unread(barrier: Barrier, place: number): Overtaken[] | null {
    const { channel, sent: until, sentRow } = barrier;
    const read = this.channels.readUpTo(channel, place);
    const source = this.names.channels.get(channel)?.source ?? -1;
    if (sentRow < 0 || read === null) return null;
    const { columns, places } = this.facts.of("sent");
    const rows = this.channels.rowsOf(channel).sent;
    const { elements, buffers } = this.channels.of(channel);
    const leaves = this.leavesAt(barrier);
    const first = this.attempts.firstPlace(source, until);
    const found: Overtaken[] = [];
    let next = barrier.position;
    for (let at = countUpTo(rows, sentRow) - 2; at >= 0 && next > read; at--) {
      const row = rows[at]!;
      if (places[row]! < first) break;
      if (columns.kind![row] === Element.UNALIGNED_BARRIER) continue;
      if (columns.position![row] !== next - 1) return null;
      next--;
      if (!isData(columns.kind![row]!)) continue;
      const buffer = buffers[elements.bufferAt[at]!];
      const side = leaves === null ? "" : buffer && buffer.sent < leaves ? "receiver" : "sender";
      found.push({ sent: row, received: elements.received[at]!, side });
    }
    if (next > read) return null;
    return [...this.restoredUnread(barrier, place), ...found.reverse()];
  }

  /** What the receiver of a restored channel reads; of one with another parallelism: of all channels of the edge. */
  reading(id: number, restore: Restore, { edge, channel, task }: StoredChannel): Reading | null {
    const { time } = this.facts;
    const start = this.starts.get(task)?.find((one) => one.checkpoint === id && time[one.place]! >= restore.time)?.place;
    if (start === undefined || !this.facts.isWhole("received")) return null;
    const ends = this.attempts.endsOf(task);
    const end = ends[countUpTo(ends, start)] ?? Infinity;
    const channels = channel >= 0 ? [channel] : [...this.names.channels.values()].filter((one) => one.edge === edge && one.target === task).map((one) => one.id);
    const { columns, places } = this.facts.of("received");
    const found: Reading = { elements: 0, first: Infinity, last: -1 };
    for (const one of channels) {
      const rows = this.channels.rowsOf(one).received;
      for (let at = countOf(rows, places, start); at < rows.length && places[rows[at]!]! <= end; at++) {
        const row = rows[at]!;
        if (columns.position![row]! >= 0) break;
        // With another parallelism only records are counted.
        if (!isData(columns.kind![row]!) || (channel < 0 && columns.kind![row] !== Element.RECORD)) continue;
        found.elements++;
        found.first = Math.min(found.first, places[row]!);
        found.last = Math.max(found.last, places[row]!);
      }
    }
    return found;
  }

  /** Restored elements that are read behind a place; those that are never read are unknown. */
  private restoredUnread({ channel }: Barrier, place: number): Overtaken[] {
    const { columns, places } = this.facts.of("received");
    const rows = this.channels.rowsOf(channel).received;
    const task = this.names.channels.get(channel)?.target ?? -1;
    const ends = this.attempts.endsOf(task);
    const end = ends[countUpTo(ends, place)] ?? Infinity;
    const found: Overtaken[] = [];
    for (let at = countOf(rows, places, place); at < rows.length; at++) {
      const row = rows[at]!;
      if (columns.position![row]! >= 0 || places[row]! > end) break;
      if (isData(columns.kind![row]!)) found.push({ sent: -1, received: row, side: "" });
    }
    return found;
  }

  /** Where the barrier leaves the queue of the sender; null: the report does not have the buffers. */
  private leavesAt(barrier: Barrier): number | null {
    if (!this.facts.isWhole("buffers") || !this.facts.has("buffers")) return null;
    const priority = this.priorityOf(barrier) ?? Infinity;
    const hasPriority = priority < Infinity;
    const from = hasPriority ? priority : barrier.sent;
    const { buffers } = this.channels.of(barrier.channel);
    return buffers.find((one) => one.isEvent && one.hasPriority === hasPriority && one.sent > from)?.sent ?? null;
  }

  private targetOf({ channel }: Barrier): number | undefined {
    return this.names.channels.get(channel)?.target;
  }

  /** Of all subtasks: this table is whole where their steps are not. */
  private readMetrics({ rows, columns }: Table): void {
    for (let row = 0; row < rows; row++) {
      const id = columns.checkpoint![row]!;
      const sums = this.sums.get(id) ?? { alignment_bytes: 0, persisted_bytes: 0 };
      sums.alignment_bytes += columns.alignment_bytes![row]!;
      sums.persisted_bytes += columns.persisted_bytes![row]!;
      this.sums.set(id, sums);
    }
  }

  private readJob(table: Table | undefined): void {
    if (!table) return;
    const { columns } = table;
    const at = (name: string, row: number) => columns[name]![row]!;
    for (let row = 0; row < table.rows; row++) {
      const id = at("checkpoint", row);
      const one: StoredChannel = {
        edge: at("edge", row), source: at("source", row), target: at("target", row), channel: at("channel", row), task: at("task_id", row),
        byReceiver: { buffers: at("input_buffers", row), bytes: at("input_bytes", row) },
        bySender: { buffers: at("output_buffers", row), bytes: at("output_bytes", row) },
        elements: at("elements", row),
      };
      if (at("action", row) === Stored.STORED) {
        const stored = this.storedOf.get(id) ?? [];
        this.storedOf.set(id, stored);
        stored.push(one);
        continue;
      }
      const restores = this.restoresOf.get(id) ?? [];
      this.restoresOf.set(id, restores);
      let last = restores.at(-1);
      if (last?.time !== at("time_ns", row)) restores.push((last = { time: at("time_ns", row), channels: [] }));
      last!.channels.push(one);
    }
  }
}
