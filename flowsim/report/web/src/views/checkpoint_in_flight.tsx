/** In-flight data of the chosen checkpoint: a channel at the cut, what was stored of each channel, who reads it back. */

import { useMemo } from "preact/hooks";
import type { Barrier, Checkpoint, Cut } from "../model/checkpoints";
import type { Overtaken, Restore, Size, StoredChannel } from "../model/in_flight";
import { commas, count, moment } from "../model/text";
import type { Store } from "../store";
import { shortened, strongWidth } from "../ui/canvas_text";
import type { Tip } from "../ui/marks";
import { isNarrow, useRoom } from "../ui/room";
import { WithRules } from "../ui/rule_links";
import { Moment, MOST_ROWS, Table } from "../ui/table";
import { asMark } from "../ui/tooltip";
import { barrierTip, elementsTip } from "./checkpoint_tips";

/** The cut of the selected channel; else the one with the most elements in front of its barrier. */
export function chosenCut(store: Store, one: Checkpoint, cuts: Cut[]): Cut | undefined {
  const wanted = cuts.find(({ barrier }) => barrier.channel === store.selection.value.channel);
  if (wanted) return wanted;
  const stored = new Map(store.model.inFlight.stored(one.id).map(({ channel, elements }) => [channel, elements]));
  const ahead = ({ barrier, before }: Cut) => stored.get(barrier.channel) ?? before ?? 0;
  return cuts.reduce<Cut | undefined>((most, cut) => (most && ahead(most) >= ahead(cut) ? most : cut), undefined);
}

function sizeOf({ buffers, bytes }: Size): string {
  return buffers ? `${count(buffers, "buffer")}, ${commas(bytes)} bytes` : "-";
}

export function InFlightData({ store, one, cut }: { store: Store; one: Checkpoint; cut: Cut | undefined }) {
  const { inFlight, names, head } = store.model;
  const stored = inFlight.stored(one.id);
  const between = useMemo(() => (cut ? inFlight.between(cut.barrier) : null), [store, cut?.barrier]);
  const chosen = stored.find(({ channel }) => channel === cut?.barrier.channel);
  const sum = (of: (one: StoredChannel) => number) => stored.reduce((total, row) => total + of(row), 0);
  const total = (of: (one: StoredChannel) => Size): Size => ({
    buffers: sum((row) => of(row).buffers), bytes: sum((row) => of(row).bytes),
  });
  const isLeftOut = head.omitted.includes("stored_channels");
  return (
    <>
      {isLeftOut && <p class="note">The stored in-flight data did not fit into the report: write it again with a larger --budget.</p>}
      {stored.length > 0 && (
        <Table
          caption={`In-flight data in checkpoint ${one.id}${store.whose}`}
          heads={["channel", "stored by its receiver", "stored by its sender", "elements"]}
          left={stored.length - MOST_ROWS}
          note={<WithRules store={store} text="The receiver stores the buffers that it holds, and the part of a record that it has not completed; the sender those of its queue (rules 12.83, 12.84)." />}
        >
          {stored.slice(0, MOST_ROWS).map((row) => (
            <tr key={row.channel} aria-current={row === chosen ? "true" : undefined}>
              <td><button class="rule" onClick={() => store.select({ channel: row.channel })}>{names.channel(row.channel)}</button></td>
              <td>{sizeOf(row.byReceiver)}</td>
              <td>{sizeOf(row.bySender)}</td>
              <td>{commas(row.elements)}</td>
            </tr>
          ))}
          {stored.length > 1 && (
            <tr class="total">
              <td>{count(stored.length, "channel")}</td>
              <td>{sizeOf(total((row) => row.byReceiver))}</td>
              <td>{sizeOf(total((row) => row.bySender))}</td>
              <td>{commas(sum((row) => row.elements))}</td>
            </tr>
          )}
        </Table>
      )}
      {chosen && between && <StoredElements store={store} one={one} stored={chosen} between={between} />}
    </>
  );
}

