"""Key routing, slowly: every single record, its hash from its key and its subtask from that hash, in SQL (rules 1.18 to 1.23)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.audit.base import Audit, findings, kind_is, rows_of
from flowsim.validation.checks.key_hashes import hash_keys
from flowsim.validation.checks.streaming import ship
from flowsim.validation.recordings import Recordings

_LOW = 0xFFFFFFFF


def _let(value: Column, then: Callable[[Column], Column]) -> Column:
    """Evaluates ``value`` once, however often ``then`` uses it; written out, the expression would double at every step."""
    return F.transform(F.array(value), then)[0]


def _times(factor: int) -> Callable[[Column], Column]:
    """The low 32 bits of a product of unsigned 32-bit numbers; by halves, for a whole product overflows 64 bits."""

    def product(value: Column) -> Column:
        low, high = value.bitwiseAND(F.lit(0xFFFF)), F.shiftright(value, 16).bitwiseAND(F.lit(0xFFFF))
        return (low * factor + F.shiftleft((high * factor).bitwiseAND(F.lit(0xFFFF)), 16)).bitwiseAND(F.lit(_LOW))

    return product


def _rotated(bits: int) -> Callable[[Column], Column]:
    return lambda value: F.shiftleft(value, bits).bitwiseOR(F.shiftright(value, 32 - bits)).bitwiseAND(F.lit(_LOW))


def _folded(bits: int) -> Callable[[Column], Column]:
    return lambda value: value.bitwiseXOR(F.shiftright(value, bits))


def murmur(java_hash: Column) -> Column:
    """Rule 1.19 on a column of Java ints."""
    h = java_hash.cast("long").bitwiseAND(F.lit(_LOW))
    for step in (
        _times(0xCC9E2D51), _rotated(15), _times(0x1B873593), _rotated(13),
        lambda value: (value * 5 + 0xE6546B64).bitwiseAND(F.lit(_LOW)).bitwiseXOR(F.lit(4).cast("long")),
        _folded(16), _times(0x85EBCA6B), _folded(13), _times(0xC2B2AE35), _folded(16),
        lambda value: F.when(value >= 2**31, value - 2**32).otherwise(value),
        lambda value: F.when(value == -(2**31), 0).otherwise(F.abs(value)),
    ):  # fmt: skip
        h = _let(h, step)
    return h


def _keyed(facts: Recordings) -> DataFrame:
    edges = facts["edges"].where("partitioner = 'HASH'").select("run", "edge")
    channels = facts["channels"].join(edges, ["run", "edge"]).select("run", "channel", "target_task")
    targets = facts["tasks"].select(
        "run", F.col("task").alias("target_task"), "subtask", "parallelism", "max_parallelism"
    )
    places = channels.join(targets, ["run", "target_task"]).drop("target_task")
    return facts["sent"].where(kind_is(ElementKind.RECORD)).join(F.broadcast(places), ["run", "channel"])


def derived_keys(facts: Recordings) -> DataFrame:
    """Every key of every task, with the hash that is told and the one derived from its text."""
    ship(hash_keys)
    schema = "run int, task int, key bigint, told int, key_type string, key_json string, derived_hash bigint"
    keys = facts["keys"].dropDuplicates(["run", "task", "key"])
    keys = keys.select("run", "task", "key", F.col("key_hash").alias("told"), "key_type", "key_json")
    return keys.mapInPandas(hash_keys, schema).select("run", "task", "key", "told", "derived_hash")


def _broken(facts: Recordings) -> DataFrame:
    records = _keyed(facts).join(derived_keys(facts), ["run", "task", "key"], "left")
    group = murmur(F.col("derived_hash").cast("int")) % F.col("max_parallelism")
    owner = F.floor(group * F.col("parallelism") / F.col("max_parallelism"))
    unknown = F.col("derived_hash").isNull()
    otherwise = (F.col("key_hash") != F.col("derived_hash")) | (F.col("told") != F.col("derived_hash"))
    return findings(records, {
        "a key without description, or that cannot be read": unknown, "a hash that is not the key's": otherwise,
        "another subtask owns the key": owner != F.col("subtask"),
    })  # fmt: skip


KEY_ROUTING = Audit("key-routing", lambda facts: rows_of(_keyed(facts)), _broken)
