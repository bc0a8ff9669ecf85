"""What Flink has and flowsim does not simulate, by option keys and names: the messages for users who ask for it.

`docs/deviations.md` lists the same features with the same sentences; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class NotSimulated:
    """A feature of Flink, the options and methods that ask for it, and what flowsim has instead."""

    feature: str
    instead: str
    options: tuple[str, ...] = ()
    """Option keys; one that ends with a dot is the prefix of others."""
    methods: tuple[str, ...] = ()
    """Methods of PyFlink, of any class."""
    modules: tuple[str, ...] = ()
    """Modules of PyFlink with their submodules, without the prefix ``pyflink.``."""

    def has_option(self, key: str) -> bool:
        """Returns True if the option belongs to this feature."""
        return any(key == option or (option[-1] == "." and key.startswith(option)) for option in self.options)

    def has_module(self, name: str) -> bool:
        """Returns True if the module of PyFlink belongs to this feature."""
        return any(f"{name}.".startswith(f"{module}.") for module in self.modules)

    def message(self, asked: str) -> str:
        """Returns the message for a user who asked for ``asked``."""
        return f"{asked}: flowsim does not simulate this ({self.feature}): {self.instead}"


NOT_SIMULATED: Final = (
    NotSimulated(
        "rescaling a running job",
        "stop the job with a savepoint, and start it from the savepoint with another parallelism",
        ("jobmanager.scheduler", "jobmanager.adaptive-scheduler.", "jobmanager.adaptive-batch-scheduler.",
         "scheduler-mode", "web.rescale."),
    ),
    NotSimulated(
        "state backends other than the heap",
        "keyed state is on the heap, as with Flink's hashmap backend; results do not depend on the backend",
        ("state.backend", "state.backend.", "state.latency-track.", "state.size-track.", "table.exec.async-state.enabled"),
        ("set_state_backend", "get_state_backend", "enable_async_state"),
    ),
    NotSimulated(
        "incremental and changelog checkpoints",
        "every checkpoint contains the whole state; what is restored is the same",
        ("execution.checkpointing.incremental", "state.changelog.", "dstl."),
        ("enable_changelog_state_backend", "is_changelog_state_backend_enabled"),
    ),
    NotSimulated(
        "file merging of checkpoints",
        "each checkpoint has the files of docs/checkpoint_directory.md",
        ("execution.checkpointing.file-merging.",),
    ),
    NotSimulated(
        "local recovery",
        "state is restored from the checkpoint's directory, or from memory without one, in no simulated time",
        ("execution.state-recovery.from-local", "execution.checkpointing.local-backup.", "state.local-recovery.",
         "taskmanager.state.local."),
    ),
    NotSimulated(
        "variants of BATCH mode",
        "all exchanges are blocking, keyed inputs are sorted, and the parallelism is the declared one; set "
        "`execution.runtime-mode` to run a job in BATCH mode",
        ("execution.batch-shuffle-mode", "execution.batch.", "execution.sorted-inputs.",
         "execution.batch-state-backend.enabled", "jobmanager.partition.hybrid."),
    ),
    NotSimulated(
        "slots",
        "slot sharing groups only cut chains: every subtask has a task manager of its own unless `task_managers` assigns it, "
        "and no job waits for a slot",
        ("taskmanager.numberOfTaskSlots", "taskmanager.load-balance.mode", "cluster.", "slot.", "slotmanager.",
         "jobmanager.future-pool.size"),
        ("set_resources", "set_default_local_parallelism", "get_default_local_parallelism"),
    ),
    NotSimulated(
        "heartbeats and high availability",
        "task managers and the job manager are lost exactly where the failures of a scenario say so",
        ("heartbeat.", "high-availability", "high-availability.", "akka.", "pekko.", "rest.", "jobmanager.rpc.",
         "taskmanager.registration.", "job-result-store."),
    ),
    NotSimulated(
        "accumulators",
        "count in state, emit the counts, or read them from the recording (`flowsim metrics`)",
        methods=("add_accumulator", "get_accumulator"),
    ),
    NotSimulated(
        "the Table API and SQL",
        "write the part that uses tables with the DataStream API, or put its results into `from_collection`",
        modules=("table",),
    ),
    NotSimulated(
        "connectors to services",
        "read the same records with `from_collection` or a source of `flowsim.connectors`, and write them with `print`",
        modules=tuple(f"datastream.connectors.{name}" for name in (
            "cassandra", "dynamic_kafka", "elasticsearch", "hybrid_source", "jdbc", "kinesis", "pulsar", "rabbitmq")),
    ),
    NotSimulated(
        "the JVM behind PyFlink",
        "use the methods of PyFlink's DataStream API, which run without a JVM here",
        modules=("java_gateway", "util", "fn_execution", "serializers", "shell", "pyflink_gateway_server",
                 "pyflink_callback_server", "find_flink_home", "gen_protos", "testing", "ml"),
    ),
)  # fmt: skip


DROPPED: Final = {
    "ExternalizedCheckpointCleanup": "use ExternalizedCheckpointRetention",
    "FlinkKafkaConsumer": "use KafkaSource",
    "FlinkKafkaProducer": "use KafkaSink",
    "FsStateBackend": "use HashMapStateBackend, and the option `execution.checkpointing.dir`",
    "MemoryStateBackend": "use HashMapStateBackend",
    "RestartStrategies": "set the options `restart-strategy.type` and those below `restart-strategy.`",
    "RocksDBStateBackend": "use EmbeddedRocksDBStateBackend",
    "SimpleStringEncoder": "use Encoder.simple_string_encoder()",
    "StreamingFileSink": "use FileSink",
    "TimeCharacteristic": "remove it: event time needs a WatermarkStrategy only",
    "enable_externalized_checkpoints": "use set_externalized_checkpoint_retention",
    "read_text_file": "use from_source with FileSource and StreamFormat.text_line_format()",
    "set_checkpoint_storage": "set the option `execution.checkpointing.dir`",
    "set_checkpoint_storage_dir": "set the option `execution.checkpointing.dir`",
    "set_restart_strategy": "set the options `restart-strategy.type` and those below `restart-strategy.`",
    "set_stream_time_characteristic": "remove the call: event time needs a WatermarkStrategy only",
}
"""Classes and methods of earlier versions of PyFlink that do not work in 2.3.0, and what to do instead."""


def refuse_option(key: str, asked: str | None = None) -> None:
    """Raises BadInput if an option belongs to a feature that is not simulated; ``asked``: the call that sets it."""
    feature = feature_of_option(key)
    if feature is not None:
        raise BadInput(feature.message(asked or f"configuration: {key}"))


def feature_of_option(key: str) -> NotSimulated | None:
    """Returns the feature to which an option belongs, None if it is simulated or unknown."""
    return next((feature for feature in NOT_SIMULATED if feature.has_option(key)), None)


def feature_of_module(name: str) -> NotSimulated | None:
    """Returns the feature to which a module of PyFlink belongs, None if the module is simulated or unknown."""
    return next((feature for feature in NOT_SIMULATED if feature.has_module(name)), None)


def dropped(asked: str, name: str) -> str | None:
    """Returns the message for a name that earlier versions of PyFlink have, None for any other name."""
    return f"{asked}: Flink 2.3.0 does not have this: {DROPPED[name]}" if name in DROPPED else None


def missing_attribute(owner: object, name: str) -> AttributeError:
    """Returns the error for an attribute that ``owner`` does not have, with the reason if the name is known."""
    asked = f"{type(owner).__name__}.{name}"
    feature = _feature_of_attribute(name)
    message = dropped(asked, name) if feature is None else feature.message(asked)
    if message is not None:
        return AttributeError(message, name=name, obj=owner)
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner)


def _feature_of_attribute(name: str) -> NotSimulated | None:
    if name.startswith("_j_"):
        return feature_of_module("java_gateway")
    return next((feature for feature in NOT_SIMULATED if name in feature.methods), None)
