"""Laws about async operators.

An **async operator** is a row of `operators` of kind `async_wait`. Its `params` have `mode` (`ordered`, else
unordered), `capacity`, `timeout_ms` (0: none), `design` (`legacy`, else mailbox) and `retry` (an object or null). An
async operator of a subtask is a *place*. Each place is judged separately. If the (task, operator) of a row of
`async_elements` is not a place, the laws examine the row, but only law async-once counts it as a violation. For a
place:
- the *put* of an entry is its first PUT row, and the *outcome* is its first COMPLETE or FAIL row. The *emission* is its
  first EMIT row after the put;
- the *opening* is its first OPEN row in `lifecycle`. If there is none, the opening is after all rows. Elements that
  were put before the opening come from a snapshot (rule 11.22);
- the *end* is its first END_INPUT row in `lifecycle`. There is none if the job was stopped without drain, failed or was
  canceled, or if the operator is blocked because a timeout completed no results (rule 11.17);
- it *retries* if `params.retry` is an object whose `result` or `exception` is true. Then its *limit* is
  `retry.max_attempts` (null: no limit). The limit of a place that does not retry is 0.

All laws of this section are *not applicable* if there is no async operator.
"""
