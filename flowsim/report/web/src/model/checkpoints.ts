/** Checkpoints and restarts: what the job's side recorded, what each subtask did, and what channels held. */

import type { Attempts } from "./attempts";
import type { Channels } from "./channels";
import { countUpTo, type Facts, type Table } from "./facts";
import type { Head } from "./head";
import { Alignment, CheckpointAction, type Each, Element, Restart, Step, Stored as StoredAction } from "./kinds";
import type { Names } from "./names";

const NO_TIME = -1;
const ALIGNMENTS: Each<typeof Alignment, string> = {
  [Alignment.AT_LEAST_ONCE]: "at least once", [Alignment.ALIGNED]: "aligned", [Alignment.UNALIGNED]: "unaligned",
  [Alignment.FORCED_ALIGNED]: "aligned (forced)",
};
const BARRIERS: number[] = [Element.CHECKPOINT_BARRIER, Element.UNALIGNED_BARRIER, Element.CANCEL_CHECKPOINT_MARKER];

export type Outcome = "completed" | "aborted" | "rejected" | "open";

/** A checkpoint on the job's side; times in ns since the start, -1: it did not happen. */
export interface Checkpoint {
  /** -1: the trigger was rejected before there was an id. */
  id: number;
  type: string;
  alignment: string;
  /** Why its barriers are not unaligned from the trigger on; "": they are. */
  whyAligned: string;
  isUnaligned: boolean;
  outcome: Outcome;
  /** Why it was aborted or rejected; "" otherwise. */
  reason: string;
  triggered: number;
  ended: number;
  /** Subtasks that take part; -1: unknown. */
  tasks: number;
  bytes: number;
  declines: number;
  restored: number[];
  isSubsumed: boolean;
}

/** A failure, with the restart that it caused. */
export interface Failure {
  number: number;
  time: number;
  /** -1: the failure of no single task. */
  task: number;
  attempt: number;
  givesUp: boolean;
  delayMs: number;
  restarted: number[];
  restartTime: number;
  /** -1: the tasks start without a checkpoint. */
  checkpoint: number;
}

/** A checkpoint in a subtask: places, Infinity for what did not happen. */
export interface TaskCheckpoint {
  checkpoint: number;
  task: number;
  /** The trigger of a source, or the first barrier. */
  begin: number;
  isTriggered: boolean;
  aligned: number;
  barrierSent: number;
  syncStart: number;
  syncEnd: number;
  written: number;
  acknowledged: number;
  declined: number;
  notified: number;
  /** The attempt ended before. */
  lost: number;
  /** Row in table ``checkpoint_metrics``, or -1. */
  metrics: number;
}

/** A barrier in a channel. */
export interface Barrier {
  channel: number;
  checkpoint: number;
  isCancel: boolean;
  /** It is unaligned, or becomes so after a timeout. */
  mayOvertake: boolean;
  sent: number;
  /** The number of elements before it in the channel, in this attempt. */
  position: number;
  received: number;
  /** Its rows in ``sent`` and ``received``, -1: none. */
  sentRow: number;
  receivedRow: number;
}

/** Where a subtask reads and writes barriers, ascending; and the places of those that may overtake, of all subtasks. */
interface BarrierPlaces {
  read: readonly number[];
  written: readonly number[];
  overtaking: ReadonlySet<number>;
}

/** A channel at a checkpoint; null: the report does not have the facts. */
export interface Cut {
  barrier: Barrier;
  /** Elements that the receiver had not read when the sender wrote the barrier: the barrier waits behind them. */
  before: number | null;
  /** Elements behind the barrier at the snapshot of the receiver: a restart repeats them. */
  behind: number | null;
}

/** What a state of an operator has in a checkpoint, over all subtasks. */
export interface Stored {
  vertex: number;
  operator: string;
  what: string;
  name: string;
  subtasks: number;
  entries: number;
}

export class Checkpoints {
  readonly all: Checkpoint[] = [];
  /** Those with an id, in the order of their triggers. */
  readonly taken: Checkpoint[] = [];
  readonly failures: Failure[] = [];
  private readonly known = new Map<number, Checkpoint>();
  /** Of the first fact of each checkpoint in a subtask. */
  private readonly firstPlaces = new Map<number, number>();
  private readonly byTask = new Map<number, TaskCheckpoint[]>();
  private readonly byId = new Map<number, TaskCheckpoint[]>();
  private readonly barriersOf = new Map<number, Barrier[]>();
  private readonly placesOfBarriers = new Map<number, BarrierPlaces>();

