"""A record of a keyed edge goes to the subtask that owns the key group of its key (rules 1.18 to 1.23)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.facts.kinds import ElementKind
from flowsim.validation.checks.base import Check, Graph
from flowsim.validation.checks.key_hashes import hash_keys, route
from flowsim.validation.checks.streaming import ship
from flowsim.validation.recordings import Recordings


def _missing(graph: Graph) -> str:
    return "" if graph.hash_edges else "the job has no keyed edge"


def _keyed_channels(facts: Recordings) -> DataFrame:
    """The channels of HASH edges, with the subtask behind each."""
    edges = facts["edges"].where(F.col("partitioner") == "HASH").select("run", "edge")
    tasks = facts["tasks"].select(
        "run", F.col("task").alias("target_task"), "subtask", "parallelism", "max_parallelism"
    )
    channels = facts["channels"].select("run", "channel", "edge", "target_task")
    return channels.join(edges, ["run", "edge"]).join(tasks, ["run", "target_task"]).drop("edge")


def described_keys(facts: Recordings) -> DataFrame:
    """One row per (run, task, key) with the hash that was recorded, and the one derived from the key itself."""
    ship(hash_keys)
    keys = facts["keys"].dropDuplicates(["run", "task", "key"])
    schema = "run int, task int, key bigint, described_hash int, key_type string, key_json string, derived_hash bigint"
    keys = keys.select("run", "task", "key", F.col("key_hash").alias("described_hash"), "key_type", "key_json")
    return keys.mapInPandas(hash_keys, schema)


def _judged(facts: Recordings) -> DataFrame:
    """Records by sender, channel and key, with what is wrong with them ('' when nothing is)."""
    ship(route)
    records = (
        facts["sent"]
        .where(F.col("kind") == int(ElementKind.RECORD))
        .select("run", "task", "channel", "key", "key_hash")
    )
    groups = (
        records.join(F.broadcast(_keyed_channels(facts)), ["run", "channel"])
        .groupBy(
            "run", "task", "channel", "key", "key_hash", "target_task", "subtask", "parallelism", "max_parallelism"
        )
        .agg(F.count(F.lit(1)).alias("records"))
    )
    schema = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in groups.schema.fields) + ", owner bigint"
    routed = groups.mapInPandas(route, schema).join(described_keys(facts), ["run", "task", "key"], "left")
    wrong = (
        F.when(F.col("described_hash").isNull(), "the key is not in table keys")
        .when(F.col("key_hash") != F.col("described_hash"), "key_hash differs from that of table keys")
        .when(
            ~F.col("derived_hash").eqNullSafe(F.col("described_hash").cast("long")),
            "key_hash is not the Java hash of the key",
        )
        .when(F.col("owner") != F.col("subtask"), "another subtask owns the key group")
        .otherwise("")
    )
    return routed.withColumn("what", wrong)


def _counts(facts: Recordings) -> DataFrame:
    return (
        _judged(facts)
        .groupBy("run")
        .agg(
            F.sum("records").alias("rows_examined"),
            F.sum(F.when(F.col("what") != "", F.col("records")).otherwise(0)).alias("violations"),
        )
    )


def _evidence(facts: Recordings) -> DataFrame:
    return _judged(facts).where(F.col("what") != "").select(
        "run", "what", "task", "channel", "target_task", "subtask", "owner", "key_type", "key_json", "key_hash", "derived_hash",
        "records",
    )  # fmt: skip


KEY_ROUTING = Check("key-routing", _missing, _counts, _evidence)
