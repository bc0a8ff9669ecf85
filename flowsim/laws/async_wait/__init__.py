"""Laws about async operators.

An **async operator** is a row of `operators` of kind `async_wait`; `params` has `mode` (`ordered`, else unordered),
`capacity`, `timeout_ms` (0: none), `design` (`legacy`, else mailbox) and `retry` (an object or null). Each async operator
of each subtask is a *place*, and judged for itself. Rows of `async_elements` whose (task, operator) is no place are
counted by law async-once, and examined but not judged by the others.

Of a place, everything by seq:
- the *put*, the *outcome* and the *emission* of an entry are its first PUT row, its first COMPLETE or FAIL row and its
  first EMIT row;
- its *opening* is its first OPEN row in `lifecycle` (without one, it comes after everything), its *end* its first
  END_INPUT row there (often there is none: the job was stopped without drain, failed, was canceled, or hangs since a
  timeout completed nothing, rule 11.17). What was put before the opening comes from a snapshot (rule 11.22);
- it *retries* when `params.retry` is an object whose `result` or `exception` is true; then its *limit* is
  `retry.max_attempts` (null: none), else 0.

All five laws are *not applicable* when there is no async operator.
"""
