"""How a task names keys in its recording: Java hash and fingerprint, with the key itself told once."""

from __future__ import annotations

from flowsim.facts.tracer import TaskTrace
from flowsim.values import key_fingerprint, key_hash, key_json


class KeyFacts:
    """Remembers hash and fingerprint of every key that one operator met, and describes new ones to the recording."""

    __slots__ = ("_trace", "_key_type", "known")

    def __init__(self, trace: TaskTrace, key_type: str | None) -> None:
        self._trace = trace
        self._key_type = key_type
        self.known: dict[object, tuple[int, int]] = {}
        """``(key_hash, key)`` by ``state_key``."""

    def of(self, key: object, key_id: object) -> tuple[int, int]:
        """``(key_hash, key)`` as the fact tables hold them; ``key_id`` is ``state_key(key)``."""
        known = self.known.get(key_id)
        if known is None:
            known = (key_hash(key, self._key_type), key_fingerprint(key, self._key_type))
            self.known[key_id] = known
            if not self._trace.knows_key(known[1]):
                self._trace.key(known[1], known[0], *key_json(key, self._key_type))
        return known
