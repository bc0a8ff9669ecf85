"""Restores of a job without uids, after changes that give its operators other ids (rules 12.26, 12.121)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction, StopWithSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.units import NS_PER_MS


def run(
    *actions: RunAction,
    savepoint: SavepointRestoreSettings | None = None,
    sums: int = 1,
    texts: int = 1,
    has_uid: bool = False,
    branches: tuple[str, ...] = (),
    before: str = "",
    other: str = "",
) -> JobStatus:
    """Sums with state behind an exchange: numbers -> [before] -> sums -> texts, branches of sums, another source."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = GeneratorSource(60, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    stream: DataStream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    if before:
        stream = stream.map(lambda row: row).name(before).disable_chaining()
    counted = stream.key_by(lambda row: row[0] % 7, key_type=None).reduce(lambda a, b: (a[0] + b[0],))
    counted.name("sums").set_parallelism(sums)
    if has_uid:
        counted.uid("sums")
    counted.map(str).name("texts").set_parallelism(texts).sink_to(CollectSink()).name("out").set_parallelism(texts)
    if other:
        env.from_source(source, WatermarkStrategy.no_watermarks(), other).sink_to(CollectSink())
    for name in branches:
        counted.map(str).name(name)
    result = MiniCluster(env.stream_graph(), RunOptions(actions=actions, savepoint=savepoint)).run()
    return result.status


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("sp")
    run(StopWithSavepoint(25 * NS_PER_MS, False, str(folder)))
    return str(folder / "savepoint-1")


def test_same_job_continues(savepoint: str) -> None:
    assert run(savepoint=SavepointRestoreSettings(savepoint)) is JobStatus.FINISHED


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"texts": 2},
            "'texts' was chained to 'sums', and now is not: the parallelism of 'texts' was 1, and now is 2",
        ),
        (
            {"sums": 2},
            "'texts' was chained to 'sums', and now is not: the parallelism of 'sums' was 1, and now is 2",
        ),
        ({"branches": ("more",)}, "'more' was not chained to 'sums', and now is"),
        ({"other": "letters"}, "'Source: letters' was added before 'sums'"),
        ({"has_uid": True}, "'sums' had no uid, and now has uid 'sums'"),
        (
            {"before": "checked"},
            "'sums' read 'Source: numbers' with uid 'numbers', and now reads 'checked' with no uid",
        ),
    ],
)
def test_change_that_gives_the_sums_another_id_is_refused_with_the_reason(
    change: dict[str, object], why: str, savepoint: str
) -> None:
    with pytest.raises(BadInput) as refused:
        run(savepoint=SavepointRestoreSettings(savepoint), **change)  # type: ignore[arg-type]
    assert f"because the operator is not available in the new program (its id is another one there: {why})" in str(
        refused.value
    )


@pytest.mark.parametrize("change", [{"texts": 2}, {"branches": ("more",)}])
def test_state_that_is_not_restored_can_be_allowed(change: dict[str, object], savepoint: str) -> None:
    settings = SavepointRestoreSettings(savepoint, allow_non_restored_state=True)
    assert run(savepoint=settings, **change) is JobStatus.FINISHED  # type: ignore[arg-type]


def test_operators_of_one_name_are_compared_in_their_order(tmp_path: Path) -> None:
    run(StopWithSavepoint(25 * NS_PER_MS, False, str(tmp_path)), branches=("sums",))
    with pytest.raises(
        BadInput, match="'texts' was chained to 'sums', and now is not: the parallelism of 'texts' was 1"
    ):
        run(savepoint=SavepointRestoreSettings(str(tmp_path / "savepoint-1")), branches=("sums",), texts=2)


def test_change_that_leaves_the_ids_is_restored(tmp_path: Path) -> None:
    """Only the number of chained operators is part of an id, not how many subtasks they have or what they are called."""
    run(StopWithSavepoint(25 * NS_PER_MS, False, str(tmp_path)), texts=2)
    restore = SavepointRestoreSettings(str(tmp_path / "savepoint-1"))
    assert run(savepoint=restore, texts=3) is JobStatus.FINISHED
