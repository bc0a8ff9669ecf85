"""Laws about async operators.

An **async operator** is a row of `operators` of kind `async_wait`; `params` has `mode` (`ordered`, else unordered),
`capacity`, `timeout_ms` (0: none), `design` (`legacy`, else mailbox) and `retry` (an object or null). Each async
operator of each subtask is a *place*, and judged separately. Law async-once counts rows of `async_elements` whose
(task, operator) is not a place; the other laws examine but do not judge them.

For a place, with all rows ordered by seq:
- the *put*, the *outcome* and the *emission* of an entry are its first PUT row, its first COMPLETE or FAIL row and its
  first EMIT row;
- its *opening* is its first OPEN row in `lifecycle` (if there is none, the opening is after all rows). Its *end* is its
  first END_INPUT row there (there may be none: the job was stopped without drain, failed, was canceled, or is blocked
  because a timeout completed no results, rule 11.17). Elements that were put before the opening come from a snapshot
  (rule 11.22);
- it *retries* when `params.retry` is an object whose `result` or `exception` is true; then its *limit* is
  `retry.max_attempts` (null: none), else 0.

All five laws are *not applicable* when there is no async operator.
"""
