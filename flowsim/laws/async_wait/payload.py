"""Law async-payload: the function receives the element that was put (rules 11.1, 11.17, 11.25)."""

from __future__ import annotations

from typing import Final

from flowsim.laws.async_wait.places import Check, Step

ID: Final = "async-payload"
COUNTS: Final = """\
- Rows examined: INVOKE, RETRY and TIMEOUT rows of `async_elements`.
- Such a row of a place is a violation when its kind, timestamp or fingerprint differs from that of the put of its
  entry. It is only compared if the put is before it, and the emission of the entry is not before it. After the
  emission, it is also compared if the entry had a TIMEOUT and a RETRY row before the emission (rule 11.28).
"""


class Payload(Check):
    """Compares the element that the function, a retry and the timeout get with the put element."""

    __slots__ = ()

    def receive(self, put: Step, step: Step) -> None:
        """INVOKE, RETRY or TIMEOUT."""
        if step[_WHAT] != put[_WHAT]:
            self.broken(
                "the function receives another element than was put", step, fingerprint=step.fingerprint,
                expected_fingerprint=put.fingerprint, timestamp=step.timestamp, expected_timestamp=put.timestamp,
            )  # fmt: skip


_WHAT: Final = slice(Step._fields.index("kind"), Step._fields.index("fingerprint") + 1)
