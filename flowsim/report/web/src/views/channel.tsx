/** The buffers of one channel: at the cursor, over time, and its credits and backlog. */

import { valueAt, type Buffer, type ChannelFacts } from "../model/channels";
import { countUpTo } from "../model/facts";
import { commas, count, listed, moment } from "../model/text";
import type { Store } from "../store";
import { RuleLinks } from "../ui/rule_links";
import { Credits } from "./channel_credits";
import { BuffersOverTime } from "./channel_lanes";
import { Picture } from "./channel_picture";
import { elementsIn, picked } from "./channel_tips";
import type { View } from "./view";

const MOST_RECORDS = 200;

function ChannelView({ store }: { store: Store }) {
  const { model } = store;
  const channels = [...model.names.channels.values()];
  const wanted = store.selection.value.channel;
  const channel = channels.find((one) => one.id === wanted) ?? channels[0]!;
  const facts = model.channels.of(channel.id);
  const chosen = picked.value?.channel === channel.id ? facts.buffer(picked.value.number) : undefined;
  return (
    <>
      <div class="row">
        <label>
          Channel{" "}
          <select value={channel.id} onChange={(event) => store.select({ channel: Number(event.currentTarget.value) })}>
            {channels.map((one) => <option value={one.id}>{model.names.channel(one.id)}</option>)}
          </select>
        </label>
        <span class="faint">
          {model.names.edges.get(channel.edge)?.partitioner}
          {channel.local ? ", local: both ends in one task manager, without credits" : ""}
          {channel.bytesPerSecond ? `, link of ${commas(channel.bytesPerSecond)} bytes/s` : ""}
        </span>
      </div>
      <Note store={store} facts={facts} source={channel.source} />
      <Picture store={store} facts={facts} source={channel.source} target={channel.target} />
      {!facts.entries.length && <p class="note">No buffer of this channel is in the {model.head.parts ? "parts of the run that the report has" : "recording"}: {othersWith(store)}.</p>}
      <Legend />
      <BuffersOverTime key={`b${channel.id}`} store={store} facts={facts} source={channel.source} target={channel.target} />
      <Credits key={`c${channel.id}`} store={store} facts={facts} isLocal={channel.local} />
      {chosen && <Records store={store} facts={facts} buffer={chosen} />}
    </>
  );
}

/** The channels that have buffers. */
function othersWith({ model: { channels, names } }: Store): string {
  const found = [...names.channels.keys()].filter((channel) => channels.of(channel).entries.length);
  return found.length ? `channels with buffers are ${listed(found.map(String))}` : "no other channel has any";
}

/** Why data waits at the cursor: since when without credit, and when the next one comes. */
function Note({ store, facts, source }: { store: Store; facts: ChannelFacts; source: number }) {
  const place = store.place.value;
  const { attempts, facts: { time } } = store.model;
  const backlog = valueAt(facts.backlog, place) ?? 0;
  if (valueAt(facts.credits, place) !== 0 || backlog === 0) return null;
  const since = beginOfShortage(facts, place);
  const { places, values } = facts.credits;
  const end = attempts.endsOf(source).find((at) => at >= place) ?? Infinity;
  const next = places.find((at, number) => at > place && values[number]! > 0) ?? Infinity;
  const until =
    next < end ? `, until it gets credits at ${moment(time[next]!)}`
      : end < Infinity ? `, until its task ends at ${moment(time[end]!)}`
        : "; the recording ends before it gets any";
  return (
    <p class="note">
      No credit: {count(backlog, "data buffer")} {backlog === 1 ? "waits" : "wait"} at the sender since {moment(time[since]!)}
      {until} (<RuleLinks store={store} rules={["6.8", "6.9"]} />).
    </p>
  );
}

function beginOfShortage(facts: ChannelFacts, place: number): number {
  let since = place;
  const places = [...facts.credits.places, ...facts.backlog.places].sort((one, other) => one - other);
  for (let at = countUpTo(places, place) - 1; at >= 0; at--) {
    const before = places[at]!;
    if (valueAt(facts.credits, before) !== 0 || !valueAt(facts.backlog, before)) break;
    since = before;
  }
  return since;
}

function Legend() {
  return (
    <ul class="legend" aria-label="States of buffers">
      <li><span class="swatch filling" /> being filled</li>
      <li><span class="swatch queued" /> finished, queued at the sender</li>
      <li><span class="swatch urgent" /> event with priority: a barrier that overtakes</li>
      <li><span class="swatch waits" /> at the receiver, waits</li>
      <li><span class="swatch read" /> being read</li>
      <li><span class="swatch reserved" /> reserved at the receiver</li>
      <li><span class="swatch none" /> data without credit</li>
      <li>dashed line: sent, not yet taken</li>
    </ul>
  );
}

function Records({ store, facts, buffer }: { store: Store; facts: ChannelFacts; buffer: Buffer }) {
  const { model } = store;
  const { sent, received } = { sent: model.facts.of("sent"), received: model.facts.of("received") };
  const found = elementsIn(model, facts, buffer);
  const link = (place: number) => (
    <button class="rule" onClick={() => store.go(place)}>{moment(model.facts.time[place]!)}</button>
  );
  return (
    <section aria-label="Elements of the buffer">
      <h2>
        Buffer {buffer.number}: {commas(buffer.bytes)} bytes, {count(found.length, "element")} that {found.length === 1 ? "ends" : "end"} in it
      </h2>
      <table>
        <thead>
          <tr><th>position</th><th>written</th><th>read</th><th>element</th></tr>
        </thead>
        <tbody>
          {found.slice(0, MOST_RECORDS).map((element) => {
            const row = facts.elements.sent[element]!;
            const read = facts.elements.received[element]!;
            const place = sent.places[row]!;
            return (
              <tr key={element}>
                <td>{commas(sent.columns.position![row]!)}</td>
                <td>{link(place)}</td>
                <td>{read < 0 ? "not read" : link(received.places[read]!)}</td>
                <td>{model.sentences.at(place).text}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {found.length > MOST_RECORDS && <p class="faint">and {commas(found.length - MOST_RECORDS)} more</p>}
    </section>
  );
}

function missing({ model }: Store): string | null {
  if (!model.names.channels.size) return "The job has one task: it has no channels. What the task did is in the view Timeline.";
  if (model.facts.has("buffers")) return null;
  if (model.head.omitted.includes("buffers")) {
    return "The buffers did not fit into the report: write it again with a larger --budget.";
  }
  if (model.isFull) return "No task wrote to a channel before the recording ended. What the tasks did is in the view Timeline.";
  return "Buffers and credits need a recording with 'flowsim run ... --record full'. The elements of channels are in the view Steps, in tables sent and received.";
}

export const channelView: View = { name: "channel", title: "Channel", key: "3", missing, Component: ChannelView };
