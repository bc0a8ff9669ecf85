/** Each buffer of a channel gets a lane at the sender and one at the receiver, where it is drawn over time. */

import type { Buffer, ChannelFacts, Entry } from "./channels";

export interface LaneOf<Thing> {
  /** In the order in which they begin. */
  things: Thing[];
  /** The last end of a thing and those before it: barriers that overtake end before them. */
  reach: Float64Array;
  lanes: Uint16Array;
  count: number;
}

export interface ChannelLanes {
  sender: LaneOf<Entry>;
  receiver: LaneOf<Buffer>;
}

export function lanesOf(facts: ChannelFacts): ChannelLanes {
  const received = facts.buffers.filter((buffer) => buffer.received < Infinity && !buffer.isEvent);
  return {
    sender: assigned(facts.entries, (entry) => entry.queued, (entry) => entry.gone),
    receiver: assigned(received, (buffer) => buffer.received, freedAt),
  };
}

/** Where the memory of a received buffer is free again. */
export function freedAt(buffer: Buffer): number {
  return buffer.recycled < Infinity ? buffer.recycled : Infinity;
}

function assigned<Thing>(things: Thing[], begin: (thing: Thing) => number, end: (thing: Thing) => number): LaneOf<Thing> {
  const ends: number[] = [];
  const lanes = Uint16Array.from(things, (thing) => {
    const free = ends.findIndex((place) => place <= begin(thing));
    const lane = free < 0 ? ends.length : free;
    ends[lane] = end(thing);
    return lane;
  });
  let last = -Infinity;
  const reach = Float64Array.from(things, (thing) => (last = Math.max(last, end(thing))));
  return { things, reach, lanes, count: ends.length };
}
