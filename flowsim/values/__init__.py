"""The closed set of record values: guard, bytes, fingerprints, declared types, Java hashes, keys and copies (D5)."""

from __future__ import annotations

from flowsim.values.closed_set import INT_MAX, INT_MIN, MAX_DEPTH, check, checked_copy, copy_value
from flowsim.values.encoding import (
    decode_extension,
    decode_value,
    encode_into,
    encode_record,
    encode_value,
    fingerprint,
    fingerprint_decoded,
    fingerprint_frame,
)
from flowsim.values.java_hash_code import java_hash, key_hash
from flowsim.values.keys import infer_type, key_fingerprint, key_json, state_key
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind, Types, as_type, parse_type

__all__ = [
    "INT_MAX",
    "INT_MIN",
    "MAX_DEPTH",
    "Row",
    "TypeInformation",
    "TypeKind",
    "Types",
    "as_type",
    "check",
    "checked_copy",
    "copy_value",
    "decode_extension",
    "decode_value",
    "encode_into",
    "encode_record",
    "encode_value",
    "fingerprint",
    "fingerprint_decoded",
    "fingerprint_frame",
    "infer_type",
    "java_hash",
    "key_fingerprint",
    "key_hash",
    "key_json",
    "parse_type",
    "state_key",
]