  constructor(
    private readonly facts: Facts,
    private readonly names: Names,
    private readonly channels: Channels,
    private readonly attempts: Attempts,
    private readonly head: Head,
  ) {
    this.readJob(facts.counts.get("checkpoints"));
    this.readRestarts(facts.counts.get("restarts"));
    if (facts.has("checkpoint_steps")) this.readSteps();
    this.readMetrics();
    if (this.all.length || this.byId.size) this.readBarriers();
  }

  /** Whether the recording has checkpoints or restarts. */
  get isKnown(): boolean {
    return this.all.length > 0 || this.failures.length > 0;
  }

  get hasTasks(): boolean {
    return this.byId.size > 0;
  }

  get(id: number | null): Checkpoint | undefined {
    return id === null ? undefined : this.known.get(id);
  }

  /** Of a subtask, by their begin. */
  ofTask(task: number): readonly TaskCheckpoint[] {
    return this.byTask.get(task) ?? [];
  }

  /** Of a checkpoint, by task. */
  of(id: number): readonly TaskCheckpoint[] {
    return this.byId.get(id) ?? [];
  }

  /** Subtasks that ran when a checkpoint was triggered, and had not begun it when it was aborted; none if not all steps are here. */
  withoutBarrier(one: Checkpoint): number[] {
    if (one.outcome !== "aborted" || one.triggered < 0 || !this.facts.isWhole("checkpoint_steps")) return [];
    const [first, last] = this.placesOf(one);
    const begun = new Set(this.of(one.id).filter(({ begin }) => begin <= last).map(({ task }) => task));
    return [...this.names.tasks.keys()].filter((task) => !begun.has(task) && this.attempts.isRunning(task, first));
  }

  barriers(id: number): readonly Barrier[] {
    return this.barriersOf.get(id) ?? [];
  }

  /** The measurement of a subtask, or null. */
  metric(one: TaskCheckpoint, name: string): number | null {
    return one.metrics < 0 ? null : this.facts.of("checkpoint_metrics").columns[name]![one.metrics]!;
  }

  /** The place of a time; with a checkpoint that begins then, before its first fact. */
  placeOf(time: number, id = -1): number {
    return Math.min(this.facts.placeAt(time), this.firstPlaces.get(id) ?? Infinity);
  }

  /** The facts of a checkpoint, from its first to its last; [0, 0] if there are none. */
  placesOf(one: Checkpoint): [number, number] {
    const first = one.triggered < 0 ? 0 : this.placeOf(one.triggered, one.id);
    return [first, Math.max(first, one.ended < 0 ? this.facts.count - 1 : this.facts.placeAt(one.ended))];
  }

  cuts(id: number): Cut[] {
    return this.barriers(id).filter((one) => !one.isCancel).map((barrier) => ({
      barrier,
      before: this.before(barrier),
      behind: this.behind(barrier),
    }));
  }

  stored(id: number): Stored[] {
    const { rows, columns, places } = this.facts.of("stored_state");
    const found = new Map<string, Stored & { tasks: Set<number> }>();
    for (let row = 0; row < rows; row++) {
      if (columns.checkpoint![row] !== id || columns.action![row] !== StoredAction.STORED) continue;
      const task = this.facts.task[places[row]!]!;
      const vertex = this.names.tasks.get(task)?.vertex ?? -1;
      const [operator, kind, state] = [columns.operator![row]!, columns.kind![row]!, columns.state![row]!];
      const key = `${vertex} ${operator} ${kind} ${state}`;
      let one = found.get(key);
      if (!one) {
        const what = String(this.head.wording.sentences.stored_state?.phrases[kind]?.text ?? "state");
        one = {
          vertex, operator: this.names.operator(task, operator), what, name: this.names.record(state), subtasks: 0,
          entries: 0, tasks: new Set(),
        };
        found.set(key, one);
      }
      one.tasks.add(task);
      one.subtasks = one.tasks.size;
      one.entries += columns.entries![row]!;
    }
    return [...found.values()];
  }

