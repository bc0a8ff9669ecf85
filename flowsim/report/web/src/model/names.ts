/** The description of the job: tasks, chains, operators, edges, channels, pools. */

import type { Head } from "./head";

export interface Task {
  id: number;
  vertex: number;
  name: string;
  subtask: number;
  parallelism: number;
  inputs: number;
}
export interface Operator {
  vertex: number;
  operator: number;
  name: string;
  kind: string;
  params: Record<string, unknown>;
}
export interface Edge {
  id: number;
  source: number;
  target: number;
  input: number;
  partitioner: string;
  sideOutput: string;
  exchange: string;
}
export interface Channel {
  id: number;
  edge: number;
  source: number;
  subpartition: number;
  target: number;
  input: number;
  inputChannel: number;
  local: boolean;
  bytesPerSecond: number;
}
export interface Pool {
  id: number;
  task: number;
  edge: number;
  isOutput: boolean;
  required: number;
  maximum: number;
  overdraft: number;
  perChannel: number;
  exclusive: number;
}

type Record_ = Record<string, number | string>;

function rowsOf(head: Head, table: string): Record_[] {
  const description = head.description[table];
  if (!description) return [];
  return description.rows.map((row) => Object.fromEntries(description.columns.map((name, at) => [name, row[at]!])));
}

export class Names {
  readonly tasks: Map<number, Task>;
  readonly operators: Operator[];
  readonly edges: Map<number, Edge>;
  readonly channels: Map<number, Channel>;
  readonly pools: Map<number, Pool>;
  /** Job vertices in the order of their first task. */
  readonly vertices: number[];
  private readonly states = new Map<string, [name: string, kind: string]>();
  private readonly unaligned: ReadonlySet<number>;

  constructor(
    private readonly head: Head,
    private readonly keys: readonly string[],
    private readonly records: () => ReadonlyMap<number, string>,
  ) {
    this.unaligned = new Set(head.alignment?.unaligned);
    const by = <T extends { id: number }>(rows: T[]) => new Map(rows.map((row) => [row.id, row]));
    this.tasks = by(
      rowsOf(head, "tasks").map((row) => ({
        id: Number(row.task), vertex: Number(row.vertex), name: String(row.name), subtask: Number(row.subtask),
        parallelism: Number(row.parallelism), inputs: Number(row.inputs),
      })),
    );
    this.operators = rowsOf(head, "operators").map((row) => ({
      vertex: Number(row.vertex), operator: Number(row.operator), name: String(row.name), kind: String(row.kind),
      params: JSON.parse(String(row.params) || "{}") as Record<string, unknown>,
    }));
    this.edges = by(
      rowsOf(head, "edges").map((row) => ({
        id: Number(row.edge), source: Number(row.source_vertex), target: Number(row.target_vertex),
        input: Number(row.input), partitioner: String(row.partitioner), sideOutput: String(row.side_output),
        exchange: String(row.exchange),
      })),
    );
    this.channels = by(
      rowsOf(head, "channels").map((row) => ({
        id: Number(row.channel), edge: Number(row.edge), source: Number(row.source_task),
        subpartition: Number(row.subpartition), target: Number(row.target_task), input: Number(row.input),
        inputChannel: Number(row.input_channel), local: row.local === 1, bytesPerSecond: Number(row.bytes_per_second),
      })),
    );
    this.pools = by(
      rowsOf(head, "pools").map((row) => ({
        id: Number(row.pool), task: Number(row.task), edge: Number(row.edge), isOutput: row.kind === 0,
        required: Number(row.required), maximum: Number(row.maximum), overdraft: Number(row.overdraft),
        perChannel: Number(row.per_channel), exclusive: Number(row.exclusive),
      })),
    );
    this.vertices = [...new Set([...this.tasks.values()].map((task) => task.vertex))];
    for (const row of rowsOf(head, "states")) {
      this.states.set(`${row.task} ${row.operator} ${row.state}`, [String(row.name), String(row.kind)]);
    }
  }

  task(task: number): string {
    return this.tasks.get(task)?.name ?? `task ${task}`;
  }

  /** A task by the first operator of its chain. */
  shortTask(task: number): string {
    const found = this.tasks.get(task);
    if (!found) return `task ${task}`;
    const at = found.name.lastIndexOf(" (");
    return this.vertex(found.vertex) + (at < 0 ? found.name : found.name.slice(at));
  }

