/** Checkpoints and restarts: each checkpoint in every subtask, what channels held at the cut, failures and attempts. */

import { useMemo } from "preact/hooks";
import type { Checkpoint, Cut, Failure, TaskCheckpoint } from "../model/checkpoints";
import { commas, count, duration, listed } from "../model/text";
import type { Store } from "../store";
import { WithRules } from "../ui/rule_links";
import { At, Moment, MOST_ROWS, Table } from "../ui/table";
import { JobCauses } from "./checkpoint_causes";
import { CheckpointChart } from "./checkpoint_chart";
import { ChannelAtCut, chosenCut, InFlightData, Restores } from "./checkpoint_in_flight";
import { outcomeOf, resultOf } from "./checkpoint_tips";
import type { View } from "./view";

const MOST_NAMES = 8;

function CheckpointsView({ store }: { store: Store }) {
  const { checkpoints } = store.model;
  const { taken } = checkpoints;
  const chosen = checkpoints.get(store.selection.value.checkpoint) ?? taken[0];
  const select = (one: Checkpoint | undefined) => one && store.select({ checkpoint: one.id });
  const at = chosen ? taken.indexOf(chosen) : -1;
  const cuts = useMemo(() => (chosen ? checkpoints.cuts(chosen.id) : []), [store, chosen]);
  const cut = chosen && chosenCut(store, chosen, cuts);
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
      <CheckpointChart store={store} chosen={chosen} cut={cut} />
      {chosen && <Detail store={store} one={chosen} cuts={cuts} cut={cut} />}
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

interface DetailProps {
  store: Store;
  one: Checkpoint;
  cuts: Cut[];
  cut: Cut | undefined;
}

function Detail({ store, one, cuts, cut }: DetailProps) {
  const { checkpoints, names } = store.model;
  const tasks = checkpoints.of(one.id);
  const waiting = checkpoints.withoutBarrier(one);
  const stored = useMemo(() => checkpoints.stored(one.id), [store, one]);
  return (
    <section aria-label={`The chosen checkpoint${store.whose}`} class="checkpoint">
      <h2>{one.type[0]!.toUpperCase() + one.type.slice(1)} {one.id}: {resultOf(store, one)}</h2>
      {whyAligned(store, one).map((text) => <p class="faint" key={text}><WithRules store={store} text={text} /></p>)}
      <JobCauses store={store} causes={store.model.head.job_causes?.checkpoints[one.id]} summary={one.outcome === "completed" ? "What it waited for" : "Why it is not complete"} />
      {cut && <ChannelAtCut store={store} one={one} cut={cut} />}
      {tasks.length > 0 && (
        <Table
          caption={`Subtasks of checkpoint ${one.id}${store.whose}`}
          heads={[
            "subtask", "acknowledged", "start delay", "alignment", "processed in flight", "persisted in flight",
            "unaligned", "synchronous", "asynchronous", "state",
          ]}
          left={tasks.length - MOST_ROWS}
          note={waiting.length ? `No barrier had arrived at ${listed(waiting.map((task) => names.shortTask(task)), MOST_NAMES)} when the checkpoint was aborted.` : ""}
        >
          {tasks.slice(0, MOST_ROWS).map((task) => <TaskRow key={task.task} store={store} one={task} />)}
        </Table>
      )}
      <Cuts store={store} one={one} cuts={cuts} chosen={cut} />
      <InFlightData store={store} one={one} cut={cut} />
      <Restores store={store} one={one} />
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

/** Why exchanges are aligned in a checkpoint: all of them, or single ones. */
function whyAligned({ model: { names } }: Store, one: Checkpoint): string[] {
  const ofAll = one.whyAligned && one.whyAligned[0]!.toUpperCase() + one.whyAligned.slice(1);
  return [...(ofAll ? [ofAll] : []), ...names.forcedTexts()].map((text) => `${text}.`);
}

function isAligning({ isTriggered, aligned, acknowledged }: TaskCheckpoint): boolean {
  return !isTriggered && aligned === Infinity && acknowledged === Infinity;
}

function TaskRow({ store, one }: { store: Store; one: TaskCheckpoint }) {
  const { checkpoints, inFlight, names, attempts } = store.model;
  const value = (name: string, text: (value: number) => string) => {
    const found = checkpoints.metric(one, name);
    return <td>{found === null ? "-" : text(found)}</td>;
  };
  const bytes = (value: number) => `${commas(value)} bytes`;
  const attempt = attempts.at(one.task, one.begin);
  const isUnaligned = inFlight.isUnaligned(one);
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
      {value("persisted_bytes", bytes)}
      <td>{isUnaligned === null ? "-" : isUnaligned ? "yes" : "no"}</td>
      {value("sync_ms", (ms) => `${commas(ms)} ms`)}
      {value("async_ms", (ms) => `${commas(ms)} ms`)}
      {value("state_bytes", bytes)}
    </tr>
  );
}

function Cuts({ store, one, cuts, chosen }: { store: Store; one: Checkpoint; cuts: Cut[]; chosen: Cut | undefined }) {
  const { names, inFlight } = store.model;
  if (!cuts.length) return null;
  const held = (value: number | null | undefined) => (value === null || value === undefined ? "-" : commas(value));
  return (
    <Table
      caption={`Channels at checkpoint ${one.id}${store.whose}`}
      heads={["channel", "barrier", "written", "read", "elements in front of it", "overtaken", "elements behind it"]}
      left={cuts.length - MOST_ROWS}
      note="In front: when the barrier was written; these elements belong to the checkpoint. Overtaken: those of them that are read behind the barrier. Behind: at the snapshot of the receiver; a restart repeats them."
    >
      {cuts.slice(0, MOST_ROWS).map((cut) => {
        const { barrier, before, behind } = cut;
        return (
          <tr key={barrier.channel} aria-current={cut === chosen ? "true" : undefined}>
            <td><button class="rule" onClick={() => store.select({ channel: barrier.channel })}>{names.channel(barrier.channel)}</button></td>
            <td>{wordOf(store, one, cut)}</td>
            <td><Moment store={store} place={barrier.sent} /></td>
            <td><Moment store={store} place={barrier.received} /></td>
            <td>{held(before)}</td>
            <td>{held(inFlight.overtaken(barrier)?.length)}</td>
            <td>{held(behind)}</td>
          </tr>
        );
      })}
    </Table>
  );
}

function wordOf(store: Store, one: Checkpoint, { barrier }: Cut): string {
  if (!barrier.mayOvertake) {
    const forced = store.model.names.forcedBarrier(barrier.channel, barrier.checkpoint);
    return forced ? forced[0] : one.alignment === "at least once" ? one.alignment : "aligned";
  }
  if (one.isUnaligned) return "unaligned";
  const overtakes = store.model.inFlight.overtakes(barrier);
  return overtakes === null ? "with a timeout" : overtakes ? "unaligned after its timeout" : "aligned, with a timeout";
}

function History({ store, chosen }: { store: Store; chosen: Checkpoint | undefined }) {
  const { checkpoints, inFlight } = store.model;
  const { all } = checkpoints;
  if (!all.length) return null;
  const shown = around(all, chosen ? all.indexOf(chosen) : 0);
  const bytes = (value: number | null) => (value === null ? "-" : `${commas(value)} bytes`);
  return (
    <Table
      caption={`All checkpoints${store.whose}`}
      heads={[
        "checkpoint", "type", "result", "triggered", "duration", "subtasks", "state", "processed in flight",
        "persisted in flight", "restored",
      ]}
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
          <td>{bytes(inFlight.sum(one.id, "alignment_bytes"))}</td>
          <td>{bytes(inFlight.sum(one.id, "persisted_bytes"))}</td>
          <td>{one.restored.length ? one.restored.map((time) => <At key={time} store={store} time={time} />) : "-"}</td>
        </tr>
      ))}
    </Table>
  );
}

function Failures({ store }: { store: Store }) {
  const { failures } = store.model.checkpoints;
  if (!failures.length) return null;
  const shown = failures.slice(0, MOST_ROWS);
  return (
    <>
      <Table
        caption={`Failures and restarts${store.whose}`}
        heads={["failure", "at", "task", "delay", "restart", "subtasks", "from checkpoint"]}
        left={failures.length - MOST_ROWS}
      >
        {shown.map((one) => <FailureRow key={one.number} store={store} one={one} />)}
      </Table>
      {shown.map(({ number }) => (
        <JobCauses key={number} store={store} causes={store.model.head.job_causes?.failures[number]} summary={`Why failure ${number} came, and what it repeats`} />
      ))}
    </>
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
