/** The head of a report, as flowsim/report/payload.py writes it. */

export interface Column {
  name: string;
  /** "values", "differences", or the name of a group within which the rows hold differences. */
  encoding: string;
  bytes: number;
  /** The least and the most number that it holds. */
  limits: [number, number];
}

export interface Section {
  offset: number;
  bytes: number;
  rows: number;
  /** "all": every fact of the table is here; "parts": those in the exact parts; "overview": counts of all facts; "job": facts without a task. */
  coverage?: string;
  columns?: Column[];
  texts?: number;
  /** Of counts: the number of buckets of time. */
  buckets?: number;
}

/** A part of a template, as flowsim/trace/template.py describes it. */
export type Part = string | Field | Alternative[];
export interface Field {
  format: string;
  /** Without it: the column of the format's name. */
  column?: string;
  /** The format's argument. */
  text?: string;
}
export interface Alternative {
  guard?: [column: string, comparison: string, other: number | string];
  parts: Part[];
}
export interface Phrase {
  text: Part[];
  rules: Part[];
}

/** The sentences of facts. */
export interface Wording {
  /** By table. Those of checkpoints only if the recording has some. ``phrases``: by the numbers in the columns ``by``. */
  sentences: Record<string, Phrase & { by: string[]; phrases: Record<string, Phrase> }>;
  /** Names of the reasons why a checkpoint failed. */
  reasons?: Record<string, string>;
  /** Names of the types of snapshots. */
  snapshots?: Record<string, string>;
}

export interface Description {
  columns: string[];
  rows: (number | string)[][];
}

export interface Evidence {
  what: string;
  expected: string;
  where: string;
  with: Record<string, string>;
  trace: string;
  /** The fact, if it is a single one. */
  task: number | null;
  seq: number | null;
  time_ns: number | null;
  channel: number | null;
}

export interface Law {
  law: string;
  sentence: string;
  /** Numbers of rules; the report may lack some. */
  rules: string[];
  verdict: string;
  rows_examined: number;
  violations: number;
  reason: string;
  evidence: Evidence[];
}

/** A part of the run of which every fact is in the report, from step ``first`` to before step ``end``. */
export interface ExactPart {
  first: number;
  end: number;
  /** Of its first and its last fact. */
  from_ns: number;
  to_ns: number;
  why: string[];
  /** By task: its number of facts before the part. */
  seqs: number[];
}

/** Why exchanges are aligned, as flowsim/trace/alignment.py writes it. */
export interface AlignmentReasons {
  /** By "alignment,type" of a checkpoint, as numbers: why its barriers are not unaligned from the trigger on. */
  reasons: Record<string, { reason: string; text: string; rules: string[] }>;
  /** By edge: the exchanges that are aligned by force. */
  exchanges: Record<string, { short: string; label: string; text: string }>;
  /** The checkpoints whose barriers overtake data elsewhere; only if there are such exchanges. */
  unaligned: number[];
  /** The rule about such exchanges. */
  rule: string;
}

/** A moment of the run, as flowsim/report/look_at.py finds it. ``link``: the part of the address after #. */
export interface LookAt {
  what: string;
  text: string;
  link: string;
}

/** What a sink received. ``first``: the first rows as JSON; ``left``: how many more there are; ``note``: why there are none. */
export interface SinkResult {
  name: string;
  rows: string;
  first: string[];
  left: number;
  note: string;
}

/** One sentence of an answer of ``flowsim why``. */
export interface JobCause {
  text: string;
  rules: string[];
  details: string[];
}

export interface Head {
  format: number;
  recording: {
    path: string;
    name: string;
    status: string;
    level: string;
    seed: number;
    policy: string;
    clock: string;
    start_ns: number;
    epochs: number;
    digest: string;
    scenario: string | null;
    settings: Record<string, unknown>;
    failure: Record<string, string | null> | null;
    flowsim: string;
  };
  start: {
    /** Of the scenario. */
    name: string | null;
    description: string[];
    results: { sinks: SinkResult[]; left: number };
    look_at: LookAt[];
  };
  facts: number;
  table_names: string[];
  sections: Record<string, Section>;
  omitted: string[];
  /** null: the whole recording, but for the omitted tables. */
  parts: ExactPart[] | null;
  description: Record<string, Description>;
  laws: { verdict: string; engine: string; laws: Law[] } | null;
  wording: Wording;
  /** null: the recording has no checkpoints. */
  alignment: AlignmentReasons | null;
  /** Of the slowest and failed checkpoints, and of the first failures, by number; null: the recording has no checkpoints. */
  job_causes: { checkpoints: Record<string, JobCause[]>; failures: Record<string, JobCause[]> } | null;
}
