/** Checkpoints and restarts: each checkpoint in every subtask, what channels held at the cut, failures and attempts. */

import { useMemo } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Checkpoint, Failure, TaskCheckpoint } from "../model/checkpoints";
import { commas, count, duration, moment } from "../model/text";
import type { Store } from "../store";
import { CheckpointChart } from "./checkpoint_chart";
import type { View } from "./view";

/** Rows of a table; more are left out. */
const MOST_ROWS = 200;
const MOST_NAMES = 8;

function CheckpointsView({ store }: { store: Store }) {
  const { checkpoints } = store.model;
  const { taken } = checkpoints;
  const chosen = checkpoints.get(store.selection.value.checkpoint) ?? taken[0];
  const select = (one: Checkpoint | undefined) => one && store.select({ checkpoint: one.id });
  const at = chosen ? taken.indexOf(chosen) : -1;
  return (
    <>
      {chosen && (
        <div class="row">
          <label>
            Checkpoint{" "}
            <select value={chosen.id} onChange={(event) => select(checkpoints.get(Number(event.currentTarget.value)))}>
              {around(taken, at).map((one) => <option value={one.id}>{one.id}: {one.type}, {outcomeOf(one)}</option>)}
            </select>
          </label>
          <button disabled={at <= 0} onClick={() => select(taken[at - 1])}>◀ checkpoint</button>
          <button disabled={at + 1 >= taken.length} onClick={() => select(taken[at + 1])}>checkpoint ▶</button>
          <button onClick={() => zoomTo(store, chosen)}>zoom to it</button>
          <span class="faint">{count(taken.length, "checkpoint")}, {count(checkpoints.failures.length, "failure")}</span>
        </div>
      )}
      {notes(store).map((note) => <p class="note" key={note}>{note}</p>)}
      <CheckpointChart store={store} chosen={chosen} />
      {chosen && <Detail store={store} one={chosen} />}
      <History store={store} chosen={chosen} />
      <Failures store={store} />
    </>
  );
}

/** At most so many, around the chosen one. */
function around<One>(all: readonly One[], at: number): readonly One[] {
  const first = Math.max(0, Math.min(at - MOST_ROWS / 2, all.length - MOST_ROWS));
  return all.slice(first, first + MOST_ROWS);
}

function outcomeOf({ outcome, reason }: Checkpoint): string {
  return outcome === "open" ? "not ended" : reason ? `${outcome}: ${reason}` : outcome;
}

function zoomTo(store: Store, one: Checkpoint): void {
  const [first, last] = store.model.checkpoints.placesOf(one);
  const [from, to] = [store.valueOf(first), store.valueOf(last)];
  const margin = Math.max((to - from) * 0.1, store.scale.value === "time" ? 1000 : 4);
  store.setRange([from - margin, to + margin]);
  store.go(first);
}

function notes({ model }: Store): string[] {
  const found: string[] = [];
  if (!model.facts.isWhole("checkpoint_steps")) found.push("The steps of subtasks are in parts of this report only: bars outside of them are missing.");
  if (!model.facts.isWhole("sent")) found.push("The elements of channels are in parts of this report only: barriers and counts outside of them are missing.");
  return found;
}

interface TableProps {
  caption: string;
  heads: string[];
  left?: number;
  note?: string;
  children: ComponentChildren;
}

