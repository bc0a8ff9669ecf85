/** The closed sets of small numbers in facts, with all their members: flowsim/facts/kinds.py. A Python test compares them. */

export const Element = {
  RECORD: 0, WATERMARK: 1, STATUS: 2, LATENCY_MARKER: 3, END_OF_DATA: 4, END_OF_PARTITION: 5, CHECKPOINT_BARRIER: 6,
  CANCEL_CHECKPOINT_MARKER: 7, EVENT: 8, UNALIGNED_BARRIER: 9,
};
export const Side = { SENT: 0, RECEIVED: 1, QUEUED: 2, FLUSHED: 3, SKIPPED: 4, RECYCLED: 5, PRIORITIZED: 6 };
export const Kind = { DATA: 0, EVENT: 1, PRIORITY_EVENT: 2 };
export const Credit = { INITIAL_GRANTED: 0, INITIAL_GOT: 1, ANNOUNCED: 2, GOT: 3, RESUMED: 4 };
export const Phase = { BEGIN: 0, END: 1, WAIT: 2, RESUME: 3 };
export const Wait = { COST: 0, MAIL: 1, BUFFER: 2, YIELD: 3, LOCK: 4, CHECKPOINT: 5 };
export const Timer = { REGISTER: 0, DELETE: 1, FIRE: 2 };
export const Async = { PUT: 0, INVOKE: 1, RETRY: 2, COMPLETE: 3, FAIL: 4, TIMEOUT: 5, EMIT: 6 };
export const StateChange = { PUT: 0, ADD: 1, REMOVE: 2, CLEAR: 3, EXPIRE: 4, WRONG_CONTENT: 5, WRONG_READ: 6 };
export const Life = {
  RUNNING: 0, OPEN: 1, END_INPUT: 2, FINISH: 3, CLOSE: 4, FINISHED: 5, CANCELED: 6, FAILED: 7, STOP_WITH_DRAIN: 8,
  STOP_NO_DRAIN: 9, CANCELING: 10, INITIALIZING: 11, DEADLOCKED: 12, RESTORED_AS_FINISHED: 13, LIVELOCKED: 14,
};
export const CheckpointAction = { TRIGGERED: 0, REJECTED: 1, ACKNOWLEDGED: 2, DECLINED: 3, COMPLETED: 4, ABORTED: 5, SUBSUMED: 6, RESTORED: 7 };
export const Alignment = { AT_LEAST_ONCE: 0, ALIGNED: 1, UNALIGNED: 2, FORCED_ALIGNED: 3 } as const;
export const Restart = { FAILURE: 0, RESTART: 1, GIVE_UP: 2 };
export const Stored = { STORED: 0, RESTORED: 1, IN_SNAPSHOT: 2, IN_RESCALED_SNAPSHOT: 3 };
export const Step = {
  TRIGGER: 0, ALIGNMENT_START: 1, ALIGNMENT_END: 2, BARRIER_SENT: 3, SYNC_START: 4, SYNC_END: 5, ASYNC_END: 6,
  ACKNOWLEDGE: 7, DECLINE: 8, NOTIFY_COMPLETE: 9, NOTIFY_ABORTED: 10, NOTIFY_SUBSUMED: 11, RESTORE: 12,
};

/** A value for each member of a set: a member without a value does not compile. */
export type Each<Members extends Record<string, number>, Value> = Readonly<Record<Members[keyof Members], Value>>;

/** Whether it is data, which can be stored in flight; the others are events. */
export function isData(kind: number): boolean {
  return kind < Element.END_OF_DATA;
}

/** ``actions.priority`` of a wait for mail while the output is full: soft back pressure (rule 4.6). */
export const OUTPUT_FULL = -2;
