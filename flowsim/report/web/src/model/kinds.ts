/** The closed sets of small numbers in facts: flowsim/facts/kinds.py. */

export const Element = { RECORD: 0, WATERMARK: 1, STATUS: 2, LATENCY_MARKER: 3, END_OF_DATA: 4, END_OF_PARTITION: 5 };
export const Side = { SENT: 0, RECEIVED: 1, QUEUED: 2, FLUSHED: 3, SKIPPED: 4, RECYCLED: 5 };
export const Kind = { DATA: 0, EVENT: 1 };
export const Credit = { INITIAL_GRANTED: 0, INITIAL_GOT: 1, ANNOUNCED: 2, GOT: 3 };
export const Phase = { BEGIN: 0, END: 1, WAIT: 2, RESUME: 3 };
export const Wait = { COST: 0, MAIL: 1, BUFFER: 2, YIELD: 3, LOCK: 4 };
export const Timer = { REGISTER: 0, DELETE: 1, FIRE: 2 };
export const Async = { PUT: 0, INVOKE: 1, RETRY: 2, COMPLETE: 3, FAIL: 4, TIMEOUT: 5, EMIT: 6 };
export const StateChange = { PUT: 0, ADD: 1, REMOVE: 2, CLEAR: 3, EXPIRE: 4 };
export const Life = { FINISHED: 5, CANCELED: 6, FAILED: 7, INITIALIZING: 11, DEADLOCKED: 12 };

/** ``actions.priority`` of a wait for mail while the output is full: soft back pressure (rule 4.6). */
export const OUTPUT_FULL = -2;
export const MAX_PRIORITY = 2 ** 31 - 1;