  /** Where a subtask reads barriers, and where it writes them, ascending. */
  barrierPlaces(task: number): BarrierPlaces {
    let found = this.placesOfBarriers.get(task);
    if (!found) {
      const all = [...this.barriersOf.values()].flat();
      const places = (of: (one: Barrier) => [task: number | undefined, place: number]) =>
        all.map(of).filter(([of, place]) => of === task && place < Infinity).map(([, place]) => place).sort((one, other) => one - other);
      found = {
        read: places((one) => [this.names.channels.get(one.channel)?.target, one.received]),
        written: places((one) => [this.names.channels.get(one.channel)?.source, one.sent]),
        overtaking: new Set(all.filter((one) => one.mayOvertake).flatMap((one) => [one.sent, one.received])),
      };
      this.placesOfBarriers.set(task, found);
    }
    return found;
  }

  private readJob(table: Table | undefined): void {
    if (!table) return;
    const { columns } = table;
    for (let row = 0; row < table.rows; row++) {
      const id = columns.checkpoint![row]!;
      const time = columns.time_ns![row]!;
      const action = columns.action![row]!;
      let one = this.known.get(id);
      if (!one) {
        one = {
          id, type: this.head.wording.snapshots?.[columns.type![row]!] ?? "checkpoint",
          alignment: ALIGNMENTS[columns.alignment![row]! as keyof typeof ALIGNMENTS] ?? "",
          whyAligned: this.names.whyAligned(columns.alignment![row]!, columns.type![row]!),
          isUnaligned: columns.alignment![row] === Alignment.UNALIGNED, outcome: "open", reason: "", triggered: NO_TIME, ended: NO_TIME, tasks: -1, bytes: 0, declines: 0,
          restored: [], isSubsumed: false,
        };
        this.all.push(one);
        if (id >= 0) {
          this.known.set(id, one);
          this.taken.push(one);
        }
      }
      const bytes = columns.state_bytes![row]!;
      switch (action) {
        case CheckpointAction.TRIGGERED: [one.triggered, one.tasks] = [time, columns.tasks![row]!]; break;
        case CheckpointAction.DECLINED: one.declines++; break;
        case CheckpointAction.COMPLETED: [one.outcome, one.ended, one.bytes] = ["completed", time, bytes]; break;
        case CheckpointAction.SUBSUMED: one.isSubsumed = true; break;
        case CheckpointAction.REJECTED:
        case CheckpointAction.ABORTED: {
          one.outcome = action === CheckpointAction.ABORTED ? "aborted" : "rejected";
          [one.ended, one.reason] = [time, this.reason(columns.reason![row]!)];
          break;
        }
        case CheckpointAction.RESTORED: {
          one.restored.push(time);
          if (!one.bytes) one.bytes = bytes;
          // From another run.
          if (one.triggered < 0) one.outcome = "completed";
          break;
        }
      }
    }
  }

  private reason(reason: number): string {
    return reason < 0 ? "" : (this.head.wording.reasons?.[String(reason)] ?? String(reason));
  }

  private readRestarts(table: Table | undefined): void {
    if (!table) return;
    const { action, failure, time_ns, task_id, attempt, checkpoint, delay_ms } = table.columns;
    const known = new Map<number, Failure>();
    for (let row = 0; row < table.rows; row++) {
      const number = failure![row]!;
      if (action![row] === Restart.RESTART) {
        const cause = known.get(number);
        if (!cause) continue;
        cause.restarted.push(task_id![row]!);
        cause.restartTime = time_ns![row]!;
        cause.checkpoint = checkpoint![row]!;
        continue;
      }
      const one: Failure = {
        number, time: time_ns![row]!, task: task_id![row]!, attempt: attempt![row]!,
        givesUp: action![row] === Restart.GIVE_UP, delayMs: delay_ms![row]!, restarted: [], restartTime: NO_TIME,
        checkpoint: -1,
      };
      known.set(number, one);
      this.failures.push(one);
    }
  }

