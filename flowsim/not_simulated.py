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


def missing_attribute(owner: object, name: str) -> AttributeError:
    """Returns the error for an attribute that ``owner`` does not have, with the reason if the name is known."""
    asked = f"{type(owner).__name__}.{name}"
    for feature in NOT_SIMULATED:
        if name in feature.methods:
            return AttributeError(feature.message(asked), name=name, obj=owner)
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner)
