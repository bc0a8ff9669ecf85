"""The identity of keys, and their names in recordings.

Two keys are the same if Java's boxed ``equals`` says so: 1, 1.0 and True are three keys, so are 0.0 and -0.0, while NaN
equals NaN. Python's ``==`` differs in each case, hence ``state_key``.
"""

from __future__ import annotations

import json
from typing import Final

import xxhash

from flowsim.errors import ValueNotAllowed
from flowsim.values.closed_set import INT_MAX, INT_MIN
from flowsim.values.encoding import decode_shown, decode_value, encode_value
from flowsim.values.objects import ShownObject
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind, Types, as_type

_encode_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_NAN: Final = (float, "NaN")
_ZERO: Final = (float, 0.0)
_MINUS_ZERO: Final = (float, "-0.0")
_SHOWN: Final = frozenset((type(None), bool, int, float, str, bytes, tuple, list, dict, Row, ShownObject))


def state_key(key: object) -> object:
    """Returns a hashable substitute, which is equal exactly for the same key; a str or an int is its own substitute.

    Raises ValueNotAllowed for a dict, set or bytearray. An object of another class is the same key if its content is
    equal, as a list with the same items is.
    """
    kind = type(key)
    if kind is str or kind is int:
        return key
    return _stand_in(key)


def _stand_in(key: object) -> object:
    # A type object as first item marks a substitute: no tuple of record values contains one.
    if isinstance(key, float) and type(key) is float:
        if key != key:
            return _NAN
        return (float, key) if key else _ZERO if str(key) == "0.0" else _MINUS_ZERO
    if isinstance(key, tuple) and type(key) is tuple:
        for item in key:
            if type(item) is not str and type(item) is not int:
                return (tuple, *map(state_key, key))
        return key
    if isinstance(key, bool):
        return (bool, key)
    if key is None or type(key) is bytes:
        return key
    if isinstance(key, Row) and type(key) is Row:
        return (Row, *map(state_key, key.field_values))
    if isinstance(key, list) and type(key) is list:
        return (list, *map(state_key, key))
    if isinstance(key, dict | set | bytearray):
        raise ValueNotAllowed(f"a {type(key).__name__} cannot be a key, since its content can change: use a tuple")
    return (object, encode_value(key))


def key_of_state_key(substitute: object) -> object:
    """Returns a key with this ``state_key``; the fields of a Row have no names then.

    >>> key_of_state_key(state_key(("a", 1.0, None)))
    ('a', 1.0, None)
    """
    if type(substitute) is not tuple or not substitute or not isinstance(substitute[0], type):
        return substitute
    kind, *items = substitute
    if kind is float:
        return float(items[0])
    if kind is bool:
        return items[0]
    if kind is object:
        return decode_value(items[0])
    restored = map(key_of_state_key, items)
    return Row(*restored) if kind is Row else list(restored) if kind is list else tuple(restored)


def check_map_key(key: object) -> None:
    """Raises ValueNotAllowed for a key that a map state cannot have, as a dict of Python: one with a list in it."""
    state_key(key)
    if _has_list(key):
        raise ValueNotAllowed("a list cannot be a key of a map, since its content can change: use a tuple")


def _has_list(key: object) -> bool:
    if isinstance(key, Row):
        return any(map(_has_list, key.field_values))
    return type(key) is list or (isinstance(key, tuple) and type(key) is tuple and any(map(_has_list, key)))


def infer_type(value: object) -> TypeInformation:
    """Returns the type of a value without a declared type.

    An int is a LONG; PICKLED_BYTE_ARRAY fits None, and objects of other classes.
    """
    if type(value) not in _SHOWN or (type(value) is int and not INT_MIN <= value <= INT_MAX):
        return Types.PICKLED_BYTE_ARRAY()
    match value:
        case bool():
            return Types.BOOLEAN()
        case int():
            return Types.LONG()
        case float():
            return Types.DOUBLE()
        case str():
            return Types.STRING()
        case bytes():
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        case tuple():
            return Types.TUPLE([infer_type(item) for item in value])
        case Row():
            types = [infer_type(item) for item in value.field_values]
            return Types.ROW(types) if value.field_names is None else Types.ROW_NAMED(value.field_names, types)
        case list():
            return Types.LIST(_common(list(map(infer_type, value))))
        case dict():
            keys, values = list(map(infer_type, value.keys())), list(map(infer_type, value.values()))
            return Types.MAP(_common(keys), _common(values))
        case _:
            return Types.PICKLED_BYTE_ARRAY()


def _common(types: list[TypeInformation]) -> TypeInformation:
    """Returns the common type of all items, or the type that fits any value."""
    if types and all(each == types[0] for each in types):
        return types[0]
    return Types.PICKLED_BYTE_ARRAY()


def key_json(key: object, key_type: str | TypeInformation | None = None) -> tuple[str, str]:
    """Returns the type name and JSON text of a key, for table ``keys``.

    A tuple, a list and a Row are arrays, a dict is an array of pairs, bytes are hexadecimal text, and the floats that
    JSON lacks are the texts ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``: the type name says how to read it. An object of
    another class is an object that starts with its class.

    >>> key_json(("a", 1))
    ('TUPLE<STRING,LONG>', '["a",1]')
    """
    declared = as_type(key_type)
    if declared is None or declared.kind is TypeKind.PICKLED_BYTE_ARRAY:
        declared = infer_type(key)
    elif declared.kind is TypeKind.PICKLED_KEY:
        declared = TypeInformation(TypeKind.PICKLED_KEY, (infer_type(key),))
    return declared.name, json_text(key)


def json_text(value: object) -> str:
    """Returns the JSON of a value as in table ``keys``."""
    return _encode_json(jsonable(value))


def jsonable(value: object) -> object:
    """Converts a value for ``json``; see ``key_json``."""
    if type(value) not in _SHOWN:
        value = decode_shown(encode_value(value))
    match value:
        case float():
            if value != value:
                return "NaN"
            return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return value.hex()
        case tuple() | list():
            return [jsonable(item) for item in value]
        case Row():
            return [jsonable(item) for item in value.field_values]
        case ShownObject():
            return {name: jsonable(item) for name, item in value.items()}
        case dict():
            return [[jsonable(key), jsonable(item)] for key, item in value.items()]
        case _:
            return value


def key_fingerprint(key: object, key_type: str | TypeInformation | None = None) -> int:
    """Returns the 63-bit hash of a typed key: equal for the same key (see ``state_key``) of the same type."""
    declared = as_type(key_type)
    if declared is None or declared.kind is TypeKind.PICKLED_BYTE_ARRAY:
        declared = infer_type(key)
    return xxhash.xxh3_64_intdigest(declared.name.encode() + b"\0" + encode_value(_canonical(key))) >> 1


def _canonical(key: object) -> object:
    """Returns the key with one bit pattern for NaN and without field names, because ``state_key`` ignores both."""
    if isinstance(key, float) and key != key:
        return float("nan")
    if type(key) is tuple:
        return tuple(map(_canonical, key))
    if type(key) is list:
        return list(map(_canonical, key))
    if isinstance(key, Row):
        return Row(*map(_canonical, key.field_values))
    return key