function StoredElements({ store, one, stored, between }: { store: Store; one: Checkpoint; stored: StoredChannel; between: Overtaken[] }) {
  const { facts, names, sentences } = store.model;
  const [sent, received] = [facts.of("sent").places, facts.of("received").places];
  const placeOf = (row: number, places: Uint32Array) => (row < 0 ? Infinity : places[row]!);
  const unknown = stored.elements - between.length;
  return (
    <Table
      caption={`Elements of channel ${names.channel(stored.channel)} in checkpoint ${one.id}${store.whose}`}
      isLow
      heads={["stored by", "written", "read behind the barrier", "element"]}
      left={between.length - MOST_ROWS}
      note={unknown > 0 ? `${count(unknown, "element")} restored from an earlier checkpoint ${unknown === 1 ? "was" : "were"} never read: the recording has only their number.` : ""}
    >
      {between.slice(0, MOST_ROWS).map((element) => {
        const [written, read] = [placeOf(element.sent, sent), placeOf(element.received, received)];
        return (
          <tr key={`${element.sent} ${element.received}`}>
            <td>{element.side || "-"}</td>
            <td><Moment store={store} place={written} /></td>
            <td>{read === Infinity ? "not in this attempt" : <Moment store={store} place={read} />}</td>
            <td>{sentences.at(Math.min(written, read)).text}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Pixels of the picture: as wide as that of the view Channel. */
const LEFT = 184;
const RIGHT = 1056;
const TOP = 46;
const HEIGHT = 54;
const OUTER = 190;
/** Of the names beside the picture, and below it. */
const SIDE = 168;
const BELOW = 128;

interface Part {
  kind: string;
  lines: string[];
  describe: () => Tip;
}

interface PictureProps {
  store: Store;
  one: Checkpoint;
  cut: Cut;
}

/** The channel from its sender, on the left, to its receiver: what is behind the barrier, what it overtakes, what was read before. */
export function ChannelAtCut({ store, one, cut }: PictureProps) {
  const { names, inFlight } = store.model;
  const { barrier, behind } = cut;
  const between = useMemo(() => inFlight.between(barrier), [store, barrier]);
  const stored = inFlight.stored(one.id).find((row) => row.channel === barrier.channel);
  const channel = names.channels.get(barrier.channel);
  const [box, room] = useRoom();
  const narrow = isNarrow(room);
  if (!channel) return null;
  const overtaken = inFlight.overtaken(barrier);
  const overtakes = (overtaken?.length ?? 0) > 0 || stored !== undefined;
  const parts = overtakes ? storedParts(store, between, stored) : [waitingPart(store, cut)];
  const width = (RIGHT - LEFT - 2 * OUTER) / parts.length;
  const [from, to] = [LEFT + OUTER, RIGHT - OUTER];
  const words = overtakes
    ? `the barrier overtakes ${overtaken ? count(overtaken.length, "element") : "the elements"}`
    : barrier.received === Infinity ? "the barrier is not read" : "the barrier is read behind these elements";
  const behindWords = behind === null ? "elements" : count(behind, "element");
  return (
    <figure class="cut">
      <figcaption>Channel {names.channel(barrier.channel)} at checkpoint {one.id}</figcaption>
      <div class="scroll" ref={box}>
        <svg
          class={narrow ? "picture narrow" : "picture"} viewBox={narrow ? `${LEFT - 4} 0 ${RIGHT - LEFT + 8} 132` : "0 0 1240 132"} role="group"
          aria-label={`${words}; ${parts.map(({ lines }) => lines.join(" ")).join("; ")}; ${behindWords} behind it`}
        >
          <Ends source={names.shortTask(channel.source)} target={names.shortTask(channel.target)} narrow={narrow} />
          <Box store={store} x={LEFT} width={OUTER} {...otherPart([behindWords, "behind the barrier,", "repeated after a restart"], barrier)} />
          {parts.map((part, at) => <Box key={at} store={store} x={from + at * width} width={width} {...part} />)}
          <Box store={store} x={to} width={OUTER} {...otherPart(["read before", "the snapshot: part of", "the receiver's state"], barrier)} />
          <path class="barrier" d={`M${from} ${TOP - 8}V${TOP + HEIGHT + 8}`} aria-label="barrier" {...asMark(store, () => barrierTip(store, barrier))} />
          <text class="faint" x={from} y={TOP + HEIGHT + 24} text-anchor="middle">barrier written</text>
          {overtakes && (
            <>
              <path class="barrier" d={`M${to} ${TOP - 8}V${TOP + HEIGHT + 8}`} stroke-dasharray="4 3" />
              <path class="barrier" d={`M${from} ${TOP - 8}C${from + 60} ${TOP - 30} ${to - 60} ${TOP - 30} ${to - 3} ${TOP - 10}`} marker-end="url(#overtakes)" />
              <text class="faint" x={to} y={TOP + HEIGHT + 24} text-anchor="middle">barrier goes first</text>
            </>
          )}
          <text class="strong" x={(from + to) / 2} y={overtakes ? 14 : TOP - 12} text-anchor="middle">{words}</text>
          <defs>
            <marker id="overtakes" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path class="barrier-tip" d="M0 0 8 4 0 8Z" />
            </marker>
          </defs>
        </svg>
      </div>
    </figure>
  );
}

/** The tasks at both sides, or below where there is no room. */
function Ends({ source, target, narrow }: { source: string; target: string; narrow: boolean }) {
  if (narrow) {
    return (
      <>
        <text class="strong" x={LEFT} y={TOP + HEIGHT + 24}>{shortened(source, BELOW, strongWidth)}</text>
        <text class="strong" x={RIGHT} y={TOP + HEIGHT + 24} text-anchor="end">{shortened(target, BELOW, strongWidth)}</text>
      </>
    );
  }
  return (
    <>
      <text class="strong" x="172" y="72" text-anchor="end">{shortened(source, SIDE, strongWidth)}</text>
      <text class="faint" x="172" y="90" text-anchor="end">writes on this side</text>
      <text class="strong" x={RIGHT + 12} y="72">{shortened(target, SIDE, strongWidth)}</text>
      <text class="faint" x={RIGHT + 12} y="90">reads on this side</text>
    </>
  );
}

/** The part of the sender, on its side, and that of the receiver. */
function storedParts(store: Store, between: Overtaken[] | null, stored: StoredChannel | undefined): Part[] {
  const part = (kind: string, side: "receiver" | "sender", size: Size | undefined): Part => {
    const elements = between?.filter((one) => one.side === side) ?? [];
    const isKnown = between?.every((one) => one.side !== "");
    const has = isKnown ? count(elements.length, "element") : "elements";
    const lines = size?.buffers ? [has, `stored by the ${side}:`, sizeOf(size)] : ["nothing stored", `by the ${side}`];
    return { kind: size?.buffers ? kind : "reserved", lines, describe: () => elementsTip(store, lines.join(" "), elements) };
  };
  return [part("queued", "sender", stored?.bySender), part("waits", "receiver", stored?.byReceiver)];
}

function waitingPart(store: Store, { barrier, before }: Cut): Part {
  const lines = [before === null ? "elements" : count(before, "element"), "in front of the barrier,", "read before the snapshot"];
  const describe = () => elementsTip(store, lines.join(" "), barrier.sent === Infinity ? null : store.model.inFlight.unread(barrier, barrier.sent));
  return { kind: "queued", lines, describe };
}

/** What is on the other sides of the barrier. */
function otherPart(lines: string[], { sent, received }: Barrier): Part {
  return { kind: "reserved", lines, describe: () => ({ title: lines.join(" "), facts: [sent, received] }) };
}

function Box({ store, x, width, kind, lines, describe }: { store: Store; x: number; width: number } & Part) {
  const first = TOP + HEIGHT / 2 + 4 - (lines.length - 1) * 7.5;
  return (
    <g {...asMark(store, describe)} aria-label={lines.join(" ")}>
      <rect class={`buffer ${kind}`} x={x + 1} y={TOP} width={width - 2} height={HEIGHT} rx="4" />
      {lines.map((line, at) => (
        <text key={at} class={`in-box ${kind}${at ? " line" : ""}`} x={x + width / 2} y={first + at * 15} text-anchor="middle">{line}</text>
      ))}
    </g>
  );
}

export function Restores({ store, one }: { store: Store; one: Checkpoint }) {
  return <>{store.model.inFlight.restores(one.id).map((restore, at) => <Restored key={at} store={store} one={one} restore={restore} />)}</>;
}

/** Rows that one subtask reads from the channels of one edge are together. */
function Restored({ store, one, restore }: { store: Store; one: Checkpoint; restore: Restore }) {
  const { names } = store.model;
  const isRescaled = restore.channels.some(({ channel }) => channel < 0);
  const rows = useMemo(
    () => (isRescaled ? [...restore.channels].sort((row, other) => row.edge - other.edge || row.task - other.task) : restore.channels),
    [restore],
  );
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <Table
      caption={`In-flight data restored from checkpoint ${one.id} at ${moment(restore.time)}${store.whose}`}
      heads={["stored channel", "of its receiver", "of its sender", isRescaled ? "records" : "elements", "goes to", "read", "from", "to"]}
      left={rows.length - MOST_ROWS}
      note={isRescaled && <WithRules store={store} text="With another parallelism a subtask reads the buffers of all old channels that may have its records, and drops those of others: the counts are those of records that it keeps (rules 12.97, 12.104)." />}
    >
      {shown.map((row, at) => (
        <tr key={`${row.edge} ${row.source} ${row.target} ${row.task}`}>
          <td>{row.channel < 0 ? `${names.edge(row.edge)}, from old subtask ${row.source} to ${row.target}` : names.channel(row.channel)}</td>
          <td>{row.channel < 0 ? "-" : sizeOf(row.byReceiver)}</td>
          <td>{row.channel < 0 ? "-" : sizeOf(row.bySender)}</td>
          <td>{commas(row.elements)}</td>
          <td>{names.shortTask(row.task)}</td>
          <ReadingOf store={store} one={one} restore={restore} row={row} group={groupAt(shown, at)} />
        </tr>
      ))}
    </Table>
  );
}

/** The number of rows from this one on that share its reading; 0: it belongs to the row above. */
function groupAt(rows: StoredChannel[], at: number): number {
  const row = rows[at]!;
  const isSame = (other: StoredChannel | undefined) => row.channel < 0 && other?.edge === row.edge && other.task === row.task;
  if (isSame(rows[at - 1])) return 0;
  let end = at + 1;
  while (isSame(rows[end])) end++;
  return end - at;
}

interface ReadingProps {
  store: Store;
  one: Checkpoint;
  restore: Restore;
  row: StoredChannel;
  group: number;
}

function ReadingOf({ store, one, restore, row, group }: ReadingProps) {
  if (!group) return null;
  const reading = store.model.inFlight.reading(one.id, restore, row);
  return (
    <>
      <td rowSpan={group}>{reading ? commas(reading.elements) : "-"}</td>
      <td rowSpan={group}><Moment store={store} place={reading?.first ?? Infinity} /></td>
      <td rowSpan={group}><Moment store={store} place={reading && reading.last >= 0 ? reading.last : Infinity} /></td>
    </>
  );
}
