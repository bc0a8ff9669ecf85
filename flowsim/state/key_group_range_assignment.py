"""Computes the key group of a key, and the subtask that owns the group (rules 1.18-1.23).

Flink: KeyGroupRangeAssignment.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from flowsim.errors import BadInput
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.values.java_hash_code import key_hash
from flowsim.values.types import TypeInformation

UPPER_BOUND_MAX_PARALLELISM: Final = 1 << 15
"""The largest allowed max parallelism and parallelism (rule 1.22)."""

DEFAULT_LOWER_BOUND_MAX_PARALLELISM: Final = 1 << 7
"""The smallest derived max parallelism if none is set (rule 1.21)."""

_WORD: Final = 0xFFFFFFFF
MOST_REMEMBERED: Final = 100_000
"""The number of keys up to which key groups and subpartitions are remembered."""
_SHORT: Final = 2**61
"""The compiled form keeps whole numbers below it in a machine word."""


def murmur_hash(code: i64) -> i64:
    """Returns Flink's hash of a 32-bit hash code: MurmurHash3 of its 4 bytes, made non-negative (rule 1.19).

    >>> murmur_hash(97)
    1455541201
    """
    h: i64 = code & _WORD
    h = h * 0xCC9E2D51 & _WORD
    h = ((h << 15) | (h >> 17)) & _WORD
    h = h * 0x1B873593 & _WORD
    h = ((h << 13) | (h >> 19)) & _WORD
    h = (h * 5 + 0xE6546B64) & _WORD
    h ^= 4
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _WORD
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _WORD
    h ^= h >> 16
    # As a signed int: Java takes the absolute value, and maps MIN_VALUE, which has none, to 0.
    if h < 0x80000000:
        return h
    return (0x100000000 - h) & 0x7FFFFFFF


def check_parallelism(max_parallelism: int, parallelism: int = 1) -> None:
    """Raises BadInput unless ``0 < parallelism <= max_parallelism <= 32768`` (rule 1.22)."""
    if parallelism < 1:
        raise BadInput(f"parallelism: expected an integer >= 1, got {parallelism}")
    if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
        raise BadInput(f"max parallelism: expected 1 to {UPPER_BOUND_MAX_PARALLELISM}, got {max_parallelism}")
    if parallelism > max_parallelism:
        raise BadInput(
            f"max parallelism {max_parallelism} is smaller than parallelism {parallelism}: "
            "raise the max parallelism or lower the parallelism"
        )


def assign_to_key_group(key: object, max_parallelism: int, key_type: str | TypeInformation | None = None) -> int:
    """Returns the key group of a key; the Java hash depends on the key's declared type.

    Raises ValueNotAllowed for None (rule 1.22).

    >>> assign_to_key_group("user-1", 128)
    121
    """
    # Most new keys are whole numbers, whose hash takes a hundredth of the time of key_hash.
    if (
        type(key) is int
        and isinstance(key, int)
        and -_SHORT < key < _SHORT
        and (key_type is None or key_type == "LONG")
    ):
        number: i64 = key
        return murmur_hash(number ^ (number >> 32)) % max_parallelism
    return murmur_hash(key_hash(key, key_type)) % max_parallelism


def compute_operator_index_for_key_group(max_parallelism: int, parallelism: int, key_group: int) -> int:
    """Returns the subtask that owns a key group (rule 1.18)."""
    return key_group * parallelism // max_parallelism


def compute_key_group_range_for_operator_index(
    max_parallelism: int, parallelism: int, operator_index: int
) -> KeyGroupRange:
    """Returns the key groups that a subtask owns (rule 1.20). Raises BadInput outside the bounds of rule 1.22."""
    check_parallelism(max_parallelism, parallelism)
    if not 0 <= operator_index < parallelism:
        raise BadInput(f"subtask index: expected 0 to {parallelism - 1}, got {operator_index}")
    start = (operator_index * max_parallelism + parallelism - 1) // parallelism
    end = ((operator_index + 1) * max_parallelism - 1) // parallelism
    return KeyGroupRange(start, end)


def compute_default_max_parallelism(parallelism: int) -> int:
    """Returns the default number of key groups: a power of two about 1.5 times the parallelism (rule 1.21).

    >>> compute_default_max_parallelism(86)
    256
    """
    check_parallelism(UPPER_BOUND_MAX_PARALLELISM, parallelism)
    next_power_of_two = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(next_power_of_two, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)