  tasksOf(vertex: number): Task[] {
    return [...this.tasks.values()].filter((task) => task.vertex === vertex);
  }

  operator(task: number, operator: number): string {
    if (operator < 0) return "the task";
    const vertex = this.tasks.get(task)?.vertex;
    const found = this.operators.find((one) => one.vertex === vertex && one.operator === operator);
    return found?.name ?? `operator ${operator}`;
  }

  /** A split of a source by its index in the subtask, with its name if the source declares one. */
  split(task: number, operator: number, split: number): string {
    const at = this.tasks.get(task);
    const source = this.operators.find((one) => one.vertex === at?.vertex && one.operator === operator);
    const given = source?.params.splits;
    const names: unknown = Array.isArray(given) && at ? given[at.subtask] : undefined;
    return `split ${Array.isArray(names) && split < names.length ? JSON.stringify(names[split]) : split}`;
  }

  vertex(vertex: number): string {
    return this.operators.find((one) => one.vertex === vertex && one.operator === 0)?.name ?? `vertex ${vertex}`;
  }

  channel(channel: number): string {
    const found = this.channels.get(channel);
    return found ? `${channel}: ${this.shortTask(found.source)} → ${this.shortTask(found.target)}` : `#${channel}`;
  }

  /** The receiving end, for facts of the sender. */
  target(channel: number): string {
    const found = this.channels.get(channel);
    return found ? `${this.shortTask(found.target)} #${channel}` : `#${channel}`;
  }

  /** The sending end, for facts of the receiver. */
  source(channel: number): string {
    const found = this.channels.get(channel);
    return found ? `${this.shortTask(found.source)} #${channel}` : `#${channel}`;
  }

  otherEnd(task: number, channel: number): string {
    return this.channels.get(channel)?.target === task ? this.source(channel) : this.target(channel);
  }

  edge(edge: number): string {
    const found = this.edges.get(edge);
    return found ? `${this.vertex(found.source)} -> ${this.vertex(found.target)}` : `edge ${edge}`;
  }

  /** Why an exchange is aligned by force in unaligned checkpoints; null: it is not. */
  forced(edge: number): { short: string; label: string; text: string } | null {
    return this.head.alignment?.exchanges[edge] ?? null;
  }

  /** All exchanges that are aligned by force in unaligned checkpoints, as sentences. */
  forcedTexts(): string[] {
    return Object.values(this.head.alignment?.exchanges ?? {}).map((found) => found.text);
  }

  /** What happens to the barrier of an unaligned checkpoint on such an exchange, with its rule; null elsewhere. */
  forcedBarrier(channel: number, checkpoint: number): [short: string, rule: string] | null {
    const edge = this.channels.get(channel)?.edge;
    const found = edge === undefined ? null : this.forced(edge);
    return found && this.unaligned.has(checkpoint) ? [found.short, this.head.alignment!.rule] : null;
  }

  /** Why the barriers of a checkpoint are not unaligned from its trigger on; "": they are. */
  whyAligned(alignment: number, type: number): string {
    return this.head.alignment?.reasons[`${alignment},${type}`]?.text ?? "";
  }

  isKeyed(channel: number): boolean {
    const found = this.channels.get(channel);
    return found !== undefined && this.edges.get(found.edge)?.partitioner === "HASH";
  }

  pool(pool: number): string {
    const found = this.pools.get(pool);
    const edge = found && this.edges.get(found.edge);
    if (!found || !edge) return `pool ${pool}`;
    if (found.isOutput) return `output pool ${pool} (to ${this.vertex(edge.target)})`;
    return `input pool ${pool} (from ${this.vertex(edge.source)})`;
  }

  key(key: number): string {
    return key ? (this.keys[key - 1] ?? `#${key}`) : "";
  }

  /** null: the run has no such key. */
  numberOfKey(text: string): number | null {
    return this.keys.indexOf(text) + 1 || null;
  }

  get keyCount(): number {
    return this.keys.length;
  }

  /** The value of a record as JSON; "" if it is not in the report. */
  record(record: number): string {
    return this.records().get(record) ?? "";
  }

  state(task: number, operator: number, state: number): [name: string, kind: string] {
    return this.states.get(`${task} ${operator} ${state}`) ?? [`state ${state}`, ""];
  }
}