/** The first column and those without a number are texts. */
function Table({ caption, heads, left = 0, note = "", children }: TableProps) {
  return (
    <div class="scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class="checkpoints">
        <caption>{caption}</caption>
        <thead>
          <tr>{heads.map((head) => <th key={head} scope="col">{head}</th>)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {note && <p class="faint">{note}</p>}
      {left > 0 && <p class="faint">and {commas(left)} more</p>}
    </div>
  );
}

function Moment({ store, place }: { store: Store; place: number }) {
  if (place === Infinity) return <>-</>;
  return <button class="rule" onClick={() => store.go(place)}>{moment(store.model.facts.time[place]!)}</button>;
}

function At({ store, time, id }: { store: Store; time: number; id?: number }) {
  if (time < 0) return <>-</>;
  return <button class="rule" onClick={() => store.go(store.model.checkpoints.placeOf(time, id))}>{moment(time)}</button>;
}

function Detail({ store, one }: { store: Store; one: Checkpoint }) {
  const { checkpoints, names } = store.model;
  const tasks = checkpoints.of(one.id);
  const waiting = checkpoints.withoutBarrier(one);
  const stored = useMemo(() => checkpoints.stored(one.id), [store, one]);
  return (
    <section aria-label={`The chosen checkpoint${store.whose}`} class="checkpoint">
      <h2>{one.type[0]!.toUpperCase() + one.type.slice(1)} {one.id}: {sentence(one)}</h2>
      {tasks.length > 0 && (
        <Table
          caption={`Subtasks of checkpoint ${one.id}${store.whose}`}
          heads={["subtask", "acknowledged", "start delay", "alignment", "processed meanwhile", "synchronous", "asynchronous", "state"]}
          left={tasks.length - MOST_ROWS}
          note={waiting.length ? `No barrier had arrived at ${listed(waiting.map((task) => names.shortTask(task)))} when the checkpoint was aborted.` : ""}
        >
          {tasks.slice(0, MOST_ROWS).map((task) => <TaskRow key={task.task} store={store} one={task} />)}
        </Table>
      )}
      <Cuts store={store} one={one} />
      {stored.length > 0 && (
        <Table caption={`State in checkpoint ${one.id}${store.whose}`} heads={["operator", "state", "subtasks", "entries"]} left={stored.length - MOST_ROWS}>
          {stored.slice(0, MOST_ROWS).map((state) => (
            <tr key={`${state.vertex} ${state.operator} ${state.what} ${state.name}`}>
              <td>{state.operator}</td>
              <td>{state.what} {state.name}</td>
              <td>{commas(state.subtasks)} of {commas(names.tasksOf(state.vertex).length)}</td>
              <td>{commas(state.entries)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** The first of many names. */
function listed(names: string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? `${shown} and ${commas(names.length - MOST_NAMES)} more` : shown;
}

function sentence(one: Checkpoint): string {
  const parts = [outcomeOf(one)];
  if (one.triggered >= 0 && one.ended >= 0) parts[0] += ` after ${duration(one.ended - one.triggered)}`;
  if (one.alignment) parts.push(one.alignment);
  if (one.tasks >= 0) parts.push(count(one.tasks, "subtask"));
  if (one.bytes) parts.push(`${commas(one.bytes)} bytes`);
  if (one.declines) parts.push(count(one.declines, "decline"));
  if (one.restored.length) parts.push(`restored at ${one.restored.map(moment).join(" and ")}`);
  return parts.join(", ");
}

function isAligning({ isTriggered, aligned, acknowledged }: TaskCheckpoint): boolean {
  return !isTriggered && aligned === Infinity && acknowledged === Infinity;
}

function TaskRow({ store, one }: { store: Store; one: TaskCheckpoint }) {
  const { checkpoints, names, attempts } = store.model;
  const value = (name: string, text: (value: number) => string) => {
    const found = checkpoints.metric(one, name);
    return <td>{found === null ? "-" : text(found)}</td>;
  };
  const bytes = (value: number) => `${commas(value)} bytes`;
  const attempt = attempts.at(one.task, one.begin);
  return (
    <tr>
      <td>{names.shortTask(one.task)}{attempt > 0 && `, attempt ${attempt}`}</td>
      <td>
        {one.declined < Infinity ? <>declined <Moment store={store} place={one.declined} /></>
          : isAligning(one) ? "not aligned" : <Moment store={store} place={one.acknowledged} />}
      </td>
      {value("start_delay_ns", duration)}
      {value("alignment_ns", duration)}
      {value("alignment_bytes", bytes)}
      {value("sync_ms", (ms) => `${commas(ms)} ms`)}
      {value("async_ms", (ms) => `${commas(ms)} ms`)}
      {value("state_bytes", bytes)}
    </tr>
  );
}

function Cuts({ store, one }: { store: Store; one: Checkpoint }) {
  const { checkpoints, names } = store.model;
  const cuts = useMemo(() => checkpoints.cuts(one.id), [store, one]);
  if (!cuts.length) return null;
  const held = (value: number | null) => (value === null ? "-" : commas(value));
  return (
    <Table
      caption={`Channels at checkpoint ${one.id}${store.whose}`}
      heads={["channel", "barrier written", "barrier read", "elements in front of it", "elements behind it"]}
      left={cuts.length - MOST_ROWS}
      note="In front: when the barrier was written; these elements belong to the checkpoint. Behind: at the snapshot of the receiver; a restart repeats them."
    >
      {cuts.slice(0, MOST_ROWS).map(({ barrier, before, behind }) => (
        <tr key={barrier.channel}>
          <td><button class="rule" onClick={() => store.select({ channel: barrier.channel })}>{names.channel(barrier.channel)}</button></td>
          <td><Moment store={store} place={barrier.sent} /></td>
          <td><Moment store={store} place={barrier.received} /></td>
          <td>{held(before)}</td>
          <td>{held(behind)}</td>
        </tr>
      ))}
    </Table>
  );
}

function History({ store, chosen }: { store: Store; chosen: Checkpoint | undefined }) {
  const { all } = store.model.checkpoints;
  if (!all.length) return null;
  const shown = around(all, chosen ? all.indexOf(chosen) : 0);
  return (
    <Table
      caption={`All checkpoints${store.whose}`}
      heads={["checkpoint", "type", "result", "triggered", "duration", "subtasks", "state", "restored"]}
      left={all.length - shown.length}
    >
      {shown.map((one, at) => (
        <tr key={at} aria-current={one === chosen ? "true" : undefined}>
          <td>{one.id < 0 ? "-" : <button class="rule" onClick={() => store.select({ checkpoint: one.id })}>{one.id}</button>}</td>
          <td>{one.type}</td>
          <td>{outcomeOf(one)}{one.isSubsumed && ", replaced by a newer one"}</td>
          <td><At store={store} time={one.triggered < 0 ? one.ended : one.triggered} id={one.id} /></td>
          <td>{one.triggered >= 0 && one.ended >= 0 ? duration(one.ended - one.triggered) : "-"}</td>
          <td>{one.tasks < 0 ? "-" : commas(one.tasks)}</td>
          <td>{one.bytes ? `${commas(one.bytes)} bytes` : "-"}</td>
          <td>{one.restored.length ? one.restored.map((time) => <At key={time} store={store} time={time} />) : "-"}</td>
        </tr>
      ))}
    </Table>
  );
}

function Failures({ store }: { store: Store }) {
  const { failures } = store.model.checkpoints;
  if (!failures.length) return null;
  return (
    <Table
      caption={`Failures and restarts${store.whose}`}
      heads={["failure", "at", "task", "delay", "restart", "subtasks", "from checkpoint"]}
      left={failures.length - MOST_ROWS}
    >
      {failures.slice(0, MOST_ROWS).map((one) => <FailureRow key={one.number} store={store} one={one} />)}
    </Table>
  );
}

function FailureRow({ store, one }: { store: Store; one: Failure }) {
  const { checkpoints, names } = store.model;
  const from = checkpoints.get(one.checkpoint);
  return (
    <tr>
      <td>{one.number}</td>
      <td><At store={store} time={one.time} /></td>
      <td>{one.task < 0 ? "-" : `${names.shortTask(one.task)}, attempt ${one.attempt}`}</td>
      <td>{one.givesUp ? "no restart: the job fails" : `${commas(one.delayMs)} ms`}</td>
      <td><At store={store} time={one.restartTime} /></td>
      <td>{one.restarted.length ? commas(one.restarted.length) : "-"}</td>
      <td>
        {one.restartTime < 0 ? "-" : !from ? "none" : (
          <button class="rule" onClick={() => store.select({ checkpoint: from.id })}>{from.id}</button>
        )}
      </td>
    </tr>
  );
}

export const checkpointsView: View = {
  name: "checkpoints",
  title: "Checkpoints",
  key: "8",
  isAbsent: ({ model }) => !model.checkpoints.isKnown,
  missing: ({ model }) =>
    model.checkpoints.isKnown
      ? null
      : "The run has no checkpoints and no restarts: add 'checkpointing: {interval: 100 ms}' to the settings of the scenario.",
  Component: CheckpointsView,
};
