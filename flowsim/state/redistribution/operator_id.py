"""The id of an operator, which its state in a snapshot belongs to (rule 12.121). Flink: OperatorID, StreamGraphHasherV2."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_MASK: Final = 2**64 - 1
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F


@dataclass(frozen=True, slots=True)
class IdentifiedOperator:
    """An operator of a job with its id, and what the id is made of."""

    operator_id: str
    """32 hexadecimal digits."""
    name: str
    parallelism: int
    uid: str | None = None
    """The id that the user gave the operator; None: the id is generated."""
    chained_outputs: tuple[str, ...] = ()
    """The names of the operators that are chained to it."""
    inputs: tuple[str, ...] = ()
    """The ids of the operators that it reads."""

    @property
    def text(self) -> str:
        """The id with name and uid, for messages."""
        return f"{self.operator_id} ({self.name!r}{'' if self.uid is None else f', uid {self.uid!r}'})"


def id_of_uid(uid: str) -> str:
    """Returns the id of an operator with a uid.

    >>> id_of_uid("sums")
    'a0f90dae8f3f5f042400509da0ac0fbb'
    """
    return _murmur3_128(uid.encode(errors="replace")).hex()


def generated_id(number: int, chained_outputs: int, inputs: Iterable[str]) -> str:
    """Returns the id of an operator without uid.

    ``number``: how many operators have an id before it. ``chained_outputs``: how many operators are chained to it.
    ``inputs``: the ids of the operators that it reads.

    >>> generated_id(0, 1, ())
    'cbc357ccb763df2852fee8c4fc7d55f2'
    """
    made = bytearray(_murmur3_128(number.to_bytes(4, "little") * (1 + chained_outputs)))
    for operator_id in inputs:
        for index, byte in enumerate(bytes.fromhex(operator_id)):
            made[index] = made[index] * 37 & 0xFF ^ byte
    return made.hex()


def _murmur3_128(content: bytes) -> bytes:
    """Returns the hash with seed 0. Guava: Hashing.murmur3_128."""
    h1 = h2 = 0
    whole = len(content) // 16 * 16
    for start in range(0, whole, 16):
        h1 ^= _mixed_k1(int.from_bytes(content[start : start + 8], "little"))
        h1 = (_rotated(h1, 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 ^= _mixed_k2(int.from_bytes(content[start + 8 : start + 16], "little"))
        h2 = (_rotated(h2, 31) + h1) * 5 + 0x38495AB5 & _MASK
    h1 ^= _mixed_k1(int.from_bytes(content[whole : whole + 8], "little")) ^ len(content)
    h2 ^= _mixed_k2(int.from_bytes(content[whole + 8 :], "little")) ^ len(content)
    h1 = h1 + h2 & _MASK
    h2 = h1 + h2 & _MASK
    h1, h2 = _finished(h1), _finished(h2)
    h1 = h1 + h2 & _MASK
    h2 = h1 + h2 & _MASK
    return h1.to_bytes(8, "little") + h2.to_bytes(8, "little")


def _mixed_k1(k1: int) -> int:
    return _rotated(k1 * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_k2(k2: int) -> int:
    return _rotated(k2 * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(bits: int, distance: int) -> int:
    return (bits << distance | bits >> 64 - distance) & _MASK


def _finished(bits: int) -> int:
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCD & _MASK
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return bits ^ bits >> 33
