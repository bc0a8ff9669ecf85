"""Options and methods of features that flowsim does not simulate are refused with the reason, which the docs give too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Configuration
from flowsim.errors import BadInput
from flowsim.not_simulated import NOT_SIMULATED, NotSimulated

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("feature", NOT_SIMULATED, ids=lambda feature: feature.feature)
def test_page_of_deviations_has_the_feature_and_the_sentence_of_its_message(feature: NotSimulated) -> None:
    rows = re.findall(r"^\| (.+) \| (.+)\. \|$", (DOCS / "deviations.md").read_text(), re.M)
    wanted = feature.feature.casefold(), feature.instead.casefold()
    assert wanted in [(name.casefold(), sentence.casefold()) for name, sentence in rows]


@pytest.mark.parametrize(
    ("key", "feature"),
    [
        ("jobmanager.scheduler", "rescaling a running job"),
        ("state.backend.type", "state backends other than the heap"),
        ("execution.checkpointing.incremental", "incremental and changelog checkpoints"),
        ("state.changelog.enabled", "incremental and changelog checkpoints"),
        ("execution.checkpointing.file-merging.enabled", "file merging of checkpoints"),
        ("execution.state-recovery.from-local", "local recovery"),
        ("execution.batch-shuffle-mode", "variants of BATCH mode"),
        ("taskmanager.numberOfTaskSlots", "slots"),
        ("heartbeat.interval", "heartbeats and high availability"),
        ("high-availability.type", "heartbeats and high availability"),
    ],
)
def test_option_is_refused_with_its_feature(key: str, feature: str) -> None:
    with pytest.raises(BadInput, match=rf"^configuration: {key}: flowsim does not simulate this \({feature}\): "):
        Configuration().set_string(key, "x")


def test_other_unknown_option_names_the_most_similar_key() -> None:
    with pytest.raises(BadInput, match=r"unknown key 'parallelism.defaultt' \(did you mean 'parallelism.default'\?\)"):
        Configuration().set_string("parallelism.defaultt", "1")


def test_method_is_refused_with_its_feature_and_any_other_as_python_does() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])
    result = JobExecutionResult("job", JobStatus.FINISHED, 0, 0)
    for owner, name, feature in (
        (env, "set_state_backend", "state backends other than the heap"),
        (env, "enable_changelog_state_backend", "incremental and changelog checkpoints"),
        (stream, "set_resources", "slots"),
        (result, "get_accumulator", "accumulators"),
    ):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError, match=rf"^{type(owner).__name__}.{name}: .*\({feature}\): "):
            getattr(owner, name)
        with pytest.raises(AttributeError, match=f"^'{type(owner).__name__}' object has no attribute 'nothing'$"):
            owner.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("read_text_file", "use from_source with FileSource"),
        ("set_restart_strategy", "set the options `restart-strategy.type`"),
        ("set_stream_time_characteristic", "remove the call: event time needs a WatermarkStrategy only"),
    ],
)
def test_method_of_an_earlier_version_names_what_to_do(name: str, instead: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    message = rf"^StreamExecutionEnvironment\.{name}: Flink 2\.3\.0 does not have this: {instead}"
    with pytest.raises(AttributeError, match=message):
        getattr(env, name)
    with pytest.raises(
        AttributeError, match=r"^CheckpointConfig\.enable_externalized_checkpoints: .*: use set_externalized"
    ):
        _ = env.get_checkpoint_config().enable_externalized_checkpoints  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"_j_stream_execution_environment: .*\(the JVM behind PyFlink\)"):
        _ = env._j_stream_execution_environment  # type: ignore[attr-defined]
