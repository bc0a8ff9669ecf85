/** The watermarks of the channels of a task, as its inputs combine them (rules 8.9 to 8.14, and 8.16). */

import { BOUND } from "../decode";
import { countUpTo, type Facts } from "./facts";
import { Element } from "./kinds";
import type { Names } from "./names";

export interface ChannelNow {
  input: number;
  /** The last watermark that counted; -BOUND: none yet. */
  watermark: number;
  idle: boolean;
  /** Whether its input waits for it: it is active, and not behind what the input has emitted. */
  isAligned: boolean;
}

interface InputNow {
  /** What the input has emitted last. */
  last: number;
  idle: boolean;
}

export class Valve {
  private readonly rows: number[] = [];
  private readonly places: number[] = [];
  private channels = new Map<number, ChannelNow>();
  private inputs: InputNow[] = [];
  private read = 0;
  private since = -2;

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly task: number,
  ) {
    const { rows, columns, places } = facts.of("received");
    for (let row = 0; row < rows; row++) {
      const kind = columns.kind![row]!;
      if ((kind !== Element.WATERMARK && kind !== Element.STATUS) || facts.task[places[row]!] !== task) continue;
      this.rows.push(row);
      this.places.push(places[row]!);
    }
  }

  /** The channels of the attempt that begins after ``since``, at a place. */
  at(since: number, place: number): ReadonlyMap<number, ChannelNow> {
    const [first, end] = [countUpTo(this.places, since), countUpTo(this.places, place)];
    if (since !== this.since || end < this.read) this.reset(since, first);
    for (; this.read < end; this.read++) this.add(this.rows[this.read]!);
    return this.channels;
  }

  /** The watermark of the task, and whether all its inputs are idle. */
  get combined(): InputNow {
    const active = this.inputs.filter((input) => !input.idle);
    const of = active.length ? Math.min(...active.map((input) => input.last)) : Math.max(...this.inputs.map((input) => input.last));
    return { last: of, idle: !active.length };
  }

  /** Whether the watermark of the task cannot advance before that of a channel does. */
  holds(channel: ChannelNow): boolean {
    const input = this.inputs[channel.input]!;
    if (input.idle || !channel.isAligned) return false;
    const least = Math.min(...this.of(channel.input).filter((one) => one.isAligned).map((one) => one.watermark));
    return channel.watermark === least && input.last === Math.min(...this.inputs.filter((one) => !one.idle).map((one) => one.last));
  }

  /** Whether another channel is ahead of one: its watermark counts, and is higher. */
  isAhead(channel: ChannelNow): boolean {
    return [...this.channels.values()].some((one) => one.isAligned && one.watermark > channel.watermark);
  }

  /** Whether an input waits for any of its channels; false: all that are active are behind (rule 8.13). */
  hasAligned(input: number): boolean {
    return this.of(input).some((one) => one.isAligned);
  }

  private of(input: number): ChannelNow[] {
    return [...this.channels.values()].filter((one) => one.input === input);
  }

  private reset(since: number, first: number): void {
    [this.since, this.read] = [since, first];
    const own = [...this.names.channels.values()].filter(({ target }) => target === this.task);
    this.channels = new Map(own.map(({ id, input }) => [id, { input, watermark: -BOUND, idle: false, isAligned: true }]));
    const inputs = 1 + Math.max(0, ...own.map(({ input }) => input));
    this.inputs = Array.from({ length: inputs }, () => ({ last: -BOUND, idle: false }));
  }

  private add(row: number): void {
    const { columns } = this.facts.of("received");
    const channel = this.channels.get(columns.channel![row]!);
    if (!channel) return;
    const input = this.inputs[channel.input]!;
    const timestamp = columns.timestamp![row]!;
    if (columns.kind![row] === Element.WATERMARK) this.onWatermark(channel, input, timestamp);
    else if ((timestamp !== 0) !== channel.idle) this.onStatus(channel, input, timestamp !== 0);
  }

  private onWatermark(channel: ChannelNow, input: InputNow, timestamp: number): void {
    if (input.idle || channel.idle || timestamp <= channel.watermark) return;
    channel.watermark = timestamp;
    channel.isAligned ||= timestamp >= input.last;
    this.emitLeast(channel.input, input);
  }

  private onStatus(channel: ChannelNow, input: InputNow, idle: boolean): void {
    channel.idle = idle;
    if (!idle) {
      // Rule 8.11: a channel that fell behind while idle must catch up before it can hold back the input.
      channel.isAligned = channel.watermark >= input.last;
      input.idle = false;
      return;
    }
    channel.isAligned = false;
    const held = channel.watermark === input.last;
    if (this.of(channel.input).some((one) => !one.idle)) {
      if (held) this.emitLeast(channel.input, input);
      return;
    }
    // Rule 8.10: the last channel to become idle flushes the maximum, if it was the one that held back the input.
    if (held) input.last = Math.max(input.last, ...this.of(channel.input).map((one) => one.watermark));
    input.idle = true;
  }

  private emitLeast(number: number, input: InputNow): void {
    const aligned = this.of(number).filter((one) => one.isAligned);
    if (aligned.length) input.last = Math.max(input.last, Math.min(...aligned.map((one) => one.watermark)));
  }
}
