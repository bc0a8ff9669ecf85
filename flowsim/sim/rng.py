"""Named random streams from one seed (architecture decision D4)."""

from __future__ import annotations

from hashlib import blake2b
from random import Random


class RandomStreams:
    """Gives every purpose its own generator, so that more draws for one purpose do not change another.

    A stream's seed is a hash of the run's seed and the stream's name, the same in every process.

    >>> RandomStreams(7).stream("cost", "map", 0).random() == RandomStreams(7).stream("cost", "map", 0).random()
    True
    >>> RandomStreams(7).stream("cost", 1).random() == RandomStreams(7).stream("cost", "1").random()
    False
    """

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, *name: str | int) -> Random:
        """Returns a new generator at the start of the stream ``name``: two calls give the same numbers."""
        digest = blake2b(_encode((self.seed, *name)), digest_size=32)
        return Random(int.from_bytes(digest.digest(), "big"))


def _encode(parts: tuple[str | int, ...]) -> bytes:
    """Encodes a name with lengths and types, so that no two names share an encoding."""
    encoded = bytearray()
    for part in parts:
        tag, text = (b"i", str(part)) if isinstance(part, int) else (b"s", part)
        raw = text.encode()
        encoded += tag + len(raw).to_bytes(4, "big") + raw
    return bytes(encoded)