  private readSteps(): void {
    const { rows, columns, places } = this.facts.of("checkpoint_steps");
    const known = new Map<string, TaskCheckpoint>();
    for (let row = 0; row < rows; row++) {
      const step = columns.step![row]!;
      if (step === Step.RESTORE) continue;
      const place = places[row]!;
      const task = this.facts.task[place]!;
      const checkpoint = columns.checkpoint![row]!;
      const key = `${task} ${checkpoint}`;
      let one = known.get(key);
      if (!one) {
        // Only notified: a checkpoint of an earlier attempt, or of other tasks.
        if (step >= Step.NOTIFY_COMPLETE) continue;
        one = {
          checkpoint, task, begin: place, isTriggered: step === Step.TRIGGER, aligned: Infinity, barrierSent: Infinity,
          syncStart: Infinity, syncEnd: Infinity, written: Infinity, acknowledged: Infinity, declined: Infinity,
          notified: Infinity, lost: this.endOfAttempt(task, place), metrics: -1,
        };
        known.set(key, one);
        add(this.byTask, task, one);
        add(this.byId, checkpoint, one);
        this.firstPlaces.set(checkpoint, Math.min(place, this.firstPlaces.get(checkpoint) ?? Infinity));
      }
      switch (step) {
        case Step.ALIGNMENT_END: one.aligned = place; break;
        case Step.BARRIER_SENT: one.barrierSent = place; break;
        case Step.SYNC_START: one.syncStart = place; break;
        case Step.SYNC_END: one.syncEnd = place; break;
        case Step.ASYNC_END: one.written = place; break;
        case Step.ACKNOWLEDGE: one.acknowledged = place; break;
        case Step.DECLINE: one.declined = place; break;
        case Step.NOTIFY_COMPLETE: one.notified = place; break;
      }
    }
    for (const ofOne of this.byId.values()) ofOne.sort((one, other) => one.task - other.task);
  }

  private endOfAttempt(task: number, place: number): number {
    const ends = this.attempts.endsOf(task);
    return ends[countUpTo(ends, place)] ?? Infinity;
  }

  private readMetrics(): void {
    const { rows, columns, places } = this.facts.of("checkpoint_metrics");
    const known = new Map([...this.byId.values()].flat().map((one) => [`${one.task} ${one.checkpoint}`, one]));
    for (let row = 0; row < rows; row++) {
      const one = known.get(`${this.facts.task[places[row]!]} ${columns.checkpoint![row]}`);
      if (one) one.metrics = row;
    }
  }

  private readBarriers(): void {
    const known = new Map<string, Barrier>();
    for (const table of ["sent", "received"] as const) {
      const { rows, columns, places } = this.facts.of(table);
      for (let row = 0; row < rows; row++) {
        const kind = columns.kind![row]!;
        if (!BARRIERS.includes(kind)) continue;
        const [channel, checkpoint] = [columns.channel![row]!, columns.timestamp![row]!];
        const key = `${channel} ${checkpoint} ${kind}`;
        let one = known.get(key);
        if (!one) {
          one = {
            channel, checkpoint, isCancel: kind === Element.CANCEL_CHECKPOINT_MARKER,
            mayOvertake: kind === Element.UNALIGNED_BARRIER, sent: Infinity, position: columns.position![row]!,
            received: Infinity, sentRow: -1, receivedRow: -1,
          };
          known.set(key, one);
          add(this.barriersOf, checkpoint, one);
        }
        one[table] = places[row]!;
        one[`${table}Row`] = row;
      }
    }
    for (const ofOne of this.barriersOf.values()) ofOne.sort((one, other) => one.channel - other.channel);
  }

  private before({ channel, sent, position }: Barrier): number | null {
    if (sent === Infinity) return null;
    const read = this.channels.readUpTo(channel, sent);
    return read === null ? null : Math.max(0, position - read);
  }

  private behind({ channel, checkpoint, position, mayOvertake }: Barrier): number | null {
    const found = this.names.channels.get(channel);
    const snapshot = this.of(checkpoint).find((one) => one.task === found?.target)?.syncStart ?? Infinity;
    if (!found || snapshot === Infinity) return null;
    const written = this.channels.writtenUpTo(channel, snapshot);
    return written === null ? null : Math.max(0, written - position - (mayOvertake ? 0 : 1));
  }
}

function add<Value>(values: Map<number, Value[]>, key: number, value: Value): void {
  const known = values.get(key);
  if (known) known.push(value);
  else values.set(key, [value]);
}
